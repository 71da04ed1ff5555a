"""The pool with real processes: they fail, die, hang and are killed, and only their own task suffers."""

import asyncio
import functools
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from graph_stores.errors import Misuse
from pipelines.pool import Pool, PoolClosed, ProcessDied, TookTooLong, Unsendable
from pipelines.pool_process import LENGTH
from tests.unit.pool_work import Plain, obey, program

ROOT = Path(__file__).parents[2]

Orders = Pool[tuple[str, Any], Any]


@asynccontextmanager
async def opened(processes: int = 2, seconds: float = 300) -> AsyncIterator[Orders]:
    pool: Orders = Pool(obey, processes=processes, seconds=seconds)
    await pool.start()
    try:
        yield pool
    finally:
        await pool.close()


class Sign:
    """A named pipe: the process that holds it tells its id there, and is gone when the pipe ends."""

    def __init__(self, place: Path) -> None:
        os.mkfifo(place)
        self.place = str(place)

    async def holder(self) -> int:
        self._pipe = await asyncio.to_thread(open, self.place, "rb")
        (pid,) = LENGTH.unpack(await asyncio.to_thread(self._pipe.read, LENGTH.size))
        return int(pid)

    async def gone(self) -> None:
        with self._pipe:
            assert await asyncio.to_thread(self._pipe.read) == b""


async def test_results_come_back_to_who_asked() -> None:
    async with opened() as pool:
        results = await asyncio.gather(*(pool.run(("double", number)) for number in range(100)))
        assert results == [number * 2 for number in range(100)]


async def test_no_more_processes_than_asked_for() -> None:
    async with opened(processes=2) as pool:
        workers = await asyncio.gather(*(pool.run(("who", None)) for _ in range(20)))
        assert len(set(workers)) <= 2
        assert os.getpid() not in workers


async def test_tasks_one_after_the_other_need_one_process() -> None:
    async with opened(processes=4) as pool:
        assert len({await pool.run(("who", None)) for _ in range(5)}) == 1


async def test_tasks_are_taken_in_the_order_they_came() -> None:
    order: list[int] = []

    async def note(number: int) -> None:
        await pool.run(("double", number))
        order.append(number)

    async with opened(processes=1) as pool:
        await asyncio.gather(*(note(number) for number in range(20)))
    assert order == list(range(20))


async def test_megabytes_go_both_ways() -> None:
    size = 8_000_000
    async with opened() as pool:
        assert await pool.run(("count bytes", b"x" * size)) == size
        assert await pool.run(("make bytes", size)) == b"x" * size


async def test_the_error_of_the_work_is_raised_with_where_it_happened() -> None:
    async with opened(processes=1) as pool:
        before = await pool.run(("who", None))
        with pytest.raises(Plain, match="no good") as raised:
            await pool.run(("fail", "no good"))
        assert raised.value.hint == "try it differently"
        assert "in fail" in "".join(raised.value.__notes__)
        assert await pool.run(("who", None)) == before


@pytest.mark.parametrize(
    ("order", "says"),
    [
        (("fail fragile", None), "Fragile: this and that"),
        (("give a function", None), "result, a function"),
        (("give what cannot be read", None), "made elsewhere"),
        (("double", lambda: None), "the task, a tuple"),
    ],
)
async def test_what_cannot_be_sent_is_named_and_the_process_goes_on(order: tuple[str, Any], says: str) -> None:
    async with opened(processes=1) as pool:
        before = await pool.run(("who", None))
        with pytest.raises(Unsendable, match=says):
            await pool.run(order)
        assert await pool.run(("who", None)) == before


@pytest.mark.parametrize(
    ("order", "says"),
    [
        (("leave", 3), "exit code 3"),
        (("leave", 0), "exit code 0"),
        (("leave politely", 4), "exit code 4"),
        (("die", int(signal.SIGKILL)), "signal 9"),
        (("die", int(signal.SIGSEGV)), "signal 11"),
    ],
)
async def test_a_process_that_dies_takes_only_its_own_task_with_it(order: tuple[str, Any], says: str) -> None:
    async with opened() as pool:
        others = [asyncio.create_task(pool.run(("double", number))) for number in range(10)]
        with pytest.raises(ProcessDied, match=says) as raised:
            await pool.run(order)
        assert raised.value.transient
        others += [asyncio.create_task(pool.run(("double", number))) for number in range(10, 20)]
        assert await asyncio.gather(*others) == [number * 2 for number in range(20)]


async def test_every_process_may_die_and_all_are_replaced() -> None:
    async with opened() as pool:
        deaths = await asyncio.gather(*(pool.run(("leave", 1)) for _ in range(4)), return_exceptions=True)
        assert [type(death) for death in deaths] == [ProcessDied] * 4
        assert await pool.run(("double", 4)) == 8


async def test_a_process_killed_while_idle_costs_no_task() -> None:
    async with opened(processes=1) as pool:
        before = await pool.run(("who", None))
        os.kill(before, signal.SIGKILL)
        await asyncio.to_thread(os.waitid, os.P_PID, before, os.WEXITED | os.WNOWAIT)
        assert await pool.run(("who", None)) != before


async def test_a_killed_process_loses_the_task_it_had(tmp_path: Path) -> None:
    sign = Sign(tmp_path / "sign")
    async with opened() as pool:
        task = asyncio.create_task(pool.run(("hold for ever", sign.place)))
        os.kill(await sign.holder(), signal.SIGKILL)
        with pytest.raises(ProcessDied, match="signal 9"):
            await task
        await sign.gone()


async def test_a_task_that_takes_too_long_is_ended_with_its_process(tmp_path: Path) -> None:
    sign = Sign(tmp_path / "sign")
    async with opened(processes=1) as pool:
        before = await pool.run(("who", None))
        task = asyncio.create_task(pool.run(("hold for ever", sign.place)))
        assert await sign.holder() == before
        task.cancel()
        await sign.gone()
        pool._seconds = 0.1
        with pytest.raises(TookTooLong, match=r"0\.1 seconds"):
            await pool.run(("hold for ever", sign.place))
        pool._seconds = 300
        assert await pool.run(("who", None)) != before


@pytest.mark.parametrize("size", [1, 8_000_000])
async def test_a_stopped_process_is_replaced_too(size: int) -> None:
    async with opened(processes=1) as pool:
        before = await pool.run(("who", None))
        os.kill(before, signal.SIGSTOP)
        await asyncio.to_thread(os.waitid, os.P_PID, before, os.WSTOPPED | os.WNOWAIT)
        pool._seconds = 0.1
        with pytest.raises(TookTooLong):
            await pool.run(("count bytes", b"x" * size))
        pool._seconds = 300
        assert await pool.run(("double", 1)) == 2


async def test_giving_up_on_a_task_ends_its_process_and_mixes_nothing_up(tmp_path: Path) -> None:
    sign = Sign(tmp_path / "sign")
    async with opened(processes=1) as pool:
        given_up = asyncio.create_task(pool.run(("hold for ever", sign.place)))
        await sign.holder()
        waiting = [asyncio.create_task(pool.run(("double", number))) for number in range(5)]
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        await sign.gone()
        assert await asyncio.gather(*waiting) == [0, 2, 4, 6, 8]


async def test_giving_up_on_a_waiting_task_disturbs_no_other(tmp_path: Path) -> None:
    sign = Sign(tmp_path / "sign")
    async with opened(processes=1) as pool:
        running = asyncio.create_task(pool.run(("hold for ever", sign.place)))
        await sign.holder()
        first, second = (asyncio.create_task(pool.run(("double", number))) for number in (1, 2))
        await asyncio.sleep(0)
        first.cancel()
        running.cancel()
        assert await second == 4
        assert first.cancelled()
        await sign.gone()


async def test_giving_up_while_a_process_starts_leaves_none_behind() -> None:
    async with opened(processes=1) as pool:
        for turns in range(6):
            task = asyncio.create_task(pool.run(("double", 1)))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await pool.run(("double", 1)) == 2


async def test_closing_ends_what_runs_and_what_waits(tmp_path: Path) -> None:
    sign = Sign(tmp_path / "sign")
    pool: Orders = Pool(obey, processes=1, seconds=300)
    await pool.start()
    running = asyncio.create_task(pool.run(("hold for ever", sign.place)))
    await sign.holder()
    waiting = [asyncio.create_task(pool.run(("double", 1))) for _ in range(3)]
    await asyncio.sleep(0)
    await pool.close()
    await sign.gone()
    ends = await asyncio.gather(running, *waiting, return_exceptions=True)
    assert [type(end) for end in ends] == [PoolClosed] * 4


async def test_closing_while_a_process_starts_leaves_none_behind() -> None:
    pool: Orders = Pool(obey, processes=2, seconds=300)
    await pool.start()
    tasks = [asyncio.create_task(pool.run(("double", 1))) for _ in range(4)]
    await asyncio.sleep(0)
    await pool.close()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(end) for end in ends] == [PoolClosed] * 4


async def test_a_pool_that_is_not_open_takes_no_task() -> None:
    pool: Orders = Pool(obey, processes=1, seconds=300)
    with pytest.raises(PoolClosed):
        await pool.run(("double", 1))
    await pool.close()
    await pool.start()
    assert await pool.run(("double", 1)) == 2
    await pool.close()
    await pool.close()
    with pytest.raises(PoolClosed):
        await pool.run(("double", 1))


async def test_an_interrupt_is_for_the_parent_alone() -> None:
    async with opened(processes=1) as pool:
        assert await pool.run(("interrupt itself", None)) == "still here"
        assert await pool.run(("group", None)) != os.getpgid(0)


async def test_what_a_library_prints_or_reads_is_not_part_of_the_answer() -> None:
    async with opened(processes=1) as pool:
        assert await pool.run(("talk", "hello")) == "hello"


async def test_a_process_imports_no_more_than_the_work_does() -> None:
    async with opened(processes=1) as pool:
        imported = set(await pool.run(("modules", None)))
    assert {"pipelines.pool", "orchestrator", "pytest", "asyncio", "subprocess", "graph_stores"}.isdisjoint(imported)


@pytest.mark.parametrize("work", [lambda task: task, functools.partial(obey), Sign.holder])
def test_work_that_a_process_cannot_find_is_refused(work: Any) -> None:
    with pytest.raises(Misuse, match="top of a module"):
        Pool(work, processes=1, seconds=1)


async def test_a_process_that_cannot_start_says_so_once(capfd: pytest.CaptureFixture[str]) -> None:
    def lost(task: object) -> object:
        return task

    lost.__module__, lost.__qualname__ = "tests.unit.nowhere", "lost"
    pool: Pool[object, object] = Pool(lost, processes=1, seconds=300)
    await pool.start()
    with pytest.raises(ProcessDied, match="exit code 1"):
        await pool.run(1)
    await pool.close()
    assert capfd.readouterr().err.count("No module named 'tests.unit.nowhere'") == 1


async def test_processes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    """The busy one and the idle one. The parent is a command, whose text is not run again by its processes."""
    idle, busy, log, command = Sign(tmp_path / "idle"), Sign(tmp_path / "busy"), tmp_path / "log", tmp_path / "command"
    command.write_text(program(ROOT, log, Path(idle.place), Path(busy.place)))
    with subprocess.Popen([sys.executable, str(command)]) as parent:  # noqa: ASYNC220 - waits for nothing
        holders = [await idle.holder(), await busy.holder()]
        parent.kill()
    await idle.gone()
    await busy.gone()
    assert len({*holders, parent.pid}) == 3
    assert log.read_text() == "begun\n"
