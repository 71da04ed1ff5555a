"""What people do to an embedded database with `query --write`: it lasts, or it is refused, and the graph goes on."""

from pathlib import Path

import pytest

from graph_stores import kuzu
from graph_stores.errors import GraphmillError, PermanentStoreError, QueryTimeout
from graph_stores.model import Select
from tests.conformance.kuzu_child import child, file_batch, opened


@pytest.fixture(params=["kuzu", "ladybug"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.long
@pytest.mark.parametrize(
    "statement",
    [
        "COPY Other FROM (MATCH (f:File) RETURN f.uuid)",
        "PROFILE COPY Other FROM (MATCH (f:File) RETURN f.uuid)",
        "CREATE NODE TABLE Another AS MATCH (f:File) RETURN f.uuid AS id",
    ],
)
@pytest.mark.parametrize("end", ["close", "kill"])
def test_a_bulk_load_that_was_answered_is_there_afterwards(
    engine: str, tmp_path: Path, statement: str, end: str
) -> None:
    run = child("load_in_bulk", engine, tmp_path / "graph", statement, end)
    assert "answered" in run.stdout, run.stderr
    table = "Another" if "Another" in statement else "Other"
    counted = child("count", engine, tmp_path / "graph", table)
    assert counted.stdout.split() == ["300"], counted.stderr


async def test_deleting_everything_is_refused_because_it_would_delete_our_own_node(engine: str, tmp_path: Path) -> None:
    store = await opened(engine, tmp_path / "graph")
    await store.commit(file_batch("a"))
    with pytest.raises(PermanentStoreError, match="GraphmillMeta"):
        await store.query("MATCH (n) DETACH DELETE n", {}, write=True)
    await store.query("MATCH (n:File) DETACH DELETE n", {}, write=True)
    await store.close()
    store = await kuzu.open(f"{engine}:{tmp_path / 'graph'}", project="p")
    assert await store.nodes(Select()) == []
    await store.close()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE NODE TABLE `My Label`(id STRING PRIMARY KEY)",
        "CREATE NODE TABLE `Größe`(id STRING PRIMARY KEY)",
        "ALTER TABLE File ADD `my prop` STRING",
    ],
)
async def test_names_that_are_not_ours_are_left_alone(engine: str, tmp_path: Path, statement: str) -> None:
    store = await opened(engine, tmp_path / "graph")
    await store.query(statement, {}, write=True)
    await store.commit(file_batch("a"))
    await store.close()
    store = await kuzu.open(f"{engine}:{tmp_path / 'graph'}", project="p")
    assert [row.uuid for row in await store.nodes(Select())] == ["a"]
    await store.close()


async def test_repairing_a_dropped_table_keeps_the_version(engine: str, tmp_path: Path) -> None:
    store = await opened(engine, tmp_path / "graph")
    await store.query("DROP TABLE CONSUMES", {}, write=True)
    assert (await store.schema()).missing == ["CONSUMES"]
    repaired = await store.migrate()
    assert (repaired.found, repaired.missing) == (repaired.newest, [])
    await store.close()


@pytest.mark.parametrize("statement", ["BEGIN TRANSACTION", "COMMIT", "ROLLBACK"])
async def test_transactions_are_ours(engine: str, tmp_path: Path, statement: str) -> None:
    store = await opened(engine, tmp_path / "graph")
    with pytest.raises(GraphmillError):
        await store.query(statement, {}, write=True)
    await store.commit(file_batch("a"))
    await store.close()


@pytest.mark.long
async def test_an_answer_that_is_too_long_to_fetch_in_time_is_stopped(engine: str, tmp_path: Path) -> None:
    store = await opened(engine, tmp_path / "graph")
    with pytest.raises(QueryTimeout):
        await store.query("UNWIND range(1, 3000000) AS x RETURN x, 'some text' AS y", {}, timeout=0.3)
    await store.commit(file_batch("a"))
    await store.close()


async def test_a_node_made_by_hand_does_not_stop_the_others(engine: str, tmp_path: Path) -> None:
    store = await opened(engine, tmp_path / "graph")
    await store.commit(file_batch("a"))
    made = "CREATE (:File {uuid: 'by hand', projectId: 'p', _state: 'pending'})"
    await store.query(made, {}, write=True)
    assert {row.uuid for row in await store.nodes(Select())} == {"a", "by hand"}
    await store.close()
