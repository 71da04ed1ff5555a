"""Time: whether a lease has run out is the store's own affair, and heartbeats keep it alive (rows L1, L9)."""

import sys
import time
from datetime import datetime, timedelta, tzinfo
from typing import Any

import pytest

from graph_stores.model import NodeRow
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import transition
from orchestrator.states import State
from tests.conformance.examples import HOUR, claim, claim_one, eventually, expire, file, read, ref, write

TEN_MINUTES = 600.0
real_time = time.time


class AnyDatetime(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, datetime)


def set_wall_clock(monkeypatch: pytest.MonkeyPatch, *, off_by: float) -> None:
    """Move the wall clock, and only that, under everything of ours that is loaded."""

    class Skewed(datetime, metaclass=AnyDatetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(seconds=off_by)

    monkeypatch.setattr(time, "time", lambda: real_time() + off_by)
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in {"graph_stores", "orchestrator"} and getattr(module, "datetime", None) is not None:
            monkeypatch.setattr(module, "datetime", Skewed)


@pytest.fixture(params=[TEN_MINUTES, -TEN_MINUTES], ids=["fast", "slow"])
def off_by(request: pytest.FixtureRequest) -> float:
    return float(request.param)


async def test_the_skew_is_felt_where_the_process_is_the_store_and_nowhere_else(
    store: Store, monkeypatch: pytest.MonkeyPatch, off_by: float
) -> None:
    await write(store, nodes=[file("before")])
    set_wall_clock(monkeypatch, off_by=off_by)
    await write(store, nodes=[file("after")])
    apart = (await read(store, "after")).detected_at - (await read(store, "before")).detected_at
    expected = 0.0 if store.capabilities.many_processes else off_by
    assert apart.total_seconds() == pytest.approx(expected, abs=30)


async def test_a_live_lease_stays_alive_when_the_clock_jumps(
    store: Store, lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch, off_by: float
) -> None:
    await write(store, nodes=[file("a")])
    held = await claim_one(lifecycle, seconds=60)
    set_wall_clock(monkeypatch, off_by=off_by)
    assert await lifecycle.reclaim() == 0
    await lifecycle.heartbeat([held], seconds=60)
    assert await lifecycle.reclaim() == 0
    await lifecycle.complete([Result(node=held)])


async def test_a_lease_given_out_by_a_wrong_clock_is_as_long_as_it_says(
    store: Store, lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch, off_by: float
) -> None:
    await write(store, nodes=[file("a")])
    with monkeypatch.context() as wrong:
        set_wall_clock(wrong, off_by=off_by)
        held = await claim_one(lifecycle, seconds=60)
    assert held.lease is not None
    assert (held.lease.until - held.state_changed_at).total_seconds() == pytest.approx(60, abs=5)
    assert await lifecycle.reclaim() == 0


async def test_a_lease_that_ran_out_is_taken_back_whatever_the_clock_says(
    store: Store, lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch, off_by: float
) -> None:
    await write(store, nodes=[file("a")])
    held = await claim_one(lifecycle)
    set_wall_clock(monkeypatch, off_by=off_by)
    await expire(lifecycle, [held])
    assert await lifecycle.reclaim() == 1


async def test_a_delay_is_as_long_as_it_says_when_the_clock_jumps(
    store: Store, lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch, off_by: float
) -> None:
    await write(store, nodes=[file("soon", state=State.SKIP), file("late", state=State.SKIP)])
    assert await claim(lifecycle) == []
    for uuid, delay in {"soon": 0.05, "late": 300.0}.items():
        await lifecycle.transition([transition(ref(uuid), expected=State.SKIP, to=State.PENDING, delay=delay)])
    set_wall_clock(monkeypatch, off_by=off_by)
    assert [row.uuid for row in await eventually(lambda: claim(lifecycle))] == ["soon"]


async def let_pass(store: Any, row: NodeRow, seconds: float) -> None:
    """As if so much time had gone by: the lease ends that much sooner."""
    if not store.capabilities.many_processes:  # its owner keeps the ends of leases in memory
        store._frontier._held[row.uuid].until -= seconds
        return
    held = await read(store, row.uuid)
    assert held.lease
    sooner = {"uuid": row.uuid, "until": held.lease.until - timedelta(seconds=seconds)}
    await store.query("MATCH (n:File {uuid: $uuid}) SET n._leaseUntil = $until", sooner, write=True)


async def test_without_heartbeats_a_lease_runs_out(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    row = await claim_one(lifecycle, seconds=HOUR)
    await let_pass(store, row, HOUR)
    assert await eventually(lifecycle.reclaim) == 1


async def test_work_of_ten_leases_is_kept_by_heartbeats_and_costs_one_try(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    row = await claim_one(lifecycle, seconds=HOUR)
    for _ in range(20):
        await let_pass(store, row, HOUR / 2)
        assert await lifecycle.reclaim() == 0
        await lifecycle.heartbeat([row], seconds=HOUR)
    await lifecycle.complete([Result(node=row)])
    after = await read(store, "a")
    assert (after.state, after.retry_count) == ("parsed", 0)
