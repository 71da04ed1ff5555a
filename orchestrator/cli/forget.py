"""`graphmill forget`: takes a source out of the graph again."""

import sys

import click

from orchestrator.cli.options import Command, GlobalOptions


@click.command(cls=Command)
@click.argument("what", metavar="PATH|ROOT")
@click.option("--yes", is_flag=True, help="Do not ask. Nobody is asked where there is no terminal.")
@click.pass_obj
def forget(options: GlobalOptions, what: str, yes: bool) -> None:
    """Remove a source from the graph, with all that came from it.

    A folder or file by its path, or by its name in the graph: ROOT, or ROOT/PATH. The files themselves stay.
    """
    from dataclasses import asdict

    from orchestrator.cli.session import with_store
    from orchestrator.cli.text import dumps, printable
    from orchestrator.files.forget import forget as take_out

    if not yes and not options.json and sys.stdin.isatty():
        click.confirm(f"remove {printable(what)} and all that came from it from the graph?", abort=True, err=True)
    gone = with_store(options, lambda store: take_out(store, what))
    if options.json:
        click.echo(dumps(asdict(gone)))
        return
    files = f"{gone.files:,} file{'' if gone.files == 1 else 's'}"
    click.echo(f"forgot {files} of {printable(gone.root)}{', and the root itself' if gone.whole else ''}")
