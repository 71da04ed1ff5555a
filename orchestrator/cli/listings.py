"""Nodes one after another, as people read them: those in error, and those that a search found."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from orchestrator.cli.tables import print_parts
from orchestrator.cli.text import printable
from orchestrator.failed import Failed, Kind
from orchestrator.files.located import from_here

if TYPE_CHECKING:
    from orchestrator.search import Found, Neighbour


def print_failures(kinds: Sequence[Kind], nodes: Sequence[Failed], graphmill: str) -> None:
    if not kinds:
        print_parts("no nodes in error")
        return
    total = sum(kind.count for kind in kinds)
    more = [Text(f"and {total - len(nodes):,} more: --limit {total}", "dim")] if total > len(nodes) else []
    advice = Text(f"next: mend the cause, then {printable(graphmill)} retry", "dim")
    print_parts(_kinds(kinds), "", _nodes(nodes), *more, "", advice)


def print_found(found: Sequence["Found"], *, nothing: str) -> None:
    if not found:
        print_parts(nothing)
        return
    for each in found:
        title = Text(printable(each.name), "bold")
        place = Text(printable(_place(each) or each.uuid), "cyan")
        head = Text("  ").join([Text(f"{each.score:.3f}", "green"), title, Text(each.label, "dim"), place])
        around = [_indented(_neighbour(neighbour), "dim") for neighbour in each.neighbours]
        print_parts(head, _indented(each.text), *around)


def _place(node: "Found | Failed") -> str | None:
    """Where it can be opened, or else where it came from."""
    return from_here(node.path, node.line, directory=Path.cwd()) if node.path else node.source


def _indented(text: str, style: str = "") -> Padding:
    return Padding(Text(printable(text), style), (0, 0, 0, 7))


def _neighbour(neighbour: "Neighbour") -> str:
    arrow = f"-[{neighbour.relationship}]->" if neighbour.forward else f"<-[{neighbour.relationship}]-"
    return f"{'  ' * (neighbour.hops - 1)}{arrow} {neighbour.label} {neighbour.name}"


def _kinds(kinds: Sequence[Kind]) -> Table:
    grid = Table(box=None, pad_edge=False, show_header=False)
    grid.add_column(justify="right", style="red", no_wrap=True)
    for _ in range(3):
        grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for kind in kinds:
        told = (kind.error_type, kind.error_class, kind.label, kind.message)
        grid.add_row(f"{kind.count:,}", *(Text(printable(text)) for text in told))
    return grid


def _nodes(nodes: Sequence[Failed]) -> Table:
    grid = Table(box=None, pad_edge=False, show_header=False)
    grid.add_column(style="bold", overflow="fold")
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for node in nodes:
        place = _place(node) or f"{node.name} ({node.uuid})"
        grid.add_row(Text(printable(place)), Text(printable(node.error_type)), Text(printable(node.message)))
    return grid
