"""The names of the commands, the options that all of them take, before or after the name, and those that several take.

Declared here and nowhere else.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from orchestrator.cli.completion import EMBEDDERS, complete_store, labels, offered, projects
from orchestrator.runs.sources import ALLOW

# In the order of a first visit. A module is named as its command and holds it under that name.
COMMANDS = (
    "ingest",
    "expand",
    "status",
    "runs",
    "search",
    "query",
    "errors",
    "retry",
    "reclaim",
    "verify",
    "ledger",
    "forget",
    "worker",
    "copy",
    "migrate",
    "init",
    "config",
    "demo",
)
_GRAPH_FLAGS = ("--store", "--project", "--config")
_COMMAND_IN_TEXT = re.compile(rf"\bgraphmill (--store (?:'[^']*'|\S+) )?({'|'.join(COMMANDS)})\b")


@dataclass(slots=True, kw_only=True)
class GlobalOptions:
    """What was given so far; filled in as the command line is read, so that a failure can be shown as asked."""

    store: str | None = None
    project: str | None = None
    config: Path | None = None
    verbose: bool = False
    json: bool = False
    ledger: str | None = None
    no_ledger: bool = False
    arguments: Sequence[str] = ()
    """The whole command line, as it was given."""

    def again(self, *more: str) -> str:
        """The same command with more options."""
        words, rest = [], iter(self.arguments)
        for word in rest:
            flag, has_value, _ = word.partition("=")
            if flag not in _GRAPH_FLAGS:
                words.append(word)
            elif not has_value:
                next(rest, None)
        return f"{self.graphmill} {shlex.join([*words, *more])}"

    @property
    def graphmill(self) -> str:
        """How to call graphmill about the same graph again: what a hint begins with."""
        return " ".join(["graphmill", *self._given(*_GRAPH_FLAGS)])

    def complete_commands(self, text: str) -> str:
        """The text with the global options of this command line added to every graphmill command in it.

        Errors, hints and messages name a command as `graphmill verify --repair`: only the command line knows the rest.
        """
        return _COMMAND_IN_TEXT.sub(self._completed, text)

    def _completed(self, match: re.Match[str]) -> str:
        store, command = match.groups()
        if store is None:
            return f"{self.graphmill} {command}"
        return " ".join(["graphmill", store.strip(), *self._given("--project", "--config"), command])

    def _given(self, *flags: str) -> list[str]:
        values = {"--store": self.store, "--project": self.project, "--config": self.config}
        return [f"{flag} {shlex.quote(str(values[flag]))}" for flag in flags if values[flag] is not None]


class Command(click.Command):
    """A command that also takes the global options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: passed on to click untouched
        super().__init__(*args, **kwargs)
        self.own = [param for param in self.params if isinstance(param, click.Option)]
        self.params += global_options()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shared = [param for param in self.get_params(ctx) if isinstance(param, click.Option) and param not in self.own]
        for title, options in (("Options", self.own), ("Global options", shared)):
            if records := [record for option in options if (record := option.get_help_record(ctx))]:
                with formatter.section(title):
                    formatter.write_dl(records)


def embedder_options(command: Callable[..., Any]) -> Callable[..., Any]:  # Any: a command of any shape
    name = click.option(
        "--embedder",
        metavar="E",
        help="wordllama, sentence-transformers:MODEL, openai:MODEL, ollama:MODEL, none.",
        shell_complete=offered(lambda _: EMBEDDERS),
    )
    url = click.option("--embedder-url", metavar="URL", help="The endpoint of openai:MODEL or ollama:MODEL, up to /v1.")
    return name(url(command))


def workers_option(command: Callable[..., Any]) -> Callable[..., Any]:  # Any: a command of any shape
    return processes_option("--workers")(command)


def processes_option(name: str, *, hidden: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """How many processes parse, by the name that the command has for it."""
    return click.option(
        name,
        metavar="N",
        type=click.IntRange(min=1, max=256),
        help="How many processes parse; else one per processor.",
        hidden=hidden,
    )


def allow_deletes_option(command: Callable[..., Any]) -> Callable[..., Any]:  # Any: a command of any shape
    return click.option(ALLOW, is_flag=True, help="Delete from the graph what is gone, even most of a source.")(command)


def ledger_options(command: Callable[..., Any]) -> Callable[..., Any]:  # Any: a command of any shape
    """Where every change of a state is written down; recorded with the global options, which it is read with."""
    place = click.option(
        "--ledger",
        metavar="DIR",
        expose_value=False,
        callback=_record,
        help="Where the ledgers are, a folder for each project; else beside the graph.",
    )
    none = click.option("--no-ledger", is_flag=True, expose_value=False, callback=_record, help="Do without a ledger.")
    return place(none(command))


def label_option(known: Callable[[click.Context], Sequence[str]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--label",
        "labels",
        metavar="LABEL",
        multiple=True,
        help="Nodes with this label. Repeatable.",
        shell_complete=offered(known),
    )


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:  # Any: a command of any shape
    """Which of the nodes in error."""
    kind = click.option("--type", "error_type", type=click.Choice(["parse", "link", "embed"]), help="What failed.")
    grade = click.option(
        "--class",
        "error_class",
        type=click.Choice(["transient", "permanent", "missing", "rate_limit", "network", "parse", "timeout"]),
        help="What kind of failure it was.",
    )
    label = label_option(labels)
    return kind(grade(label(command)))


def global_options() -> list[click.Parameter]:
    def option(*names: str, **attributes: Any) -> click.Option:  # Any: passed on to click untouched
        return click.Option(names, expose_value=False, callback=_record, **attributes)

    return [
        option(
            "--store",
            metavar="URL",
            help="The graph: kuzu:PATH, ladybug:PATH, neo4j://HOST or bolt://HOST.",
            shell_complete=complete_store,
        ),
        option("--project", metavar="NAME", help="The project inside the graph.", shell_complete=offered(projects)),
        option("--config", metavar="FILE", type=click.Path(path_type=Path), help="Settings; else graphmill.toml."),
        option("--json", is_flag=True, help="Print one JSON document."),
        option("-v", "--verbose", is_flag=True, help="Show tracebacks and what happens underneath."),
    ]


def _record(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if param.name and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
        setattr(ctx.obj, param.name, value)
