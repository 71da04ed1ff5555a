"""What the ledger tells, as people read it on a terminal."""

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from orchestrator.cli.tables import print_parts
from orchestrator.cli.text import duration, printable
from orchestrator.ledger.latest import Latest
from orchestrator.ledger.legacy import LEGACY, WORDS, Survey
from orchestrator.ledger.lines import Record
from orchestrator.ledger.stats import Durations, Stats
from orchestrator.ledger.validation import Verdict
from orchestrator.owners import spoken
from orchestrator.runs.records import SHORT

_STYLES = {"ready": "green", "error": "red", "skip": "dim"}
_UNREADABLE_SHOWN = 5


def print_stats(stats: Stats) -> None:
    if not stats.changes:
        print_parts("no changes yet")
        return
    head = f"{stats.changes:,} changes from {_moment(stats.first)} to {_moment(stats.last)}"
    if stats.dropped_before:
        head += f"; until {_moment(stats.dropped_before)} only the latest of each node are left"
    notes = [f"{count:,} {word}" for word, count in _notes(stats) if count]
    print_parts(Text(head, "bold"), "", _into(stats), "", _stages(stats))
    if stats.waits:
        print_parts("", _waits(stats))
    if stats.errors:
        print_parts("", Text("errors: " + ", ".join(f"{n:,} {word}" for word, n in stats.errors.most_common())))
    if notes:
        print_parts("", Text(f"of these {', '.join(notes)}", "dim"))


def print_life(records: Sequence[Record], *, called: str) -> None:
    last = records[-1]
    name = "" if last.node.startswith(called) else f"  {printable(called)}"
    grid = Table(box=None, show_header=False, pad_edge=False)
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    run = None
    for record in records:
        state = Text(printable(record.after or "removed"), _STYLES.get(record.after or "", "bold"))
        after = f"+{_short(record.seconds)}" if record.seconds else ""
        grid.add_row(_moment(record.at), after, state, _told(record, is_of_another_run=record.run != run))
        run = record.run
    print_parts(Text.assemble((printable(last.node), "bold"), f"  {printable(last.label)}{name}"), grid)


def print_stuck(found: Sequence[Latest], total: int, now: int, graphmill: str) -> None:
    if not found:
        print_parts("nothing is stuck")
        return
    grid = _table("node", "label", "state", "since (UTC)", "for", "by")
    for each in found:
        grid.add_row(
            Text(printable(each.node), "bold"),
            Text(printable(each.label)),
            each.state or "",
            _moment(each.at),
            duration((now - each.time) / 1e6),
            Text(printable(spoken(each.by))),
        )
    more = [Text(f"and {total - len(found):,} more: --limit {total}", "dim")] if total > len(found) else []
    advice = Text(f"next: {printable(graphmill)} reclaim takes back what workers that are gone had begun", "dim")
    print_parts(grid, *more, "", advice)


def print_verdict(verdict: Verdict) -> None:
    problems = list(verdict.problems.values())
    told = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}" if problems else "no problem"
    print_parts(f"{verdict.records:,} records of {verdict.nodes:,} nodes checked, {told}")
    for problem in problems:
        print_parts(Text(f"{problem.check}: {problem.count:,} {problem.about}", "red"))
        print_parts(*(f"  {printable(example)}" for example in problem.examples))
        if problem.count > len(problem.examples):
            print_parts("  …")
    for what, count in verdict.odd.items():
        print_parts(Text(f"{what}: {count:,}", "dim"))


def print_survey(survey: Survey, old: Path, graphmill: str) -> None:
    if survey.already:
        print_parts(f"{printable(old.name)} is in the ledger already: nothing to do")
        return
    _print_words(survey, old)
    for lines in _oddities(survey):
        print_parts("", *lines)
    if survey.rows and not survey.applied:
        print_parts("", Text(f"next: {printable(graphmill)} ledger import {printable(str(old))} --apply", "dim"))


def _print_words(survey: Survey, old: Path) -> None:
    if not survey.rows:
        print_parts(f"nothing in {printable(old.name)} can be taken in: expected a JSON object a line, with doc_id")
        return
    verb = "taken in" if survey.applied else "would be taken in"
    print_parts(f"{survey.rows:,} changes of {survey.documents:,} documents {verb}", "")
    grid = _table("word", "becomes", "rows")
    for word, count in survey.words.most_common():
        state = WORDS.get(word.strip().lower(), LEGACY)
        grid.add_row(Text(printable(word)), Text(state, "yellow" if state == LEGACY else ""), f"{count:,}")
    print_parts(grid)


def _oddities(survey: Survey) -> list[list[str]]:
    told = []
    if survey.unknown:
        told.append([f"{survey.unknown.total():,} rows have words that nobody knows: they keep them, as {LEGACY}"])
    if survey.invalid:
        moves = ", ".join(f"{move} ({count:,})" for move, count in survey.invalid.most_common())
        told.append([f"{survey.invalid.total():,} moves should not have happened, and stay in the history: {moves}"])
    if survey.out_of_order:
        told.append([f"{survey.out_of_order:,} rows are older than those before them, whose time they get"])
    if survey.without_time:
        told.append([f"{survey.without_time:,} rows have no time, and get that of the row before"])
    if survey.unreadable:
        shown = [f"  {printable(each)}" for each in survey.unreadable[:_UNREADABLE_SHOWN]]
        told.append([f"{len(survey.unreadable):,} lines cannot be read and are left out:", *shown])
    return told


def _notes(stats: Stats) -> list[tuple[str, int]]:
    return [("were found in the graph afterwards", stats.reconciled), ("are from other ledgers", stats.imported)]


def _into(stats: Stats) -> Table:
    grid = _table("into", "changes")
    grid.columns[1].justify = "right"
    for state, count in stats.into.most_common():
        grid.add_row(Text(printable(state), _STYLES.get(state, "")), f"{count:,}")
    return grid


def _stages(stats: Stats) -> Table:
    grid = _table("stage", "begun", "done", "failed", "given back", "retried", "error rate", "median", "95 %")
    for column in grid.columns[1:]:
        column.justify = "right"
    for name, stage in stats.stages.items():
        rate = stage.error_rate
        grid.add_row(
            name,
            *(f"{count:,}" for count in (stage.begun, stage.done, stage.failed, stage.given_back, stage.retried)),
            "" if rate is None else f"{rate:.1%}",
            *_times(stage.times),
        )
    return grid


def _waits(stats: Stats) -> Table:
    grid = _table("time spent in", "nodes", "median", "95 %")
    for column in grid.columns[1:]:
        column.justify = "right"
    for state, times in stats.waits.items():
        grid.add_row(Text(printable(state)), f"{times.count:,}", *_times(times))
    return grid


def _times(times: Durations) -> tuple[str, str]:
    return _short(times.within(0.5)), _short(times.within(0.95))


def _told(record: Record, *, is_of_another_run: bool) -> Text:
    parts = [f"via {', '.join(record.via)}"] if record.via else []
    if record.tries and record.tries > 1:
        parts.append(f"try {record.tries}")
    if record.error or record.error_type:
        parts.append(": ".join(filter(None, (record.error_type, record.error))))
    if record.was:
        parts.append(f"was {record.was}")
    if record.reconciled:
        parts.append("found in the graph afterwards")
    if record.by:
        parts.append(f"by {spoken(record.by)}")
    if record.run and is_of_another_run:
        parts.append(f"run {record.run[:SHORT]}")
    return Text(printable(", ".join(parts)))


def _table(*columns: str) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in columns:
        grid.add_column(name, overflow="fold")
    return grid


def _moment(at: str) -> str:
    return f"{at[:10]} {at[11:19]}"


def _short(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:,.0f} ms" if seconds >= 0.001 else "<1 ms"
    return f"{seconds:.1f} s" if seconds < 60 else duration(seconds)
