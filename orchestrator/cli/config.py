"""`graphmill config`: what graphmill would work with, and where each value comes from."""

import click

from orchestrator.cli.options import Command, GlobalOptions, global_options


@click.group(params=global_options())
def config() -> None:
    """Show the settings and where they come from."""


@config.command(cls=Command)
@click.pass_obj
def show(options: GlobalOptions) -> None:
    """Show every setting, its value, and where that comes from.

    Flags beat the environment, which beats graphmill.toml, which beats the defaults. Of a secret it is only shown
    whether there is one.
    """
    from orchestrator.cli.session import read_settings
    from orchestrator.cli.text import dumps

    settings = read_settings(options).shown()
    if options.json:
        click.echo(dumps({key: {"value": value, "from": origin} for key, value, origin in settings}))
        return
    from orchestrator.cli.tables import print_settings

    print_settings(settings)
