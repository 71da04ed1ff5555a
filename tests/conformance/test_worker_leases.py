"""What a worker holds and what it lost: leases kept, leases taken, workers killed, holds gone (rows L1 to L3, P1)."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_stores.model import Fence, NodeRow
from graph_stores.protocol import Store
from orchestrator import leases
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.worker import Outcome
from tests.conformance.examples import (
    AT_ONCE,
    HOUR,
    claim,
    claim_one,
    eventually,
    expire,
    files,
    picture,
    read,
    states_of,
    write,
)
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER, Place
from tests.conformance.poisoned_worker import KILLED, LOSSES
from tests.conformance.scripted_step import (
    LEASE,
    Hold,
    Scripted,
    all_done,
    around,
    everything_is_parsed,
    is_in,
    worked,
    working,
)


@HERE_AND_ON_A_SERVER
async def test_heartbeats_keep_work_that_takes_far_longer_than_its_lease(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(1))
    hold = Hold()
    beats = asyncio.Semaphore(0)

    async def counted(real: Any, *arguments: Any, **options: Any) -> Any:
        answer = await real(*arguments, **options)
        beats.release()
        return answer

    step = Scripted(script=hold)
    rival = Scripted()
    async with working(around(lifecycle, heartbeat=counted), step, lease_seconds=LEASE, grace=60):
        await hold.begun.wait()
        async with working(lifecycle, rival, lease_seconds=LEASE):
            for _ in range(9):  # four of them make a lease
                await beats.acquire()
            hold.go_on.set()
            await eventually(lambda: is_in(store, "f00000", "parsed"))
    assert (len(step.batches), rival.batches, step.committed) == (1, [], ["f00000"])
    assert not hold.cancelled.is_set()


@HERE_AND_ON_A_SERVER
async def test_work_is_cancelled_when_no_answer_to_a_heartbeat_comes_and_costs_the_node_no_try(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(1))
    hold, never = Hold(), asyncio.Event()

    async def lost_on_the_way(real: Any, *arguments: Any, **options: Any) -> Any:
        answer = await real(*arguments, **options)
        await never.wait()
        return answer

    step = Scripted(script=hold)
    async with working(around(lifecycle, heartbeat=lost_on_the_way), step, lease_seconds=LEASE):
        await hold.cancelled.wait()
        await eventually(lambda: begun_again(step))
    row = await read(store, "f00000")
    assert (row.state, row.retry_count, row.error_type) == ("pending", 0, None)
    assert set(step.tries) == {0}


@HERE_AND_ON_A_SERVER
async def test_who_lost_the_lease_is_cancelled_and_changes_nothing(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(1))
    hold = Hold()
    step = Scripted(script=hold)
    async with working(lifecycle, step, lease_seconds=LEASE):
        await hold.begun.wait()
        await lifecycle.complete([Result(node=hold.nodes[0], properties={"_contentHash": "another's"})])
        before = await picture(store)
        await hold.cancelled.wait()
    assert await picture(store) == before
    assert step.committed == []


@HERE
async def test_a_step_that_hogs_the_interpreter_for_three_leases_is_accepted_once_at_most(
    store: Store, lifecycle: Lifecycle
) -> None:
    """One process owns the graph, so nobody can take the node away meanwhile; nothing is done twice either."""
    await write(store, nodes=files(1))
    ended = threading.Event()

    async def hogging(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        if not ended.is_set():
            ended.wait(3 * 0.5)
            ended.set()
        return await all_done(nodes)

    step = Scripted(script=hogging)
    patient = replace(lifecycle, policy=replace(AT_ONCE, losses=1000))
    await worked(patient, step, lease_seconds=0.5)
    assert step.committed == ["f00000"]


@pytest.mark.parametrize("engine", ["neo4j"], indirect=True)
async def test_a_step_that_hogs_the_interpreter_until_another_has_done_its_node_is_refused(
    store: Store, lifecycle: Lifecycle, place: Place
) -> None:
    await write(store, nodes=files(1))

    async def taken_over() -> None:
        other = Place(url=place.url, project=place.project, credentials=place.credentials)
        theirs = Lifecycle(store=await other.open(), policy=AT_ONCE)
        await eventually(theirs.reclaim)
        row = await claim_one(theirs, owner="another")
        await theirs.complete([Result(node=row, properties={"_contentHash": "another's"})])
        await other.close()

    async def hogging(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        thread = threading.Thread(target=asyncio.run, args=[taken_over()])
        thread.start()
        thread.join()
        return [Result(node=node, properties={"_contentHash": "late"}) for node in nodes]

    step = Scripted(script=hogging)
    async with working(lifecycle, step, lease_seconds=0.5):
        await eventually(lambda: is_in(store, "f00000", "parsed"))
    assert step.committed == []
    assert (await read(store, "f00000")).properties["_contentHash"] == "another's"


@HERE
async def test_a_node_that_kills_its_worker_ends_in_error_and_the_other_99_are_done(store: Store, place: Place) -> None:
    await write(store, nodes=files(100))
    await place.close()
    where = {"url": place.url, "project": place.project, "poison": "f00042"}
    secret = {"PASSWORD": place.credentials.password, "USER": place.credentials.user} if place.credentials else {}
    command = [sys.executable, "-m", "tests.conformance.poisoned_worker", json.dumps(where)]
    options: dict[str, Any] = {"env": {**os.environ, **secret}, "cwd": Path(__file__).parents[2]}
    exits = [await (await asyncio.create_subprocess_exec(*command, **options)).wait() for _ in range(LOSSES + 1)]
    assert exits == [KILLED] * LOSSES + [0]
    store = await place.open()
    states = await states_of(store)
    assert states.pop("f00042") == "error"
    assert (len(states), set(states.values())) == (99, {"parsed"})
    row = await read(store, "f00042")
    assert (row.error_type, row.error_class, row.retry_count) == ("parse", "transient", LOSSES)
    assert "while the node was parsing" in (row.error_message or "")


@HERE_AND_ON_A_SERVER
async def test_a_worker_takes_back_at_its_start_what_a_process_that_is_gone_had_in_hand(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(2))
    gone = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await gone.wait()
    await claim_one(lifecycle, owner=f"{leases._machine()}:{gone.pid}:1:dead")
    await claim_one(lifecycle, owner="another machine:1:1:alive")
    step = Scripted()
    async with working(lifecycle, step):
        await eventually(lambda: is_in(store, "f00000", "parsed"))
    assert [node.uuid for batch in step.batches for node in batch] == ["f00000"]
    assert step.tries == [1]
    assert await is_in(store, "f00001", "parsing")


@HERE_AND_ON_A_SERVER
async def test_a_worker_that_is_always_busy_still_takes_back_what_others_lost(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(2))
    lost = await claim_one(lifecycle, owner="elsewhere")
    hold = Hold()
    async with working(lifecycle, Scripted(script=hold), lease_seconds=LEASE, grace=60):
        await hold.begun.wait()
        await expire(lifecycle, [lost])
        await eventually(lambda: is_in(store, lost.uuid, "pending"))
        assert not hold.cancelled.is_set()
        hold.go_on.set()
    assert (await read(store, lost.uuid)).retry_count == 1


@HERE_AND_ON_A_SERVER
async def test_without_its_hold_a_step_commits_nothing_and_thinks_again(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(3))
    token = await store.hold("one at a time", owner="test", seconds=HOUR)
    assert token
    step = Scripted(fences=[Fence(name="one at a time", token="an old one")])

    async def with_the_right_one_at_the_second_try(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        if len(step.batches) == 2:
            assert step.undone_times == 1
            step.fences = [Fence(name="one at a time", token=token)]
        return await all_done(nodes)

    step.script = with_the_right_one_at_the_second_try
    await worked(lifecycle, step)
    assert (len(step.batches), step.undone_times, len(step.committed)) == (2, 1, 3)
    assert step.tries == [0, 0]


@HERE
async def test_two_workers_share_the_work_and_do_nothing_twice(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(60))
    steps = [Scripted(limit=5, runners=2) for _ in range(2)]
    async with working(lifecycle, steps[0]), working(lifecycle, steps[1]):
        await eventually(lambda: everything_is_parsed(store))
    assert sorted(steps[0].committed + steps[1].committed) == sorted(await states_of(store))
    assert await claim(lifecycle) == []


async def begun_again(step: Scripted) -> bool:
    return len(step.batches) > 1
