"""The workers of a graph: shown while they are there, given up when they are not, and never for long."""

import asyncio
import socket
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graph_stores.errors import StoreUnavailable
from graph_stores.model import Batch, Ref, Select
from graph_stores.protocol import Store
from orchestrator import worker as worker_module
from orchestrator import workers
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import transition
from orchestrator.progress import read_standing
from orchestrator.states import State
from orchestrator.worker import Worker
from orchestrator.workers import DISAPPEARED, ENDED, Registration, read_workers, ref_of, registered
from tests.conformance.examples import ELSEWHERE, claim, eventually, files, put_there, read, somebody_who_ended, write
from tests.conformance.place import HERE_AND_ON_A_SERVER, Place
from tests.conformance.scripted_step import Scripted, around, is_in, working

ALL = ("read", "parse", "link", "embed")
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)

pytestmark = HERE_AND_ON_A_SERVER


def idle_worker(lifecycle: Lifecycle, **options: Any) -> Worker:
    return Worker(lifecycle, [], **options)


def registration(lifecycle: Lifecycle) -> Registration:
    return Registration(idle_worker(lifecycle), ALL)


async def reason_of(store: Store, ref: Ref) -> tuple[str, str | None]:
    row = await read(store, ref.uuid, ref.label)
    return row.state, row.error_message


async def gone(store: Store, ref: Ref) -> bool:
    return await reason_of(store, ref) == (State.SKIP, DISAPPEARED)


async def test_a_worker_is_shown_while_it_works_and_ends_with_a_reason(store: Store, lifecycle: Lifecycle) -> None:
    worker = idle_worker(lifecycle)
    async with registered(worker, stages=("parse", "embed")):
        [shown] = await read_workers(store)
        document = shown.document()
    assert document.pop("heartbeat_age_seconds") < 60
    assert document == {
        "name": worker.owner,
        "host": socket.gethostname(),
        "process": int(worker.owner.rsplit(":", 3)[1]),
        "version": workers.our_version(),
        "stages": ["parse", "embed"],
        "holds": 0,
        "state": "working",
    }
    assert await read_workers(store) == []
    assert await reason_of(store, ref_of(store.project, worker.owner)) == (State.SKIP, ENDED)


async def test_what_a_worker_holds_is_counted_from_the_leases(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(5))
    first, second = idle_worker(lifecycle), idle_worker(lifecycle)
    async with registered(first, stages=ALL), registered(second, stages=ALL):
        held = await claim(lifecycle, limit=3, owner=first.owner)
        assert await holds(store) == {first.owner: 3, second.owner: 0}
        await lifecycle.release(held[:1])
        await claim(lifecycle, limit=5, owner=second.owner)
        assert await holds(store) == {first.owner: 2, second.owner: 3}


async def holds(store: Store) -> dict[str, int]:
    return {each.known.name: each.holds for each in await read_workers(store)}


async def test_workers_are_no_part_of_what_the_graph_holds(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(2))
    async with registered(idle_worker(lifecycle), stages=ALL):
        standing = await read_standing(store)
    assert (standing.total, set(standing.labels), len(standing.workers)) == (2, {"File"}, 1)


async def test_a_worker_is_heard_of_again_and_again(store: Store, lifecycle: Lifecycle) -> None:
    worker = idle_worker(lifecycle, lease_seconds=0.2)
    ref = ref_of(store.project, worker.owner)

    async def heartbeat() -> datetime:
        found: datetime = (await read(store, ref.uuid, ref.label)).properties["heartbeat"]
        return found

    async def was_heard_of_again() -> bool:
        return await heartbeat() > first

    async with registered(worker, stages=ALL):
        first = await heartbeat()
        await eventually(was_heard_of_again)


async def test_one_that_was_not_heard_of_is_given_up_and_another_takes_over(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(4))
    lost = await put_there(store, ELSEWHERE, heard_of=LONG_AGO)
    await claim(lifecycle, limit=4, owner=ELSEWHERE)
    step = Scripted()
    async with working(lifecycle, step) as worker, registered(worker, stages=ALL):
        await eventually(lambda: is_in(store, "f00003", "parsed"))
        await eventually(lambda: gone(store, lost))
        shown = {each.known.name: each.document()["state"] for each in await read_workers(store)}
    assert shown == {ELSEWHERE: "disappeared", worker.owner: "working"}
    assert set(step.tries) == {1}, "its worker was lost once"


async def test_one_that_was_heard_of_is_left_alone_with_what_it_holds(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(1))
    other = await put_there(store, ELSEWHERE)
    held = await claim(lifecycle, owner=ELSEWHERE)
    await registration(lifecycle).sweep()
    assert await reason_of(store, other) == (State.PENDING, None)
    await lifecycle.heartbeat(held, seconds=60)


async def test_a_process_of_this_machine_that_ended_is_given_up_at_once(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(1))
    owner = somebody_who_ended()
    dead = await put_there(store, owner)
    await claim(lifecycle, owner=owner)
    [shown] = await read_workers(store)
    assert (shown.document()["state"], shown.holds) == ("disappeared", 1), "also before anybody has cleaned up"
    await registration(lifecycle).sweep()
    assert await gone(store, dead)
    assert await is_in(store, "f00000", "pending")


async def test_several_find_the_same_one_and_it_is_lost_once(store: Store, lifecycle: Lifecycle, place: Place) -> None:
    await write(store, nodes=files(3))
    lost = await put_there(store, ELSEWHERE, heard_of=LONG_AGO)
    await claim(lifecycle, owner=ELSEWHERE)
    others = [Lifecycle(store=await place.other_handle(), policy=lifecycle.policy) for _ in range(3)]
    await asyncio.gather(*(registration(each).sweep() for each in others))
    assert await gone(store, lost)
    rows = await store.nodes(Select(labels=["File"]))
    assert [(row.state, row.retry_count) for row in rows] == [("pending", 1)] * 3


async def test_one_that_was_taken_for_dead_comes_back(store: Store, lifecycle: Lifecycle) -> None:
    mine = registration(lifecycle)
    await mine.enter()
    ref = ref_of(store.project, mine.owner)
    await lifecycle.transition(
        [transition(ref, expected=State.PENDING, to=State.SKIP, properties={"_errorMessage": DISAPPEARED})]
    )
    await mine.sweep()
    assert await reason_of(store, ref) == (State.PENDING, None)
    await lifecycle.delete([ref])
    await mine.sweep()
    assert await reason_of(store, ref) == (State.PENDING, None)


async def test_those_who_ended_are_forgotten_after_a_day(
    store: Store, lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def known() -> set[str]:
        return {row.name for row in await store.nodes(Select(labels=[workers.LABEL]))}

    ended, mine = idle_worker(lifecycle), registration(lifecycle)
    async with registered(ended, stages=ALL):
        pass
    await put_there(store, ELSEWHERE)
    await mine.sweep()
    assert await known() == {ended.owner, ELSEWHERE, mine.owner}
    monkeypatch.setattr(workers, "_REMEMBERED", -timedelta(seconds=1))
    await mine.sweep()
    assert await known() == {ELSEWHERE, mine.owner}


async def test_only_the_own_project_is_looked_after(store: Store, lifecycle: Lifecycle, place: Place) -> None:
    lost = await put_there(store, ELSEWHERE, heard_of=LONG_AGO)
    await place.close()
    other = await place.open(project=f"{place.project}-other")
    await registration(Lifecycle(store=other)).sweep()
    assert [each.known.host for each in await read_workers(other)] == [socket.gethostname()]
    again = await place.reopen()
    assert await reason_of(again, lost) == (State.PENDING, None)


async def test_a_store_that_is_away_is_waited_for_at_the_start_and_not_at_the_end(
    store: Store, lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "_FIRST_WAIT", 0.01)
    away = [StoreUnavailable("away")] * 2

    async def failing(real: Any, batch: Batch) -> None:
        if away:
            raise away.pop()
        await real(batch)

    worker = idle_worker(around(lifecycle, commit=failing))
    async with registered(worker, stages=ALL):
        assert not away
        assert len(await read_workers(store)) == 1
        away.extend([StoreUnavailable("away")] * 10_000)
    assert await reason_of(store, ref_of(store.project, worker.owner)) == (State.PENDING, None), "others will find it"
