"""`graphmill reclaim`: what a worker that is gone had in its hands."""

import click

from orchestrator.cli.options import Command, GlobalOptions


@click.command(cls=Command)
@click.pass_obj
def reclaim(options: GlobalOptions) -> None:
    """Take back what workers that are gone had begun.

    Jobs do so by themselves. Each node goes back to where it waited and has one try less, or to error after the last.
    """
    from orchestrator.cli.session import with_store
    from orchestrator.cli.text import dumps
    from orchestrator.lifecycle import Lifecycle

    count = with_store(options, lambda store: Lifecycle(store=store).reclaim())
    if options.json:
        click.echo(dumps({"reclaimed": count}))
    elif count:
        click.echo(f"{count:,} node{'' if count == 1 else 's'} taken back\nnext: {options.graphmill} worker --drain")
    else:
        click.echo("nothing to take back: every lease is held by a worker that is alive")
