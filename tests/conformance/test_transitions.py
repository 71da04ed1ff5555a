"""Compare and set: a transition names what it expects, and where that is not so nothing at all happens."""

import asyncio

import pytest

from graph_stores.errors import LeaseLost, Misuse, TransitionConflict
from graph_stores.model import Transition
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import transition
from orchestrator.states import State
from tests.conformance.examples import (
    claim,
    claim_one,
    file,
    files,
    node,
    picture,
    read,
    ref,
    states_of,
    write,
)
from tests.conformance.place import IN_EVERY_FORM

pytestmark = IN_EVERY_FORM


def skip(uuid: str, *, token: str | None = None) -> Transition:
    return transition(ref(uuid), expected=State.PENDING, to=State.SKIP, token=token)


async def test_a_transition_moves_one_node_and_stamps_when(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(2))
    before = await read(store, "f00000")
    await lifecycle.transition([skip("f00000")])
    after = await read(store, "f00000")
    assert await states_of(store) == {"f00000": "skip", "f00001": "pending"}
    assert after.state_changed_at > before.state_changed_at
    assert after.detected_at == before.detected_at


async def test_a_transition_moves_many_nodes_of_several_labels_in_one_commit(
    store: Store, lifecycle: Lifecycle
) -> None:
    labels = ("File", "Scope", "Section")
    nodes = [ref(f"{label}{number:04}", label) for label in labels for number in range(70)]
    await write(store, nodes=[node(each.label, each.uuid) for each in nodes])
    await lifecycle.transition([transition(each, expected=State.PENDING, to=State.SKIP) for each in nodes])
    progress = await store.progress(finished=["skip"], window=3600)
    assert sorted((each.label, each.state, each.count) for each in progress.counts) == [
        ("File", "skip", 70),
        ("Scope", "skip", 70),
        ("Section", "skip", 70),
    ]


async def test_the_marks_of_each_node_are_its_own(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(3))
    await lifecycle.transition(
        [
            transition(ref("f00000"), expected=State.PENDING, to=State.SKIP, properties={"_contentHash": "x"}),
            transition(ref("f00001"), expected=State.PENDING, to=State.SKIP, properties={"_runId": "r"}),
            transition(ref("f00002"), expected=State.PENDING, to=State.SKIP, retry_count=2),
        ]
    )
    found = {uuid: await read(store, uuid) for uuid in ("f00000", "f00001", "f00002")}
    assert {uuid: row.properties for uuid, row in found.items()} == {
        "f00000": {"_contentHash": "x"},
        "f00001": {"_runId": "r"},
        "f00002": {},
    }
    assert [row.retry_count for row in found.values()] == [0, 0, 2]


async def test_a_mark_of_none_removes_the_property(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a", _contentHash="x", _runId="r")])
    await lifecycle.transition(
        [transition(ref("a"), expected=State.PENDING, to=State.SKIP, properties={"_contentHash": None})]
    )
    assert (await read(store, "a")).properties == {"_runId": "r"}


async def test_a_conflict_names_the_node_what_was_expected_and_what_was_found(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=[file("a", state=State.PARSED)])
    with pytest.raises(TransitionConflict) as refusal:
        await lifecycle.transition([skip("a")])
    [conflict] = refusal.value.conflicts
    assert (conflict.label, conflict.uuid, conflict.expected, conflict.found) == ("File", "a", "pending", "parsed")
    assert not conflict.lease_lost
    assert not isinstance(refusal.value, LeaseLost)
    assert all(word in str(refusal.value) for word in ("File", "a", "pending", "parsed"))


async def test_a_node_that_is_gone_is_a_conflict_in_which_nothing_was_found(store: Store, lifecycle: Lifecycle) -> None:
    with pytest.raises(TransitionConflict) as refusal:
        await lifecycle.transition([skip("nobody")])
    assert [(each.uuid, each.found) for each in refusal.value.conflicts] == [("nobody", None)]


async def test_one_conflict_in_the_middle_rolls_the_whole_batch_back_and_all_are_named(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(500))
    await lifecycle.transition([skip("f00100"), skip("f00300")])
    before = await picture(store)
    with pytest.raises(TransitionConflict) as refusal:
        await lifecycle.transition([skip(f"f{number:05}") for number in range(501)])
    assert {each.uuid: each.found for each in refusal.value.conflicts} == {
        "f00100": "skip",
        "f00300": "skip",
        "f00500": None,
    }
    assert await picture(store) == before


async def test_the_same_node_moved_twice_in_one_batch_is_refused(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    with pytest.raises((TransitionConflict, Misuse)):
        await lifecycle.transition([skip("a"), skip("a")])
    assert await states_of(store) == {"a": "pending"}


async def test_a_transition_repeated_finds_that_the_node_moved_on(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    await lifecycle.transition([skip("a")])
    with pytest.raises(TransitionConflict):
        await lifecycle.transition([skip("a")])


async def test_of_many_that_move_the_same_node_exactly_one_wins(store: Store, lifecycle: Lifecycle) -> None:
    for uuid in ("a", "b", "c"):
        await write(store, nodes=[file(uuid)])
        outcomes = await asyncio.gather(*(lifecycle.transition([skip(uuid)]) for _ in range(8)), return_exceptions=True)
        assert sorted(type(each).__name__ for each in outcomes) == ["NoneType"] + ["TransitionConflict"] * 7


@pytest.mark.parametrize("token", [None, "somebody else's"])
async def test_a_leased_node_moves_only_for_the_holder_of_the_token(
    store: Store, lifecycle: Lifecycle, token: str | None
) -> None:
    await write(store, nodes=[file("a")])
    await claim_one(lifecycle)
    before = await picture(store)
    with pytest.raises(TransitionConflict):
        await lifecycle.transition([transition(ref("a"), expected=State.PARSING, to=State.PARSED, token=token)])
    assert await picture(store) == before


async def test_a_token_on_a_node_without_a_lease_is_a_lost_lease(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    with pytest.raises(LeaseLost):
        await lifecycle.transition([skip("a", token="once mine")])
    assert await states_of(store) == {"a": "pending"}


async def test_a_live_lease_cannot_be_taken_away(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    held = await claim_one(lifecycle)
    assert held.lease is not None
    with pytest.raises(TransitionConflict):
        await lifecycle.transition(
            [transition(ref("a"), expected=State.PARSING, to=State.PENDING, token=held.lease.token, expired=True)]
        )
    assert (await read(store, "a")).lease == held.lease


@pytest.mark.parametrize("to", [State.PARSED, State.ERROR, State.PENDING])
async def test_any_transition_ends_the_lease(store: Store, lifecycle: Lifecycle, to: State) -> None:
    await write(store, nodes=[file("a")])
    held = await claim_one(lifecycle)
    assert held.lease is not None
    await lifecycle.transition([transition(ref("a"), expected=State.PARSING, to=to, token=held.lease.token)])
    row = await read(store, "a")
    assert (row.state, row.lease) == (to, None)


async def test_a_delay_holds_only_until_the_next_transition(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a", state=State.SKIP)])
    await lifecycle.transition([transition(ref("a"), expected=State.SKIP, to=State.PENDING, delay=3600.0)])
    assert (await read(store, "a")).not_before is not None
    await lifecycle.transition([skip("a")])
    assert (await read(store, "a")).not_before is None
    await lifecycle.transition([transition(ref("a"), expected=State.SKIP, to=State.PENDING)])
    assert [row.uuid for row in await claim(lifecycle, states.PARSE)] == ["a"]
