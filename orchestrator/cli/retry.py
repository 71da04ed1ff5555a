"""`graphmill retry`: another chance for nodes in error."""

import click

from orchestrator.cli.options import Command, GlobalOptions, filter_options


@click.command(cls=Command)
@filter_options
@click.option("--uuid", "uuids", metavar="UUID", multiple=True, help="This node. Repeatable.")
@click.pass_obj
def retry(
    options: GlobalOptions,
    error_type: str | None,
    error_class: str | None,
    labels: tuple[str, ...],
    uuids: tuple[str, ...],
) -> None:
    """Send nodes in error back to the stage that failed.

    All of them, or those that fit every option that is given. A job that runs takes them up at once.
    """
    from orchestrator.cli.session import with_store
    from orchestrator.cli.text import dumps
    from orchestrator.lifecycle import Lifecycle
    from orchestrator.states import ErrorClass, ErrorType

    count = with_store(
        options,
        lambda store: Lifecycle(store=store).retry_errors(
            labels=labels,
            uuids=uuids,
            error_type=ErrorType(error_type) if error_type else None,
            error_class=ErrorClass(error_class) if error_class else None,
        ),
    )
    if options.json:
        click.echo(dumps({"retried": count}))
    elif count:
        nodes = f"{count:,} node{' goes' if count == 1 else 's go'}"
        click.echo(f"{nodes} back to the stage that failed\nnext: {options.graphmill} worker --drain")
    else:
        click.echo("no such node is in error")
