"""For how long a worker trusts that it holds what it claimed, on a clock that only moves when nothing else is left."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from graph_stores.errors import Conflict, LeaseLost, PermanentStoreError, StoreUnavailable
from graph_stores.model import NodeRow
from orchestrator import leases
from orchestrator.leases import Held, Leases, is_gone, owner_name
from orchestrator.lifecycle import Lifecycle

SECONDS = 40.0
BEAT = SECONDS / 4
NODES = cast(Sequence[NodeRow], [SimpleNamespace(uuid="f"), SimpleNamespace(uuid="g")])


class Clockwork(asyncio.SelectorEventLoop):
    """A loop whose time jumps to the next timer whenever there is nothing to do."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        if timers and not self._ready:  # type: ignore[attr-defined]
            self.now = max(self.now, timers[0].when())
        super()._run_once()  # type: ignore[misc]


class Hearts:
    """Answers heartbeats as a script says; there is no graph behind it."""

    def __init__(self, answer: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._answer = answer
        self.sent: list[float] = []

    async def heartbeat(self, nodes: Sequence[NodeRow], *, seconds: float) -> None:
        self.sent.append(asyncio.get_running_loop().time())
        await self._answer()


@pytest.fixture
def clockwork(monkeypatch: pytest.MonkeyPatch) -> Clockwork:
    loop = Clockwork()
    monkeypatch.setattr(leases, "time", SimpleNamespace(monotonic=loop.time))
    return loop


def run(loop: Clockwork, coroutine: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(coroutine)


async def kept_until(hearts: Hearts, *, at_most: float, since: float = 0.0) -> tuple[float, Held]:
    """When the work on a claim was cancelled; `at_most` where it was not."""
    loop = asyncio.get_running_loop()
    held_leases = Leases(cast(Lifecycle, hearts), seconds=SECONDS)
    keeping = asyncio.create_task(held_leases.keep())
    work = asyncio.create_task(asyncio.sleep(at_most - loop.time()))
    with held_leases.holding(NODES, cast("asyncio.Task[object]", work), since=since) as held:
        await asyncio.wait([work])
    keeping.cancel()
    await asyncio.wait([keeping])
    return loop.time(), held


async def at_once() -> None:
    return None


def test_work_of_ten_leases_is_kept_by_its_heartbeats(clockwork: Clockwork) -> None:
    async def test() -> None:
        hearts = Hearts(at_once)
        ended, held = await kept_until(hearts, at_most=10 * SECONDS + 1)
        assert (ended, held.lost) == (10 * SECONDS + 1, False)
        assert hearts.sent == [BEAT * number for number in range(1, 41)]

    run(clockwork, test())


def test_a_reply_that_is_a_whole_lease_late_is_trusted_from_when_it_was_sent(clockwork: Clockwork) -> None:
    async def late() -> None:
        await asyncio.sleep(SECONDS)

    async def test() -> None:
        ended, held = await kept_until(Hearts(late), at_most=10 * SECONDS)
        assert held.lost
        assert SECONDS / 2 < ended < SECONDS

    run(clockwork, test())


def test_a_late_reply_is_worth_less_by_as_much_as_it_is_late(clockwork: Clockwork) -> None:
    async def test() -> None:
        beats = 0

        async def late_and_then_never() -> None:
            nonlocal beats
            beats += 1
            await asyncio.sleep(0.6 * SECONDS if beats == 1 else 100 * SECONDS)

        ended, held = await kept_until(Hearts(late_and_then_never), at_most=10 * SECONDS)
        assert held.lost
        assert SECONDS < ended < BEAT + SECONDS

    run(clockwork, test())


@pytest.mark.parametrize("share", [0.1, 0.5, 0.6])
def test_replies_that_are_late_but_within_the_lease_keep_it(clockwork: Clockwork, share: float) -> None:
    async def late() -> None:
        await asyncio.sleep(share * SECONDS)

    async def test() -> None:
        _, held = await kept_until(Hearts(late), at_most=10 * SECONDS)
        assert not held.lost

    run(clockwork, test())


def test_a_store_that_is_away_longer_than_the_lease_costs_it_before_it_runs_out(clockwork: Clockwork) -> None:
    async def away() -> None:
        raise StoreUnavailable("away")

    async def test() -> None:
        ended, held = await kept_until(Hearts(away), at_most=10 * SECONDS)
        assert held.lost
        assert SECONDS / 2 < ended < SECONDS

    run(clockwork, test())


def test_a_short_outage_does_not_cost_the_lease(clockwork: Clockwork) -> None:
    async def away_at_first() -> None:
        if clockwork.now < SECONDS / 2:
            raise StoreUnavailable("away")

    async def test() -> None:
        _, held = await kept_until(Hearts(away_at_first), at_most=5 * SECONDS)
        assert not held.lost

    run(clockwork, test())


def test_a_lease_that_the_store_says_is_lost_is_cancelled_at_once(clockwork: Clockwork) -> None:
    async def lost() -> None:
        raise lease_lost("f", "g")

    async def test() -> None:
        ended, held = await kept_until(Hearts(lost), at_most=10 * SECONDS)
        assert (ended, held.lost) == (BEAT, True)

    run(clockwork, test())


def test_losing_one_node_of_a_batch_does_not_cost_the_work_on_the_others(clockwork: Clockwork) -> None:
    async def test() -> None:
        beats = 0

        async def lost_at_the_second() -> None:
            nonlocal beats
            beats += 1
            if beats == 2:
                raise lease_lost("f")

        hearts = Hearts(lost_at_the_second)
        _, held = await kept_until(hearts, at_most=5 * SECONDS)
        assert not held.lost
        assert [node.uuid for node in held.nodes] == ["g"]

    run(clockwork, test())


def lease_lost(*uuids: str) -> LeaseLost:
    return LeaseLost(
        [Conflict(label="File", uuid=uuid, expected="parsing", found="parsed", lease_lost=True) for uuid in uuids]
    )


def test_a_claim_whose_answer_took_most_of_the_lease_is_not_trusted_for_longer(clockwork: Clockwork) -> None:
    async def late() -> None:
        await asyncio.sleep(SECONDS)

    async def test() -> None:
        ended, held = await kept_until(Hearts(late), at_most=10 * SECONDS, since=-SECONDS * 0.9)
        assert held.lost
        assert ended <= SECONDS * 0.125

    run(clockwork, test())


def test_one_slow_answer_does_not_hold_up_the_heartbeats_of_other_claims(clockwork: Clockwork) -> None:
    async def test() -> None:
        slow = asyncio.Event()
        beats = {"slow": 0, "quick": 0}

        class Two:
            async def heartbeat(self, nodes: Sequence[str], *, seconds: float) -> None:
                beats[nodes[0]] += 1
                if nodes[0] == "slow":
                    await slow.wait()

        held_leases = Leases(cast(Lifecycle, Two()), seconds=SECONDS)
        keeping = asyncio.create_task(held_leases.keep())
        works = [cast("asyncio.Task[object]", asyncio.create_task(asyncio.sleep(3 * SECONDS))) for _ in range(2)]
        slow_nodes, quick_nodes = cast(Any, ["slow"]), cast(Any, ["quick"])
        with (
            held_leases.holding(slow_nodes, works[0], since=0.0) as one,
            held_leases.holding(quick_nodes, works[1], since=0.0) as other,
        ):
            await asyncio.wait(works)
        keeping.cancel()
        await asyncio.wait([keeping])
        assert (one.lost, other.lost) == (True, False)
        assert beats["slow"] == 3
        assert beats["quick"] >= 11

    run(clockwork, test())


def test_an_error_that_no_waiting_helps_against_is_not_swallowed(clockwork: Clockwork) -> None:
    async def broken() -> None:
        raise PermanentStoreError("the schema is gone")

    async def test() -> None:
        held_leases = Leases(cast(Lifecycle, Hearts(broken)), seconds=SECONDS)
        work = cast("asyncio.Task[object]", asyncio.create_task(asyncio.sleep(SECONDS)))
        with held_leases.holding(NODES, work, since=0.0), pytest.RaisesGroup(PermanentStoreError):
            await held_leases.keep()
        work.cancel()
        await asyncio.wait([work])

    run(clockwork, test())


def test_this_process_is_not_gone() -> None:
    assert not is_gone(owner_name())


def test_two_workers_of_one_process_have_two_names() -> None:
    assert owner_name() != owner_name()


def test_a_process_that_ended_is_gone() -> None:
    script = "from orchestrator.leases import owner_name; print(owner_name())"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert is_gone(ended.stdout.strip())


def test_a_number_that_was_given_to_another_process_does_not_bring_its_owner_back() -> None:
    machine, process, started, worker = owner_name().rsplit(":", 3)
    assert is_gone(f"{machine}:{process}:{int(started) - 1}:{worker}")


@pytest.mark.parametrize(
    "owner",
    [
        "",
        "somebody",
        f"another-{socket.gethostname()}:1:1:x",
        f"{leases._machine()}:x:1:x",
        f"{leases._machine()}:{os.getpid()}:x:x",
    ],
)
def test_of_others_nothing_is_known(owner: str) -> None:
    assert not is_gone(owner)
