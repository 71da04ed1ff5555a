"""`graphmill ledger`: what happened to every node, asked of the ledger alone, so that it answers while a job runs."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import Command, GlobalOptions, global_options

if TYPE_CHECKING:
    from orchestrator.ledger.content import Damage

_SHOWN = 20
_UNITS = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class _Age(click.ParamType[Any]):
    """A length of time: 90s, 10m, 6h, 30d."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # Any: as click has
        if isinstance(value, timedelta):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", str(value).strip())
        if not found or (found[2] or "s") not in _UNITS:
            self.fail(f"{value!r} is no length of time; expected one such as 90s, 10m, 6h or 30d", param, ctx)
        return timedelta(**{_UNITS[found[2] or "s"]: float(found[1])})


def _command(name: str) -> Callable[[Callable[..., Any]], click.Command]:  # Any: a command of any shape
    """A command that can be told where the ledger is."""

    def made(function: Callable[..., Any]) -> click.Command:
        where = click.option(
            "--ledger",
            "place",
            metavar="DIR",
            type=click.Path(path_type=Path),
            help="Where the ledgers are, a folder for each project; else beside the graph.",
        )
        return ledger.command(name, cls=Command)(where(click.pass_obj(function)))

    return made


@click.group(params=global_options())
def ledger() -> None:
    """Show the history of every node."""


@_command("stats")
def stats(options: GlobalOptions, place: Path | None) -> None:
    """Show what happened in numbers.

    Changes by state, how long each stage took (half of the nodes, and 95 of 100), what failed and what was retried.
    """
    from orchestrator.ledger.files import dropped_before
    from orchestrator.ledger.merged import met
    from orchestrator.ledger.reading import Reading
    from orchestrator.ledger.stats import Stats

    with Reading.open(_folder(options, place)) as reading:
        damage = list(reading.damage)
        files = list(reading.listing.histories())
        found = Stats.of(met(files, damage))
        found.dropped_before = dropped_before(files)
    damage = list(dict.fromkeys(damage))
    if options.json:
        _print_json({**found.document(), "damage": [each.document() for each in damage]})
        return
    from orchestrator.cli.ledger_tables import print_stats

    print_stats(found)
    _warn(damage)


@_command("history")
@click.argument("node")
def history(options: GlobalOptions, place: Path | None, node: str) -> None:
    """Show one node's life.

    NODE is its uuid, or how that begins; of a file also ROOT/PATH, of an article WIKI:TITLE.
    """
    from orchestrator.cli.session import read_settings
    from orchestrator.ledger.life import life_of
    from orchestrator.ledger.reading import Reading

    with Reading.open(_folder(options, place)) as reading:
        found = life_of(list(reading.listing.histories()), node, project=read_settings(options).project)
    if options.json:
        changes = [each.document() for each in found]
        _print_json({"node": found[0].node, "label": found[-1].label, "changes": changes})
        return
    from orchestrator.cli.ledger_tables import print_life

    print_life(found, called=node)


@_command("stuck")
@click.option("--older-than", metavar="AGE", type=_Age(), default="10m", help="Since when; 10m if not given.")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help=f"At most so many; else {_SHOWN}.")
def stuck(options: GlobalOptions, place: Path | None, older_than: timedelta, limit: int | None) -> int:
    """List nodes that work was begun on and never ended.

    The longest first. Exit code 1 if there are any.
    """
    import time

    from orchestrator.ledger import life
    from orchestrator.ledger.reading import Reading

    now = time.time_ns() // 1000
    with Reading.open(_folder(options, place)) as reading:
        found = life.stuck(reading, before=now - round(older_than.total_seconds() * 1e6))
    if options.json:
        _print_json(
            [
                {
                    "node": each.node,
                    "label": each.label,
                    "state": each.state,
                    "since": each.at,
                    "seconds": (now - each.time) / 1e6,
                    "by": each.by,
                }
                for each in found[:limit]
            ]
        )
    else:
        from orchestrator.cli.ledger_tables import print_stuck

        print_stuck(found[: limit or _SHOWN], len(found), now, options.graphmill)
    return 1 if found else 0


@_command("validate")
def validate(options: GlobalOptions, place: Path | None) -> int:
    """Check every record, every move and every snapshot.

    Checksums, moves that the table of states does not have, nodes whose moves are no chain, snapshots that say
    something else. Exit code 1 if there is a problem.
    """
    from orchestrator.ledger import validation

    verdict = validation.validate(_folder(options, place))
    if options.json:
        _print_json(verdict.document())
    else:
        from orchestrator.cli.ledger_tables import print_verdict

        print_verdict(verdict)
    return 1 if verdict.problems else 0


@_command("compact")
@click.option("--older-than", metavar="AGE", type=_Age(), help="Drop what happened before: 30d, 12h.")
@click.option("--keep", metavar="N", type=click.IntRange(min=0), help="Keep so many of the latest changes.")
def compact(options: GlobalOptions, place: Path | None, older_than: timedelta | None, keep: int | None) -> int:
    """Drop old history.

    The latest change of every node stays, however old. Safe at any moment, also while others append. Exit code 1 if
    files were left as they are because they are damaged.
    """
    if older_than is not None and keep is not None:
        raise click.UsageError("say either --older-than AGE or --keep N, not both")
    if older_than is None and keep is None:
        raise click.UsageError("say how much history to keep: --older-than AGE or --keep N")
    import time

    from orchestrator.ledger import compaction
    from orchestrator.ledger.reading import Reading

    folder = _folder(options, place)
    Reading.open(folder).close()
    before = time.time_ns() // 1000 - round(older_than.total_seconds() * 1e6) if older_than is not None else None
    done = compaction.compact(folder, before=before, keep=keep)
    if options.json:
        _print_json(done.document())
    elif done.files:
        click.echo(f"{done.dropped:,} changes dropped, {done.kept:,} kept")
    else:
        click.echo("nothing to drop")
    if not options.json:
        _warn(done.damage)
    return 1 if done.damage else 0


@_command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def export(options: GlobalOptions, place: Path | None, file: Path) -> None:
    """Write every change to FILE, as Parquet or CSV by its name."""
    from graph_stores.errors import Misuse
    from orchestrator.ledger.export import export as write
    from orchestrator.ledger.merged import met
    from orchestrator.ledger.reading import Reading

    if not file.absolute().parent.is_dir():
        raise Misuse(
            f"there is no folder {file.parent} to write {file.name} to", hint=f"make it: mkdir -p {file.parent}"
        )
    damage: list[Damage] = []
    with Reading.open(_folder(options, place)) as reading:
        count = write(met(list(reading.listing.histories()), damage), file)
    _warn(dict.fromkeys(damage))
    if options.json:
        _print_json({"file": str(file), "changes": count})
    else:
        click.echo(f"{count:,} changes written to {file}")


@_command("import")
@click.argument("old", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--apply", is_flag=True, help="Do it; else it is only told what would be done.")
def import_(options: GlobalOptions, place: Path | None, old: Path, apply: bool) -> int:
    """Take in the history of an older ledger, a JSON object a line.

    Words of old states become ours where they mean the same, else LEGACY with their text. Without --apply nothing is
    changed. Exit code 1 if there are lines that cannot be read.
    """
    from orchestrator.ledger import legacy

    folder = _folder(options, place)
    found = legacy.apply(old, folder) if apply else legacy.survey(old, folder)
    if options.json:
        _print_json(found.document())
    else:
        from orchestrator.cli.ledger_tables import print_survey

        print_survey(found, old, options.graphmill)
    return 1 if found.unreadable else 0


def _folder(options: GlobalOptions, place: Path | None) -> Path:
    from orchestrator.cli.session import read_settings
    from orchestrator.ledger.place import folder_of

    settings = read_settings(options, ledger=str(place) if place else None)
    return folder_of(settings.store, settings.project, settings.ledger)


def _print_json(document: object) -> None:
    from orchestrator.cli.text import dumps

    click.echo(dumps(document))


def _warn(damage: Any) -> None:  # Any: a sequence of Damage, imported on first use
    from orchestrator.cli.failures import warn

    for each in damage:
        warn(str(each))
