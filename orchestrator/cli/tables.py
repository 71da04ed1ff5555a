"""Answers as people read them on a terminal, and as comma separated values."""

import csv
import sys
from collections.abc import Sequence
from types import NoneType
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from cypher import NamedQuery
from graph_stores.model import Table, Value
from orchestrator.cli.text import cell, printable, shown
from orchestrator.progress import WINDOW, Standing

_WIDEST_CELL = 100
_STYLES = {"ready": "green", "error": "red", "skip": "dim"}
_SHOWN_ERRORS = 10
_GAP = 3
_NARROWEST = 4
_FIRST_STEP = "next: put one in by hand (docs/cli.md), or look at another project with --project"


def print_standing(standing: Standing) -> None:
    title = Text.assemble((printable(standing.project), "bold"), (f"  {printable(standing.store)}", "dim"))
    if not standing.total:
        _print(title, "", f"no nodes in project {printable(standing.project)} yet", _FIRST_STEP)
        return
    errors: list[RenderableType] = ["", _errors_table(standing)] if standing.errors else []
    _print(title, "", _states_table(standing), "", _pace(standing), *errors)


def print_table(table: Table) -> None:
    if not table.columns:
        _print("done")
        return
    count = len(table.rows)
    _print(_answer_table(table), Text(f"{count:,} row{'' if count == 1 else 's'}", "dim"))


def print_catalogue(queries: Sequence[NamedQuery]) -> None:
    for query in queries:
        title = Text.assemble((query.name, "bold"), f"  {query.about}")
        _print(title, Padding(Text(query.text, "dim"), (0, 0, 1, 4)))


def write_csv(table: Table) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow([cell(value) for value in row])


def _console() -> Console:
    """As wide as the terminal; where there is none, as wide as the text, so that nothing is folded in a pipe."""
    width = None if sys.stdout.isatty() else 10_000
    return Console(width=width, highlight=False, markup=False, emoji=False)


def _print(*parts: RenderableType) -> None:
    console = _console()
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    for line in capture.get().splitlines():
        sys.stdout.write(f"{line.rstrip()}\n")


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


def _pace(standing: Standing) -> Text:
    parts = [Text(f"{standing.in_flight:,} in flight")] if standing.in_flight else []
    if standing.stuck:
        parts.append(Text(f"{standing.stuck:,} of them stuck (their worker is gone)", "yellow"))
    if standing.rate:
        parts.append(Text(_pace_of(standing.rate)))
    parts.append(Text(_outlook(standing)))
    return Text(" · ").join(parts)


def _pace_of(rate: float) -> str:
    return f"{rate:,.1f} nodes/s" if rate >= 1 else f"{rate * 60:.0f} nodes/min"


def _outlook(standing: Standing) -> str:
    if not standing.remaining:
        return "nothing left to do"
    if standing.eta is None:
        return f"{standing.remaining:,} to go, none finished in the last {WINDOW:.0f} s"
    return f"{standing.remaining:,} to go, about {_duration(standing.eta)}"


def _duration(seconds: float) -> str:
    minutes, hours, days = seconds / 60, seconds / 3600, seconds / 86400
    if minutes < 1:
        return f"{max(1, round(seconds))} s"
    if hours < 1:
        return f"{round(minutes)} min"
    return f"{hours:.1f} h" if days < 1 else f"{days:.1f} days"


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
