"""A person's own Cypher: read-only by the engine's own mode, bounded in time, answered in plain objects (row S2)."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest

import cypher
from graph_stores.errors import GraphmillError, QueryFailed, QueryTimeout, WriteRefused
from graph_stores.model import LONGEST_LEASE, Value
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.cli.query import parse_parameter
from orchestrator.lifecycle import Lifecycle
from orchestrator.states import ErrorClass
from tests.conformance.examples import (
    HOUR,
    article,
    bring,
    claim,
    claim_one,
    expire,
    file,
    link,
    node,
    picture,
    ref,
    section,
    states_of,
    write,
)

FOR_EVER = "UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b UNWIND range(1, 10000) AS c RETURN sum(a * b + c)"
WRITES = [
    "CREATE (:Category {uuid: 'x'})",
    "MERGE (c:Category {uuid: 'x'}) RETURN c",
    "MATCH (n:File) SET n.name = 'x'",
    "MATCH (n:File) SET n._state = 'ready' RETURN n.uuid",
    "MATCH (n:File) DETACH DELETE n",
    "MATCH (a:File)-[e:LINKS_TO]->(b:File) DELETE e",
    "MATCH (a:File {uuid: 'a'}), (b:File {uuid: 'b'}) CREATE (b)-[:LINKS_TO]->(a)",
    "// only a comment\nCREATE (:Category {uuid: 'x'})",
    "/* MATCH (n) RETURN n */ CREATE (:Category {uuid: 'x'})",
    "   \n\t create (:Category {uuid: 'x'})",
    "UNWIND ['x', 'y'] AS u CREATE (:Category {uuid: u})",
]
TRICKS = [
    "MATCH (n) RETURN n; CREATE (:Category {uuid: 'x'})",
    "RETURN 1; MATCH (n:File) DETACH DELETE n;",
    "RETURN 1;\n// second\nCREATE (:Category {uuid: 'x'})",
    "COMMIT; CREATE (:Category {uuid: 'x'})",
    "COMMIT",
    "ROLLBACK",
    "ROLLBACK; BEGIN TRANSACTION; CREATE (:Category {uuid: 'x'}); COMMIT",
    "BEGIN TRANSACTION",
    "BEGIN TRANSACTION READ ONLY",
    "CHECKPOINT",
    "PROFILE CREATE (:Category {uuid: 'x'})",
    "CALL { CREATE (:Category {uuid: 'x'}) } RETURN 1",
    "CALL (*) { CREATE (:Category {uuid: 'x'}) } IN TRANSACTIONS",
    "MATCH (n:File) CALL { WITH n SET n.name = 'x' } IN TRANSACTIONS OF 1 ROWS",
    "DROP TABLE LINKS_TO",
    "ALTER TABLE File ADD evil STRING",
    "CREATE NODE TABLE Evil(id STRING PRIMARY KEY)",
    "DROP CONSTRAINT file_uuid",
    "CREATE INDEX evil FOR (n:File) ON (n.name)",
    "CALL db.createLabel('Evil')",
    "COPY Category FROM (UNWIND ['x'] AS u RETURN u)",
    "COPY (MATCH (n:File) RETURN n.uuid) TO '{folder}/stolen.csv'",
    "EXPORT DATABASE '{folder}/stolen'",
    "ATTACH '{folder}/graph' AS g (dbtype kuzu)",
    "CREATE MACRO evil(x) AS x + 1",
    "CREATE SEQUENCE evil",
    "CREATE USER evil SET PASSWORD 'evil-evil'",
]


@pytest.fixture
async def small(store: Store) -> Store:
    await write(store, nodes=[file("a", size=1), file("b")], edges=[link("a", "b", count=2)])
    return store


async def test_the_answer_has_columns_in_order_and_rows(small: Store) -> None:
    table = await small.query(
        "MATCH (n:File) WHERE n.projectId = $p RETURN n.uuid AS uuid, n.size AS size, 1 + 1 AS two ORDER BY uuid",
        {"p": small.project},
    )
    assert list(table.columns) == ["uuid", "size", "two"]
    assert [list(row) for row in table.rows] == [["a", 1, 2], ["b", None, 2]]


async def test_nodes_are_objects_with_their_label_and_edges_with_their_type(small: Store) -> None:
    table = await small.query(
        "MATCH (a:File)-[e:LINKS_TO]->(b:File) WHERE a.projectId = $p RETURN a, e, b", {"p": small.project}
    )
    [[source, edge, target]] = table.rows
    assert (source["_label"], source["uuid"], source["size"], source["_state"]) == ("File", "a", 1, "pending")
    assert (target["_label"], target["uuid"]) == ("File", "b")
    assert "size" not in target
    assert (edge["_type"], edge["count"]) == ("LINKS_TO", 2)


async def test_objects_inside_lists_are_objects_too(small: Store) -> None:
    table = await small.query("MATCH (n:File) WHERE n.projectId = $p RETURN collect(n) AS found", {"p": small.project})
    [[everything]] = table.rows
    assert sorted((each["_label"], each["uuid"]) for each in everything) == [("File", "a"), ("File", "b")]


async def test_a_query_that_finds_nothing_still_names_its_columns(small: Store) -> None:
    table = await small.query("MATCH (n:Category) WHERE n.uuid = 'nobody' RETURN n.uuid AS uuid", {})
    assert (list(table.columns), list(table.rows)) == (["uuid"], [])


async def test_parameters_come_back_as_they_went_in(small: Store) -> None:
    for value in ["it's", "\\' OR 1=1 //", "", 0, -(2**62), 1.5, True, None, ["a", "b"], [1, 2], "🌍"]:
        table = await small.query("RETURN $value AS value", {"value": value})
        assert [list(row) for row in table.rows] == [[value]]


async def test_times_in_answers_are_aware_and_in_utc(small: Store) -> None:
    table = await small.query("MATCH (n:File) WHERE n.uuid = 'a' RETURN n._detectedAt AS at, n", {})
    [[moment, whole]] = table.rows
    assert isinstance(moment, datetime)
    assert moment == whole["_detectedAt"]
    assert moment.tzinfo is not None
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60


async def test_a_time_of_any_zone_is_found_by_its_instant(store: Store) -> None:
    moment = datetime(2024, 2, 29, 23, 30, tzinfo=timezone(timedelta(hours=-8)))
    await write(store, nodes=[article("a", revisionTimestamp=moment.astimezone(UTC))])
    table = await store.query("MATCH (n:Article) WHERE n.revisionTimestamp = $at RETURN n.uuid", {"at": moment})
    assert [list(row) for row in table.rows] == [["a"]]


async def test_a_write_is_refused_as_a_write_and_changes_nothing(small: Store) -> None:
    before = await picture(small)
    for text in WRITES:
        with pytest.raises(WriteRefused):
            await small.query(text, {})
    assert await picture(small) == before


async def test_no_trick_gets_a_write_past_the_read_mode_or_out_of_it(
    small: Store, lifecycle: Lifecycle, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    before, schema = await picture(small), await small.schema()
    for text in TRICKS:
        with pytest.raises((WriteRefused, QueryFailed)):
            await small.query(text.replace("{folder}", str(outside)), {})
        with pytest.raises(WriteRefused):
            await small.query(WRITES[0], {})
        assert await picture(small) == before, text
    assert await small.schema() == schema
    assert list(outside.iterdir()) == []
    await write(small, nodes=[file("c")], edges=[link("c", "a")])
    assert len(await claim(lifecycle)) == 3


async def test_a_write_that_was_asked_for_is_done(small: Store) -> None:
    await small.query("MATCH (n:File) WHERE n.uuid = $u SET n.size = $size", {"u": "b", "size": 7}, write=True)
    table = await small.query("MATCH (n:File) WHERE n.uuid = 'b' RETURN n.size AS size", {})
    assert [list(row) for row in table.rows] == [[7]]


async def test_a_failed_write_leaves_nothing_behind_and_the_store_works_on(small: Store) -> None:
    before = await picture(small)
    with pytest.raises(GraphmillError):
        await small.query(
            "MATCH (n:File) SET n.size = 9 WITH n UNWIND ['1', 'x'] AS d RETURN date(d + '-01-01')", {}, write=True
        )
    assert await picture(small) == before
    await write(small, nodes=[file("c")])
    assert set(await states_of(small)) == {"a", "b", "c"}


async def test_claims_see_what_a_person_wrote(small: Store, lifecycle: Lifecycle) -> None:
    claimed = await claim_one(lifecycle)
    await write(small, nodes=[file("c"), file("d", state=states.State.SKIP)])
    [other] = {"a", "b"} - {claimed.uuid}  # which of two equal nodes is claimed is up to the engine
    await small.query("MATCH (n:File) WHERE n.uuid = $other DETACH DELETE n", {"other": other}, write=True)
    await small.query("MATCH (n:File) WHERE n.uuid = 'd' SET n._state = 'pending'", {}, write=True)
    assert {row.uuid for row in await claim(lifecycle)} == {"c", "d"}


async def test_a_query_that_is_wrong_says_so_and_the_store_works_on(small: Store) -> None:
    for text in ["MATCH (n:File) RETRUN n", "MATCH (n:File RETURN n", "RETURN nobody", "RETURN 'open"]:
        with pytest.raises(QueryFailed) as refusal:
            await small.query(text, {})
        assert refusal.value.message
        assert not refusal.value.transient
    assert set(await states_of(small)) == {"a", "b"}


async def test_a_query_without_a_statement_is_refused(small: Store) -> None:
    for text in ["", "  \n", "// nothing"]:
        with pytest.raises((QueryFailed, WriteRefused)):
            await small.query(text, {})


async def test_a_syntax_error_says_where(small: Store) -> None:
    with pytest.raises(QueryFailed, match=r"line 2, column (1|9|12)\b"):
        await small.query("MATCH (n:File)\nRETRUN n", {})


async def test_a_query_that_takes_too_long_is_stopped_and_the_store_works_on(small: Store) -> None:
    with pytest.raises(QueryTimeout, match=r"0\.3"):
        await small.query(FOR_EVER, {}, timeout=0.3)
    assert set(await states_of(small)) == {"a", "b"}


async def test_work_goes_on_while_a_long_query_runs(small: Store, lifecycle: Lifecycle) -> None:
    question = asyncio.create_task(small.query(FOR_EVER, {}, timeout=HOUR))
    await bring(lifecycle, "File", *states.STAGES)
    assert not question.done()
    assert set((await states_of(small)).values()) == {"ready"}
    question.cancel()
    with pytest.raises(asyncio.CancelledError):
        await question


@pytest.mark.parametrize(
    ("cutoff", "found"),
    [("2020-01-01T00:00:00Z", 2), ("2020-01-01T02:00:00.5+02:00", 2), ("2099-01-01T00:00Z", 0)],
)
async def test_a_time_on_the_command_line_compares_as_a_time(small: Store, cutoff: str, found: int) -> None:
    text = "MATCH (n:File) WHERE n.projectId = $project AND n._stateChangedAt > $cutoff RETURN n.uuid"
    table = await small.query(text, {"project": small.project, "cutoff": parse_parameter(cutoff)})
    assert len(table.rows) == found


def parameters_of(store: Store, text: str) -> dict[str, Value]:
    """What the command line fills in."""
    given = {"project": store.project, "gone": ["long ago"], "longest": int(LONGEST_LEASE)}
    return {name: value for name, value in given.items() if f"${name}" in text}


async def named(store: Store, engine: str, name: str) -> list[dict[str, object]]:
    [query] = [each for each in cypher.catalogue("neo4j" if engine == "neo4j" else "kuzu") if each.name == name]
    table = await store.query(query.text, parameters_of(store, query.text))
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


@pytest.fixture
async def at_work(store: Store, lifecycle: Lifecycle) -> Store:
    """One node of each kind that the catalogue asks about."""
    await write(store, nodes=[file("broken")])
    await lifecycle.fail(await claim_one(lifecycle), message="not text", error_class=ErrorClass.PERMANENT)
    await write(store, nodes=[file("stuck")])
    await expire(lifecycle, [await claim_one(lifecycle, owner="gone")])
    await write(store, nodes=[section("text"), node("Scope", "busy", state=states.State.PARSED), article("wiki")])
    await bring(lifecycle, "Section", states.LINK)
    await claim_one(lifecycle, states.LINK, labels=["Scope"])
    await write(store, nodes=[file("waiting")])
    return store


async def test_the_named_queries_answer_with_these_columns_and_rows(at_work: Store, engine: str) -> None:
    assert await named(at_work, engine, "states") == [
        {"label": "Article", "state": "pending", "count": 1},
        {"label": "File", "state": "error", "count": 1},
        {"label": "File", "state": "parsing", "count": 1},
        {"label": "File", "state": "pending", "count": 1},
        {"label": "Scope", "state": "linking", "count": 1},
        {"label": "Section", "state": "linked", "count": 1},
    ]
    assert await named(at_work, engine, "errors") == [
        {"label": "File", "errorType": "parse", "class": "permanent", "message": "not text", "count": 1}
    ]
    assert await named(at_work, engine, "linked-not-embedded") == [
        {"label": "Section", "uuid": "text", "name": "name of text"}
    ]
    [stuck] = await named(at_work, engine, "stuck")
    assert isinstance(stuck.pop("leaseUntil"), datetime)
    assert stuck == {"label": "File", "uuid": "stuck", "name": "name of stuck", "state": "parsing", "owner": "gone"}
    recent = await named(at_work, engine, "recent")
    assert set(recent[0]) == {"label", "uuid", "name", "state", "changedAt"}
    assert recent[0]["uuid"] == "waiting"
    assert len(recent) == 6


# What counts has a row also where there is nothing.
NOTHING = {"expansion-queue": [[0]], "expansion-progress": [[0, 0, 100.0]]}


async def test_every_query_of_the_catalogue_runs_on_an_empty_graph(store: Store, engine: str) -> None:
    for query in cypher.catalogue("neo4j" if engine == "neo4j" else "kuzu"):
        rows = (await store.query(query.text, parameters_of(store, query.text))).rows
        assert list(rows) == NOTHING.get(query.name, [])


async def test_what_is_linked_but_holds_no_text_does_not_wait_for_a_vector(
    store: Store, lifecycle: Lifecycle, engine: str
) -> None:
    await write(store, nodes=[article("wiki"), file("f"), section("text"), section("done")])
    for label in ("Article", "File"):
        await bring(lifecycle, label, states.PARSE, states.LINK)
    await bring(lifecycle, "Section", states.LINK)
    await lifecycle.delete([ref("done", "Section")])
    assert [row["uuid"] for row in await named(store, engine, "linked-not-embedded")] == ["text"]
