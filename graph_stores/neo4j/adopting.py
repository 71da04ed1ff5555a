"""Labels, properties and relationships that a migration brought: what a server has of them, and taking in more."""

import re
from collections.abc import Iterable
from dataclasses import replace

import cypher
from graph_stores.model import Brought, Value
from graph_stores.neo4j.connection import DIALECT, Connection, fetch
from graph_stores.neo4j.schema import Schema
from graph_stores.neo4j.values import first_label

_TYPES = {
    "STRING": "STRING",
    "INTEGER": "INT64",
    "FLOAT": "DOUBLE",
    "BOOLEAN": "BOOL",
    "ZONED DATETIME": "TIMESTAMP",
    "DATE": "DATE",
}
_LIST = re.compile(r"LIST<(.+)>")
# Of an empty list nothing is known, and it fits into any.
_EMPTY = "NOTHING[]"


class Adopting:
    def __init__(self, connection: Connection, project: str, schema: Schema) -> None:
        self._connection = connection
        self._project = project
        self._schema = schema

    async def brought(self, *, was_migrated: bool) -> Brought:
        """Reads all properties of all nodes once, so only where there may be something to find."""
        ours = self._schema.shape.labels
        if not was_migrated:
            return Brought()
        found = _Found()
        for label in sorted(ours):
            for labels, name, kind in await self._rows("brought_nodes", label):
                if first_label(labels, ours) == label:
                    found.several(labels)
                    found.nodes.setdefault(label, {}).setdefault(name, set()).add(_plain(kind))
            for source, edge, labels, name, kind in await self._rows("brought_edges", label):
                target = first_label(labels, ours)
                if first_label(source, ours) == label and target in ours:
                    columns = found.edges.setdefault((edge, label, str(target)), {})
                    if name is not None:
                        columns.setdefault(name, set()).add(_plain(kind))
            for edge, count in await self._rows("brought_twice", label):
                found.lost.add(f"{edge} goes more than once from one {label} to the same node ({count:,} times)")
        brought = found.brought(labels=sorted(self._schema.shape.adopted))
        return replace(brought, left=await self._left_behind())

    async def _left_behind(self) -> dict[str, int]:
        asked: dict[str, Value] = {"project": self._project, "labels": sorted(self._schema.shape.labels)}
        _, rows = await self._connection.answer(cypher.load(DIALECT, "left_behind"), asked)
        return {row["label"]: row["count"] for row in rows}

    async def adopt(self, wanted: Brought) -> None:
        shape = self._schema.shape
        labels = sorted(set(wanted.labels) - shape.labels)
        types = sorted({edge for edge, _, _ in wanted.edges} - shape.edge_types)
        if labels or types:
            text = cypher.load(DIALECT, "adopt")
            await self._connection.write(lambda tx: fetch(tx, text, labels=labels, types=types))
            await self._schema.migrate()

    async def _rows(self, name: str, label: str) -> list[list[Value]]:
        text = cypher.render(DIALECT, name, label=label)
        _, rows = await self._connection.answer(text, {"project": self._project})
        return [list(row.values()) for row in rows]


class _Found:
    def __init__(self) -> None:
        self.nodes: dict[str, dict[str, set[str | None]]] = {}
        self.edges: dict[tuple[str, str, str], dict[str, set[str | None]]] = {}
        self.lost: set[str] = set()
        self._untyped: list[str] = []

    def several(self, labels: Iterable[str]) -> None:
        if len(names := sorted(labels)) > 1:
            self.lost.add(f"there are nodes with several labels: {':'.join(names)}")

    def brought(self, labels: list[str]) -> Brought:
        nodes = {label: self._types(label, columns) for label, columns in self.nodes.items()}
        edges = {ends: self._types(ends[0], columns) for ends, columns in self.edges.items()}
        there = [label for label in labels if label in nodes]
        return Brought(labels=there, nodes=nodes, edges=edges, untyped=self._untyped, lost=sorted(self.lost))

    def _types(self, what: str, columns: dict[str, set[str | None]]) -> dict[str, str]:
        types: dict[str, str] = {}
        for name, found in sorted(columns.items()):
            known = sorted(str(each) for each in found - {_EMPTY})
            if not cypher.is_identifier(name):
                self._untyped.append(f"{what} has a property {name[:60]!r}")
            elif None in found:
                self._untyped.append(f"{what}.{name} has values of a type that only a server has")
            elif len(known) > 1:
                self._untyped.append(f"{what}.{name} has values of several types: {', '.join(known)}")
            else:
                types[name] = known[0] if known else "STRING[]"
        return types


def _plain(kind: Value) -> str | None:
    """What the server calls a type, without saying that it is there."""
    name = str(kind).replace(" NOT NULL", "")
    if match := _LIST.fullmatch(name):
        return _EMPTY if match[1] == "NOTHING" else (plain := _TYPES.get(match[1])) and f"{plain}[]"
    return _TYPES.get(name)
