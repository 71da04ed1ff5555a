"""Writes edges into an embedded database, each once.

Merging or setting an edge reads all edges of its source, so a source with thousands would be read as many times. What
cannot be there yet is created without a look, and what many edges of one source are now is read once.
"""

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

import cypher
from graph_stores.kuzu.columns import restored
from graph_stores.kuzu.session import DIALECT
from graph_stores.kuzu.statements import Statements, by, prefixed, prefixed_types
from graph_stores.model import Edge, Ref, Value

# So many edges of one source in a batch, and reading all that it has is cheaper than merging them.
_MANY = 16
_ENDS = {"source": "STRING", "target": "STRING"}
Ends = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Edges that can share a statement."""

    type: str
    source: str
    target: str
    columns: tuple[str, ...]

    @property
    def identifiers(self) -> dict[str, str]:
        return {"type": self.type, "source": self.source, "target": self.target}


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    statements: Statements
    new: Set[Ref]
    """Nodes that this transaction made, and which therefore have no edges."""

    def write(self, edges: Sequence[Edge]) -> None:
        latest = {(edge.type, *_names(edge)): edge for edge in edges}
        for kind, same in by(latest.values(), _kind).items():
            shape = Shape(type=kind[0], source=kind[1], target=kind[2], columns=kind[3])
            self.statements.tables.edge(shape.type, shape.source, shape.target, shape.columns)
            if any(self.statements.prefers_keys(label, len(same)) for label in (shape.source, shape.target)):
                done = self.statements.one_by_one("edge_one", _rows(same), shape.columns, **shape.identifiers)
                self._refuse_missing(shape, same, len(done))
            else:
                self._write_many(shape, same)

    def _write_many(self, shape: Shape, edges: list[Edge]) -> None:
        parts = by(edges, lambda edge: edge.source in self.new or edge.target in self.new)
        absent, rest = parts[True], parts[False]
        of_source = Counter(edge.source for edge in rest)
        crowded = [edge for edge in rest if of_source[edge.source] >= _MANY]
        there = self._there(shape, {edge.source.uuid for edge in crowded})
        absent += [edge for edge in crowded if _ends(edge) not in there]
        changed = [edge for edge in crowded if _ends(edge) in there and _values(edge, shape) != there[_ends(edge)]]
        self._together("edge_create", shape, absent)
        self._together("edge_many", shape, [*changed, *(edge for edge in rest if of_source[edge.source] < _MANY)])

    def _together(self, name: str, shape: Shape, edges: list[Edge]) -> None:
        if edges:
            columns = self.statements.tables.edge(shape.type, shape.source, shape.target, shape.columns)
            types = {**_ENDS, **prefixed_types(columns, shape.columns)}
            done = self.statements.together(name, _rows(edges), types, shape.columns, **shape.identifiers)
            self._refuse_missing(shape, edges, sum(row[0] for row in done))

    def _there(self, shape: Shape, sources: Set[str]) -> dict[Ends, list[Value]]:
        """All edges of the sources, with the values that they have now."""
        if not sources:
            return {}
        text = cypher.render(DIALECT, "edges_of", columns=shape.columns, **shape.identifiers)
        parameters = {"sources": sorted(sources), "project": self.statements.project}
        rows = self.statements.session.run(text, parameters)
        return {(row[0], row[1]): [restored(value) for value in row[2:]] for row in rows}

    def _refuse_missing(self, shape: Shape, edges: list[Edge], done: int) -> None:
        if done < len(edges):
            for label, uuids in (
                (shape.source, [edge.source.uuid for edge in edges]),
                (shape.target, [edge.target.uuid for edge in edges]),
            ):
                there = {row[0] for row in self.statements.found(label, uuids)}
                self.statements.refuse_missing(label, uuids, there)


def _rows(edges: list[Edge]) -> list[dict[str, Value]]:
    return [{"source": edge.source.uuid, "target": edge.target.uuid, **prefixed(edge.properties)} for edge in edges]


def _names(edge: Edge) -> tuple[str, str, str, str]:
    """Plain texts, which are hashed several times faster than what holds them."""
    return edge.source.label, edge.source.uuid, edge.target.label, edge.target.uuid


def _kind(edge: Edge) -> tuple[str, str, str, tuple[str, ...]]:
    return edge.type, edge.source.label, edge.target.label, tuple(sorted(edge.properties))


def _ends(edge: Edge) -> Ends:
    return edge.source.uuid, edge.target.uuid


def _values(edge: Edge, shape: Shape) -> list[Value]:
    return [edge.properties[name] for name in shape.columns]
