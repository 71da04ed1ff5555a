"""A migrated graph belongs to its user: `verify` finds no false problem in it, no repair removes anything of it, and a
rollback puts it back to the byte whatever was run in between."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import neo4j.spatial
import pytest
from neo4j_server import Neo4jServer

from graph_stores import Credentials, open_store
from graph_stores.errors import MigrationUnfinished
from graph_stores.legacy import MigrationRefused
from graph_stores.neo4j.schema import Schema
from graph_stores.protocol import Store
from orchestrator.cli.running import make_schema
from orchestrator.migration.survey import Model, Scope
from orchestrator.verifying import Wanted, examine
from pipelines.embedding.texts import text_hash
from tests.conformance.folders import LETTERS, NONE, WORD_LLAMA, Folder, Mill, quicken
from tests.conformance.legacy_rules import OldNode, hashed
from tests.conformance.old_graphs import HOME, OldGraph

pytestmark = pytest.mark.neo4j
VOWELS = Model(provider="letters", model="vowels", assumed=True)
VECTOR = [0.5] * 8
TEXT = "def alpha(): return 1"
LONG = "Grain is ground between stones. " * 2000


def node(label: str, uuid: str | None, **properties: Any) -> OldNode:
    own = properties if uuid is None else {"uuid": uuid, **properties}
    return OldNode(labels=label.split(":"), properties=own, linked=False)


# Every shape that a check of graphmill's own graphs could take for damage.
NODES = [
    node("Scope", "kept", source=TEXT, embedding_content=VECTOR, embedding_content_hash=hashed(TEXT)),
    node("Scope", "kept-without-hash", content=TEXT, embedding=VECTOR, born=date(1990, 1, 2)),
    node("Scope", "dirty", content=TEXT, embedding=VECTOR, embedding_hash=hashed("before"), embeddingsDirty=True),
    node("Scope", "unread", content=TEXT, schemaDirty=True),
    node("Scope", "wordless", embedding=VECTOR),
    node("Scope", "failed", content=TEXT, _state="error", _errorType="relations", _retryCount=2),
    node("MarkdownSection", "long", content=LONG, embeddingsDirty=True),
    node("MarkdownSection", None, content="a section without an id", embedding_content=VECTOR),
    node("CodeBlock", "block", code="let x = 1 in x + 2", embedding_content=VECTOR),
    node("File", "done", path="a.py", state="embedded", rawContentHash="raw", createdAt="2025-01-02T03:04:05+02:00"),
    node("File", "same-path", path="a.py", state="embedded", root="/elsewhere"),
    node("File", "again", path="a.py", state="embedded", root="/elsewhere"),
    node("File", "waiting", path="b.py", state="discovered"),
    node("File", "unlinked", path="c.py", state="relations"),
    node("Directory", "top", path=".", root="/elsewhere"),
    node("Directory", "linked-folder", path="src", _state="linked"),
    node("Article", "article", title="Mill", expansion_state="processed", retry_count="twice", _state="ready"),
    node("Article", "unread-article", title="Wheel", expansion_state="discovered", _state="pending"),
    node("Section", "section", title="Use", content="what a mill is used for", embedding=VECTOR),
    node("Chunk", "piece", content="used for", embedding=VECTOR),
    node("Worker", "person", name="a miller", salary=3),
    node("Partition", "wall", name="a wall"),
    node("Entity", "typed", _name="Ann", _state="ready", born=date(1990, 1, 2), took=timedelta(seconds=3),
         at=neo4j.spatial.CartesianPoint((1.0, 2.0)), embedding=VECTOR),
]  # fmt: skip
EDGES = [
    ("kept", "DEFINED_IN", "done"), ("dirty", "DEFINED_IN", "done"), ("unread", "DEFINED_IN", "done"),
    ("done", "HAS_SECTION", "long"), ("done", "IN_DIRECTORY", "linked-folder"), ("article", "HAS_SECTION", "section"),
    ("section", "HAS_CHUNK", "piece"), ("article", "LINKS_TO", "unread-article"), ("person", "KNOWS", "typed"),
]  # fmt: skip


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    """With nothing in it but what the test has put there: constraints, indexes and all nodes are compared."""
    server = Neo4jServer(tmp_path_factory.mktemp("neo4j"), settings="dbms.cypher.min_replan_interval=1h\n")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def old(own_server: Neo4jServer) -> OldGraph:
    graph = OldGraph(server=own_server, project=None)
    graph.run("MATCH (n) DETACH DELETE n")
    for row in graph.run("SHOW CONSTRAINTS YIELD name"):
        graph.run(f"DROP CONSTRAINT `{row['name']}`")
    for row in graph.run("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP'"):
        graph.run(f"DROP INDEX `{row['name']}`")
    graph.run("CREATE CONSTRAINT mine FOR (n:Scope) REQUIRE n.uuid IS UNIQUE")
    graph.run("CREATE INDEX theirs FOR (n:Entity) ON (n._name)")
    graph.write(NODES)
    for source, kind, target in EDGES:
        graph.run(
            f"MATCH (a {{uuid: $a}}), (b {{uuid: $b}}) CREATE (a)-[:{kind} {{since: date('2020-01-02')}}]->(b)",
            a=source,
            b=target,
        )
    return graph


@asynccontextmanager
async def opened(old: OldGraph, *, create: bool = False) -> AsyncIterator[Store]:
    credentials = Credentials(user=old.server.user, password=old.server.password)
    store = await open_store(old.server.uri, project=HOME, credentials=credentials, create=create)
    try:
        yield store
    finally:
        await store.close()


async def check(old: OldGraph) -> None:
    """Nothing is found, and nothing is mended: the graph stays as it is to the byte."""
    before = (old.picture(), old.schema())
    async with opened(old) as store:
        assert [(each.check, each.examples) for each in (await examine(store, Wanted())).problems] == []
        verdict = await examine(store, Wanted(repair=True))
        assert (verdict.problems, verdict.repaired) == ([], [])
    assert (old.picture(), old.schema()) == before


async def work(old: OldGraph, embedder: Any, **plan: Any) -> None:
    async with opened(old) as store:
        await Mill(store=store, roots=[]).run(embedder, **plan)


async def test_whatever_is_run_after_a_migration_a_rollback_is_exact(
    old: OldGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken(monkeypatch, tmp_path / "cache")
    before = (old.picture(), old.schema())
    for embedders in ([LETTERS], [NONE]):
        async with old.migration(configured=None, given=VOWELS) as migration:
            await migration.apply()
            assert (await migration.validate()).problems == []
            await check(old)
            for embedder in embedders:
                await work(old, embedder)
                await check(old)
            assert (await migration.rollback()).lost == {}
        assert (old.picture(), old.schema()) == before, embedders


async def test_what_was_ingested_since_stays_and_what_was_there_before_goes_back_to_the_byte(
    old: OldGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken(monkeypatch, tmp_path / "cache")
    nodes, edges = old.picture()
    folder = Folder(tmp_path / "notes")
    folder.write("a.md", "# A\n\nabout [b](b.md)\n")
    folder.write("b.md", f"# B\n\n{LONG}\n")
    async with old.migration(configured=None, given=VOWELS) as migration:
        await migration.apply()
        async with opened(old) as store:
            # Another model: every vector that was kept is made anew.
            await Mill(store=store, roots=[folder]).run(WORD_LLAMA)
        await check(old)
        left = (await migration.rollback()).left
    pieces = old.run("MATCH (:MarkdownSection)-[:HAS_CHUNK]->(c:Chunk) RETURN count(c) AS count")[0]["count"]
    assert left == {"Chunk": pieces, "Directory": 1, "File": 2, "MarkdownSection": 2}
    after, after_edges = old.picture()
    assert {key: value for key, value in after.items() if key in nodes} == nodes
    assert [edge for edge in after_edges if edge[0] in nodes or edge[2] in nodes] == edges
    async with opened(old) as store:
        assert (await examine(store, Wanted())).problems == []


async def test_a_migration_that_was_killed_half_way_is_told_by_verify_and_left_alone_by_a_repair(
    old: OldGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken(monkeypatch, tmp_path / "cache")
    monkeypatch.setattr("orchestrator.migration.marked._WRITE_PAGE", 5)
    before = (old.picture(), old.schema())
    async with old.migration(configured=None, given=VOWELS) as migration:
        for verb in ("apply", "rollback"):
            with monkeypatch.context() as patched:
                patched.setattr(migration, "_graph", _Failing(migration._graph, calls=3))
                with pytest.raises(ConnectionError):
                    await getattr(migration, verb)()
            await refused(old, "")
            async with opened(old, create=True) as store:
                await store.migrate()  # graphmill init
                half = old.picture()
                verdict = await examine(store, Wanted())
                assert (verdict.problems, [note for note in verdict.notes if "migration" in note]) == (
                    [],
                    verdict.notes,
                )
                assert verdict.notes
                with pytest.raises(MigrationRefused, match="not finished"):
                    await examine(store, Wanted(repair=True))
            assert old.picture() == half
            await getattr(migration, verb)()
            if verb == "apply":
                await check(old)
    assert (old.picture(), old.schema()) == before


async def refused(old: OldGraph, options: str) -> None:
    """As a command that asks, and as a job, which would make a schema in an empty database."""
    graphmill = f"graphmill --store {old.server.uri}{options} migrate"
    with pytest.raises(MigrationUnfinished, match="was begun and is not finished") as told:
        async with opened(old):
            pass
    assert told.value.hint == f"go on with it: {graphmill} apply; or go back: {graphmill} rollback"
    async with opened(old, create=True) as store:
        with pytest.raises(MigrationUnfinished):
            await make_schema(store)


async def test_a_migration_that_was_killed_while_it_made_the_schema_is_told_and_goes_on(
    old: OldGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = Scope(project="the mill", home="the mill")
    async with old.migration(configured=None, given=VOWELS, scope=scope) as migration:
        with monkeypatch.context() as patched:
            patched.setattr(Schema, "_bring", _first_only(Schema._bring))
            with pytest.raises(ConnectionError):
                await migration.apply()
        await refused(old, " --project 'the mill'")
        await migration.apply()
        assert (await migration.validate()).problems == []
    async with opened(old):
        pass


def _first_only(bring: Any) -> Any:
    """The first part of the schema, after which the connection is lost."""

    async def made(schema: Schema, part: Any, *given: Any) -> None:
        if part.number > 1:
            raise ConnectionError("lost")
        await bring(schema, part, *given)

    return made


async def test_a_rollback_of_half_a_migration_is_exact(old: OldGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.migration.marked._WRITE_PAGE", 5)
    old.run(
        "CREATE (:Scope {uuid: 'numbered', projectId: 5, content: $words, embedding: $vector})",
        words=TEXT,
        vector=VECTOR,
    )
    before = (old.picture(), old.schema())
    async with old.migration(configured=None, given=VOWELS) as migration:
        with monkeypatch.context() as patched:
            patched.setattr(migration, "_graph", _Failing(migration._graph, calls=2))
            with pytest.raises(ConnectionError):
                await migration.apply()
        await migration.rollback()
    assert (old.picture(), old.schema()) == before


async def test_damage_is_mended_without_removing_anything_and_a_rollback_is_exact(old: OldGraph) -> None:
    before = (old.picture(), old.schema())
    async with old.migration(configured=None, given=VOWELS) as migration:
        await migration.apply()
        for uuid in ("kept", "kept-without-hash"):
            assert old.node(uuid)["_embeddingHash"] == text_hash(TEXT)
        nodes, edges = old.picture()
        old.run("MATCH (n) WHERE n.uuid IN ['done', 'article', 'kept-without-hash', 'piece'] SET n._state = 'polished'")
        old.run("MATCH (n) WHERE n.uuid IN ['kept', 'section'] SET n._embeddingHash = 'of another text'")
        async with opened(old) as store:
            found = {each.check: each.count for each in (await examine(store, Wanted())).problems}
            assert (found["state"], found["stale-vector"]) == (4, 2)
            assert (await examine(store, Wanted(repair=True))).problems == []
        after, after_edges = old.picture()
        assert (after.keys(), after_edges) == (nodes.keys(), edges)
        for uuid in ("done", "article", "kept-without-hash", "kept", "section"):
            assert old.node(uuid)["_state"] == "linked"
        await migration.rollback()
    assert (old.picture(), old.schema()) == before


async def test_a_rollback_that_cannot_put_everything_back_says_so_first(old: OldGraph) -> None:
    async with old.migration(configured=None, given=VOWELS) as migration:
        await migration.apply()
        old.run("MATCH (n {uuid: 'kept'}) DETACH DELETE n")
        there = old.picture()
        with pytest.raises(MigrationRefused, match=r"Scope \(1\)") as refused:
            await migration.rollback()
        assert "--accept-losses" in refused.value.hint
        assert old.picture() == there
        assert (await migration.rollback(accept_losses=True)).lost == {"Scope": 1}


class _Failing:
    """A graph whose connection is lost after so many pages."""

    def __init__(self, graph: Any, calls: int) -> None:
        self._graph = graph
        self._left = calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    async def move(self, *given: Any, **named: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ConnectionError("lost")
        return await self._graph.move(*given, **named)
