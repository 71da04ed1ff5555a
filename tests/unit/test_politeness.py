"""One host is never asked more often than allowed, whoever asks: other tasks, other processes, those of before."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from graph_stores.errors import Misuse
from pipelines.wikipedia.asking import Patience
from pipelines.wikipedia.local_api import LocalWiki
from pipelines.wikipedia.politeness import (
    LONGEST_PAUSE,
    CountNotKept,
    Limits,
    Politeness,
    Turns,
    folder_of,
    limits_for,
)
from tests.unit.scripted_wiki import WantedTime, busy, scripted

Nap = Callable[[float], Awaitable[None]]
ROOT = Path(__file__).parents[2]

WORKER = """
import asyncio, json, os, sys, time
from pathlib import Path
from pipelines.wikipedia.politeness import Limits, Politeness

async def main(folder, log, minute, per_minute, in_flight, turns, hold):
    politeness = Politeness(Path(folder), Limits(minute=minute, per_minute=per_minute, in_flight=in_flight))
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for _ in range(turns):
        async with politeness.turn():
            entered = time.time()
            print("in", flush=True)
            await asyncio.sleep(hold)
            os.write(descriptor, (json.dumps([entered, time.time()]) + chr(10)).encode())
    os.close(descriptor)

asyncio.run(main(*json.loads(sys.argv[1])))
"""


@pytest.fixture
def time() -> WantedTime:
    return WantedTime()


def polite(folder: Path, time: WantedTime, **limits: int) -> Politeness:
    return Politeness(folder, Limits(**limits), clock=time.clock, nap=time.nap)


async def turns(politeness: Politeness, number: int) -> None:
    for _ in range(number):
        async with politeness.turn():
            pass


def worker(folder: Path, log: Path, limits: Limits, *, turns: int, hold: float) -> subprocess.Popen[str]:
    given = [str(folder), str(log), limits.minute, limits.per_minute, limits.in_flight, turns, hold]
    command = [sys.executable, "-c", WORKER, json.dumps(given)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def most_at_once(requests: list[tuple[float, float]]) -> int:
    """Of two that touch, the one that ends comes first."""
    changes = sorted([(start, 1) for start, _ in requests] + [(end, -1) for _, end in requests])
    now = most = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def most_in_any(window: float, requests: list[tuple[float, float]]) -> int:
    starts = sorted(start for start, _ in requests)
    return max(sum(first <= other < first + window for other in starts) for first in starts)


def test_ten_processes_together_keep_the_limits_of_one(tmp_path: Path) -> None:
    limits = Limits(minute=0.5, per_minute=10, in_flight=2)
    log = tmp_path / "log"
    workers = [worker(tmp_path / "host", log, limits, turns=4, hold=0.01) for _ in range(10)]
    for each in workers:
        said, _ = each.communicate()
        assert each.returncode == 0
        assert said.count("in") == 4
    requests = [(start, end) for start, end in map(json.loads, log.read_text().splitlines())]
    assert len(requests) == 40
    assert most_at_once(requests) <= 2
    assert most_in_any(0.5, requests) <= 10


async def test_a_killed_process_leaves_its_place_and_its_turn_still_counts(tmp_path: Path) -> None:
    limits = Limits(minute=3600.0, per_minute=2, in_flight=1)
    holder = worker(tmp_path / "host", tmp_path / "log", limits, turns=1, hold=3600.0)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "in\n"
        waiting = Politeness(tmp_path / "host", limits)
        turn = asyncio.create_task(turns(waiting, 1))
        done, _ = await asyncio.wait([turn], timeout=0.1)
        assert not done
        holder.kill()
        holder.wait()
    await turn
    kept = json.loads((tmp_path / "host" / "turns.json").read_text())
    assert len(kept["turns"]) == 2 and not kept["flying"]
    assert not (tmp_path / "log").exists() or not (tmp_path / "log").read_text()


async def test_tasks_of_one_process_share_what_is_in_flight(tmp_path: Path) -> None:
    politeness = Politeness(tmp_path, Limits(per_minute=1_000, in_flight=3))
    inside = most = 0

    async def ask() -> None:
        nonlocal inside, most
        async with politeness.turn():
            inside += 1
            most = max(most, inside)
            for _ in range(5):
                await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(ask() for _ in range(30)))
    assert most == 3


async def test_two_handles_in_one_process_share_what_is_in_flight(tmp_path: Path) -> None:
    one, other = (Politeness(tmp_path, Limits(in_flight=1)) for _ in range(2))
    async with one.turn():
        waiting = asyncio.create_task(turns(other, 1))
        done, _ = await asyncio.wait([waiting], timeout=0.1)
        assert not done
    await waiting


async def test_the_minute_slides(tmp_path: Path, time: WantedTime) -> None:
    politeness = polite(tmp_path, time, per_minute=3)
    begun: list[float] = []
    for _ in range(10):
        async with politeness.turn():
            begun.append(time.now)
        time.now += 1.0
    for first, fourth in zip(begun, begun[3:], strict=False):
        assert fourth - first >= 60.0
    assert time.now - 1_000_000.0 < 60.0 * 4


async def test_a_request_counts_from_its_end(tmp_path: Path, time: WantedTime) -> None:
    politeness = polite(tmp_path, time, per_minute=1)
    async with politeness.turn():
        time.now += 50.0
    async with politeness.turn():
        assert time.now >= 1_000_000.0 + 50.0 + 60.0


async def test_a_request_that_takes_longer_than_a_minute_counts_all_the_while(tmp_path: Path, time: WantedTime) -> None:
    politeness = polite(tmp_path, time, per_minute=1, in_flight=2)
    ended = 0.0

    async def long() -> None:
        nonlocal ended
        async with politeness.turn():
            for _ in range(20):
                await time.nap(10.0)
            ended = time.now

    task = asyncio.create_task(long())
    await asyncio.sleep(0)
    async with politeness.turn():
        assert 0.0 < ended <= time.now - 60.0
    await task


async def test_a_restart_does_not_begin_a_new_minute(tmp_path: Path, time: WantedTime) -> None:
    await turns(polite(tmp_path, time, per_minute=5), 5)
    assert not time.naps
    await turns(polite(tmp_path, time, per_minute=5), 1)
    assert sum(time.naps) == pytest.approx(60.0, abs=0.1)


async def test_a_turn_that_fails_counts_and_leaves_its_place(tmp_path: Path, time: WantedTime) -> None:
    politeness = polite(tmp_path, time, per_minute=2, in_flight=1)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            async with politeness.turn():
                raise ZeroDivisionError
    await turns(politeness, 1)
    assert sum(time.naps) == pytest.approx(60.0, abs=0.1)


async def test_a_turn_that_is_cancelled_leaves_its_place(tmp_path: Path) -> None:
    politeness = Politeness(tmp_path, Limits(in_flight=1))
    inside = asyncio.Event()

    async def stay() -> None:
        async with politeness.turn():
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(stay())
    await inside.wait()
    waiting = asyncio.create_task(turns(politeness, 1))
    await asyncio.sleep(0)
    waiting.cancel()
    task.cancel()
    await asyncio.gather(task, waiting, return_exceptions=True)
    await turns(politeness, 1)


async def test_a_pause_holds_for_everybody_who_asks_the_host(tmp_path: Path, time: WantedTime) -> None:
    one, other = polite(tmp_path, time), polite(tmp_path, time)
    await one.wait_until(30.0)
    await one.wait_until(5.0)
    assert await other.pause() == pytest.approx(30.0)
    await turns(other, 1)
    assert sum(time.naps) == pytest.approx(30.0, abs=0.1)
    assert await one.pause() == 0.0


async def test_a_pause_is_never_longer_than_two_minutes(tmp_path: Path, time: WantedTime) -> None:
    politeness = polite(tmp_path, time)
    await politeness.wait_until(1e9)
    assert await politeness.pause() == LONGEST_PAUSE
    await politeness.wait_until(-5.0)
    await turns(politeness, 1)
    assert sum(time.naps) == pytest.approx(LONGEST_PAUSE, abs=0.1)


async def test_a_clock_that_was_set_back_costs_a_minute_and_no_more(tmp_path: Path, time: WantedTime) -> None:
    politeness = polite(tmp_path, time, per_minute=3)
    await turns(politeness, 3)
    await politeness.wait_until(10.0)
    time.now -= 86_400.0
    await turns(politeness, 1)
    assert 60.0 <= sum(time.naps) <= LONGEST_PAUSE + 60.1


async def test_a_damaged_count_is_a_full_minute(tmp_path: Path, time: WantedTime) -> None:
    for damage in (
        "",
        "{",
        "[]",
        '{"turns": 5, "flying": {}, "not_before": 0}',
        '{"turns": [], "flying": [], "not_before": 0}',
        '{"turns": ["x"], "not_before": 0}',
    ):
        time.naps.clear()
        (tmp_path / "turns.json").write_text(damage)
        await turns(polite(tmp_path, time, per_minute=2), 1)
        assert sum(time.naps) == pytest.approx(60.0, abs=0.1)


async def test_a_folder_that_was_cleared_is_made_again(tmp_path: Path, time: WantedTime) -> None:
    politeness = polite(tmp_path / "host", time)
    for file in (tmp_path / "host").iterdir():
        file.unlink()
    (tmp_path / "host").rmdir()
    await turns(politeness, 1)


def test_a_count_that_cannot_be_kept_is_said(tmp_path: Path, time: WantedTime) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CountNotKept, match="file") as raised:
        polite(tmp_path / "file" / "host", time)
    assert "XDG_CACHE_HOME" in raised.value.hint


@pytest.fixture
async def unlimited(tmp_path: Path, time: WantedTime) -> AsyncIterator[Politeness]:
    yield Politeness(tmp_path / "host", None, clock=time.clock, nap=time.nap)
    assert not (tmp_path / "host").exists()


async def test_without_limits_nothing_is_counted_but_pauses_are_kept(unlimited: Politeness, time: WantedTime) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(500):
            await stack.enter_async_context(unlimited.turn())
    assert not time.naps
    await unlimited.wait_until(20.0)
    await turns(unlimited, 1)
    assert sum(time.naps) == pytest.approx(20.0)


class Heard:
    """Turns that write down what is done with them, around those of a machine."""

    def __init__(self, machine: Politeness, log: list[str]) -> None:
        self._machine = machine
        self._log = log

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        async with self._machine.turn():
            self._log.append("begin")
            try:
                yield
            finally:
                self._log.append("end")

    async def wait_until(self, seconds_from_now: float) -> None:
        self._log.append(f"pause {seconds_from_now:g}")
        await self._machine.wait_until(seconds_from_now)

    async def pause(self) -> float:
        return await self._machine.pause()


async def test_everybody_is_told_of_a_pause_before_the_next_turn_can_begin(tmp_path: Path) -> None:
    log: list[str] = []
    made: list[tuple[str, float]] = []

    def sharing(machine: Politeness, *, host: str, answer: float, nap: Nap) -> Turns:
        made.append((host, answer))
        return Heard(machine, log)

    async with scripted(LocalWiki({"Mill": "A mill grinds."}), tmp_path) as script:
        async with script.pages(sharing=sharing, patience=Patience(answer=7.0)) as pages:
            log.clear()
            script.faults.append(busy("3", status=429))
            await pages.read(["Mill"])
        assert made == [(folder_of("127.0.0.1", urlsplit(script.url).port, tmp_path).name, 7.0)]
    assert log == ["begin", "pause 3", "end", "begin", "end"]


def test_only_this_machine_has_no_limits_unless_asked() -> None:
    assert limits_for("en.wikipedia.org") == Limits(per_minute=200, in_flight=3)
    assert limits_for("en.wikipedia.org", per_minute=50) == Limits(per_minute=50)
    for host in ("127.0.0.1", "localhost", "::1"):
        assert limits_for(host) is None
        assert limits_for(host, per_minute=50) == Limits(per_minute=50)
    with pytest.raises(Misuse):
        limits_for("en.wikipedia.org", per_minute=0)


def test_a_host_has_one_folder_and_wikis_of_this_machine_one_each(tmp_path: Path) -> None:
    assert folder_of("En.wikipedia.org", None, tmp_path) == tmp_path / "wikis" / "en.wikipedia.org"
    assert folder_of("en.wikipedia.org", 8080, tmp_path) == tmp_path / "wikis" / "en.wikipedia.org"
    assert folder_of("en.wikipedia.org.", None, tmp_path) == tmp_path / "wikis" / "en.wikipedia.org"
    assert folder_of("..", None, tmp_path) == tmp_path / "wikis" / "_"
    assert folder_of("127.0.0.1", 8080, tmp_path) == tmp_path / "wikis" / "127.0.0.1_8080"
    assert folder_of("::1", 80, tmp_path) == tmp_path / "wikis" / "__1_80"
    assert folder_of("../../x", None, tmp_path).parent == tmp_path / "wikis"
