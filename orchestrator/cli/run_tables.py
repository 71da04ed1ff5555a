"""Runs as people read them on a terminal."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from rich import box
from rich.table import Table
from rich.text import Text

from orchestrator.cli.tables import print_parts
from orchestrator.cli.text import duration, printable
from orchestrator.owners import spoken
from orchestrator.runs.overview import Overview
from orchestrator.runs.records import Partition, Run

_NARROWEST = 6
_STYLES = {"completed": "green", "failed": "red", "cancelled": "dim", "running": "cyan", "consolidating": "cyan"}


def print_runs(found: Sequence[Overview], total: int, graphmill: str) -> None:
    if not found:
        print_parts("no runs yet", f"next: {printable(graphmill)} ingest PATH")
        return
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("run", "source", "type", "outcome", "started (UTC)", "took", "parts"):
        # Those that can be of any length give way on a narrow terminal, and are never left out.
        gives_way = name in ("source", "parts")
        grid.add_column(name, no_wrap=not gives_way, overflow="fold", min_width=_NARROWEST if gives_way else None)
    for each in found:
        run = each.run
        grid.add_row(
            Text(run.short, "bold"),
            Text(printable(run.source)),
            run.type.value,
            _outcome(run.outcome),
            f"{run.started_at:%Y-%m-%d %H:%M}" if run.started_at else "",
            _took(run.started_at, run.finished_at),
            _completed(each.outcomes),
        )
    more = [Text(f"and {total - len(found):,} more: --limit {total}", "dim")] if total > len(found) else []
    print_parts(grid, *more)


def print_run(found: Overview, graphmill: str, *, is_worked_on: bool) -> None:
    print_parts(Text(found.run.uuid, "bold"), _facts(found), "", _partitions(found.partitions))
    if advice := _advice(found.run, graphmill, is_worked_on=is_worked_on):
        print_parts("", Text(advice, "dim"))


def _facts(found: Overview) -> Table:
    run = found.run
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    rows = {
        "source": printable(run.source),
        "type": run.type.value,
        "outcome": run.outcome,
        "reason": printable(run.reason or ""),
        "started": _time(run.started_at),
        "finished": _time(run.finished_at),
        "watermark": f"{_time(run.watermark_before) or 'none'} → {_time(run.watermark_after) or 'not moved'}",
        "nodes": _counted(found.nodes) or "none made or changed",
    }
    for name, value in rows.items():
        if value:
            facts.add_row(name, _outcome(value) if name == "outcome" else Text(value))
    return facts


def _partitions(partitions: Sequence[Partition]) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    grid.add_column("partition", overflow="fold")
    grid.add_column("outcome", no_wrap=True)
    grid.add_column("next offset", justify="right", no_wrap=True)
    grid.add_column("", overflow="fold")
    for each in partitions:
        told = each.reason or (f"held by {spoken(each.holder)}" if each.holder else "")
        grid.add_row(Text(printable(each.key)), _outcome(each.outcome), f"{each.offset:,}", Text(printable(told)))
    return grid


def _advice(run: Run, graphmill: str, *, is_worked_on: bool) -> str | None:
    if run.is_open and not is_worked_on:
        return f"no worker is running; next: {printable(graphmill)} worker --drain"
    return {
        "failed": f"next: mend the cause, then {printable(graphmill)} runs retry {run.short}",
        "cancelled": f"to go on with it: {printable(graphmill)} runs retry {run.short}",
    }.get(run.outcome)


def _outcome(word: str) -> Text:
    return Text(word, _STYLES.get(word, ""))


def _completed(outcomes: Mapping[str, int]) -> str:
    """How many of how many, and what became of others that have ended."""
    told = [f"{outcomes.get('completed', 0):,} of {sum(outcomes.values()):,}"]
    told += [f"{outcomes[word]:,} {word}" for word in ("failed", "cancelled") if word in outcomes]
    return ", ".join(told)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {word}" for word, count in counts.items())


def _time(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}Z" if time else ""


def _took(began: datetime | None, ended: datetime | None) -> str:
    return duration((ended - began).total_seconds()) if began and ended else ""
