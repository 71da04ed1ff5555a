"""Labels that a mapping file brought are as good as graphmill's own: every command knows them, on every engine."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from graph_stores import Credentials
from graph_stores.model import Brought, VectorSpace
from graph_stores.protocol import Store
from orchestrator.cli.query import named_query
from orchestrator.copying.copy import CannotCarry, Copied, Copy, check_carried
from orchestrator.copying.reading import Origin, reading
from orchestrator.failed import Filter, failed, kinds
from orchestrator.job import Job, Plan
from orchestrator.lifecycle import Lifecycle
from orchestrator.progress import read_standing
from orchestrator.search import Found, SearchMisuse, search
from orchestrator.stages import adopted_labels
from orchestrator.verifying import Wanted, examine
from pipelines.embedding import EmbedderChoice, EmbedderMisuse, open_embedder
from pipelines.embedding.splitting import CharacterSplitter
from tests.acceptance.embedding_server import DIMENSION, EmbeddingServer, vector_of
from tests.conformance.invoices import BROKEN, MODEL, READY, WAITING, Invoices, memo
from tests.conformance.legacy_rules import OldNode
from tests.conformance.old_graphs import OldGraph
from tests.conformance.place import HERE, Place

ON_A_SERVER = pytest.mark.parametrize("engine", ["neo4j"], indirect=True)
LONG = "\n\n".join(f"Paragraph {number}. " + "word " * 400 for number in range(8))


@pytest.fixture(scope="module")
def endpoint() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
def chosen(endpoint: EmbeddingServer) -> EmbedderChoice:
    return EmbedderChoice(name=MODEL, url=endpoint.url, of_graph=True)


@pytest.fixture
def target(engine: str, server: Any, invoices: Invoices, tmp_path: Path) -> Place:
    """Where a copy of the invoices goes: a file of the same engine, since one process cannot have two embedded ones."""
    return Place(url=f"{'kuzu' if server else engine}:{tmp_path / 'copy'}", project=invoices.project)


@pytest.fixture
async def invoices(engine: str, server: Any, tmp_path: Path) -> AsyncIterator[Invoices]:
    if server is None:
        yield Invoices(url=f"{engine}:{tmp_path / 'old'}", project="default", folder=tmp_path)
        return
    credentials = Credentials(user=server.user, password=server.password)
    invoices = Invoices(url=server.uri, project=f"old-{uuid4().hex[:12]}", folder=tmp_path, credentials=credentials)
    yield invoices
    invoices.run("MATCH (n) WHERE n.projectId = $project OR n:Customer DETACH DELETE n")
    invoices.run("MATCH (n:GraphmillMeta) WHERE n.key = 'migration' OR n.kind = 'migrated page' DETACH DELETE n")


async def found(store: Store, choice: EmbedderChoice, text: str, **options: Any) -> list[Found]:
    embedder = await open_embedder(choice)
    assert embedder
    try:
        return await search(store, embedder, text, **{"limit": 20} | options)
    finally:
        await embedder.close()


async def change(store: Store, uuid: str, what: str, **parameters: str) -> None:
    text = f"MATCH (n:Invoice) WHERE n.uuid = $uuid SET {what}"
    await store.query(text, {"uuid": uuid, **parameters}, write=True)


def pieces(text: str) -> list[str]:
    return CharacterSplitter(8_000).pieces([text])[0]


async def states(store: Store) -> dict[str, int]:
    return dict((await read_standing(store)).states)


async def test_every_ready_invoice_of_the_space_is_found_right_after_apply_with_its_neighbours(
    invoices: Invoices, chosen: EmbedderChoice
) -> None:
    await invoices.apply()
    async with invoices.store() as store:
        assert await store.vector_space() == VectorSpace(provider="openai", model="fake", dimension=DIMENSION)
        hits = await found(store, chosen, memo(3), hops=1)
        assert {each.uuid for each in hits} == {invoices.uuid(number) for number in READY}
        best = hits[0]
        assert (best.uuid, best.label, best.name, best.text) == (invoices.uuid(3), "Invoice", "Invoice 3", memo(3))
        assert best.score == pytest.approx(1.0)
        assert {each.label for each in await found(store, chosen, memo(3), labels=["Invoice"])} == {"Invoice"}
        around = {each.uuid: [(one.uuid, one.relationship, one.forward) for one in each.neighbours] for each in hits}
        assert around[invoices.uuid(0)] == [(invoices.uuid(1), "FOLLOWS", True)]
        assert around[invoices.uuid(1)] == [(invoices.uuid(0), "FOLLOWS", False)]
        await change(store, invoices.uuid(3), "n._embeddingModel = 'another'")
        hits = await found(store, chosen, memo(3))
        assert {each.uuid for each in hits} == {invoices.uuid(number) for number in READY if number != 3}


async def test_errors_status_and_named_queries_know_them_and_retry_moves_them(invoices: Invoices) -> None:
    await invoices.apply()
    async with invoices.store() as store:
        [kind] = await kinds(store, Filter())
        assert (kind.label, kind.count) == ("Invoice", 1)
        for which in (Filter(), Filter(labels=["Invoice"])):
            assert [each.uuid for each in await failed(store, which, limit=None)] == [invoices.uuid(BROKEN)]
        standing = await read_standing(store)
        assert standing.labels == {"Invoice": {"linked": 2, "ready": 7, "error": 1}}
        assert standing.stages["embed"].remaining == len(WAITING)

        async def asked(name: str, **parameters: Any) -> list[Any]:
            given = {"project": store.project, **parameters}
            return list((await store.query(await named_query(store, name), given)).rows)

        assert await asked("states") == [["Invoice", "error", 1], ["Invoice", "linked", 2], ["Invoice", "ready", 7]]
        assert [row[0] for row in await asked("errors")] == ["Invoice"]
        assert len(await asked("recent")) == 10
        assert [row[1] for row in await asked("linked-not-embedded")] == [invoices.uuid(number) for number in WAITING]
        assert await Lifecycle(store=store).retry_errors() == 1
        assert await kinds(store, Filter()) == []
        await change(store, invoices.uuid(8), "n._state = 'embedding'")
        assert [row[1] for row in await asked("stuck", gone=[""], longest=60)] == [invoices.uuid(8)]


@ON_A_SERVER
async def test_a_node_with_several_labels_is_told_once(invoices: Invoices, chosen: EmbedderChoice) -> None:
    await invoices.apply()
    async with invoices.store() as store:
        await store.adopt(Brought(labels=["Overdue"]))
        try:
            for number in (2, BROKEN):
                await change(store, invoices.uuid(number), "n:Overdue")
            for which in (Filter(), Filter(labels=["Overdue"])):
                assert [each.uuid for each in await failed(store, which, limit=None)] == [invoices.uuid(BROKEN)]
            assert [each.count for each in await kinds(store, Filter())] == [1]
            assert [each.uuid for each in await found(store, chosen, memo(2))].count(invoices.uuid(2)) == 1
            assert await Lifecycle(store=store).retry_errors() == 1
        finally:
            invoices.run(
                "MATCH (m:GraphmillMeta {key: 'labels'}) SET m.labels = [each IN m.labels WHERE each <> 'Overdue']"
            )


@ON_A_SERVER
async def test_a_migration_of_another_project_leaves_them_known(
    invoices: Invoices, chosen: EmbedderChoice, server: Any
) -> None:
    await invoices.apply()
    other = OldGraph(server=server, project=f"{invoices.project}-other")
    other.write([OldNode(labels=["Ticket"], properties={"uuid": other.project, "embeddingsDirty": True})])
    try:
        async with other.migration() as migration:
            await migration.apply()
        async with invoices.store() as store:
            assert {"Invoice", "Ticket"} <= set(await adopted_labels(store))
            assert len(await found(store, chosen, memo(3))) == len(READY)
    finally:
        other.wipe()


async def test_a_worker_embeds_them_with_the_model_of_the_kept_vectors(
    invoices: Invoices, chosen: EmbedderChoice, endpoint: EmbeddingServer
) -> None:
    await invoices.apply()
    endpoint.forget()
    async with invoices.store() as store:
        await Lifecycle(store=store).retry_errors()
        await change(store, invoices.uuid(8), "n.content = $text", text=LONG)
        report = await Job(store, Plan(embedder=chosen)).run()
        assert (report.tally.embedded, await states(store)) == (3, {"ready": 10 + len(pieces(LONG))})
        assert not {memo(number) for number in READY}.intersection(endpoint.texts)
        # A hit on a piece counts for its text, which is found once.
        hits = [each.uuid for each in await found(store, chosen, pieces(LONG)[1], limit=30)]
        assert (hits[0], sorted(hits)) == (invoices.uuid(8), [invoices.uuid(number) for number in range(10)])
        assert (await examine(store, Wanted(files=False))).problems == []


@pytest.mark.long
async def test_a_worker_that_cannot_ask_their_model_says_so_and_leaves_every_state(invoices: Invoices) -> None:
    await invoices.apply()
    async with invoices.store() as store:
        before = await states(store)
        with pytest.raises(EmbedderMisuse, match=f"the vectors of this graph are of {MODEL}") as refused:
            await Job(store, Plan(embedder=EmbedderChoice(name=MODEL, of_graph=True))).run()
        assert "--embedder-url" in refused.value.hint
        assert await states(store) == before


@pytest.mark.long
async def test_vectors_of_a_provider_that_graphmill_does_not_know_are_kept_and_searched_through_an_endpoint(
    invoices: Invoices, endpoint: EmbeddingServer
) -> None:
    await invoices.apply(model="gemini:embedding-001")
    async with invoices.store() as store:
        space = await store.vector_space()
        assert space
        assert (space.provider, space.model) == ("gemini", "embedding-001")
        with pytest.raises(SearchMisuse, match="are of gemini:embedding-001") as refused:
            await found(store, EmbedderChoice(), memo(3))
        assert "--embedder gemini:embedding-001" in refused.value.hint
        named = EmbedderChoice(name="gemini:embedding-001", of_graph=True)
        with pytest.raises(EmbedderMisuse, match="no embedder for gemini"):
            await found(store, named, memo(3))
        hits = await found(store, replace(named, url=endpoint.url), memo(3))
        assert (len(hits), hits[0].uuid) == (len(READY), invoices.uuid(3))


def plain(hits: Sequence[Found]) -> list[Found]:
    """Best first, without the scores: in the last digits they differ between engines."""
    return [replace(each, score=0.0) for each in hits]


async def copied(source: Origin, target: Store) -> Copied:
    async with reading(source, again=False) as read:
        return await Copy(source=read, target=target).run()


@pytest.mark.long
async def test_a_copy_has_all_of_it_can_be_searched_and_worked_on_and_verifies(
    invoices: Invoices, target: Place, chosen: EmbedderChoice
) -> None:
    await invoices.apply()
    copy = await target.open(create=True)
    await copy.migrate()
    origin = Origin(url=invoices.url, project=invoices.project, credentials=invoices.credentials)
    first = await copied(origin, copy)
    assert {name: each.count for name, each in first.checksums.nodes.items()} == {"Invoice": 10}
    assert {name: each.count for name, each in first.checksums.edges.items()} == {"FOLLOWS": 1}
    assert (await copied(origin, copy)).begun.written_nodes == 0, "the second time both are only compared"
    async with invoices.store() as store:
        there = await found(store, chosen, memo(3), hops=1)
    assert plain(await found(copy, chosen, memo(3), hops=1)) == plain(there)
    text = "MATCH (n:Invoice) WHERE n.title = 'Invoice 4' RETURN n.amount, n.lines, n.paid, n.tags, n.memo, n.vec"
    [row] = (await copy.query(text, {})).rows
    assert row == [42.0, 4, True, ["a", "t4"], memo(4), vector_of(memo(4))]
    assert (await examine(copy, Wanted(files=False))).problems == []
    if invoices.credentials:
        # And back, to a server that has never heard of the label.
        invoices.run("MATCH (n) WHERE n.projectId = $project DETACH DELETE n")
        invoices.run("MATCH (n:GraphmillMeta) WHERE n.key = 'labels' OR n.key ENDS WITH $project DETACH DELETE n")
        await target.close()
        async with invoices.store() as store:
            back = await copied(Origin(url=target.url, project=target.project), store)
            assert back.checksums == first.checksums
            assert plain(await found(store, chosen, memo(3), hops=1)) == plain(there)
            assert (await examine(store, Wanted(files=False))).problems == []
        copy = await target.open()
    await Lifecycle(store=copy).retry_errors()
    await Job(copy, Plan(embedder=chosen)).run()
    assert (await states(copy), len(await found(copy, chosen, memo(9)))) == ({"ready": 10}, 10)
    assert (await examine(copy, Wanted(files=False))).problems == []
    await target.close()


@pytest.mark.long
async def test_a_copy_says_what_it_leaves_behind_and_nothing_of_other_projects(
    invoices: Invoices, target: Place
) -> None:
    await invoices.apply()
    async with invoices.store() as store:
        for text in () if invoices.credentials else ("CREATE NODE TABLE Tag(id STRING PRIMARY KEY, projectId STRING)",):
            await store.query(text, {}, write=True)
        for uuid, project in (("none", None), ("ours", invoices.project), ("theirs", f"{invoices.project} beside")):
            await store.query("CREATE (:Tag {id: $id, projectId: $of})", {"id": uuid, "of": project}, write=True)
            labelled = "CREATE (:File {uuid: $id, projectId: $of, _state: 'ready', _depth: 0})"
            if uuid != "ours":
                await store.query(labelled, {"id": f"{invoices.project} {uuid}", "of": project}, write=True)
    copy = await target.open(create=True)
    await copy.migrate()
    origin = Origin(url=invoices.url, project=invoices.project, credentials=invoices.credentials)
    try:
        report = await copied(origin, copy)
        # A server is shared with other tests.
        left = {label: report.left.get(label) for label in ("Customer", "File", "Invoice", "Tag")}
        assert left == {"Customer": 1, "File": 1, "Invoice": None, "Tag": 2}
        assert report.document()["left"] == report.left
        assert not any(label.startswith("Graphmill") for label in report.left)
    finally:
        await target.close()
        if invoices.credentials:
            invoices.run("MATCH (n) WHERE n:Tag OR n.uuid STARTS WITH $project + ' ' DETACH DELETE n")


@pytest.mark.long
@HERE
async def test_a_column_that_no_other_engine_has_is_refused_by_name(invoices: Invoices, tmp_path: Path) -> None:
    """Only where it holds something."""
    await invoices.apply()
    async with invoices.store() as store:
        await store.query("ALTER TABLE Invoice ADD extra STRUCT(a INT64)", {}, write=True)
        await store.query("ALTER TABLE Invoice ADD empty UUID", {}, write=True)
        assert (await store.brought()).lost == []
        await change(store, invoices.uuid(1), "n.extra = {a: 1}")
        assert (await store.brought()).lost == ["Invoice.extra is of the type STRUCT(a INT64)"]
    async with reading(Origin(url=invoices.url, project=invoices.project), again=False) as source:
        for target in (f"kuzu:{tmp_path / 'copy'}", "neo4j://localhost:7687"):
            with pytest.raises(CannotCarry, match=r"Invoice\.extra is of the type"):
                check_carried(source, target)


@pytest.mark.long
@ON_A_SERVER
async def test_what_a_file_cannot_hold_is_refused_by_name(invoices: Invoices, tmp_path: Path) -> None:
    await invoices.apply()
    async with invoices.store() as store:
        await change(store, invoices.uuid(1), "n.amount = 'ten'")
        await change(store, invoices.uuid(2), "n.place = point({x: 1, y: 2})")
    origin = Origin(url=invoices.url, project=invoices.project, credentials=invoices.credentials)
    async with reading(origin, again=False) as source:
        check_carried(source, "neo4j://elsewhere:7687")
        with pytest.raises(CannotCarry, match=r"Invoice\.amount has values of several types.*place has values"):
            check_carried(source, f"kuzu:{tmp_path / 'copy'}")
    async with invoices.store() as store:
        await change(store, invoices.uuid(3), "n:Overdue")
    invoices.run("MATCH (a:Invoice)-[r:FOLLOWS]->(b) WHERE a.projectId = $project CREATE (a)-[:FOLLOWS]->(b)")
    async with reading(origin, again=False) as source:
        with pytest.raises(CannotCarry, match=r"FOLLOWS goes more than once.*several labels: Invoice:Overdue"):
            check_carried(source, "neo4j://elsewhere:7687")
