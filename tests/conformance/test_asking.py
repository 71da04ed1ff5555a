"""graphmill's own questions: found by name, kept to the project, right also after the graph was changed or reopened."""

import asyncio

import pytest

import cypher
from graph_stores.errors import Misuse
from graph_stores.model import Table, Value, VectorSpace
from graph_stores.protocol import Store
from orchestrator.states import State
from tests.conformance.examples import file, files, ref, write
from tests.conformance.place import Place

COLUMNS = ["uuid", "root", "path", "state", "manifest", "draft"]
PLANTED = {
    "files": "MATCH (n:File) WHERE n.projectId = $project RETURN n, n.uuid AS uuid ORDER BY uuid",
    "echo": "UNWIND $values AS value RETURN value, $project AS project",
    "one": "RETURN $value AS value, $project AS project",
}


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions that both dialects understand."""
    monkeypatch.setattr(cypher, "asked", lambda _: PLANTED)


async def manifests(store: Store, after: str = "", limit: int = 100) -> Table:
    return await store.ask("manifests", {"after": after, "limit": limit})


async def uuids(store: Store, **page: Value) -> list[str]:
    return [row[0] for row in (await manifests(store, **page)).rows]


async def test_a_question_is_answered_with_named_columns(store: Store) -> None:
    known = file("a", root="docs", path="guide.md", _manifest="{}", _draft="[1]", state=State.PARSED)
    await write(store, nodes=[known, file("b")])
    table = await manifests(store)
    assert list(table.columns) == COLUMNS
    assert [list(row) for row in table.rows] == [
        ["a", "docs", "guide.md", "parsed", "{}", "[1]"],
        ["b", None, None, "pending", None, None],
    ]


async def test_pages_follow_each_other(store: Store) -> None:
    await write(store, nodes=files(7))
    first = await uuids(store, limit=3)
    second = await uuids(store, after=first[-1], limit=3)
    assert [*first, *second, *await uuids(store, after=second[-1], limit=3)] == [each.uuid for each in files(7)]


async def test_only_the_own_project_is_asked(store: Store, place: Place) -> None:
    await write(store, nodes=[file(f"{place.project}-mine")])
    await place.close()
    other = await place.open(project=f"{place.project}-other")
    await write(other, nodes=[file(f"{place.project}-theirs")])
    assert await uuids(other) == [f"{place.project}-theirs"]


@pytest.mark.parametrize(
    "name", ["manifest", "", "../claimable", "asked/manifests", "named/states", "manifests.cypher", "a" * 300, "é", "$"]
)
async def test_a_question_that_is_not_there_is_refused(store: Store, name: str) -> None:
    with pytest.raises(Misuse, match="no question") as refusal:
        await store.ask(name)
    assert "manifests" in refusal.value.hint


@pytest.mark.parametrize(
    "parameters",
    [None, {}, {"after": ""}, {"after": "", "limit": 1, "more": 1}, {"after": "", "limit": 1, "project": "another"}],
)
async def test_a_question_gets_exactly_its_parameters(store: Store, parameters: dict[str, Value] | None) -> None:
    with pytest.raises(Misuse, match="expected after, limit"):
        await store.ask("manifests", parameters)


@pytest.mark.usefixtures("planted")
async def test_nodes_come_back_as_from_a_query(store: Store) -> None:
    await write(store, nodes=[file("a", size=1, brokenLinks=["x", "y"]), file("b")])
    asked = await store.ask("files")
    queried = await store.query(PLANTED["files"], {"project": store.project})
    assert [list(row) for row in asked.rows] == [list(row) for row in queried.rows]
    assert asked.rows[0][0]["_label"] == "File"
    assert asked.rows[0][0]["brokenLinks"] == ["x", "y"]


@pytest.mark.usefixtures("planted")
async def test_the_same_question_takes_values_of_any_type_in_turn(store: Store) -> None:
    for values in (["a"], [], [1, 2], ["'", 'q"`\\', "ü\n"], [True], [1.5], []):
        answer = await store.ask("echo", {"values": values})
        assert [list(row) for row in answer.rows] == [[value, store.project] for value in values]
    for value in ("x", None, 7, 0.5, False, None, "y"):
        assert list((await store.ask("one", {"value": value})).rows[0]) == [value, store.project]


async def test_answers_are_right_after_the_schema_was_changed_and_after_reopening(store: Store, place: Place) -> None:
    await write(store, nodes=[file("a")])
    for dimension in (4, 8):
        assert await uuids(store) == ["a"]
        await store.use_vector_space(VectorSpace(provider="test", model="m", dimension=dimension))
    await write(store, nodes=[file("b")])
    assert await uuids(store) == ["a", "b"]
    reopened = await place.reopen()
    await write(reopened, deletions=[ref("a")])
    assert await uuids(reopened) == ["b"]


async def test_many_may_ask_at_once_while_somebody_writes(store: Store) -> None:
    await write(store, nodes=files(50))

    async def rewrite() -> None:
        for number in range(10):
            await write(store, nodes=[file("f00000", path=str(number))])

    *answers, _ = await asyncio.gather(*(uuids(store) for _ in range(40)), rewrite())
    assert answers == [[each.uuid for each in files(50)]] * 40
