"""Expansions of an older tool in an embedded database: every line of the table, every type of vector, and back."""

import datetime
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from struct import pack, unpack
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from graph_stores import open_store
from graph_stores.errors import StoreFull, StoreOwned
from graph_stores.legacy import MigrationRefused, open_legacy
from graph_stores.model import NodeRow, Select
from orchestrator.checks import problems
from orchestrator.migration.making import TableWishes
from orchestrator.migration.report import Verdict
from orchestrator.migration.survey import Model
from orchestrator.migration.tables import TableMigration
from orchestrator.migration.wiki import WikiChoice
from pipelines.wikipedia.identity import article_uuid, section_uuid
from tests.conformance import old_expansions
from tests.conformance.old_expansions import TYPES, vector
from tests.conformance.place import HERE

ROOT = Path(__file__).parents[2]
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

    def plainly(self, *texts: str, **parameters: Any) -> list[Any]:
        """What the plain engine answers to each, in a process of its own."""
        code = (
            "import importlib, importlib.util, json, sys; m = importlib.import_module(sys.argv[1]);"
            "c = m.Connection(m.Database(sys.argv[2])); p = json.loads(sys.argv[3]);"
            "print(repr([c.execute(text, p).get_all() for text in sys.argv[4:]]))"
        )
        command = [sys.executable, "-c", code, self.engine, str(self.path), json.dumps(parameters), *texts]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return list(eval(said, {"UUID": UUID, "Decimal": Decimal, "datetime": datetime}))

    def run_killed(self, moment: int) -> str | None:
        """What a migration says that is killed in that moment: nothing, unless it had come to its end."""
        command = [sys.executable, "-m", "tests.conformance.killed_migration", self.url, str(moment)]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
        return ended.stdout.strip() if ended.returncode == 0 else None

    async def shown(self, text: str) -> list[tuple[Any, ...]]:
        store = await open_store(self.url, project="default")
        try:
            return list(map(tuple, (await store.query(text, {})).rows))
        finally:
            await store.close()

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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
@HERE
async def test_any_column_that_is_not_a_key_may_be_missing(old: OldFile) -> None:
    old.write(TYPES[0], "bare")
    async with old.migration() as migration:
        assert (await migration.detect()).vectors == []
        planned = await migration.plan()
        assert [(each.rule, each.to) for each in planned.moved] == [
            ("c-category", "parsed"), ("k-no-vector", "skip"), ("s-lone", "linked"), ("s-of-article", "linked"),
            ("s-of-article", "parsed"), ("w3-not-linked", "parsed"), ("w4-no-vectors", "linked"),
        ]  # fmt: skip
        assert (await migration.apply()).moved == planned.moved
        assert (await migration.validate()).problems == []
    store = await open_store(old.url, project="default")
    assert await problems(store) == []
    await store.close()


@pytest.mark.long
@HERE
@pytest.mark.parametrize("edges", [(), ("edges",)])
async def test_pieces_of_texts_come_over_with_all_that_leads_to_them(old: OldFile, edges: tuple[str, ...]) -> None:
    old.write(TYPES[0], "pieces", *edges)
    async with old.migration() as migration:
        planned = await migration.plan()
        assert {each.rule: each.count for each in planned.moved if each.label == "Chunk"} == {
            "k-chunk": 2, "k-no-vector": 1
        }  # fmt: skip
        assert (await migration.apply()).moved == planned.moved
        assert (await migration.validate()).problems == []
    store = await open_store(old.url, project="default")
    assert await problems(store) == []
    found = await store.query(
        "MATCH (n)-[:HAS_CHUNK]->(c:Chunk) RETURN label(n), n.name, c.chunk_id, c._state ORDER BY c.chunk_id, label(n)",
        {},
    )
    assert list(map(tuple, found.rows)) == [
        (label, name if label == "Section" else name.partition(" ")[0], key, state)
        for key, name, state in (
            ("Complete#1#0", "Complete › History", "skip"), ("Loaded#0#0", "Loaded", "ready"),
            ("Loaded#0#1", "Loaded", "ready"),
        )
        for label in ("Article", "Section")
    ]  # fmt: skip
    kept = ("r.chunk_index", [0, 0, 1]) if not edges else ("c.chunk_index", [0, 0, 1])
    own = await store.query(f"MATCH (a:Article)-[r:HAS_CHUNK]->(c:Chunk) RETURN {kept[0]} ORDER BY c.chunk_id", {})
    assert [row[0] for row in own.rows] == kept[1]
    places = await store.query("MATCH (s:Section)-[r:HAS_CHUNK]->(c:Chunk) RETURN r.`index` ORDER BY c.chunk_id", {})
    assert [row[0] for row in places.rows] == [0, 0, 1]
    await store.close()


@pytest.mark.long
@BOTH
async def test_tables_of_somebodys_own_come_over_as_they_are(old: OldFile) -> None:
    old.write(TYPES[0], "more")
    own = (
        "MATCH (r:Reader) RETURN r.id, r.name, r.uuid, r.level, r.seen, r.marks ORDER BY r.id",
        "MATCH (r:Reader)-[e:READ]->(n) RETURN r.name, e.stars, e.note, label(n) ORDER BY label(n)",
    )
    before = old.plainly(*own)
    async with old.migration() as migration:
        found = await migration.detect()
        assert (found.verdict, found.left) == (Verdict.LEGACY, {"Reader": 3})
        assert "Reader will go over" in found.advice
        assert (await migration.plan()).left == {"Reader": 3}
        await migration.apply()
        assert (await migration.validate()).problems == []
    found_again = old.plainly(*own, "MATCH (:Reader)-[:READ]->(s:Section) RETURN s.section_id")
    assert found_again == [*before, [["Gap#2"]]]
    store = await open_store(old.url, project="default")
    assert await problems(store) == []
    await store.close()


@pytest.mark.long
@HERE
async def test_vectors_of_double_precision_are_rounded_to_the_nearest_single(old: OldFile) -> None:
    old.write(TYPES[0])
    old.plainly("MATCH (s:Section {section_id: 'Partly#1'}) SET s.embedding = $v", v=[0.1] * 384)
    async with old.migration() as migration:
        await migration.apply()
    ((row,),) = old.plainly("MATCH (s:Section {section_id: 'Partly#1'}) RETURN s.embedding")
    (single,) = unpack("f", pack("f", 0.1))
    assert row[0] == [single] * 384
    assert single != 0.1


@HERE
async def test_what_cannot_be_asked_for_is_told_by_detect_and_refused_by_plan(old: OldFile) -> None:
    old.write(TYPES[0])
    old.plainly("CREATE NODE TABLE `odd name`(id INT64 PRIMARY KEY)")
    async with old.migration() as migration:
        assert "odd name" in (await migration.detect()).advice
        with pytest.raises(MigrationRefused, match="odd name"):
            await migration.plan()
    old.plainly("DROP TABLE `odd name`", "CREATE NODE TABLE Late(id INT64 PRIMARY KEY, by INTERVAL)")
    async with old.migration() as migration:
        assert "Late.by" in (await migration.detect()).advice
        with pytest.raises(MigrationRefused, match=r"Late\.by"):
            await migration.apply()


@pytest.mark.soak
@HERE
async def test_a_hundred_thousand_nodes_are_moved(old: OldFile) -> None:
    old.write("FLOAT[32]", "10000")
    async with old.migration() as migration:
        assert (await migration.apply()).total == 100_000
        assert (await migration.validate()).problems == []


async def _survives_kills(old: OldFile, kills: int) -> None:
    """Killed at moments from the first to the last, each time by the same command that then goes on."""
    old.write(TYPES[0], "pieces", "more")
    before = old.path.read_bytes()
    shown = "MATCH (n:Article:Section:Chunk) RETURN label(n), n.uuid, n._state, n._migratedBy ORDER BY n.uuid"
    moments = int(old.run_killed(0) or 0)
    whole = await old.shown(shown)
    async with old.migration() as migration:
        await migration.rollback()
    assert old.path.read_bytes() == before
    ended = 0
    for kill in range(kills):
        if old.run_killed(1 + kill * moments // kills) is not None:
            ended += 1
            async with old.migration() as migration:  # before there was a kill it came to its end: begin anew
                await migration.rollback()
            assert old.path.read_bytes() == before
    assert old.run_killed(0) is not None
    assert await old.shown(shown) == whole
    assert ended < kills, "most were killed"
    async with old.migration() as migration:
        assert (await migration.validate()).problems == []
        await migration.rollback()
    assert old.path.read_bytes() == before


@pytest.mark.long
@HERE
async def test_a_migration_that_is_killed_goes_on(old: OldFile) -> None:
    await _survives_kills(old, 4)


@pytest.mark.soak
@BOTH
async def test_a_migration_is_killed_hundreds_of_times(old: OldFile) -> None:
    await _survives_kills(old, 500)


@pytest.mark.long
@HERE
async def test_what_was_read_before_a_kill_is_not_read_again(old: OldFile) -> None:
    old.write(TYPES[0], "more")
    pages = old.path.with_name(f"{old.path.name}.migration") / "pages"
    assert old.run_killed(78) is None
    finished = [page for page in pages.iterdir() if page.is_dir() and page.suffix != ".unfinished"]
    made = {page.name: page.stat().st_mtime_ns for page in finished}
    assert len(made) > 4
    assert old.run_killed(40) is None
    assert made.items() <= {page.name: page.stat().st_mtime_ns for page in pages.iterdir()}.items()
    # What they rest on is another: they are made anew.
    async with old.migration(retry_empty=True) as migration:
        await migration.apply()
    assert not pages.exists()
    assert {row.name: row.state for row in await old.rows("Article")}["Empty"] == "pending"
