"""The schema: made and repaired by `migrate`, refused where this version does not know it to be right (rows D2, V1)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import cypher
from graph_stores.errors import SchemaDamaged, SchemaMissing, SchemaNewer, SchemaOlder, StoreNotFound
from graph_stores.protocol import Store
from tests.conformance.examples import file, link, node, picture, read, states_of, write
from tests.conformance.place import Place

EMBEDDED = pytest.mark.parametrize("engine", ["kuzu", "ladybug"], indirect=True)
SERVED = pytest.mark.parametrize("engine", ["neo4j"], indirect=True)
SET_VERSION = "MATCH (m:GraphmillMeta) WHERE m.key = 'schema' SET m.number = $number"


def newest() -> int:
    return cypher.migrations("kuzu")[-1].number


@asynccontextmanager
async def claiming_to_be(store: Store, number: int) -> AsyncIterator[None]:
    """The graph says that its schema has this version, and at the end again what is true: the server is shared."""
    await store.query(SET_VERSION, {"number": number}, write=True)
    try:
        yield
    finally:
        await store.query(SET_VERSION, {"number": newest()}, write=True)


async def test_a_migrated_graph_is_at_the_newest_version_and_whole(store: Store) -> None:
    status = await store.schema()
    assert (status.found, status.newest, list(status.missing)) == (newest(), newest(), [])


async def test_migrating_again_changes_nothing(store: Store) -> None:
    await write(store, nodes=[file("a"), file("b")], edges=[link("a", "b", count=1)])
    before = await picture(store)
    assert await store.migrate() == await store.migrate() == await store.schema()
    assert await picture(store) == before


async def test_a_graph_is_opened_without_creating_once_it_has_its_schema(store: Store, place: Place) -> None:
    await write(store, nodes=[file("a")])
    assert set(await states_of(await place.reopen())) == {"a"}


@EMBEDDED
async def test_a_graph_that_is_not_there_is_not_made_by_opening_it(place: Place) -> None:
    with pytest.raises(StoreNotFound) as refusal:
        await place.open()
    assert "ingest PATH" in refusal.value.hint
    with pytest.raises(StoreNotFound):
        await place.open()


@EMBEDDED
async def test_a_graph_without_a_schema_is_refused_with_the_command_to_run(place: Place) -> None:
    empty = await place.open(create=True)
    assert (await empty.schema()).found is None
    with pytest.raises(SchemaMissing) as refusal:
        await place.reopen()
    assert "init" in refusal.value.hint
    status = await (await place.open(create=True)).migrate()
    assert (status.found, list(status.missing)) == (newest(), [])


async def test_a_graph_of_a_newer_graphmill_is_not_migrated_and_not_touched(store: Store) -> None:
    await write(store, nodes=[file("a")])
    async with claiming_to_be(store, newest() + 1):
        before = await picture(store)
        status = await store.schema()
        assert (status.found, status.newest) == (newest() + 1, newest())
        with pytest.raises(SchemaNewer) as refusal:
            await store.migrate()
        assert str(newest() + 1) in refusal.value.message
        assert "upgrade" in refusal.value.hint
        assert await picture(store) == before


@EMBEDDED
async def test_an_embedded_graph_of_a_newer_graphmill_is_not_opened(store: Store, place: Place) -> None:
    await store.query(SET_VERSION, {"number": newest() + 1}, write=True)
    with pytest.raises(SchemaNewer):
        await place.reopen()


@SERVED
async def test_a_served_graph_of_a_newer_graphmill_is_not_opened(store: Store, place: Place) -> None:
    async with claiming_to_be(store, newest() + 1):
        with pytest.raises(SchemaNewer):
            await place.open()


@EMBEDDED
async def test_an_embedded_graph_of_an_older_graphmill_is_refused_until_migrated_and_loses_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = cypher.migrations
    with monkeypatch.context() as older:
        older.setattr(cypher, "migrations", lambda dialect: every(dialect)[:-1])
        store = await place.open(create=True)
        await store.migrate()
        await write(store, nodes=[file("a", size=1), file("b")])
        before = await picture(store)
    with pytest.raises(SchemaOlder) as refusal:
        await place.reopen()
    assert "init" in refusal.value.hint
    store = await place.open(create=True)
    assert (await store.schema()).found == newest() - 1
    status = await store.migrate()
    assert (status.found, list(status.missing)) == (newest(), [])
    assert status.backup is not None and Path(status.backup).stat().st_size
    assert await picture(store) == before
    await write(store, nodes=[file("a", brokenLinks=["new"], _manifest="{}")], edges=[link("a", "b")])
    assert (await read(store, "a")).properties["brokenLinks"] == ["new"]


@EMBEDDED
async def test_a_table_that_is_made_again_has_the_columns_of_every_version(store: Store, place: Place) -> None:
    for table in ("HAS_SECTION", "HAS_CHUNK", "TextSection"):
        await store.query(f"DROP TABLE {table}", {}, write=True)
    with pytest.raises(SchemaDamaged):
        await place.reopen()
    store = await place.open(create=True)
    assert not (await store.migrate()).missing
    await write(store, nodes=[node("TextSection", "t", _chunks=1)])
    assert (await read(store, "t", "TextSection")).properties["_chunks"] == 1


@SERVED
async def test_a_served_graph_of_an_older_graphmill_is_refused_until_migrated_and_loses_nothing(
    store: Store, place: Place
) -> None:
    await write(store, nodes=[file("a", size=1), file("b")], edges=[link("a", "b")])
    before = await picture(store)
    async with claiming_to_be(store, newest() - 1):
        await store.query("DROP INDEX article_claim", {}, write=True)
        with pytest.raises(SchemaOlder) as refusal:
            await place.open()
        assert "init" in refusal.value.hint
        status = await store.migrate()
        assert (status.found, list(status.missing)) == (newest(), [])
    assert await picture(store) == before
    assert await states_of(await place.open()) == {"a": "pending", "b": "pending"}
