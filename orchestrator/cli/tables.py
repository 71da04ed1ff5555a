"""Answers as people read them on a terminal, and as comma separated values."""

import csv
import shlex
import sys
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from cypher import NamedQuery
from graph_stores.model import Table, Value
from orchestrator.cli.process import is_terminal
from orchestrator.cli.text import cell, duration, pace, printable, shown
from orchestrator.progress import Standing
from orchestrator.stages import STAGES
from orchestrator.states import State
from orchestrator.workers import AtWork

_WIDEST_CELL = 100
_STYLES = {"ready": "green", "error": "red", "skip": "dim"}
_SHOWN_ERRORS = 10
_SHOWN_WORKERS = 20
_SHOWN_PROJECTS = 10
_WORKER_COLUMNS: dict[str, Literal["left", "right"]] = {
    "process": "right",
    "version": "left",
    "stages": "left",
    "holds": "right",
    "heard of": "left",
}
_DOING = {"parse": "parsing", "link": "linking", "embed": "embedding"}
_GAP = 3
_NARROWEST = 4


def print_standing(standing: Standing, graphmill: str) -> None:
    if standing.total:
        print_parts(standing_view(standing, graphmill))
        return
    nothing = [f"no nodes in project {printable(standing.project)} yet"]
    next_move = f"next: {printable(graphmill)} ingest PATH"
    if standing.others:
        nothing.append(f"projects in this graph: {_listed(standing.others)}")
        largest = max(standing.others, key=lambda name: standing.others[name])
        next_move = f"next: {printable(graphmill)} status --project {printable(shlex.quote(largest))}"
    print_parts(
        _title(standing), "", *nothing, *_workers(standing, graphmill), *([] if standing.workers else [next_move])
    )


def _listed(projects: Mapping[str, int]) -> str:
    """The largest first."""
    names = sorted(projects, key=lambda name: (-projects[name], name))
    told = [f"{printable(name)} ({projects[name]:,} node{'' if projects[name] == 1 else 's'})" for name in names]
    more = len(told) - _SHOWN_PROJECTS
    return ", ".join(told[:_SHOWN_PROJECTS]) + (f" and {more:,} more" if more > 0 else "")


def standing_view(standing: Standing, graphmill: str) -> Group:
    errors: list[RenderableType] = ["", _errors_table(standing)] if standing.errors else []
    parts: list[RenderableType] = [_title(standing), "", _states_table(standing), "", outlook(standing, graphmill)]
    return Group(*parts, *_run(standing, graphmill), *_workers(standing, graphmill), *errors)


def outlook(standing: Standing, graphmill: str) -> Text:
    """What is in flight, how fast it goes, and how long it will take, in a line."""
    parts = [Text(f"{standing.in_flight:,} in flight")] if standing.in_flight else []
    if standing.stuck:
        parts.append(Text(f"{standing.stuck:,} of them stuck (no running worker has them)", "yellow"))
    if standing.slowest and standing.rate:
        parts.append(Text(f"{_DOING[standing.slowest]} {pace(standing.rate, _things(standing))}"))
    parts.append(Text(_time_to_go(standing, graphmill)))
    return Text(" · ").join(parts)


def print_settings(settings: Sequence[tuple[str, Value, str]]) -> None:
    grid = RichTable(box=None, show_header=False, pad_edge=False)
    for _ in range(3):
        grid.add_column(overflow="fold")
    for key, value, origin in settings:
        told = shown(value) if value not in (None, []) else ""
        grid.add_row(Text(key, "bold"), Text(told), Text(printable(origin), "dim"))
    print_parts(grid)


def print_table(table: Table) -> None:
    if not table.columns:
        print_parts("done")
        return
    count = len(table.rows)
    print_parts(_answer_table(table), Text(f"{count:,} row{'' if count == 1 else 's'}", "dim"))


def print_catalogue(queries: Sequence[NamedQuery], graphmill: str, *, with_texts: bool) -> None:
    if with_texts:
        for query in queries:
            title = Text.assemble((query.name, "bold"), f"  {query.about}")
            print_parts(title, Padding(Text(query.text, "dim"), (0, 0, 1, 4)))
        return
    grid = RichTable(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for query in queries:
        grid.add_row(query.name, query.about)
    run, show = f"{graphmill} query --name NAME", f"{graphmill} query --list -v"
    print_parts(grid, "", Text(f"run one: {printable(run)}; show their Cypher: {printable(show)}", "dim"))


def write_csv(table: Table) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow([cell(value) for value in row])


def _console() -> Console:
    """As wide as the terminal; where there is none, as wide as the text, so that nothing is folded in a pipe."""
    width = None if is_terminal(sys.stdout) else 10_000
    return Console(width=width, highlight=False, markup=False, emoji=False)


def print_parts(*parts: RenderableType) -> None:
    console = _console()
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    for line in capture.get().splitlines():
        sys.stdout.write(f"{line.rstrip()}\n")


def _title(standing: Standing) -> Text:
    return Text.assemble((printable(standing.project), "bold"), (f"  {printable(standing.store)}", "dim"))


def _states_table(standing: Standing) -> RichTable:
    grid = RichTable(box=box.SIMPLE, show_edge=False, pad_edge=False, show_footer=len(standing.labels) > 1)
    grid.add_column("", footer="total")
    for state, count in standing.states.items():
        style = _STYLES.get(state, "")
        grid.add_column(Text(printable(state)), footer=f"{count:,}", justify="right", style=style, no_wrap=True)
    grid.add_column("total", footer=f"{standing.total:,}", justify="right", style="bold", no_wrap=True)
    for label, states in standing.labels.items():
        counts = [f"{states[state]:,}" if state in states else "" for state in standing.states]
        grid.add_row(Text(printable(label)), *counts, f"{sum(states.values()):,}")
    return grid


def _things(standing: Standing) -> str:
    """What the slowest stage works on."""
    if standing.slowest == "embed":
        return "texts"
    kinds = {"File": "files", "Article": "articles"}.items()
    return " and ".join(things for label, things in kinds if label in standing.labels)


def _time_to_go(standing: Standing, graphmill: str) -> str:
    if not standing.remaining:
        return "nothing left to do"
    if not standing.is_worked_on:
        return f"{standing.remaining:,} to go, no worker is running; next: {printable(graphmill)} worker --drain"
    if standing.eta is None:
        return f"{standing.remaining:,} to go, too early to tell how long"
    return f"{standing.remaining:,} to go, about {duration(standing.eta)}"


def _errors_table(standing: Standing) -> RichTable:
    grid = RichTable(
        box=None, pad_edge=False, show_header=False, title="errors", title_justify="left", title_style="bold"
    )
    grid.add_column(justify="right", style="red", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for error in standing.errors[:_SHOWN_ERRORS]:
        grid.add_row(f"{error.count:,}", Text(printable(error.error_type)), Text(_shortened(printable(error.message))))
    if more := standing.errors[_SHOWN_ERRORS:]:
        grid.add_row(f"{sum(error.count for error in more):,}", "", Text(f"in {len(more):,} other ways", "dim"))
    return grid


def _run(standing: Standing, graphmill: str) -> list[Text]:
    """Only one that is not over, or went wrong: where everything is as it should be there is nothing to say."""
    if standing.run is None or standing.run.run.state in (State.READY, State.SKIP):
        return []
    run = standing.run.run
    parts = ", ".join(f"{count:,} {outcome}" for outcome, count in standing.run.outcomes.items())
    style = "red" if run.state is State.ERROR else ""
    told = f"run {run.short} of {printable(run.source)} is {run.outcome}; partitions: {parts}"
    if run.is_open and not standing.remaining and not standing.is_worked_on:
        told += f"; no worker is running, next: {printable(graphmill)} worker --drain"
    if run.state is State.ERROR:
        told += f"; next: {printable(graphmill)} runs retry {run.short}"
    return [Text(told, style)]


def _workers(standing: Standing, graphmill: str) -> list[RenderableType]:
    """Nothing at all where nobody works: that is how a graph is most of the time."""
    if not standing.workers:
        return []
    at_work = [each for each in standing.workers if not each.is_gone]
    gone = [each for each in standing.workers if each.is_gone]
    grid = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    grid.add_column("workers", overflow="fold")
    for name, justify in _WORKER_COLUMNS.items():
        grid.add_column(name, justify=justify, no_wrap=True)
    for each in [*at_work, *gone][:_SHOWN_WORKERS]:
        grid.add_row(*_worker_row(each), style="yellow" if each.is_gone else "")
    return ["", grid, *_more_workers(standing, graphmill)]


def _worker_row(worker: AtWork) -> list[Text]:
    known = worker.known
    ago = f"{duration(known.silent.total_seconds())} ago"
    return [
        Text(printable(known.host)),
        Text(str(known.process)),
        Text(printable(known.version)),
        Text("all" if set(known.stages) >= set(STAGES) else printable(", ".join(known.stages))),
        Text(f"{worker.holds:,}"),
        Text(f"{ago}, disappeared" if worker.is_gone else ago),
    ]


def _more_workers(standing: Standing, graphmill: str) -> list[Text]:
    more = len(standing.workers) - _SHOWN_WORKERS
    return [Text(f"and {more:,} more: {printable(graphmill)} query --name workers", "dim")] if more > 0 else []


def _answer_table(table: Table) -> RichTable:
    grid = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    names = [printable(column) for column in table.columns]
    rows = [[_shortened(shown(value)) for value in row] for row in table.rows]
    for place, (name, width) in enumerate(zip(names, _widths([names, *rows]), strict=True)):
        justify: Literal["left", "right"] = "right" if _are_numbers([row[place] for row in table.rows]) else "left"
        grid.add_column(Text(name), justify=justify, width=width, overflow="ellipsis", no_wrap=True)
    for row, values in zip(rows, table.rows, strict=True):
        grid.add_row(*(Text(text, "dim" if value is None else "") for text, value in zip(row, values, strict=True)))
    return grid


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """As wide as the content; where the terminal has less room, the widest columns give way first."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    room = _console().width - _GAP * (len(widths) - 1)
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _are_numbers(values: Sequence[Value]) -> bool:
    kinds = {type(value) for value in values} - {NoneType}
    return bool(kinds) and kinds <= {int, float}


def _shortened(text: str) -> str:
    return text if len(text) <= _WIDEST_CELL else f"{text[: _WIDEST_CELL - 1]}…"
