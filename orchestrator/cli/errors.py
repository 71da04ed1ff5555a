"""`graphmill errors`: what went wrong, and where."""

import click

from orchestrator.cli.options import Command, GlobalOptions, filter_options

_SHOWN = 20


@click.command(cls=Command)
@filter_options
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Show at most N nodes; else {_SHOWN}, or all with --json.",
)
@click.pass_obj
def errors(
    options: GlobalOptions, error_type: str | None, error_class: str | None, labels: tuple[str, ...], limit: int | None
) -> None:
    """Show what went wrong, and where.

    First every kind of error with the number of nodes it stopped, then the nodes with the file and line they come from.
    """
    from orchestrator import failed
    from orchestrator.cli.session import with_store
    from orchestrator.states import ErrorClass, ErrorType

    which = failed.Filter(
        error_type=ErrorType(error_type) if error_type else None,
        error_class=ErrorClass(error_class) if error_class else None,
        labels=labels,
    )
    if options.json:
        from orchestrator.cli.text import dumps

        nodes = with_store(options, lambda store: failed.failed(store, which, limit=limit))
        click.echo(dumps([node.document() for node in nodes]))
        return
    from orchestrator.cli.listings import print_failures

    kinds, nodes = with_store(options, lambda store: failed.overview(store, which, limit=limit or _SHOWN))
    print_failures(kinds, nodes, options.graphmill)
