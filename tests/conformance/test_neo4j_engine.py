"""What only Neo4j does: plans that use the index, real locks, schema objects that go missing, people's queries."""

import asyncio
import logging
import re
import traceback
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any

import pytest
from neo4j import AsyncDriver, AsyncGraphDatabase

import cypher
from graph_stores import Credentials, open_store
from graph_stores.errors import (
    AuthenticationFailed,
    GraphmillError,
    MissingNode,
    PermanentStoreError,
    QueryFailed,
    QueryTimeout,
    SchemaDamaged,
    StoreUnavailable,
    UnknownDatabase,
    UnknownLabel,
    WriteRefused,
)
from graph_stores.model import Batch, Edge, Select, Vector, VectorSpace
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle
from tests.conformance.examples import (
    PATIENCE,
    claim,
    file,
    files,
    link,
    links,
    node,
    read,
    ref,
    section,
    states_of,
    write,
)
from tests.conformance.place import Place
from tests.conftest import Neo4jAccess

SECRET = "not the password of anybody"
SPACE = VectorSpace(provider="test", model="four", dimension=4)


@pytest.fixture
def engine(neo4j_server: Neo4jAccess) -> str:
    return "neo4j"


@pytest.fixture
async def driver(neo4j_server: Neo4jAccess) -> AsyncIterator[AsyncDriver]:
    auth = (neo4j_server.user, neo4j_server.password)
    async with AsyncGraphDatabase.driver(neo4j_server.uri, auth=auth, notifications_min_severity="OFF") as driver:
        yield driver


def operators(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("children", ()):
        yield from operators(child)


async def profile(driver: AsyncDriver, text: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    _, summary, _ = await driver.execute_query("PROFILE " + text, parameters)
    assert summary.profile is not None
    return list(operators(summary.profile))


async def test_candidates_come_from_the_claim_index_in_order_and_nothing_is_sorted(
    store: Store, driver: AsyncDriver
) -> None:
    await write(store, nodes=[file(f"f{number:05}", depth=number % 5) for number in range(2000)])
    asked = {
        "project": store.project,
        "waiting": "pending",
        "shallowest": -(2**63),
        "skip": 0,
        "limit": 10,
        "longest": 3600,
    }
    plan = await profile(driver, cypher.render("neo4j", "claim_candidates", label="File"), asked)
    kinds = [each["operatorType"].partition("@")[0] for each in plan]
    assert kinds[-1] == "NodeIndexSeek"
    assert not {"Sort", "Top", "PartialSort", "PartialTop"} & set(kinds)
    assert "RANGE INDEX n:File(projectId, _state, _depth, _detectedAt)" in plan[-1]["args"]["Details"]
    assert plan[-1]["rows"] <= 20


async def test_a_few_nodes_in_a_state_are_found_without_reading_the_others(store: Store, driver: AsyncDriver) -> None:
    await write(store, nodes=[*files(2000), file("s", state=states.State.SKIP)])
    filters: dict[str, Any] = {
        "after": "",
        "errorType": None,
        "errorClass": None,
        "expired": False,
        "shallowest": -(2**63),
        "longest": 3600,
        "before": [],
    }
    asked = {"project": store.project, "states": ["error", "skip"], "limit": 10, **filters}
    plan = await profile(driver, cypher.render("neo4j", "nodes_by_state", label="File"), asked)
    assert max(each["rows"] for each in plan) == 1


async def test_the_lock_statement_holds_up_a_second_writer_and_leaves_no_property(
    store: Store, driver: AsyncDriver
) -> None:
    await write(store, nodes=[file("a")])
    async with driver.session() as session:
        holding = await session.begin_transaction()
        await (await holding.run(cypher.render("neo4j", "lock", label="File"), rows=["a"])).consume()
        behind = asyncio.create_task(
            driver.execute_query("MATCH (n:File {uuid: 'a'}) SET n.size = 1 RETURN keys(n) AS k")
        )
        done, _ = await asyncio.wait({behind}, timeout=0.5)
        await holding.commit()
    assert not done
    assert "_lock" not in (await behind).records[0]["k"]


async def test_a_heartbeat_that_waits_for_a_reclaim_does_not_revive_the_lease(
    store: Store, lifecycle: Lifecycle, driver: AsyncDriver
) -> None:
    await write(store, nodes=[file("a")])
    [row] = await claim(lifecycle)
    assert row.lease is not None
    async with driver.session() as session:
        reclaim = await session.begin_transaction()
        take_away = "MATCH (n:File {uuid: 'a'}) REMOVE n._leaseToken, n._leaseUntil, n._leaseOwner"
        await (await reclaim.run(take_away)).consume()
        beat = asyncio.create_task(store.heartbeat([row.ref], token=row.lease.token, seconds=60))
        done, _ = await asyncio.wait({beat}, timeout=0.3)
        await reclaim.commit()
    assert not done
    assert await beat == frozenset()
    assert (await store.query("MATCH (n:File {uuid: 'a'}) RETURN n._leaseUntil AS u", {})).rows == [[None]]


@pytest.mark.parametrize(
    ("drop", "name"),
    [("DROP CONSTRAINT category_uuid", "category_uuid"), ("DROP INDEX category_claim", "category_claim")],
)
async def test_a_missing_constraint_or_index_is_refused_by_name_and_repaired_by_init(
    store: Store, place: Place, drop: str, name: str
) -> None:
    await store.query(drop, {}, write=True)
    try:
        with pytest.raises(SchemaDamaged) as refusal:
            await place.open()
        assert name in refusal.value.message
        assert "graphmill" in refusal.value.hint
        assert refusal.value.hint.endswith("init")
        assert list((await store.schema()).missing) == [name]
    finally:
        status = await store.migrate()
    assert list(status.missing) == []
    await place.open()


async def test_a_label_whose_constraint_is_missing_is_not_written(store: Store) -> None:
    await store.query("DROP CONSTRAINT category_uuid", {}, write=True)
    try:
        await store.schema()
        with pytest.raises(UnknownLabel, match="Category"):
            await write(store, nodes=[node("Category", "c")])
    finally:
        await store.migrate()


async def test_a_constraint_that_the_data_break_is_not_repaired_silently(store: Store) -> None:
    await store.query("DROP CONSTRAINT category_uuid", {}, write=True)
    try:
        await store.query("UNWIND [1, 2] AS i CREATE (:Category {uuid: 'twice', projectId: $project})", {}, write=True)
        with pytest.raises(PermanentStoreError, match="Category"):
            await store.migrate()
    finally:
        await store.query("MATCH (n:Category {uuid: 'twice'}) DELETE n", {}, write=True)
        await store.migrate()


async def test_processes_that_migrate_at_once_agree(store: Store, place: Place) -> None:
    for name in ("section_claim", "category_claim", "article_claim"):
        await store.query(f"DROP INDEX {name}", {}, write=True)
    await store.query("DROP CONSTRAINT category_uuid", {}, write=True)
    handles = [await place.open(create=True) for _ in range(4)]
    found = await asyncio.gather(*(handle.migrate() for handle in handles))
    assert [list(status.missing) for status in found] == [[]] * 4


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
async def test_both_schemes_work_with_the_user_and_the_database_in_the_url(
    store: Store, place: Place, scheme: str
) -> None:
    assert place.credentials is not None
    host = place.url.rpartition("/")[2]
    url = f"{scheme}://{place.credentials.user}@{host}/neo4j"
    other = await open_store(url, project=place.project, credentials=place.credentials)
    try:
        await write(other, nodes=[file("a")])
        assert other.url == url
    finally:
        await other.close()
    assert await states_of(store) == {"a": "pending"}


@pytest.mark.parametrize("credentials", [None, Credentials(user="neo4j", password=SECRET)], ids=["none", "wrong"])
async def test_a_wrong_or_missing_password_says_who_was_refused_where(
    neo4j_server: Neo4jAccess, credentials: Credentials | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(AuthenticationFailed) as refusal:
        await open_store(neo4j_server.uri, project="p", credentials=credentials)
    assert neo4j_server.uri in refusal.value.message
    assert "NEO4J_PASSWORD" in refusal.value.hint
    if credentials:
        assert credentials.user in refusal.value.message
    shown = [*traceback.format_exception(refusal.value), repr(refusal.value), refusal.value.hint, caplog.text]
    assert not any(SECRET in text for text in shown)


async def test_an_unknown_database_is_named_together_with_those_that_exist(place: Place) -> None:
    with pytest.raises(UnknownDatabase, match="nowhere") as refusal:
        await open_store(f"{place.url}/nowhere", project="p", credentials=place.credentials)
    assert "neo4j" in refusal.value.hint


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
async def test_a_server_that_is_down_is_reported_within_seconds(scheme: str) -> None:
    started = asyncio.get_running_loop().time()
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1") as refusal:
        await open_store(f"{scheme}://127.0.0.1:1", project="p", credentials=Credentials(user="u", password=SECRET))
    assert asyncio.get_running_loop().time() - started < 5
    assert "is the server running" in refusal.value.hint
    assert SECRET not in "".join(traceback.format_exception(refusal.value))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("MATCH (n RETURN n", QueryFailed),
        ("RETURN 1 / 0", QueryFailed),
        ("RETURN $nothing", QueryFailed),
        ("CALL no.such.procedure()", QueryFailed),
        ("CREATE (:Thing)", WriteRefused),
        ("CREATE INDEX thing FOR (n:Thing) ON (n.x)", WriteRefused),
        ("MATCH (n) CALL (n) { SET n.x = 1 } IN TRANSACTIONS", WriteRefused),
    ],
)
async def test_a_persons_query_fails_by_name(store: Store, text: str, error: type[GraphmillError]) -> None:
    with pytest.raises(GraphmillError) as refusal:
        await store.query(text, {})
    assert type(refusal.value) is error
    assert error is not WriteRefused or "--write" in refusal.value.hint


async def test_a_syntax_error_shows_where_it_is(store: Store) -> None:
    with pytest.raises(QueryFailed, match=r"line 2, column \d+") as refusal:
        await store.query("MATCH (n)\nRETRUN n", {})
    said, line, caret = refusal.value.message.splitlines()[-3:]
    assert "RETRUN" in line
    assert caret.strip() == "^"
    assert said


async def test_a_query_that_takes_too_long_is_stopped_on_the_server_too(store: Store, driver: AsyncDriver) -> None:
    endless = (
        "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b WITH a WHERE a < 0 RETURN count(*) // endless"
    )
    with pytest.raises(QueryTimeout):
        await store.query(endless, {}, timeout=0.5)
    running = "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery ENDS WITH '// endless' RETURN count(*) AS n"
    async with asyncio.timeout(PATIENCE):
        while (await driver.execute_query(running)).records[0]["n"]:
            await asyncio.sleep(0.1)


async def test_what_a_query_returns_is_plain(store: Store) -> None:
    await write(store, nodes=[file("a", size=1), file("b")], edges=[link("a", "b", count=3)])
    table = await store.query(
        "MATCH p = (a:File {uuid: 'a'})-[r]->(b) SET a:Alpha "
        "RETURN a, r, p, a._detectedAt AS t, duration({days: 2}) AS d, point({x: 1, y: 2}) AS pt, "
        "[date('2026-01-02')] AS l",
        {},
        write=True,
    )
    [[a, r, p, t, d, pt, days]] = table.rows
    assert list(table.columns) == ["a", "r", "p", "t", "d", "pt", "l"]
    assert (a["_label"], a["_labels"], a["size"]) == ("File", ["Alpha", "File"], 1)
    assert r == {"count": 3, "_type": "LINKS_TO"}
    assert [step.get("uuid") or step["_type"] for step in p] == ["a", "LINKS_TO", "b"]
    assert isinstance(t, datetime)
    assert t.tzinfo is UTC
    assert (d, days) == ("P2D", [date(2026, 1, 2)])
    assert isinstance(pt, str)


async def test_writing_in_transactions_of_its_own_is_allowed_to_a_person(store: Store) -> None:
    await write(store, nodes=files(25))
    await store.query(
        "MATCH (n:File {projectId: $project}) CALL (n) { SET n.size = 7 } IN TRANSACTIONS OF 10 ROWS", {}, write=True
    )
    assert {row.properties["size"] for row in await store.nodes(Select())} == {7}


async def test_the_markers_of_finished_commits_do_not_pile_up(store: Store, place: Place) -> None:
    count = "MATCH (c:GraphmillCommit) RETURN count(c) AS n"
    [[before]] = (await store.query(count, {})).rows
    for number in range(20):
        await write(store, nodes=[file(f"f{number}")])
    await asyncio.gather(*(write(store, nodes=[file(f"g{number}")]) for number in range(20)))
    await write(store, nodes=[file("last")])
    [[after]] = (await store.query(count, {})).rows
    assert after - before <= 2
    await store.close()
    [[closed]] = (await (await place.open()).query(count, {})).rows
    assert closed <= before


async def test_a_marker_that_a_dead_process_left_is_removed_after_an_hour(store: Store) -> None:
    await store.query(
        "UNWIND [59, 61] AS m CREATE (:GraphmillCommit {id: 'old ' + m, at: datetime() - duration({minutes: m})})",
        {},
        write=True,
    )
    await store.migrate()
    left = "MATCH (c:GraphmillCommit) WHERE c.id STARTS WITH 'old' WITH c, c.id AS id DELETE c RETURN id"
    assert (await store.query(left, {}, write=True)).rows == [["old 59"]]


async def test_fifty_writers_on_one_hub_lose_no_edge(store: Store) -> None:
    await write(store, nodes=[file("hub"), *files(50)])
    leaves = [each.uuid for each in files(50)]
    pairs = [[link("hub", one), link(two, "hub"), link(one, two)] for one, two in pairwise([*leaves, leaves[0]])]
    await asyncio.gather(*(write(store, edges=edges[:: (-1) ** place]) for place, edges in enumerate(pairs)))
    assert len(await links(store)) == 150


async def test_a_node_of_another_project_is_not_overwritten(store: Store, place: Place) -> None:
    await write(store, nodes=[file("a", size=1)])
    other = await place.open(project=f"{place.project}-other")
    with pytest.raises(MissingNode, match="File a"):
        await write(other, nodes=[file("a", size=2)])
    assert (await read(store, "a")).properties["size"] == 1


async def test_a_worker_of_the_former_vector_space_can_write_no_more_vectors(store: Store, place: Place) -> None:
    await store.use_vector_space(SPACE)
    await write(store, nodes=[section("a")], vectors=[Vector(node=ref("a", "Section"), values=[1.0, 0.0, 0.0, 0.0])])
    other = await place.open()
    await other.use_vector_space(VectorSpace(provider="test", model="another four", dimension=4))
    late = Batch(vectors=[Vector(node=ref("a", "Section"), values=[0.0, 1.0, 0.0, 0.0])])
    with pytest.raises(PermanentStoreError, match="another four"):
        await store.commit(late)
    assert await other.search([0.0, 1.0, 0.0, 0.0], limit=1) == []


def test_the_relationship_types_are_those_of_the_other_dialect() -> None:
    tables = {name for each in cypher.migrations("kuzu") for name in each.creates}
    known = {word for word in tables if word.isupper()}
    assert all(f"'{word}'" in cypher.load("neo4j", "edge_types") for word in known)
    assert set(re.findall(r"'([A-Z_]+)'", cypher.load("neo4j", "edge_types"))) == set(known)


@pytest.mark.parametrize("query", cypher.catalogue("neo4j"), ids=lambda query: query.name)
async def test_every_named_query_says_what_it_answers_and_runs(store: Store, query: cypher.NamedQuery) -> None:
    await write(store, nodes=[file("a"), section("s")], edges=[Edge(type="LINKS_TO", source=ref("a"), target=ref("a"))])
    assert query.about
    table = await store.query(query.text, {"gone": [], "longest": 3600})
    assert table.columns
