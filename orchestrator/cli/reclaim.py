"""`graphmill reclaim`: takes back the nodes of workers that are gone."""

import click

from orchestrator.cli.options import Command, GlobalOptions


@click.command(cls=Command)
@click.option(
    "--force", is_flag=True, help="Also take back leases that have not run out, unless a running worker has them."
)
@click.pass_obj
def reclaim(options: GlobalOptions, force: bool) -> None:
    """Take back the nodes of workers that are gone.

    Jobs do so by themselves. Each node goes back to where it waited and has one try less, or to error after the last.
    """
    from graph_stores.protocol import Store
    from orchestrator.cli.session import with_store
    from orchestrator.cli.text import dumps
    from orchestrator.lifecycle import Lifecycle
    from orchestrator.workers import gone_owners

    async def take_back(store: Store) -> int:
        return await Lifecycle(store=store).reclaim(await gone_owners(store, unregistered=force))

    count = with_store(options, take_back)
    if options.json:
        click.echo(dumps({"reclaimed": count}))
    elif count:
        click.echo(f"{count:,} node{'' if count == 1 else 's'} taken back\nnext: {options.graphmill} worker --drain")
    else:
        click.echo("nothing to take back: no node is stuck")
