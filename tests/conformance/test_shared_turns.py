"""The machines that work on one graph are together as polite to a wiki as one: every store handle here is a machine,
which counts in a folder of its own."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from graph_stores.errors import StoreUnavailable, TransientStoreError
from graph_stores.model import LONGEST_LEASE
from graph_stores.protocol import Store
from orchestrator.wikipedia.turns import shared_turns
from pipelines.wikipedia.asking import Asking, Patience
from pipelines.wikipedia.model import WikiUnavailable
from pipelines.wikipedia.politeness import Limits, Politeness, Turns
from tests.conformance.asked_wiki import Wiki, serving
from tests.conformance.examples import PATIENCE, eventually
from tests.conformance.place import HERE, Place
from tests.conformance.wrapped import wrapped

HOST = "wiki.example"
ON_A_SERVER = pytest.mark.parametrize("engine", ["neo4j"], indirect=True)
WIDE = Limits(per_minute=1_000, in_flight=3)

Machine = Callable[..., Awaitable[Turns]]


@pytest.fixture
def machine(store: Store, place: Place, tmp_path: Path) -> Machine:
    """Turns as another machine has them."""
    folders = iter(range(100))

    async def machine(limits: Limits | None = WIDE, *, via: Store | None = None, slot_seconds: float = 60.0) -> Turns:
        sharing = shared_turns(via or await place.open(), slot_seconds=slot_seconds)
        assert sharing is not None
        counted = Politeness(tmp_path / f"machine-{next(folders)}", limits)
        return sharing(counted, host=HOST, answer=60.0, nap=asyncio.sleep)

    return machine


async def held(store: Store) -> dict[str, float]:
    prefix = f"wiki:{HOST}:"
    rows = (await store.ask("held", {"prefix": prefix, "longest": LONGEST_LEASE})).rows
    return {name.removeprefix(prefix): seconds for name, seconds in rows}


async def take_turn(turns: Turns) -> float:
    """When it came."""
    async with turns.turn():
        return time.monotonic()


async def is_kept_waiting(turn: "asyncio.Task[Any]", looking: Turns) -> bool:
    """After whoever waits has had time to look and to find nothing."""
    await looking.pause()
    done, _ = await asyncio.wait([turn], timeout=0.2)
    return not done


@pytest.fixture
async def wiki() -> AsyncIterator[Wiki]:
    async with serving() as wiki:
        yield wiki


def asking(wiki: Wiki, cache: Path, via: Store, limits: Limits | None, *, patience: float) -> Asking:
    return Asking(
        wiki.url,
        contact=None,
        limits=lambda _: limits,
        say=lambda _: None,
        cache=cache,
        patience=Patience(seconds=patience),
        sharing=shared_turns(via),
    )


@ON_A_SERVER
@pytest.mark.parametrize("limits", [WIDE, None], ids=["limited", "unlimited"])
async def test_what_a_wiki_asks_of_one_machine_all_do(
    store: Store, place: Place, wiki: Wiki, tmp_path: Path, limits: Limits | None
) -> None:
    async def too_many(_: str, number: int) -> web.Response | None:
        return web.Response(status=429, headers={"Retry-After": "1.5"}) if number == 1 else None

    wiki.before_answer = too_many
    told = asking(wiki, tmp_path / "told", store, limits, patience=1.0)
    others = [asking(wiki, tmp_path / str(each), await place.open(), limits, patience=60.0) for each in range(3)]
    try:
        with pytest.raises(WikiUnavailable, match="429") as raised:
            await told.ask({"by": "told"})
        assert raised.value.retry_after == 1.5
        await asyncio.gather(*(each.ask({"by": "another"}) for each in others))
    finally:
        for each in (told, *others):
            await each.close()
    first, *later = wiki.arrivals
    assert len(later) == 3
    assert min(later) - first >= 1.5


@ON_A_SERVER
async def test_too_long_a_pause_of_another_machine_is_the_callers_to_wait_for(
    store: Store, place: Place, wiki: Wiki, tmp_path: Path
) -> None:
    asked = asking(wiki, tmp_path / "asked", store, WIDE, patience=5.0)
    other = asking(wiki, tmp_path / "other", await place.open(), WIDE, patience=5.0)
    try:
        await asked._turns.wait_until(60.0)
        with pytest.raises(WikiUnavailable, match="left alone") as raised:
            await other.ask({"by": "other"})
    finally:
        await asked.close()
        await other.close()
    assert raised.value.retry_after is not None and 5.0 < raised.value.retry_after <= 60.1
    assert wiki.arrivals == []


@ON_A_SERVER
async def test_the_longest_pause_counts(machine: Machine) -> None:
    one, other = await machine(), await machine()
    await one.wait_until(50.0)
    await other.wait_until(5.0)
    assert 5.0 < await (await machine()).pause() <= 50.1
    await asyncio.gather(other.wait_until(55.0), one.wait_until(115.0), one.wait_until(52.0))
    assert 55.1 < await (await machine()).pause() <= 115.1
    await other.wait_until(0.0)
    assert await (await machine(None)).pause() > 55.1


@ON_A_SERVER
async def test_a_machine_waits_for_a_slot_that_another_has(machine: Machine) -> None:
    limits = Limits(per_minute=1_000, in_flight=1)
    one, other = await machine(limits), await machine(limits)
    async with one.turn():
        waiting = asyncio.create_task(take_turn(other))
        assert await is_kept_waiting(waiting, one)
        ended = time.monotonic()
    assert await waiting >= ended


@ON_A_SERVER
async def test_after_a_turn_its_slot_is_free_and_its_ticket_rests(machine: Machine, store: Store) -> None:
    turns = await machine(Limits(per_minute=2, in_flight=1))
    async with turns.turn():
        under_way = await held(store)
    [ticket] = [name for name in under_way if name.startswith("ticket:")]
    assert set(under_way) == {"slot:0", ticket}
    assert under_way[ticket] > 60.1  # as long as the request may take, and a rest
    rests = await held(store)
    assert set(rests) == {ticket}
    assert 0.0 < rests[ticket] <= 60.1


@ON_A_SERVER
async def test_a_turn_that_fails_or_is_cancelled_counts_and_frees_its_slot(machine: Machine, store: Store) -> None:
    turns = await machine()
    with pytest.raises(ZeroDivisionError):
        async with turns.turn():
            raise ZeroDivisionError
    inside = asyncio.Event()

    async def stay() -> None:
        async with turns.turn():
            inside.set()
            await asyncio.Event().wait()

    staying = asyncio.create_task(stay())
    await inside.wait()
    staying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await staying
    assert not [name for name in await held(store) if name.startswith("slot:")]


@ON_A_SERVER
async def test_a_minute_is_counted_over_all_machines(machine: Machine) -> None:
    limits = Limits(per_minute=3, in_flight=3, minute=1.0)
    machines = [await machine(limits) for _ in range(3)]
    turns = sorted(await asyncio.gather(*(take_turn(machines[each % 3]) for each in range(7))))
    assert all(later - earlier >= 1.0 for earlier, later in zip(turns, turns[3:], strict=False))


@ON_A_SERVER
async def test_what_a_killed_process_had_runs_out(machine: Machine, store: Store) -> None:
    await store.hold(f"wiki:{HOST}:slot:0", owner="killed", seconds=0.5)
    async with asyncio.timeout(PATIENCE):
        await take_turn(await machine(Limits(per_minute=100, in_flight=1)))


@ON_A_SERVER
async def test_the_slot_of_a_slow_request_is_renewed(machine: Machine, store: Store) -> None:
    async with (await machine(slot_seconds=8.0)).turn():
        left = {name: seconds for name, seconds in (await held(store)).items() if name.startswith("slot:")}
        [slot] = left

        async def is_renewed() -> bool:
            now = (await held(store))[slot]
            is_renewed = now > left[slot]
            left[slot] = now
            return is_renewed

        await eventually(is_renewed)


@ON_A_SERVER
async def test_a_request_is_broken_off_where_its_slot_could_become_anothers(machine: Machine, store: Store) -> None:
    async def away(*_: Any, **__: Any) -> bool:
        raise TransientStoreError("away")

    via, _ = wrapped(store, renew=away)
    turns = await machine(via=via, slot_seconds=2.0)
    with pytest.raises(StoreUnavailable, match=HOST) as raised:
        async with asyncio.timeout(PATIENCE), turns.turn():
            await asyncio.Event().wait()
    assert raised.value.transient


@ON_A_SERVER
async def test_an_answer_is_not_lost_because_the_store_is_away_when_its_turn_ends(
    machine: Machine, store: Store
) -> None:
    async def away(*_: Any, **__: Any) -> None:
        raise TransientStoreError("away")

    via, _ = wrapped(store, renew=away, let_go=away)
    await take_turn(await machine(via=via))
    assert {name.partition(":")[0] for name in await held(store)} == {"slot", "ticket"}


@ON_A_SERVER
async def test_nothing_is_asked_that_cannot_be_counted(machine: Machine, store: Store) -> None:
    async def away(*_: Any, **__: Any) -> None:
        raise TransientStoreError("away")

    for via, _ in (wrapped(store, ask=away), wrapped(store, hold=away)):
        with pytest.raises(TransientStoreError):
            await take_turn(await machine(via=via))


@ON_A_SERVER
async def test_what_was_taken_so_slowly_that_much_of_it_is_gone_is_given_back(
    machine: Machine, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = iter([True, False, True, False])
    passed = 0.0
    taken: list[str] = []

    async def slowly(hold: Any, name: str, **given: Any) -> str | None:
        nonlocal passed
        token: str | None = await hold(name, **given)
        passed += 31.0 if next(late) else 0.0
        taken.append(name.split(":")[2])
        return token

    monkeypatch.setattr("orchestrator.wikipedia.turns._now", lambda: asyncio.get_running_loop().time() + passed)
    via, calls = wrapped(store, hold=slowly)
    await take_turn(await machine(Limits(per_minute=10, in_flight=1), via=via, slot_seconds=60.0))
    assert taken == ["slot", "slot", "ticket", "ticket"]
    assert calls.calls["let_go"] == 3
    assert len(await held(store)) == 1


@ON_A_SERVER
async def test_one_turn_takes_one_look_and_four_changes(machine: Machine, store: Store) -> None:
    via, calls = wrapped(store)
    turns = await machine(via=via)
    await take_turn(turns)
    assert calls.calls == {"ask": 1, "hold": 2, "renew": 1, "let_go": 1}
    unlimited_via, unlimited_calls = wrapped(store)
    unlimited = await machine(None, via=unlimited_via)
    for _ in range(100):
        await unlimited.pause()
        await take_turn(unlimited)
    assert set(unlimited_calls.calls) == {"ask"}
    assert unlimited_calls.calls["ask"] < 50


@HERE
async def test_where_one_process_owns_the_graph_its_machine_counts_alone(store: Store) -> None:
    assert shared_turns(store) is None
