"""`graphmill status`: where every node stands."""

from dataclasses import replace

import click

from orchestrator.cli.options import Command, GlobalOptions, ledger_options


@click.command(cls=Command)
@click.option("--watch", is_flag=True, help="Keep showing it until stopped.")
@ledger_options
@click.pass_obj
def status(options: GlobalOptions, watch: bool) -> None:
    """Show where every node stands.

    Counts nodes by label and state, what is in flight or stuck, the errors, the rate and the time to go. Works while a
    job runs.
    """
    if watch and options.json:
        raise click.UsageError("choose --watch or --json, not both: --json is one document")
    from orchestrator.cli.session import Session
    from orchestrator.cli.stopping import run

    session = Session.begin(options)
    if watch:
        from orchestrator.cli.watching import watch as keep_showing

        keep_showing(session, options.graphmill)
    elif options.json:
        from orchestrator.cli.text import dumps

        click.echo(dumps(run(session.standing(), as_json=True).document()))
    else:
        from orchestrator.cli.tables import print_standing

        standing = run(session.standing())
        # Where the project is empty, the next command names another one.
        print_standing(standing, (replace(options, project=None) if standing.others else options).graphmill)
