"""What goes over into the new graph of a migration as it is: further tables, tables with marks and all that they have,
and the relationships between any of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from graph_stores.legacy import Carried, NewGraph, Page, TableGraph
from graph_stores.model import Value, VectorSpace
from orchestrator.migration.columns import OF_EVERY_NODE, fits, former
from orchestrator.migration.mapped import MappedRows, MappedTables
from orchestrator.migration.rebuild import KEPT_APART, MARKED
from orchestrator.migration.tally import Tallied


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How the nodes of a label are found again: by which of their columns, and what that becomes."""

    column: str
    becomes: Callable[[Value], Value] | None = None


class Carry:
    def __init__(
        self, graph: TableGraph, new: NewGraph, mapped: MappedTables, space: VectorSpace | None, now: datetime
    ) -> None:
        self._graph = graph
        self._new = new
        self._mapped = mapped
        self._space = space
        self._now = now
        self._names: dict[str, dict[str, str]] = {}

    def prepare(self, carried: Sequence[str], edges: Sequence[tuple[str, tuple[str, str]]]) -> None:
        own = {name: kind for name, kind in self._new.tables.nodes["Chunk"].items() if name not in _OF_CHUNKS}
        for label in carried:
            columns = {name: _plain(kind) for name, kind in self._graph.tables.nodes[label].items()}
            self._new.add_table(label, self._graph.keys[label], columns)
        for label in self._mapped.labels:
            there = self._graph.tables.nodes[label]
            more = {MARKED: "STRING", "_chunks": "INT64"}
            if self._mapped.has_texts(label):
                more |= {"content": "STRING"}
            if self._mapped.has_texts(label) and self._space:
                more["embedding"] = self._new.tables.nodes["Chunk"]["embedding"]
            self._new.add_table(label, "uuid", {**own, **more})
            known = self._new.tables.nodes[label]
            self._names[label] = names = self._called(label)
            targets = {target: _plain(there[name]) for name, target in names.items() if target not in known}
            self._new.add_columns(label, targets)
            if self._mapped.has_texts(label):
                self._new.add_relationship("HAS_CHUNK", [(label, "Chunk")], {})
        for kind, pair in edges:
            own_columns = self._new.tables.edges.get(kind, {})
            there = self._graph.tables.edges[kind]
            self._new.add_relationship(
                kind, [pair], {name: _plain(type_) for name, type_ in there.items() if name not in own_columns}
            )

    def called(self, label: str, name: str) -> str:
        """What a column is called in the new graph."""
        return self._names.get(label, {}).get(name, name)

    def _called(self, label: str) -> dict[str, str]:
        """What each column of a table with marks is called in the new one."""
        there = self._graph.tables.nodes[label]
        schema = {name: kind for name, kind in self._new.tables.nodes.get(label, {}).items() if name != "embedding"}
        taken = {name.lower() for name in schema}
        names: dict[str, str] = {}
        for name, kind in there.items():
            if name == "embedding" and self._mapped.has_texts(label):
                names[name] = "embedding" if self._keeps(kind) else KEPT_APART
            elif self._stays(label, name, kind):
                continue
            elif not fits(kind, schema[name], name) if name in schema else name.lower() in taken:
                names[name] = former(name)
            else:
                names[name] = name
        return names

    def _stays(self, label: str, name: str, kind: str) -> bool:
        """Whether what graphmill writes under this name is what was there."""
        if name == "uuid":
            return kind == "STRING" and self._mapped.id_columns(label)[:1] == ["uuid"]
        return (
            name in OF_EVERY_NODE
            and kind == "STRING"
            and (name != "content" or self._mapped.text_columns(label)[:1] == ["content"])
        )

    def rows(self, page: Page, label: str, within: Mapping[str, int]) -> int:
        columns = list(self._graph.tables.nodes[label])
        held = self._graph.held("node_page", within, columns, label=label)
        self._new.add(
            page, label, {}, len(held), Carried(held=held, places=None, names={name: name for name in columns})
        )
        return len(held)

    def mapped(self, page: Page, label: str, within: Mapping[str, int], tally: Tallied) -> None:
        found = mapped_page(self._graph, self._mapped, label, within)
        decided = found.decided()
        for each in decided:
            tally.count(each.rule, label, each.state, unknown=each.unknown)
        names = self._names[label]
        main = self._mapped.main_vector(label)
        copies = {}
        if self._space and main and self._mapped.has_texts(label) and names[main] != "embedding":
            copies["embedding"] = (main, [each.keeps_vector for each in decided])
        written = found.written(decided, _naive(self._now))
        carried = Carried(held=found.held, places=None, names=names, copies=copies)
        self._new.add(page, label, written, len(found.held), carried)

    def edges(
        self,
        page: Page,
        kind: str,
        pair: tuple[str, str],
        within: Mapping[str, int],
        ends: tuple[End, End],
        numbers: Mapping[Value, Value],
    ) -> None:
        """`numbers` are those of pieces by their key: which of its text it is."""
        columns = list(self._graph.tables.edges[kind])
        asked = {"source": pair[0], "target": pair[1], "sourceKey": ends[0].column, "targetKey": ends[1].column}
        held = self._graph.held("edge_page", within, columns, type=kind, **asked)
        own: dict[str, Value] = {}
        names = {name: name for name in columns}
        for name, end in zip(("_from", "_to"), ends, strict=True):
            if end.becomes:
                own[name] = [end.becomes(key) for key in held.column(name)]
            else:
                names[name] = name
        if numbers and "index" not in columns:
            own["index"] = [numbers.get(key) for key in held.column("_to")]
        self._new.connect(page, kind, pair, own, len(held), Carried(held=held, places=None, names=names))

    def _keeps(self, kind: str) -> bool:
        length = self._space.dimension if self._space else 0
        return kind in (f"FLOAT[{length}]", f"DOUBLE[{length}]")


_OF_CHUNKS = ("content", "embedding", MARKED)


def mapped_page(graph: TableGraph, tables: MappedTables, label: str, within: Mapping[str, int]) -> MappedRows:
    held = graph.held("node_page", within, list(graph.tables.nodes[label]), label=label)

    def connected() -> set[int]:
        kinds = [kind for kind, pairs in graph.tables.pairs.items() if any(label in pair for pair in pairs)]
        found: set[int] = set()
        for kind in kinds:
            found.update(row[0] for row in graph.rows("connected_page", within, label=label, type=kind))
        return found

    return tables.rows(label, held, connected)


def _plain(kind: str) -> str:
    """Numbers that an engine had given itself are numbers like others."""
    return "INT64" if kind == "SERIAL" else kind


def _naive(time: datetime) -> datetime:
    return time.replace(tzinfo=None)
