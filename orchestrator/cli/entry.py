"""The way in and the way out: finds the command, runs it, and turns whatever happens into output and an exit code."""

import io
import sys
from importlib import import_module
from typing import Any

import click

from orchestrator.cli import failures
from orchestrator.cli.options import COMMANDS, GlobalOptions, global_options


class LazyGroup(click.Group):
    """Imports a command when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"orchestrator.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"there is no command {name!r}{failures.did_you_mean(name, COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:  # Any: what click returns
        result = super().invoke(ctx)
        # Here, where click still answers for a reader that has gone away (| head), and not when Python ends.
        sys.stdout.flush()
        return result


def main(arguments: list[str] | None = None) -> None:
    """Run one command and end the process with its exit code: what the command returned, if anything."""
    given = sys.argv[1:] if arguments is None else arguments
    options = GlobalOptions(arguments=given)
    _write_anything()
    try:
        code = _group().main(given, prog_name="graphmill", standalone_mode=False, obj=options)
    except Exception as error:  # noqa: BLE001 the one place where everything ends as a line and an exit code
        # A command line that could not be read did not get as far as filling in the options.
        options.json = options.json or "--json" in given
        code = failures.report(error, options)
    if code:
        sys.exit(code)


def _write_anything() -> None:
    """A character that the terminal does not have is shown as its number, and is no reason to fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _group() -> click.Group:
    return LazyGroup(
        name="graphmill",
        params=[*global_options(), _version_option()],
        help="Ingest files and Wikipedia into a graph that records on every node how far the work on it is.",
        epilog="Start with: graphmill demo, or: graphmill ingest PATH. Options may stand before or after the command.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _version_option() -> click.Option:
    def show(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
        if asked and not ctx.resilient_parsing:
            click.echo(f"graphmill {_version()}")
            ctx.exit()

    return click.Option(
        ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=show, help="Show the version and exit."
    )


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("graphmill")
    except PackageNotFoundError:
        return "(not installed: running from its source)"
