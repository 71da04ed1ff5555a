"""Which space the project's vectors are in, and the change to another one.

A change is announced first, so that no worker writes a vector of the old space any more; then the old vectors go; then
the new space is declared. A process that dies in between leaves the announcement, and the next one starts over.
"""

from neo4j import AsyncManagedTransaction

import cypher
from graph_stores.errors import InvalidVector, PermanentStoreError
from graph_stores.model import VectorSpace
from graph_stores.neo4j.connection import DIALECT, Connection, fetch
from graph_stores.neo4j.indexes import VectorIndexes


class Spaces:
    """Remembers the space that this handle's vectors are in: the one it declared, or the first it found."""

    def __init__(self, connection: Connection, project: str, indexes: VectorIndexes) -> None:
        self._connection = connection
        self._project = project
        self._indexes = indexes
        self.key = f"vectors:{project}"
        self._own: VectorSpace | None = None

    async def current(self) -> VectorSpace | None:
        self._own = await self._connection.read(self._read)
        return self._own

    async def of_vectors(self) -> VectorSpace:
        space = self._own or await self.current()
        if space is None:
            raise InvalidVector(
                f"the project {self._project} has no vector space yet", hint="declare it before the first vector"
            )
        return space

    async def check(self, tx: AsyncManagedTransaction) -> None:
        """Inside a commit: another process may have changed the space since this handle looked."""
        found = await self._read(tx)
        if found != self._own:
            raise PermanentStoreError(
                f"the vectors are in {_shown(self._own)}, but the project's space is now {_shown(found)}",
                hint="start the worker again with the new model",
            )

    async def use(self, space: VectorSpace) -> None:
        until = self._connection.due()
        former = await self._connection.write(lambda tx: self._announce(tx, space), until=until)
        if former != space:
            await self._indexes.drop_unless_shared(self.key, keep=space.dimension, until=until)
            await self._connection.write(lambda tx: self._change(tx, space, until), until=until)
        self._own = space

    async def _announce(self, tx: AsyncManagedTransaction, space: VectorSpace) -> VectorSpace | None:
        await self._lock(tx)
        former = await self._read(tx)
        if former != space:
            await fetch(tx, cypher.load(DIALECT, "space_change"), key=self.key)
        return former

    async def _change(self, tx: AsyncManagedTransaction, space: VectorSpace, until: float) -> None:
        """Holds the lock while other transactions remove the vectors, so that no second process removes new ones."""
        await self._lock(tx)
        if await self._read(tx) == space:
            return
        await self._indexes.remove_vectors(self._project, until=until)
        await fetch(
            tx,
            cypher.load(DIALECT, "space_write"),
            key=self.key,
            provider=space.provider,
            model=space.model,
            dimension=space.dimension,
        )

    async def _lock(self, tx: AsyncManagedTransaction) -> None:
        await fetch(tx, cypher.load(DIALECT, "space_lock"), key=self.key, project=self._project)

    async def _read(self, tx: AsyncManagedTransaction) -> VectorSpace | None:
        rows = await fetch(tx, cypher.load(DIALECT, "space_read"), key=self.key)
        if not rows or rows[0]["changing"] or rows[0]["model"] is None:
            return None
        return VectorSpace(provider=rows[0]["provider"], model=rows[0]["model"], dimension=rows[0]["dimension"])


def _shown(space: VectorSpace | None) -> str:
    return f"{space.provider} {space.model} ({space.dimension})" if space else "being changed"
