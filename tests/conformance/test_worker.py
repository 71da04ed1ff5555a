"""The worker loop over a real store: what is done once, what a failure means, and how a stop is graceful (row P2)."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from graph_stores.errors import Misuse, StoreFull, StoreUnavailable
from graph_stores.model import NodeRow
from graph_stores.protocol import Store
from orchestrator import worker
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.worker import Failure, Outcome, Pause, Worker
from tests.conformance.examples import (
    AT_ONCE,
    HOUR,
    PATIENCE,
    claim,
    eventually,
    files,
    link,
    read,
    somebody_who_ended,
    states_of,
    write,
)
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER
from tests.conformance.scripted_step import (
    Hold,
    Scripted,
    all_done,
    around,
    everything_is_parsed,
    idle,
    worked,
    working,
)


async def test_everything_is_worked_on_once_and_committed_with_what_came_of_it(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(25))

    async def hashed(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        return [Result(node=node, properties={"_contentHash": f"of {node.uuid}"}) for node in nodes]

    step = Scripted(script=hashed, limit=10, runners=3)
    await worked(lifecycle, step)
    assert sorted(step.committed) == [f"f{number:05}" for number in range(25)]
    assert max(len(batch) for batch in step.batches) <= 10
    row = await read(store, "f00007")
    assert (row.properties["_contentHash"], row.lease, row.retry_count) == ("of f00007", None, 0)


async def test_an_unexpected_error_fails_only_the_node_it_is_about(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(10))

    async def choking(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        if any(node.uuid == "f00003" for node in nodes):
            raise ValueError("bad \0 text \ud800 in it")
        return await all_done(nodes)

    await worked(lifecycle, Scripted(script=choking))
    states = await states_of(store)
    assert [uuid for uuid, state in states.items() if state == "error"] == ["f00003"]
    row = await read(store, "f00003")
    assert (row.error_type, row.error_class, row.retry_count) == ("parse", "transient", AT_ONCE.limit)
    assert (row.error_message or "").startswith("ValueError: bad ")


@HERE
async def test_an_error_that_cannot_even_be_shown_still_becomes_a_state(store: Store, lifecycle: Lifecycle) -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("not even that")

    async def choking(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        raise Unspeakable

    await write(store, nodes=files(2))
    await worked(lifecycle, Scripted(script=choking))
    row = await read(store, "f00000")
    assert row.state == "error"
    assert "Unspeakable" in (row.error_message or "")


@HERE
async def test_what_failed_is_recorded_although_recording_it_failed_at_first(
    store: Store, lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_FIRST_WAIT", 0.01)
    await write(store, nodes=files(1))
    refusals = iter([StoreUnavailable("away"), StoreUnavailable("still away")])

    async def failing(real: Any, batch: Any) -> None:
        if batch.transitions and (error := next(refusals, None)):
            raise error
        await real(batch)

    async def refused(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        return [Failure(node=node, message="the original error", permanent=True) for node in nodes]

    await worked(around(lifecycle, commit=failing), Scripted(script=refused))
    assert (await read(store, "f00000")).error_message == "the original error"


@HERE_AND_ON_A_SERVER
async def test_a_permanent_failure_burns_no_retry_and_a_transient_one_is_tried_to_the_limit(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(2))

    async def failing(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        return [Failure(node=node, message="no", permanent=node.uuid == "f00000") for node in nodes]

    step = Scripted(script=failing)
    await worked(lifecycle, step)
    tried = [node.uuid for batch in step.batches for node in batch]
    assert (tried.count("f00000"), tried.count("f00001")) == (1, AT_ONCE.limit)
    permanent, transient = [await read(store, uuid) for uuid in ("f00000", "f00001")]
    assert (permanent.state, permanent.error_class, permanent.retry_count) == ("error", "permanent", 0)
    assert (transient.state, transient.error_class, transient.retry_count) == ("error", "transient", AT_ONCE.limit)


@pytest.mark.long
@HERE
async def test_what_went_wrong_before_is_tried_with_fewer_others_each_time(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(40))

    async def failing(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        return [Failure(node=node, message="no") for node in nodes]

    step = Scripted(script=failing, limit=40)
    await worked(lifecycle, step)
    sizes: dict[int, set[int]] = {}
    for batch in step.batches:
        sizes.setdefault(batch[0].retry_count, set()).add(len(batch))
    assert (sizes[0], max(sizes[1]), sizes[2]) == ({40}, 2, {1})


@HERE
async def test_what_was_lost_with_a_worker_is_claimed_once_in_portions_that_grow(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(80))
    await claim(lifecycle, owner=somebody_who_ended())
    claims: list[int] = []

    async def counted(real: Any, wanted: Any) -> Any:
        claims.append(len(rows := await real(wanted)))
        return rows

    step = Scripted(limit=64)
    await worked(around(lifecycle, claim=counted), step)
    assert [len(batch) for batch in step.batches] == [4, 8, 16, 32, 20]
    assert sum(claims) == 80, "nothing is claimed to be given back"


@HERE
async def test_where_one_runner_cannot_go_on_what_others_are_about_to_claim_or_commit_is_not_left_behind(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(6))
    claims: list[str] = []
    claimed, committing = asyncio.Event(), asyncio.Event()

    async def refused(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        if nodes[0].uuid > "f00000":
            return await all_done(nodes)
        await claimed.wait()
        await committing.wait()
        raise Misuse("who are you?")

    async def claim_late(real: Any, wanted: Any) -> Any:
        claims.append("")
        if len(claims) < 3:
            return await real(wanted)
        answer = await real(wanted)
        claimed.set()
        await asyncio.sleep(0.5)
        return answer

    async def commit_late(real: Any, batch: Any) -> None:
        if not committing.is_set():
            committing.set()
            await asyncio.sleep(0.5)
        await real(batch)

    step = Scripted(script=refused, limit=2, runners=3)
    lifecycle = around(lifecycle, claim=claim_late, commit=commit_late)
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(BaseExceptionGroup):
            await Worker(lifecycle, [step]).run()
    assert "parsing" not in (await states_of(store)).values()


@HERE
async def test_a_pause_gives_the_nodes_back_without_a_try_and_says_why(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(3))
    pauses = iter([Pause("the model is away", seconds=0.01)] * 2)

    async def away(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        if pause := next(pauses, None):
            raise pause
        return await all_done(nodes)

    said: list[str] = []
    step = Scripted(script=away)
    await worked(lifecycle, step, say=said.append)
    assert step.tries == [0, 0, 0]
    assert said == ["the model is away; going on in 0 s"] * 2


@HERE
async def test_nodes_without_an_outcome_are_given_back_without_a_try(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(3))

    async def only_the_first(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        return await all_done(nodes[:1])

    step = Scripted(script=only_the_first)
    await worked(lifecycle, step)
    assert [len(batch) for batch in step.batches] == [3, 2, 1]
    assert step.tries == [0, 0, 0]


@HERE_AND_ON_A_SERVER
async def test_a_stop_lets_work_in_flight_come_to_its_end_and_claims_nothing_more(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(2))
    hold = Hold()
    step = Scripted(script=hold, limit=1)
    async with working(lifecycle, step, grace=60) as worker:
        await hold.begun.wait()
        worker.stop()
        hold.go_on.set()
    assert await states_of(store) == {"f00000": "parsed", "f00001": "pending"}


@HERE_AND_ON_A_SERVER
async def test_a_stop_gives_back_after_the_grace_what_does_not_come_to_its_end(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(2))
    before = await states_of(store)
    hold = Hold()
    async with working(lifecycle, Scripted(script=hold), grace=0.05) as worker:
        await hold.begun.wait()
        worker.stop()
    assert hold.cancelled.is_set()
    assert await states_of(store) == before
    row = await read(store, "f00000")
    assert (row.lease, row.retry_count) == (None, 0)


@HERE
@pytest.mark.parametrize("verb", ["claim", "commit", "nodes"])
async def test_an_outage_of_the_store_is_lived_through_and_told_once(
    store: Store, lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setattr(worker, "_FIRST_WAIT", 0.01)
    await write(store, nodes=files(5))
    outage = iter([StoreUnavailable("the server is away")] * 6)

    async def away(real: Any, *arguments: Any, **options: Any) -> Any:
        if error := next(outage, None):
            raise error
        return await real(*arguments, **options)

    said: list[str] = []
    step = Scripted()
    async with working(around(lifecycle, **{verb: away}), step, say=said.append) as at_work:
        await eventually(lambda: everything_is_parsed(store))
        await eventually(lambda: idle(at_work))
        assert said == [
            "the store does not answer, waiting for it: the server is away",
            "the store answers again",
        ]
    assert (len(step.batches), len(step.committed)) == (1, 5)


@HERE
async def test_a_commit_whose_answer_is_lost_is_not_made_twice(
    store: Store, lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_FIRST_WAIT", 0.01)
    await write(store, nodes=files(3))
    losses = iter([StoreUnavailable("the answer was lost")])

    async def unanswered(real: Any, batch: Any) -> None:
        await real(batch)
        if error := next(losses, None):
            raise error

    step = Scripted()
    await worked(around(lifecycle, commit=unanswered), step)
    assert len(step.batches) == 1
    assert {row.retry_count for row in [await read(store, uuid) for uuid in await states_of(store)]} == {0}


async def test_one_node_that_was_moved_meanwhile_does_not_cost_the_others_their_commit(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(5))

    async def disturbed(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        await lifecycle.complete([Result(node=nodes[2], properties={"_contentHash": "another's"})])
        return [Result(node=node, properties={"_contentHash": "mine"}) for node in nodes]

    step = Scripted(script=disturbed)
    await worked(lifecycle, step)
    assert step.committed == ["f00000", "f00001", "f00003", "f00004"]
    rows = [await read(store, f"f0000{number}") for number in range(5)]
    assert [row.properties["_contentHash"] for row in rows] == ["mine", "mine", "another's", "mine", "mine"]


@HERE_AND_ON_A_SERVER
async def test_a_result_that_the_store_refuses_for_good_is_the_error_of_its_own_node(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(4))

    async def pointing_nowhere(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        return [
            Result(node=node, edges=[link(node.uuid, "nobody" if node.uuid == "f00001" else "f00003")])
            for node in nodes
            if node.uuid != "f00003"
        ] + [Result(node=node) for node in nodes if node.uuid == "f00003"]

    step = Scripted(script=pointing_nowhere)
    await worked(lifecycle, step)
    assert sorted(step.committed) == ["f00000", "f00002", "f00003"], "what was refused is not counted as done"
    states = await states_of(store)
    assert states == {"f00000": "parsed", "f00001": "error", "f00002": "parsed", "f00003": "parsed"}
    row = await read(store, "f00001")
    assert (row.error_class, row.retry_count) == ("permanent", 0)
    assert "nobody" in (row.error_message or "")


@HERE
async def test_a_full_disk_ends_the_worker_and_is_no_nodes_fault(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(3))

    async def full(real: Any, batch: Any) -> None:
        if any(move.to == "parsed" for move in batch.transitions):
            raise StoreFull("no space left on the device")
        await real(batch)

    with pytest.RaisesGroup(pytest.RaisesGroup(StoreFull)):
        await Worker(around(lifecycle, commit=full), [Scripted()], lease_seconds=HOUR).run()
    assert {row.error_type for row in [await read(store, uuid) for uuid in await states_of(store)]} == {None}


@HERE
async def test_misuse_ends_the_worker_and_gives_the_nodes_back(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(3))

    async def misused(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        raise Misuse("the key is wrong")

    with pytest.RaisesGroup(pytest.RaisesGroup(Misuse)):
        await Worker(lifecycle, [Scripted(script=misused)], lease_seconds=HOUR).run()
    assert set((await states_of(store)).values()) == {"pending"}


@HERE
async def test_a_worker_is_idle_when_nothing_is_in_its_hands(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(1))
    hold = Hold()
    async with working(lifecycle, Scripted(script=hold), grace=60) as worker:
        await hold.begun.wait()
        assert not worker.is_idle
        hold.go_on.set()
        await eventually(lambda: idle(worker))
        assert await states_of(store) == {"f00000": "parsed"}
