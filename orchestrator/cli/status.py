"""`graphmill status`: where every node stands."""

import click

from orchestrator.cli.options import Command, GlobalOptions


@click.command(cls=Command)
@click.pass_obj
def status(options: GlobalOptions) -> None:
    """Show where every node stands.

    Counts nodes by label and state, what is in flight or stuck, the errors, the rate and the time to go.
    """
    from orchestrator.cli.session import with_store
    from orchestrator.cli.text import dumps
    from orchestrator.progress import read_standing

    standing = with_store(options, read_standing)
    if options.json:
        click.echo(dumps(standing.document()))
        return
    from orchestrator.cli.tables import print_standing

    print_standing(standing)
