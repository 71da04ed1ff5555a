"""The schema of a database: which version it has, what is missing, and bringing it up to date.

Owns what graphmill knows of a database's shape: the labels under a constraint and the relationship types.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from neo4j import AsyncManagedTransaction
from neo4j.exceptions import ClientError

import cypher
from cypher import Migration
from graph_stores.errors import GraphmillError, SchemaNewer, UnknownLabel
from graph_stores.model import Value
from graph_stores.neo4j.connection import DIALECT, Connection, fetch
from graph_stores.protocol import SchemaStatus, UnfinishedMigration

_ONLINE, _FAILED = "ONLINE", "FAILED"
# The server's answer when another process created the same thing at the same moment.
_ALREADY_THERE = "AlreadyExists"
# What a label that a migration found needs, so that its nodes can be claimed and counted.
ADOPTING = ("migration/label_constraint", "migration/label_index")
_TRIES = 10
_PAUSE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is in a database now."""

    version: int | None
    labels: frozenset[str]
    edge_types: frozenset[str]
    online: frozenset[str]
    failed: frozenset[str]
    unfinished: UnfinishedMigration | None = None
    adopted: frozenset[str] = frozenset()
    """Those of the labels that are not graphmill's own: a migration found nodes with a state under them."""

    def naming(self, text: str) -> str:
        """A question with the labels that a migration brought, where it asks for them."""
        return cypher.with_adopted(text, DIALECT, tuple(sorted(self.adopted)))

    def check_labels(self, labels: Iterable[str]) -> None:
        _check("label", set(labels), self.labels)

    def check_edge_types(self, types: Iterable[str]) -> None:
        _check("relationship type", set(types), self.edge_types)

    def status(self) -> SchemaStatus:
        migrations = cypher.migrations(DIALECT)
        wanted = [*_created(migrations), *(name for label in sorted(self.adopted) for name in names_of_adopted(label))]
        missing = [] if self.version is None else [name for name in wanted if name not in self.online]
        newest = migrations[-1].number
        return SchemaStatus(found=self.version, newest=newest, missing=tuple(missing), unfinished=self.unfinished)


class Schema:
    """Remembers the shape that was last seen."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.shape = Shape(
            version=None, labels=frozenset(), edge_types=frozenset(), online=frozenset(), failed=frozenset()
        )

    async def look(self, *, until: float | None = None) -> Shape:
        self.shape = await self._connection.read(_shape, until=until)
        return self.shape

    async def migrate(self) -> SchemaStatus:
        until = self._connection.due()
        before = await self.look(until=until)
        status = before.status()
        if status.found is not None and status.found > status.newest:
            raise SchemaNewer(
                f"the graph has schema version {status.found}, this graphmill knows up to {status.newest}",
                hint="upgrade graphmill: pip install --upgrade graphmill",
            )
        for migration in cypher.migrations(DIALECT):
            await self._bring(migration, before, until)
        for label in sorted(before.adopted):
            for text in ADOPTING:
                await self._create(cypher.render(DIALECT, text, label=label), until)
        seconds = self._connection.whole_seconds(until)
        await self._connection.run(cypher.load(DIALECT, "schema_await"), {"seconds": seconds}, until=until)
        return (await self.look(until=until)).status()

    async def _bring(self, migration: Migration, before: Shape, until: float) -> None:
        """All of a migration that is new; of one that was done before, what is missing."""
        new = before.version is None or migration.number > before.version
        for statement in migration.statements:
            names = replace(migration, statements=(statement,)).creates
            for name in before.failed.intersection(names):
                await self._create(cypher.render(DIALECT, "index_drop", index=name), until)
            if new or not before.online.issuperset(names):
                await self._create(statement, until)
        if new:
            text = cypher.load(DIALECT, "schema_record")
            await self._connection.write(lambda tx: fetch(tx, text, version=migration.number), until=until)

    async def _create(self, statement: str, until: float) -> None:
        await create(self._connection, statement, {}, until)


async def create(connection: Connection, statement: str, parameters: dict[str, Value], until: float) -> None:
    """A statement that says `if not exists`, and may be refused all the same while another process runs it."""
    for tries_left in reversed(range(_TRIES)):
        try:
            await connection.run(statement, parameters, until=until)
        except GraphmillError as error:
            if not tries_left or not (error.transient or _is_there_already(error)):
                raise
            await asyncio.sleep(_PAUSE)
        else:
            return


def _is_there_already(error: GraphmillError) -> bool:
    return isinstance(error.__cause__, ClientError) and _ALREADY_THERE in (error.__cause__.code or "")


async def _shape(transaction: AsyncManagedTransaction) -> Shape:
    versions = await fetch(transaction, cypher.load(DIALECT, "schema_version"))
    constraints = await fetch(transaction, cypher.load(DIALECT, "schema_constraints"))
    indexes = await fetch(transaction, cypher.load(DIALECT, "schema_indexes"))
    types = await fetch(transaction, cypher.load(DIALECT, "edge_types"))
    adopted = frozenset(row["label"] for row in await fetch(transaction, cypher.load(DIALECT, "labels_known")))
    unfinished = await fetch(transaction, cypher.load(DIALECT, "migration_open"))
    ours = frozenset(_created(cypher.migrations(DIALECT)))
    labels = [row["labelsOrTypes"][0] for row in constraints if row["name"] in ours and row["properties"] == ["uuid"]]
    return Shape(
        version=versions[0]["version"] if versions else None,
        labels=frozenset(labels) | adopted,
        adopted=adopted,
        unfinished=UnfinishedMigration(project=unfinished[0]["project"]) if unfinished else None,
        edge_types=frozenset(row["type"] for row in types),
        online=frozenset(row["name"] for row in indexes if row["state"] == _ONLINE),
        failed=frozenset(row["name"] for row in indexes if row["state"] == _FAILED and not row["owningConstraint"]),
    )


def names_of_adopted(label: str) -> tuple[str, str]:
    return f"graphmill_{label}_uuid", f"graphmill_{label}_claim"


def _created(migrations: Sequence[Migration]) -> list[str]:
    return [name for migration in migrations for name in migration.creates]


def _check(kind: str, asked: set[str], known: frozenset[str]) -> None:
    if unknown := sorted(asked - known):
        raise UnknownLabel(
            f"the schema has no {kind} {', '.join(unknown)}", hint=f"it has {', '.join(sorted(known)) or 'none yet'}"
        )
