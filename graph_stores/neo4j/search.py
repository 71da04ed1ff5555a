"""Nearest nodes to a vector: by the index where it helps, and else by comparing with every vector of the project."""

from collections.abc import Sequence

from neo4j import Record

import cypher
from graph_stores.model import Hit
from graph_stores.neo4j.connection import DIALECT, Connection, fetch
from graph_stores.neo4j.indexes import VectorIndex, VectorIndexes
from graph_stores.neo4j.spaces import Spaces
from graph_stores.neo4j.values import node_row, sendable_vector

# The index knows nothing of projects: it is asked for more, and what belongs to others is left out.
_OVERFETCH = 10
_AT_LEAST = 100


class Search:
    def __init__(self, connection: Connection, project: str, spaces: Spaces, indexes: VectorIndexes) -> None:
        self._connection = connection
        self._project = project
        self._spaces = spaces
        self._indexes = indexes

    async def nearest(self, vector: Sequence[float], *, limit: int, labels: Sequence[str]) -> list[Hit]:
        until = self._connection.due()
        space = await self._spaces.current()
        if space is None or limit <= 0:
            return []
        numbers = sendable_vector(vector, space.dimension)
        indexes = await self._indexes.by_label(until=until)
        hits: list[Hit] = []
        for label in sorted(set(labels) or self._indexes.labels()):
            rows = await self._nearest_of(label, indexes.get(label), numbers, limit, until)
            hits += [Hit(node=node_row(label, row["row"]), score=_cosine(row["score"])) for row in rows]
        return sorted(hits, key=lambda hit: (-hit.score, hit.node.ref))[:limit]

    async def _nearest_of(
        self, label: str, index: VectorIndex | None, vector: list[float], limit: int, until: float
    ) -> list[Record]:
        asked = {"project": self._project, "vector": vector, "dimension": len(vector), "limit": limit}
        if index and index.online and index.dimension == len(vector):
            text = cypher.load(DIALECT, "search_index")
            reach = {"index": index.name, "reach": max(limit * _OVERFETCH, _AT_LEAST)}
            rows = await self._connection.read(lambda tx: fetch(tx, text, **asked, **reach), until=until)
            if len(rows) >= limit:
                return rows
        text = cypher.render(DIALECT, "search_scan", label=label)
        return await self._connection.read(lambda tx: fetch(tx, text, **asked), until=until)


def _cosine(score: float) -> float:
    """Single precision leaves scores a little outside."""
    return max(-1.0, min(1.0, score))
