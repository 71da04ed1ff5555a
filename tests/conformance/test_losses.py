"""Workers that disappear, and work that is given back: who pays with a try, and when there are no more."""

from dataclasses import replace

import pytest

from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle
from orchestrator.states import ErrorClass, State
from tests.conformance.examples import AT_ONCE, claim, claim_one, expire, files, picture, read, states_of, write
from tests.conformance.place import HERE_AND_ON_A_SERVER

pytestmark = HERE_AND_ON_A_SERVER


async def test_leases_of_owners_that_are_gone_are_taken_back_before_they_run_out(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(3))
    gone = [await claim_one(lifecycle, owner="gone") for _ in range(2)]
    alive = await claim_one(lifecycle, owner="alive")
    assert await lifecycle.reclaim(lambda owner: owner == "gone") == 2
    rows = [await read(store, row.uuid) for row in gone]
    assert [(row.state, row.retry_count, row.lease) for row in rows] == [("pending", 1, None)] * 2
    assert "its worker, gone, disappeared" in (rows[0].error_message or "")
    assert (await read(store, alive.uuid)).lease == alive.lease


async def test_without_somebody_who_knows_only_what_ran_out_is_taken_back(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(1))
    await claim_one(lifecycle, owner="gone")
    assert await lifecycle.reclaim() == 0


@pytest.mark.parametrize("losses", [1, 4])
async def test_a_node_may_lose_as_many_workers_as_the_policy_says(
    store: Store, lifecycle: Lifecycle, losses: int
) -> None:
    await write(store, nodes=files(1))
    lifecycle = replace(lifecycle, policy=replace(AT_ONCE, limit=2, losses=losses))
    for _ in range(losses):
        assert await states_of(store) == {"f00000": "pending"}
        await expire(lifecycle, [await claim_one(lifecycle)])
        await lifecycle.reclaim()
    row = await read(store, "f00000")
    assert (row.state, row.retry_count, row.error_class) == ("error", losses, "transient")


async def test_failures_have_a_limit_of_their_own(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(1))
    lifecycle = replace(lifecycle, policy=replace(AT_ONCE, limit=2, losses=9))
    for went in (State.PENDING, State.ERROR):
        node = await claim_one(lifecycle)
        assert await lifecycle.fail(node, message="no", error_class=ErrorClass.TRANSIENT) is went


async def test_what_is_given_back_costs_no_try_and_what_is_not_held_any_more_is_left_alone(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(4))
    rows = await claim(lifecycle)
    await lifecycle.release(rows[:1])
    other = await claim_one(lifecycle, owner="another")
    await lifecycle.delete([rows[1].ref])
    await lifecycle.give_back(rows)
    assert await states_of(store) == {"f00000": "parsing", "f00002": "pending", "f00003": "pending"}
    assert (await read(store, "f00000")).lease == other.lease
    assert (await read(store, "f00002")).retry_count == 0


async def test_nothing_to_give_back_writes_nothing(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(1))
    before = await picture(store)
    await lifecycle.give_back([])
    assert await picture(store) == before
