"""Expansions of an older tool in an embedded database: every line of the table, every type of vector, and back."""

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graph_stores import open_store
from graph_stores.errors import StoreFull, StoreOwned
from graph_stores.legacy import MigrationRefused, open_legacy
from graph_stores.model import NodeRow, Select
from orchestrator.checks import problems
from orchestrator.migration.report import Verdict
from orchestrator.migration.survey import Model
from orchestrator.migration.tables import TableMigration, TableWishes
from orchestrator.migration.wiki import WikiChoice
from pipelines.wikipedia.identity import article_uuid, section_uuid
from tests.conformance import old_expansions
from tests.conformance.old_expansions import TYPES, vector
from tests.conformance.place import HERE

GIVEN = Model(provider="openai", model="small", assumed=True)
EXPECTED = {
    "Null": "pending", "Discovered": "pending", "Claimed": "pending", "Without sections": "pending", "Gap": "pending",
    "Unlinked": "parsed", "Loaded": "ready", "Complete": "ready", "Partly": "linked", "Alias": "skip", "Empty": "skip",
    "Failed": "error", "Odd": "pending",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class OldFile:
    engine: str
    path: Path

    @property
    def url(self) -> str:
        return f"{self.engine}:{self.path}"

    def write(self, kind: str, *more: str) -> None:
        command = [sys.executable, old_expansions.__file__, self.engine, str(self.path), kind, *more]
        subprocess.run(command, check=True, capture_output=True)

    def write_another(self) -> None:
        code = (
            "import kuzu, sys; c = kuzu.Connection(kuzu.Database(sys.argv[1]));"
            "c.execute('CREATE NODE TABLE Person(id INT64 PRIMARY KEY)'); c.execute('CREATE (:Person {id: 1})')"
        )
        subprocess.run([sys.executable, "-c", code, str(self.path)], check=True)

    @asynccontextmanager
    async def migration(self, **wishes: Any) -> AsyncIterator[TableMigration]:
        graph = await open_legacy(self.url, project="default")
        try:
            asked = {"project": "default", "model": GIVEN, "wiki": WikiChoice(lang="en"), **wishes}
            yield TableMigration(graph, TableWishes(**asked), lambda done, of: None)
        finally:
            await graph.close()

    async def rows(self, label: str) -> list[NodeRow]:
        store = await open_store(self.url, project="default")
        try:
            return await store.nodes(Select(labels=[label]))
        finally:
            await store.close()


@pytest.fixture
def old(engine: str, tmp_path: Path) -> OldFile:
    return OldFile(engine=engine, path=tmp_path / "old")


BOTH = pytest.mark.parametrize("engine", ["kuzu", "ladybug"], indirect=True)


@BOTH
async def test_every_line_of_the_table_is_kept_and_the_file_comes_back_to_the_byte(old: OldFile) -> None:
    old.write(TYPES[0])
    before = old.path.read_bytes()
    async with old.migration() as migration:
        assert (await migration.detect()).verdict is Verdict.LEGACY
        planned = await migration.plan()
        assert old.path.read_bytes() == before, "to look is not to change"
        applied = await migration.apply()
        assert applied.document()["rules"] and [each.count for each in applied.moved] == [
            each.count for each in planned.moved
        ]
        assert applied.unknown == {"frobbing": 1}
        assert (await migration.apply()).total == 0
        assert (await migration.validate()).problems == []
        assert (await migration.detect()).verdict is Verdict.MIGRATED
    assert {row.name: row.state for row in await old.rows("Article")} == EXPECTED
    store = await open_store(old.url, project="default")
    assert await problems(store) == []
    await store.close()
    async with old.migration() as migration:
        await migration.rollback()
    assert old.path.read_bytes() == before


@HERE
@pytest.mark.parametrize("kind", TYPES)
async def test_vectors_keep_their_values_and_ids_are_those_of_an_expansion(old: OldFile, kind: str) -> None:
    old.write(kind, "index")
    async with old.migration() as migration:
        await migration.apply()
    store = await open_store(old.url, project="default")
    article = article_uuid("default", "enwiki", "Complete")
    key = section_uuid(article, "History\0002")
    table = await store.query("MATCH (s:Section {uuid: $key}) RETURN s.embedding, s.section_id, s._state", {"key": key})
    length = int(kind.partition("[")[2].removesuffix("]"))
    assert list(table.rows[0]) == [vector("Complete", 2, length), "Complete#2", "ready"]
    hits = await store.search(vector("Complete", 2, length), limit=1)
    assert hits[0].node.uuid == key
    links = await store.query(
        "MATCH (:Article {title: 'Complete'})-[l:LINKS_TO]->(b) RETURN b.title, l.count, l.link_type", {}
    )
    assert sorted(map(tuple, links.rows)) == [("Gap", 1, "text"), ("Null", 2, "text")]
    await store.close()


@HERE
async def test_vectors_of_an_unknown_model_wait_for_new_ones_and_are_kept_apart(old: OldFile) -> None:
    old.write(TYPES[0])
    async with old.migration(model=None) as migration:
        await migration.apply()
        assert (await migration.validate()).problems == []
    states = {row.name: row.state for row in await old.rows("Article")}
    assert (states["Complete"], states["Loaded"]) == ("linked", "linked")
    rows = await old.rows("Section")
    assert len([row for row in rows if row.properties.get("legacy_embedding")]) == 10
    async with old.migration() as migration:
        await migration.finalize()
        assert (await migration.detect()).verdict is Verdict.GRAPHMILL
        with pytest.raises(MigrationRefused, match="finalized"):
            await migration.rollback()
    assert not any("legacy_embedding" in row.properties for row in await old.rows("Section"))


@HERE
async def test_what_is_left_of_a_backup_is_not_taken_for_one(old: OldFile) -> None:
    old.write(TYPES[0])
    async with old.migration() as migration:
        await migration.apply()
        await migration.finalize()
        # As after a kill while the backup was being dropped.
        backup = old.path.with_name(f"{old.path.name}.before-migration")
        backup.mkdir()
        with pytest.raises(MigrationRefused, match="finalized"):
            await migration.rollback()
        await migration.finalize()
        assert not backup.exists()


@HERE
async def test_empty_articles_are_read_again_where_that_is_asked_for(old: OldFile) -> None:
    old.write(TYPES[0])
    async with old.migration(retry_empty=True) as migration:
        rules = {each.rule: each.to for each in (await migration.plan()).moved}
    assert rules["w6-retry-empty"] == "pending"


@HERE
async def test_nothing_is_begun_without_room_or_while_somebody_has_the_graph(
    old: OldFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    old.write(TYPES[0])
    before = old.path.read_bytes()
    async with old.migration() as migration:
        with pytest.raises(StoreOwned):
            await open_legacy(old.url, project="default")
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10))
        with pytest.raises(StoreFull):
            await migration.apply()
    assert old.path.read_bytes() == before


@HERE
async def test_a_database_of_somebody_else_is_told_and_left_alone(old: OldFile) -> None:
    old.write_another()
    async with old.migration() as migration:
        found = await migration.detect()
        assert found.verdict is Verdict.FOREIGN
        assert "Person (id)" in found.advice
        with pytest.raises(MigrationRefused):
            await migration.apply()


@pytest.mark.soak
@HERE
async def test_a_hundred_thousand_nodes_are_moved(old: OldFile) -> None:
    old.write("FLOAT[32]", "10000")
    async with old.migration() as migration:
        assert (await migration.apply()).total == 100_000
        assert (await migration.validate()).problems == []
