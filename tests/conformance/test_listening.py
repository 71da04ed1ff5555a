"""Whoever listens to a store hears of every change of a state once: what it was, what it became, and when."""

from collections.abc import Sequence

import pytest

from graph_stores.errors import TransitionConflict
from graph_stores.listening import microseconds
from graph_stores.model import Batch, Move, Select, Update
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import step_forward, transition
from orchestrator.states import ErrorClass, State
from tests.conformance.examples import claim, claim_one, expire, file, files, read, ref, section, write
from tests.conformance.listeners import Heard
from tests.conformance.place import IN_EVERY_FORM, Place

pytestmark = IN_EVERY_FORM


@pytest.fixture
def heard(store: Store) -> Heard:
    heard = Heard()
    store.listen(heard)
    return heard


def steps(moves: Sequence[Move]) -> list[tuple[str, str | None, str | None]]:
    return sorted((move.node.uuid, move.before, move.after) for move in moves)


async def test_a_birth_is_heard_once_however_often_the_node_is_written(store: Store, heard: Heard) -> None:
    await write(store, nodes=[file("a", _runId="r"), file("b")])
    await write(store, nodes=[file("a"), file("b"), section("s")])
    assert steps(heard.moves) == [("a", None, "pending"), ("b", None, "pending"), ("s", None, "parsed")]
    assert {move.node.uuid: move.run for move in heard.moves} == {"a": "r", "b": None, "s": None}
    for move in heard.moves:
        assert move.at == microseconds((await read(store, move.node.uuid, move.node.label)).state_changed_at)


async def test_each_step_of_a_node_is_heard_with_its_times_and_tries(
    store: Store, lifecycle: Lifecycle, heard: Heard
) -> None:
    await write(store, nodes=[file("a", _runId="r")])
    [birth] = heard.taken()
    await lifecycle.fail(await claim_one(lifecycle), message="no luck", error_class=ErrorClass.TRANSIENT)
    taken, failed = heard.taken()
    assert (taken.before, taken.after, taken.since, taken.tries, taken.run) == ("pending", "parsing", birth.at, 0, "r")
    assert (failed.before, failed.after, failed.since, failed.tries) == ("parsing", "pending", taken.at, 0)
    assert (failed.error_type, failed.error_message, failed.run) == ("parse", "no luck", "r")
    await lifecycle.complete([Result(node=await claim_one(lifecycle))])
    again, done = heard.taken()
    assert (again.since, again.tries) == (failed.at, 1)
    assert (done.before, done.after, done.since, done.tries, done.error_message) == (
        "parsing",
        "parsed",
        again.at,
        1,
        None,
    )
    assert done.at == microseconds((await read(store, "a")).state_changed_at)


async def test_states_that_are_passed_on_the_way_are_told(store: Store, lifecycle: Lifecycle, heard: Heard) -> None:
    await write(store, nodes=[section("s")])
    heard.taken()
    through = transition(ref("s", "Section"), expected=State.PARSED, through=[State.LINKING], to=State.LINKED)
    await lifecycle.transition([through])
    [move] = heard.moves
    assert (move.before, move.through, move.after) == ("parsed", ("linking",), "linked")


async def test_many_that_move_alike_and_otherwise_are_each_heard(
    store: Store, lifecycle: Lifecycle, heard: Heard
) -> None:
    await write(store, nodes=files(40))
    rows = await claim(lifecycle, limit=40)
    heard.taken()
    results = [
        Result(node=row, path=[State.PARSED] if number < 30 else [State.ERROR], properties={"language": str(number)})
        for number, row in enumerate(rows)
    ]
    await lifecycle.complete(results)
    moves = heard.taken()
    assert sorted(move.after or "" for move in moves) == ["error"] * 10 + ["parsed"] * 30
    assert len({move.node for move in moves}) == 40


async def test_a_removal_is_heard_of_what_was_there(store: Store, lifecycle: Lifecycle, heard: Heard) -> None:
    await write(store, nodes=files(20))
    births = {move.node: move for move in heard.taken()}
    await lifecycle.delete([*births, ref("never-there")])
    deaths = heard.taken()
    assert {move.node for move in deaths} == set(births)
    assert {(move.before, move.after) for move in deaths} == {("pending", None)}
    assert all(move.since == births[move.node].at <= move.at for move in deaths)
    await lifecycle.delete(list(births))
    assert heard.taken() == []


async def test_what_changes_no_state_is_not_heard(store: Store, lifecycle: Lifecycle, heard: Heard) -> None:
    await write(store, nodes=files(1))
    row = await claim_one(lifecycle)
    heard.taken()
    await lifecycle.heartbeat([row], seconds=60)
    await lifecycle.transition([step_forward(row, {"language": "x"})])
    await lifecycle.update([Update(node=row.ref, properties={"language": "y"})])
    assert heard.moves == []


async def test_what_was_refused_is_not_heard(store: Store, lifecycle: Lifecycle, heard: Heard) -> None:
    await write(store, nodes=files(2))
    heard.taken()
    moves = [
        transition(ref("f00000"), expected=State.PENDING, to=State.SKIP),
        transition(ref("f00001"), expected=State.READY, to=State.PENDING),
    ]
    with pytest.raises(TransitionConflict):
        await store.commit(Batch(transitions=moves, nodes=[file("new")]))
    assert heard.moves == []


async def test_a_lease_that_was_taken_away_is_heard_as_a_loss(store: Store, lifecycle: Lifecycle, heard: Heard) -> None:
    await write(store, nodes=files(1))
    await expire(lifecycle, await claim(lifecycle, states.PARSE))
    heard.taken()
    assert await lifecycle.reclaim() == 1
    [move] = heard.moves
    assert (move.before, move.after) == ("parsing", "pending")
    assert "was over" in (move.error_message or "")


async def test_what_was_heard_adds_up_to_the_graph(store: Store, lifecycle: Lifecycle, heard: Heard) -> None:
    await write(store, nodes=[*files(30), *(section(f"s{number}") for number in range(30))])
    rows = await claim(lifecycle, limit=20)
    await lifecycle.complete([Result(node=row) for row in rows[:10]])
    await lifecycle.release(rows[10:15])
    await lifecycle.mark_changed({row.ref: "new" for row in rows[:5]})
    await lifecycle.delete([row.ref for row in rows[5:8]])
    latest: dict[str, tuple[str | None, int]] = {}
    for move in heard.moves:
        assert latest.get(move.node.uuid, (None, 0))[0] == move.before
        latest[move.node.uuid] = move.after, move.at
    graph = {row.uuid: (row.state, microseconds(row.state_changed_at)) for row in await store.nodes(Select())}
    assert {uuid: each for uuid, each in latest.items() if each[0]} == graph


async def test_a_listener_is_closed_after_the_store(place: Place) -> None:
    store = await place.open(create=True)
    await store.migrate()
    heard = Heard()
    store.listen(heard)
    await write(store, nodes=files(1))
    await place.close()
    assert (steps(heard.moves), heard.closed) == ([("f00000", None, "pending")], 1)
