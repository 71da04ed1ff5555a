"""Writes onto a server what was exported from a graph, exactly as it was.

The one way past the compare-and-set of states: for copies of graphs and for repairs, while nobody works on them.
Whatever is written may be written again, so that no commit needs a marker.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from neo4j import AsyncManagedTransaction

import cypher
from graph_stores.errors import MissingNode
from graph_stores.model import ExportedEdge, ExportedNode, Value
from graph_stores.neo4j.connection import DIALECT, Connection, fetch
from graph_stores.neo4j.plan import by
from graph_stores.neo4j.schema import Schema
from graph_stores.neo4j.spaces import Spaces
from graph_stores.neo4j.values import plain_properties, sendable_key, sendable_properties, sendable_vector
from graph_stores.pages import NodePage, Page
from graph_stores.values import checked_name

# Larger lists cost the server more memory and save nothing.
_CHUNK = 5000
_VECTOR = "embedding"
Statement = tuple[str, list[Value]]


class Restoring:
    def __init__(self, connection: Connection, project: str, schema: Schema, spaces: Spaces) -> None:
        self._connection = connection
        self._project = project
        self._schema = schema
        self._spaces = spaces

    async def restore(self, nodes: Sequence[ExportedNode], edges: Sequence[ExportedEdge], *, new: bool) -> None:
        """In one transaction. With `new`, nodes that are there are left as they are: they are from the same call."""
        self._schema.shape.check_labels({node.label for node in nodes})
        self._schema.shape.check_edge_types({edge.type for edge in edges})
        dimension = (await self._spaces.of_vectors()).dimension if any(map(_vector, nodes)) else 0
        there = [] if new else await self._there(nodes)
        statements = [*_nodes(nodes, there, dimension), *_edges(edges)]

        async def write(tx: AsyncManagedTransaction) -> None:
            for text, rows in statements:
                [answer] = await fetch(tx, text, rows=rows, project=self._project)
                if answer["written"] < len(rows):
                    raise MissingNode(
                        f"{len(rows) - answer['written']} of {len(rows)} nodes are of another project than "
                        f"{self._project}, or missing",
                        hint="one database holds a uuid once: copy into another one",
                    )

        if statements:
            await self._connection.write(write)

    async def _there(self, nodes: Sequence[ExportedNode]) -> list[ExportedNode]:
        return [
            node
            for label, same in by(nodes, lambda node: node.label)
            for node in await self.exported(label, [node.properties["uuid"] for node in same])
        ]

    async def restore_page(self, page: Page) -> None:
        """In several transactions, where it is a large one."""
        for start in range(0, len(page), _CHUNK):
            part = replace(page, table=page.table.slice(start, _CHUNK))
            if isinstance(part, NodePage):
                await self.restore(part.nodes(), [], new=True)
            else:
                await self.restore([], part.edges(), new=True)

    async def exported(self, label: str, uuids: Sequence[str]) -> list[ExportedNode]:
        self._schema.shape.check_labels([label])
        text = cypher.render(DIALECT, "exported", label=label)
        _, rows = await self._connection.answer(text, {"uuids": list(uuids), "project": self._project})
        return [ExportedNode(label=label, properties=plain_properties(row["properties"])) for row in rows]

    async def note(self, name: str) -> str | None:
        _, rows = await self._connection.answer(cypher.load(DIALECT, "note"), {"key": self._key(name)})
        text: str | None = rows[0]["text"] if rows else None
        return text

    async def leave_note(self, name: str, text: str) -> None:
        query, key = cypher.load(DIALECT, "set_note"), self._key(name)
        await self._connection.write(lambda tx: fetch(tx, query, key=key, note=text, project=self._project))

    def _key(self, name: str) -> str:
        return f"{name}:{self._project}"


def _nodes(nodes: Sequence[ExportedNode], there: Sequence[ExportedNode], dimension: int) -> Iterator[Statement]:
    """Of a node that is there only what differs is written: the rest may be of types that no export can hold."""
    known = {(node.label, node.properties["uuid"]): node.properties for node in there}
    for label, same in by(nodes, lambda node: node.label):
        changed = [
            replace(node, properties=_difference(node.properties, known.get((label, node.properties["uuid"]), {})))
            for node in same
        ]
        rows = [
            {"uuid": sendable_key(node.properties["uuid"]), "properties": _properties(node.properties)}
            for node in changed
        ]
        yield from _chunks("node_restore", rows, label=label)
        if there:
            yield from _chunks("node_replace", rows, label=label)
        vectors = [
            {"uuid": node.properties["uuid"], "values": sendable_vector(values, dimension)}
            for node in changed
            if (values := _vector(node))
        ]
        yield from _chunks("vector_set", vectors, label=label)
        gone = [
            node.properties["uuid"]
            for node in changed
            if _VECTOR in node.properties and node.properties[_VECTOR] is None
        ]
        yield from _chunks("vector_remove", gone, label=label)


def _difference(wanted: Mapping[str, Value], there: Mapping[str, Value]) -> dict[str, Value]:
    """What has to be written so that a node becomes what it is to be; None takes a property away."""
    gone = dict.fromkeys(there.keys() - wanted.keys())
    changed = {name: value for name, value in wanted.items() if name not in there or there[name] != value}
    return {**gone, **changed, "uuid": wanted["uuid"]}


def _edges(edges: Sequence[ExportedEdge]) -> Iterator[Statement]:
    ordered = sorted(edges, key=lambda edge: (edge.source, edge.target))
    for (kind, source, target), same in by(ordered, lambda edge: (edge.type, edge.source.label, edge.target.label)):
        rows = [
            {
                "source": edge.source.uuid,
                "target": edge.target.uuid,
                "properties": _properties(edge.properties),
            }
            for edge in same
        ]
        yield from _chunks("edge_restore", rows, type=kind, source=source, target=target)


def _chunks(name: str, rows: list[Value], **identifiers: str) -> Iterator[Statement]:
    text = cypher.render(DIALECT, name, **identifiers)
    for start in range(0, len(rows), _CHUNK):
        yield text, rows[start : start + _CHUNK]


def _properties(properties: Mapping[str, Value]) -> dict[str, Value]:
    """Without the vector, which is stored in a form of its own."""
    others = {checked_name(name, "property"): value for name, value in properties.items() if name != _VECTOR}
    return sendable_properties(others)


def _vector(node: ExportedNode) -> Sequence[float] | None:
    values: Sequence[float] | None = node.properties.get(_VECTOR)
    return values
