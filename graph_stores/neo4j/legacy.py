"""A migration's way into a Neo4j database that graphmill did not make, or only half.

Every page is one transaction, which also holds the claim: two processes never migrate one database at once.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from neo4j import AsyncManagedTransaction, Record
from neo4j.exceptions import Neo4jError

import cypher
from graph_stores import Credentials
from graph_stores.errors import GraphmillError
from graph_stores.legacy import MigrationRefused
from graph_stores.model import Value, VectorSpace
from graph_stores.neo4j.address import Address
from graph_stores.neo4j.connection import DIALECT, Connection, fetch
from graph_stores.neo4j.indexes import VECTOR_LABELS
from graph_stores.neo4j.schema import Schema, names_of_adopted
from graph_stores.neo4j.store import Neo4jStore
from graph_stores.neo4j.values import plain, sendable_key

# Within these a worker was heard of: see orchestrator.leases.
_HEARD = 120
_HOLD_SECONDS = 120.0
_DUPLICATES = "ConstraintCreationFailed"
_SPACE = "vectors:"


async def open_legacy(
    url: str, *, project: str, credentials: Credentials | None = None, deadline: float = 60.0
) -> "MarkedDatabase":
    connection = Connection.to(Address.parse(url), credentials, deadline)
    try:
        await connection.verify()
    except BaseException:
        await connection.close()
        raise
    return MarkedDatabase(connection, sendable_key(project))


class MarkedDatabase:
    def __init__(self, connection: Connection, project: str) -> None:
        self.url = connection.place.url
        self._connection = connection
        self._project = project
        self._names: Mapping[str, Sequence[str]] = {}
        self._texts: dict[str, str] = {}

    def learn(self, names: Mapping[str, Sequence[str]]) -> None:
        self._names = names
        self._texts = {}

    def text(self, name: str) -> str:
        if name not in self._texts:
            self._texts[name] = cypher.of_marks(DIALECT, name, self._names)
        return self._texts[name]

    async def last_place(self) -> int:
        rows = await self.find("span", {})
        return int(rows[0]["last"])

    async def find(self, question: str, parameters: Mapping[str, Value]) -> Sequence[Mapping[str, Value]]:
        text = self.text(question)
        return await self._connection.read(lambda tx: _rows(tx, text, parameters))

    async def move(self, change: str, parameters: Mapping[str, Value], *, token: str) -> Sequence[Mapping[str, Value]]:
        page = uuid4().hex

        async def work(tx: AsyncManagedTransaction) -> Sequence[Mapping[str, Value]]:
            rows = await _rows(tx, self.text(change), parameters)
            await _hold(tx, token, _notes(page, rows))
            return rows

        return await self._connection.write(work)

    async def claim(self, token: str, *, seconds: float) -> bool:
        async def work(tx: AsyncManagedTransaction) -> bool:
            text = cypher.load(DIALECT, "migration/record_claim")
            return bool(await fetch(tx, text, token=token, seconds=seconds))

        return await self._connection.write(work)

    async def release(self, token: str) -> None:
        await self._write("record_release", token=token)

    async def at_work(self, project: str | None) -> Sequence[str]:
        return [str(row["who"]) for row in await self.find("at_work", {"seconds": _HEARD, "project": project})]

    async def record(self) -> Mapping[str, Any]:
        rows = await self.find("record_read", {})
        return dict(rows[0]["record"]) if rows else {}

    async def remember(self, record: Mapping[str, Value]) -> None:
        await self._write("record_write", record=dict(record))

    async def schema(self) -> Sequence[str]:
        return [entry["createStatement"] for entry in await self._entries()]

    async def clear_way(self, labels: Sequence[str]) -> Sequence[int]:
        ours = _ours(labels)
        for entry in await self._entries():
            if _stands_in_the_way(entry, ours, labels):
                await self._drop(entry)
        return [place for label in labels for place in await self._twins(label)]

    async def make_schema(self, adopted: Sequence[str]) -> None:
        await self._write("labels_write", labels=sorted(adopted))
        store = Neo4jStore(self._connection, self._project)
        await store.connect()
        await store.migrate()

    async def is_graphmill(self) -> bool:
        return (await Schema(self._connection).look()).version is not None

    async def drop_schema(self, before: Sequence[str], *, was_graphmill: bool) -> bool:
        if (await self.find("left_of_graphmill", {}))[0]["count"] and not was_graphmill:
            return False
        shape = await Schema(self._connection).look()
        ours = _ours(sorted(shape.adopted)) | {f"graphmill_{label.lower()}_embedding" for label in VECTOR_LABELS}
        for entry in await self._entries():
            # A migration that was killed has made constraints of labels that it does not list yet.
            begun = {name for label in entry["labelsOrTypes"] or () for name in names_of_adopted(label)}
            if entry["name"] in ours | begun and entry["createStatement"] not in before:
                await self._drop(entry)
        return True

    async def restore_schema(self, before: Sequence[str], *, was_graphmill: bool) -> None:
        there = {entry["createStatement"] for entry in await self._entries()}
        for statement in before:
            if statement not in there:
                await self._connection.run(statement, {})
        await self.forget_pages(None)
        if was_graphmill:
            await self._write("labels_delete")
            await self._write("record_delete")
        else:
            await self._write("meta_delete")

    async def spaces(self) -> Mapping[str, VectorSpace]:
        rows = await self._connection.read(lambda tx: fetch(tx, cypher.load(DIALECT, "migration/spaces")))
        return {
            row["key"].removeprefix(_SPACE): VectorSpace(
                provider=row["provider"], model=row["model"], dimension=row["dimension"]
            )
            for row in rows
        }

    async def declare_space(self, project: str, space: VectorSpace) -> None:
        key = f"{_SPACE}{project}"

        async def work(tx: AsyncManagedTransaction) -> None:
            await fetch(tx, cypher.load(DIALECT, "space_lock"), key=key, project=project)
            await fetch(
                tx,
                cypher.load(DIALECT, "space_write"),
                key=key,
                provider=space.provider,
                model=space.model,
                dimension=space.dimension,
            )

        await self._connection.write(work)

    async def forget_space(self, project: str) -> None:
        await self._write("space_delete", key=f"{_SPACE}{project}")

    async def forget_records(self, projects: Sequence[str]) -> None:
        await self._write("records_delete", projects=list(projects))

    async def forget_pages(self, project: str | None) -> None:
        await self._write("pages_delete", project=project)

    async def close(self) -> None:
        await self._connection.close()

    async def _write(self, name: str, **parameters: Value) -> None:
        text = cypher.load(DIALECT, f"migration/{name}")
        await self._connection.write(lambda tx: fetch(tx, text, **parameters))

    async def _entries(self) -> list[Record]:
        """Constraints first: an index that belongs to one goes and comes with it."""
        constraints = await self._connection.read(
            lambda tx: fetch(tx, cypher.load(DIALECT, "migration/constraints_of"))
        )
        indexes = await self._connection.read(lambda tx: fetch(tx, cypher.load(DIALECT, "migration/schema_of")))
        return [*constraints, *(row for row in indexes if not row["owningConstraint"] and row["type"] != "LOOKUP")]

    async def _drop(self, entry: Record) -> None:
        # A name that somebody else gave may need quoting, which the loader refuses.
        is_index = "owningConstraint" in entry.keys()  # noqa: SIM118 a record is no mapping
        text = cypher.load(DIALECT, "index_drop" if is_index else "migration/constraint_drop")
        name = "`" + entry["name"].replace("`", "``") + "`"
        await self._connection.run(text.replace("%index%", name).replace("%constraint%", name), {})

    async def _twins(self, label: str) -> list[int]:
        """Making the constraint itself tells whether there are any; to look for them takes far more memory."""
        try:
            await self._connection.run(_constraint(label), {})
        except GraphmillError as error:
            if not isinstance(error.__cause__, Neo4jError) or _DUPLICATES not in (error.__cause__.code or ""):
                raise
            found = cypher.render(DIALECT, "migration/twins", label=label)
            return [row["place"] for row in await self._connection.read(lambda tx: fetch(tx, found))]
        return []


def _constraint(label: str) -> str:
    own = [
        text
        for migration in cypher.migrations(DIALECT)
        for text in migration.statements
        if f"(n:{label}) REQUIRE" in text
    ]
    return own[0] if own else cypher.render(DIALECT, "migration/label_constraint", label=label)


async def _rows(tx: AsyncManagedTransaction, text: str, parameters: Mapping[str, Value]) -> list[Mapping[str, Value]]:
    result = await tx.run(text, dict(parameters))
    return [plain(record.data()) async for record in result]


def _notes(page: str, rows: Sequence[Mapping[str, Value]]) -> list[Value]:
    projects = sorted({row["project"] for row in rows})
    return [
        {
            "key": f"migration page {page} {number}",
            "project": project,
            "rules": json.dumps(
                [[row["rule"], row["label"], row["count"]] for row in rows if row["project"] == project]
            ),
        }
        for number, project in enumerate(projects)
    ]


async def _hold(tx: AsyncManagedTransaction, token: str, moved: list[Value]) -> None:
    text = cypher.load(DIALECT, "migration/record_renew")
    if not await fetch(tx, text, token=token, seconds=_HOLD_SECONDS, moved=moved):
        raise MigrationRefused(
            "another process has taken this migration over", hint="wait for it; whatever it is, it can be repeated"
        )


def _ours(adopted: Sequence[str]) -> set[str]:
    names = {name for migration in cypher.migrations(DIALECT) for name in migration.creates}
    return names | {name for label in adopted for name in names_of_adopted(label)}


def _stands_in_the_way(entry: Record, ours: set[str], labels: Sequence[str]) -> bool:
    """Under the name of one of ours, but not it; or for the same uuid of the same label."""
    on_uuid = entry["properties"] == ["uuid"] and entry["type"] not in ("TEXT", "POINT", "FULLTEXT", "VECTOR")
    same_place = (
        on_uuid and bool(set(entry["labelsOrTypes"] or ()).intersection(labels)) and entry["entityType"] == "NODE"
    )
    if entry["name"] not in ours:
        return same_place
    return not (same_place and "UNIQUE" in entry["type"]) and entry["properties"] != [
        "projectId",
        "_state",
        "_depth",
        "_detectedAt",
    ]
