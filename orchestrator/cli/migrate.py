"""`graphmill migrate`: brings a graph with flags, or with other words for its states, into graphmill's, and back."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import Command, GlobalOptions, global_options
from orchestrator.cli.process import can_ask

if TYPE_CHECKING:
    from orchestrator.cli.migration_tables import NextSteps
    from orchestrator.migration.report import Found, Outcome
    from orchestrator.migration.verbs import Migration


class _Group(click.Group):
    command_class = Command


@click.group(cls=_Group, params=global_options())
def migrate() -> None:
    """Bring an older graph into graphmill's states, and back.

    Recognises graphs whose nodes say by flags or other words how far they are. Look first (detect, plan: nothing is
    changed), then apply, validate, and finalize; until then rollback puts everything back.
    """


def _wishes(command: Callable[..., Any]) -> Callable[..., Any]:  # Any: a command of any shape
    for option in reversed(
        [
            click.option(
                "--mapping", metavar="FILE", type=click.Path(path_type=Path), help="What the graph's own marks mean."
            ),
            click.option("--embedding-model", metavar="E", help="What made vectors that do not say it themselves."),
            click.option("--lang", metavar="LANG", help="Which Wikipedia articles are of.  [default: en]"),
            click.option("--api-url", metavar="URL", help="The api.php of the wiki that articles are of."),
            click.option("--wiki", metavar="NAME", help="What that wiki calls itself; else by its language: enwiki."),
            click.option("--contact", metavar="WHO", help="Your address, told to the wiki when articles are read."),
            click.option("--retry-empty", is_flag=True, help="Read articles again that were processed and are empty."),
        ]
    ):
        command = option(command)
    return command


@migrate.command()
@_wishes
@click.pass_obj
def detect(options: GlobalOptions, /, **wishes: Any) -> None:
    """Say what the graph holds: which shapes, per label, how many. Changes nothing."""
    from orchestrator.cli.migration_tables import print_found

    found: Found = _run(options, wishes, lambda migration: migration.detect())
    if options.json:
        _echo(found.document())
    else:
        print_found(found, _steps(options, wishes))


@migrate.command()
@_wishes
@click.option("--cypher", "show_cypher", is_flag=True, help="Print the Cypher that apply runs, with its parameters.")
@click.pass_obj
def plan(options: GlobalOptions, /, show_cypher: bool, **wishes: Any) -> None:
    """Show what each rule would move where. Changes nothing."""
    if show_cypher:
        text = _run(options, wishes, lambda migration: migration.cypher())
        click.echo(json.dumps({"cypher": text}, ensure_ascii=False) if options.json else text)
        return
    _tell(options, wishes, "plan", _run(options, wishes, lambda migration: migration.plan()))


@migrate.command()
@_wishes
@click.pass_obj
def apply(options: GlobalOptions, /, **wishes: Any) -> None:
    """Move every node to its state. Killed or stopped, the same command goes on."""
    _tell(options, wishes, "apply", _run(options, wishes, lambda migration: migration.apply()))


@migrate.command()
@_wishes
@click.pass_obj
def validate(options: GlobalOptions, /, **wishes: Any) -> int:
    """Check what apply did. Changes nothing; exit code 1 if there is a problem."""
    outcome: Outcome = _run(options, wishes, lambda migration: migration.validate())
    _tell(options, wishes, "validate", outcome)
    return 1 if outcome.problems else 0


@migrate.command()
@_wishes
@click.option("--accept-losses", is_flag=True, help="Also where something cannot be put back, or would be gone.")
@click.pass_obj
def rollback(options: GlobalOptions, /, accept_losses: bool, **wishes: Any) -> None:
    """Put the graph back as it was before apply.

    If that cannot be done in full, it says so and changes nothing without --accept-losses.
    """
    outcome = _run(options, wishes, lambda migration: migration.rollback(accept_losses=accept_losses))
    _tell(options, wishes, "rollback", outcome)


@migrate.command()
@_wishes
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; required without a terminal.")
@click.pass_obj
def finalize(options: GlobalOptions, /, yes: bool, **wishes: Any) -> None:
    """Remove the old marks, and what a rollback would need."""
    if not yes:
        if options.json or not can_ask():
            raise click.UsageError("after finalize there is no rollback: give --yes to say that you mean it")
        click.confirm("remove the old marks for good? There is no rollback after that.", abort=True, err=True)
    _tell(options, wishes, "finalize", _run(options, wishes, lambda migration: migration.finalize()))


def _run(options: GlobalOptions, wishes: dict[str, Any], work: "Callable[[Migration], Awaitable[Any]]") -> Any:
    """Any: what the work makes of the migration."""
    from graph_stores.legacy import MigrationRefused
    from orchestrator.cli import stopping
    from orchestrator.cli.migration_tables import Meter
    from orchestrator.cli.session import Session
    from orchestrator.migration.verbs import Order, opened

    session = Session.begin(options, lang=wishes["lang"], api_url=wishes["api_url"], contact=wishes["contact"])
    order = Order(
        settings=session.settings,
        credentials=session.credentials,
        mapping=wishes["mapping"],
        embedding_model=wishes["embedding_model"],
        wiki=wishes["wiki"],
        retry_empty=wishes["retry_empty"],
    )

    async def course() -> Any:  # Any: what the work returns
        with Meter(shown=not options.json) as meter:
            async with opened(order, meter) as migration:
                return await work(migration)

    try:
        return stopping.run(course(), as_json=options.json)
    except MigrationRefused as refused:
        raise MigrationRefused(refused.message, hint=_steps(options, wishes).in_text(refused.hint)) from refused


def _steps(options: GlobalOptions, wishes: dict[str, Any]) -> "NextSteps":
    from orchestrator.cli.migration_tables import NextSteps

    given = {f"--{name.replace('_', '-')}": value for name, value in wishes.items() if value}
    return NextSteps(graphmill=options.graphmill, given=given)


def _tell(options: GlobalOptions, wishes: dict[str, Any], verb: str, outcome: "Outcome") -> None:
    from orchestrator.cli.migration_tables import print_outcome

    if options.json:
        _echo(outcome.document())
    else:
        print_outcome(verb, outcome, _steps(options, wishes))


def _echo(document: object) -> None:
    from orchestrator.cli.text import dumps

    click.echo(dumps(document))
