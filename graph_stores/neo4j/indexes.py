"""The vector indexes: one per label, shared by all projects of the database, of one dimension each.

A project whose vectors have another length than an index is searched without it.
"""

from dataclasses import dataclass

import cypher
from graph_stores.neo4j.connection import DIALECT, Connection, fetch
from graph_stores.neo4j.schema import Schema, create

VECTOR_LABELS = ("Chunk", "MarkdownSection", "Scope", "Section", "TextSection")
_ONLINE = "ONLINE"


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorIndex:
    name: str
    dimension: int
    online: bool


class VectorIndexes:
    def __init__(self, connection: Connection, schema: Schema) -> None:
        self._connection = connection
        self._schema = schema

    def labels(self) -> list[str]:
        return [label for label in VECTOR_LABELS if label in self._schema.shape.labels]

    async def by_label(self, *, until: float | None = None) -> dict[str, VectorIndex]:
        rows = await self._connection.read(lambda tx: fetch(tx, cypher.load(DIALECT, "vector_indexes")), until=until)
        return {
            row["label"]: VectorIndex(name=row["name"], dimension=row["dimension"], online=row["state"] == _ONLINE)
            for row in rows
            if row["label"] in VECTOR_LABELS
        }

    async def build(self, key: str, dimension: int) -> None:
        """An index of another dimension is replaced, unless another project uses it."""
        until = self._connection.due()
        await self.drop_unless_shared(key, keep=dimension, until=until)
        for label in self.labels():
            text = cypher.render(DIALECT, "vector_index_create", label=label, index=_name(label))
            await create(self._connection, text, {"dimension": dimension}, until)
        for index in (await self.by_label(until=until)).values():
            await self._connection.run(
                cypher.load(DIALECT, "vector_index_await"),
                {"index": index.name, "seconds": self._connection.whole_seconds(until)},
                until=until,
            )

    async def drop_unless_shared(self, key: str, *, keep: int, until: float) -> None:
        others = await self._connection.read(
            lambda tx: fetch(tx, cypher.load(DIALECT, "space_others"), key=key), until=until
        )
        in_use = {keep, *(row["dimension"] for row in others)}
        for label, index in (await self.by_label(until=until)).items():
            if index.name == _name(label) and index.dimension not in in_use:
                text = cypher.render(DIALECT, "index_drop", index=index.name)
                await self._connection.run(text, {}, until=until)

    async def remove_vectors(self, project: str, *, until: float) -> None:
        for label in (*self.labels(), *sorted(self._schema.shape.adopted)):
            text = cypher.render(DIALECT, "vectors_remove", label=label)
            await self._connection.run(text, {"project": project}, until=until)


def _name(label: str) -> str:
    return f"graphmill_{label.lower()}_embedding"
