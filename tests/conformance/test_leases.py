"""Leases: kept by heartbeats, taken back when they run out, and worth nothing once lost (rows L4 to L6, L8)."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from graph_stores.errors import LeaseLost
from graph_stores.model import NodeRow, Unlink
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.states import ErrorClass, Stage, State
from tests.conformance.examples import (
    HOUR,
    claim,
    claim_one,
    eventually,
    expire,
    file,
    files,
    link,
    picture,
    read,
    ref,
    states_of,
    write,
)
from tests.conformance.place import IN_EVERY_FORM

pytestmark = IN_EVERY_FORM

Verb = Callable[[Lifecycle, NodeRow], Awaitable[object]]
VERBS: dict[str, Verb] = {
    "complete": lambda lifecycle, node: lifecycle.complete([Result(node=node, properties={"_contentHash": "mine"})]),
    "fail": lambda lifecycle, node: lifecycle.fail(node, message="mine", error_class=ErrorClass.PERMANENT),
    "heartbeat": lambda lifecycle, node: lifecycle.heartbeat([node], seconds=HOUR),
    "release": lambda lifecycle, node: lifecycle.release([node]),
}


async def zombie(lifecycle: Lifecycle) -> NodeRow:
    """A node as a worker remembers it whose lease ran out and was taken back."""
    row = await claim_one(lifecycle, owner="zombie")
    await expire(lifecycle, [row])
    assert await lifecycle.reclaim() == 1
    return row


async def test_a_heartbeat_makes_the_lease_last_from_now_on(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(3))
    rows = await claim(lifecycle, seconds=30)
    await lifecycle.heartbeat(rows, seconds=300)
    for row in rows:
        kept = (await read(store, row.uuid)).lease
        assert row.lease is not None
        assert kept is not None
        assert (kept.owner, kept.token) == (row.lease.owner, row.lease.token)
        assert 269 < (kept.until - row.lease.until).total_seconds() < 300


async def test_a_heartbeat_names_the_lost_and_keeps_the_others(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(4))
    rows = await claim(lifecycle, seconds=30)
    await lifecycle.release(rows[:1])
    await lifecycle.delete([rows[1].ref])
    with pytest.raises(LeaseLost) as refusal:
        await lifecycle.heartbeat(rows, seconds=HOUR)
    assert {each.uuid for each in refusal.value.conflicts} == {"f00000", "f00001"}
    assert [await leased_for_long(store, row) for row in rows[2:]] == [True, True]


async def test_losing_one_claim_does_not_cost_the_worker_its_other_claims(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(2))
    lost, held = [await claim_one(lifecycle, seconds=30) for _ in range(2)]
    await lifecycle.release([lost])
    with pytest.raises(LeaseLost):
        await lifecycle.heartbeat([lost, held], seconds=HOUR)
    assert await leased_for_long(store, held)


async def leased_for_long(store: Store, row: NodeRow) -> bool:
    kept = (await read(store, row.uuid)).lease
    return kept is not None and row.lease is not None and (kept.until - row.lease.until).total_seconds() > HOUR / 2


async def test_nothing_is_reclaimed_from_a_live_lease(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(3))
    await claim(lifecycle)
    before = await picture(store)
    assert await lifecycle.reclaim() == 0
    assert await picture(store) == before


@pytest.mark.parametrize("stage", states.STAGES, ids=lambda stage: stage.name)
async def test_an_expired_lease_is_taken_back_to_its_stage_and_counts_as_a_try(
    store: Store, lifecycle: Lifecycle, stage: Stage
) -> None:
    await write(store, nodes=[file("a")])
    for earlier in states.STAGES[: states.STAGES.index(stage)]:
        await lifecycle.complete([Result(node=await claim_one(lifecycle, earlier))])
    await expire(lifecycle, [await claim_one(lifecycle, stage, owner="worker 7")])
    assert await lifecycle.reclaim() == 1
    row = await read(store, "a")
    assert (row.state, row.retry_count, row.lease) == (stage.waiting, 1, None)
    assert (row.error_type, row.error_class) == (stage.error_type, "transient")
    assert "worker 7" in (row.error_message or "")
    assert (await claim_one(lifecycle, stage)).retry_count == 1


async def test_a_poison_node_ends_in_error_when_its_tries_are_used_up(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("poison"), file("fine", depth=1)])
    for tries in range(1, lifecycle.policy.limit + 1):
        await expire(lifecycle, [await claim_one(lifecycle)])
        assert await lifecycle.reclaim() == 1
        assert (await read(store, "poison")).retry_count == tries
    assert await states_of(store) == {"poison": "error", "fine": "pending"}
    assert [row.uuid for row in await claim(lifecycle)] == ["fine"]


async def test_a_node_at_work_that_has_no_lease_is_taken_back_too(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    late = await claim_one(lifecycle)
    await store.query(
        "MATCH (n:File) WHERE n.uuid = 'a' SET n._leaseToken = NULL, n._leaseOwner = NULL, n._leaseUntil = NULL",
        {},
        write=True,
    )
    assert await lifecycle.reclaim() == 1
    assert (await read(store, "a")).state == "pending"
    await refuses(lifecycle, late)


async def test_a_claim_whose_answer_was_lost_is_free_again_after_its_lease(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(3))
    await claim(lifecycle, owner="answer lost", seconds=0.2)
    assert await claim(lifecycle) == []
    assert await eventually(lifecycle.reclaim) == 3
    assert len(await claim(lifecycle)) == 3


async def refuses(lifecycle: Lifecycle, late: NodeRow) -> None:
    """Every verb of the worker that comes too late is a lost lease and changes nothing."""
    before = await picture(lifecycle.store)
    for verb in VERBS.values():
        with pytest.raises(LeaseLost):
            await verb(lifecycle, late)
    assert await picture(lifecycle.store) == before


async def test_a_worker_whose_node_was_taken_back_can_change_nothing(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    await refuses(lifecycle, await zombie(lifecycle))


async def test_a_worker_whose_node_is_in_other_hands_can_change_nothing(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    late = await zombie(lifecycle)
    other = await claim_one(lifecycle, owner="other")
    await refuses(lifecycle, late)
    await lifecycle.heartbeat([other], seconds=HOUR)


async def test_the_result_of_the_one_who_finished_stays(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    late = await zombie(lifecycle)
    other = await claim_one(lifecycle, owner="other")
    await lifecycle.complete([Result(node=other, properties={"_contentHash": "theirs"})])
    await refuses(lifecycle, late)
    assert (await read(store, "a")).properties["_contentHash"] == "theirs"


async def test_a_worker_whose_node_was_deleted_can_change_nothing(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    late = await claim_one(lifecycle)
    await lifecycle.delete([late.ref])
    await refuses(lifecycle, late)


async def test_nothing_that_a_zombie_made_is_in_the_graph(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a"), file("b", state=State.SKIP)], edges=[link("a", "b", count=1)])
    late = await zombie(lifecycle)
    before = await picture(store)
    with pytest.raises(LeaseLost):
        await lifecycle.complete(
            [
                Result(
                    node=late,
                    unlinks=[Unlink(source=ref("a"), type="LINKS_TO")],
                    deletions=[ref("b")],
                    nodes=[file("child", state=State.PARSED)],
                    edges=[link("a", "child", count=9)],
                )
            ]
        )
    assert await picture(store) == before


async def test_one_lost_lease_refuses_the_results_of_the_whole_batch(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(3))
    rows = await claim(lifecycle)
    await lifecycle.release(rows[1:2])
    before = await picture(store)
    with pytest.raises(LeaseLost) as refusal:
        await lifecycle.complete([Result(node=row) for row in rows])
    assert [each.uuid for each in refusal.value.conflicts] == ["f00001"]
    assert refusal.value.conflicts[0].lease_lost
    assert await picture(store) == before


async def test_when_completion_races_reclaim_exactly_one_wins(store: Store, lifecycle: Lifecycle) -> None:
    lifecycle = Lifecycle(store=store)
    for number in range(25):
        uuid = f"round {number}"
        await write(store, nodes=[file(uuid)])
        row = await claim_one(lifecycle)
        await expire(lifecycle, [row])
        racers = [lifecycle.complete([Result(node=row)]), lifecycle.reclaim()]
        completed, reclaimed = await asyncio.gather(*racers[:: (-1) ** number], return_exceptions=True)
        if number % 2:
            completed, reclaimed = reclaimed, completed
        after = await read(store, uuid)
        if completed is None:
            assert (reclaimed, after.state, after.retry_count) == (0, "parsed", 0)
        else:
            assert isinstance(completed, LeaseLost)
            assert (reclaimed, after.state, after.retry_count) == (1, "pending", 1)
        # On a slow machine it would wait again before the next round has claimed its own.
        await lifecycle.delete([after.ref])
