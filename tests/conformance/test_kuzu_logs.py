"""The log of an embedded database torn, missing, broken or strange: the last whole commit, or a refusal that helps."""

import os
import shutil
from collections.abc import Callable
from itertools import chain, count, pairwise
from pathlib import Path
from typing import Any

import pytest

from graph_stores import kuzu
from graph_stores.errors import StoreDamaged
from graph_stores.kuzu import recovery
from graph_stores.kuzu.memory import Growth
from graph_stores.kuzu.store import DEFAULT_LOG_LIMIT
from graph_stores.model import Select
from tests.conformance.kuzu_child import DEADLY, child, file_batch, opened


@pytest.fixture(params=["kuzu", "ladybug"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def with_log(engine: str, tmp_path: Path) -> Path:
    """A database whose ten commits are in the log only, as a kill leaves it."""
    assert child("write_and_die", engine, tmp_path / "graph").returncode == 0
    return tmp_path / "graph"


@pytest.fixture
def closed_with_log(engine: str, tmp_path: Path) -> Path:
    """A database whose ten commits are in the log only, although its owner closed it."""
    assert child("write_and_close", engine, tmp_path / "graph").returncode == 0
    assert log_of(tmp_path / "graph").stat().st_size > 30_000
    return tmp_path / "graph"


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What child processes tried."""
    deeds: list[str] = []

    def attempt(deed: str, *more: Any) -> recovery.Outcome:
        deeds.append(deed)
        return _ATTEMPT(deed, *more)

    monkeypatch.setattr(recovery, "attempt", attempt)
    return deeds


_ATTEMPT = recovery.attempt


def log_of(path: Path) -> Path:
    return path.with_name(path.name + ".wal")


async def found(engine: str, path: Path, log_limit: int = DEFAULT_LOG_LIMIT) -> int:
    store = await kuzu.open(f"{engine}:{path}", project="p", log_limit=log_limit)
    try:
        return len(await store.nodes(Select()))
    finally:
        await store.close()


@pytest.mark.long
@pytest.mark.parametrize(("lost", "whole"), [(1, 9), (40, 9), (2000, 9), (5000, 8)])
async def test_torn_log_opens_at_the_last_whole_commit(engine: str, with_log: Path, lost: int, whole: int) -> None:
    os.truncate(log_of(with_log), log_of(with_log).stat().st_size - lost)
    assert await found(engine, with_log) == whole


async def test_commits_that_were_lost_once_are_told_once_and_end_nothing_later(
    engine: str, with_log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The notes of where they ended would say that a later commit ends there, in its middle."""
    log = log_of(with_log)
    os.truncate(log, log.stat().st_size - 5000)
    assert await found(engine, with_log, log_limit=1 << 40) == 8
    assert "its last 2 commits are lost" in caplog.text
    caplog.clear()
    assert child("write_one_and_die", engine, with_log).returncode == 0
    with log.open("ab") as file:
        file.write(bytes(6000))
    assert await found(engine, with_log) == 9
    assert "lost" not in caplog.text


@pytest.mark.long
@pytest.mark.parametrize("torn", [3, 700, 3000])
async def test_commit_that_was_being_written_at_the_kill_is_cut_off(engine: str, with_log: Path, torn: int) -> None:
    """What lies beyond the last noted commit is half of the next one."""
    log = log_of(with_log)
    notes = with_log.with_name(with_log.name + ".commits")
    ends = notes.read_bytes()
    last = int.from_bytes(ends[-16:-8], "little")
    notes.write_bytes(ends[:-8])
    os.truncate(log, last + torn)
    assert await found(engine, with_log) == 9
    assert await found(engine, with_log) == 9


async def test_missing_notes_cost_nothing(engine: str, with_log: Path) -> None:
    with_log.with_name(with_log.name + ".commits").unlink()
    for _ in range(2):
        assert await found(engine, with_log) == 10


@pytest.mark.long
@pytest.mark.parametrize("text", ["", "garbage", "7:cut"])
async def test_a_seal_that_cannot_be_read_costs_nothing(engine: str, with_log: Path, text: str) -> None:
    with_log.with_name(with_log.name + ".seal").write_text(text)
    for _ in range(2):
        assert await found(engine, with_log) == 10


def _remove(log: Path) -> None:
    log.unlink()


def _empty(log: Path) -> None:
    log.write_bytes(b"")


def _flip_a_bit(log: Path) -> None:
    data = bytearray(log.read_bytes())
    data[30] ^= 0xFF
    log.write_bytes(data)


@pytest.mark.parametrize("damage", [_remove, _empty, _flip_a_bit], ids=["missing", "empty", "broken"])
async def test_damaged_log_is_refused_with_the_way_to_recover(
    engine: str, with_log: Path, damage: Callable[[Path], None]
) -> None:
    kept = log_of(with_log).read_bytes()
    damage(log_of(with_log))
    with pytest.raises(StoreDamaged) as refused:
        await found(engine, with_log)
    assert log_of(with_log).name in refused.value.hint
    log_of(with_log).write_bytes(kept)
    assert await found(engine, with_log) == 10


async def test_log_of_another_database_is_refused(engine: str, with_log: Path, tmp_path: Path) -> None:
    assert child("write_and_die", engine, tmp_path / "other").returncode == 0
    kept = log_of(with_log).read_bytes()
    log_of(with_log).write_bytes(log_of(tmp_path / "other").read_bytes())
    with pytest.raises(StoreDamaged):
        await found(engine, with_log)
    log_of(with_log).write_bytes(kept)
    assert await found(engine, with_log) == 10


@pytest.mark.long
async def test_strange_log_beside_a_cleanly_closed_database_is_refused(engine: str, with_log: Path) -> None:
    strange = log_of(with_log).read_bytes()
    assert await found(engine, with_log, log_limit=1) == 10
    assert not log_of(with_log).exists()
    log_of(with_log).write_bytes(strange)
    with pytest.raises(StoreDamaged, match="does not belong"):
        await found(engine, with_log)


async def test_a_database_that_was_closed_is_opened_at_once(
    engine: str, closed_with_log: Path, tried: list[str]
) -> None:
    assert [await found(engine, closed_with_log) for _ in range(2)] == [10, 10]
    assert tried == []


@pytest.mark.long
@pytest.mark.parametrize("parts", [["graph*"], ["graph", "graph.wal"]], ids=["all files", "file and log"])
async def test_a_copy_opens_and_only_the_first_time_costs_more(
    engine: str, closed_with_log: Path, tmp_path: Path, tried: list[str], parts: list[str]
) -> None:
    copy = tmp_path / "copy" / "graph"
    copy.parent.mkdir()
    for file in chain.from_iterable(map(tmp_path.glob, parts)):
        shutil.copyfile(file, copy.parent / file.name)
    assert await found(engine, copy) == 10
    assert len(tried) == 1
    assert await found(engine, copy) == 10
    assert len(tried) == 1


@pytest.mark.long
@pytest.mark.parametrize("length", [1, 64])
@pytest.mark.parametrize(("at", "whole"), [(5266, 1), (15144, 3), (37277, 9)])
def test_a_log_that_was_damaged_after_the_close_is_refused_and_recovers_up_to_the_damage(
    engine: str, closed_with_log: Path, at: int, length: int, whole: int
) -> None:
    """The engines have no checksums: they would open it with fewer commits, other values, or crash."""
    log = log_of(closed_with_log)
    data = bytearray(log.read_bytes())
    data[at : at + length] = bytes(each ^ 0x5A for each in data[at : at + length])
    log.write_bytes(data)
    for _ in range(2):
        refused = child("uuids", engine, closed_with_log)
        assert (refused.returncode, refused.stdout.split()[:1]) == (0, ["store_damaged"]), refused.stderr
        assert refused.stdout.strip().endswith("graphmill init --recover")
    recovered = child("recover", engine, closed_with_log)
    assert recovered.stdout.split() == [str(10 - whole), f"{closed_with_log}.before-recovery"], recovered.stderr
    assert child("uuids", engine, closed_with_log).stdout.split() == [str(number) for number in range(whole)]
    assert (closed_with_log.with_name("graph.before-recovery") / log.name).read_bytes() == data


@pytest.mark.long
@pytest.mark.parametrize("later", [5, 15])
async def test_a_record_of_an_earlier_close_says_nothing_of_a_later_log(
    engine: str, closed_with_log: Path, later: int
) -> None:
    """An earlier version of graphmill leaves it where it is, and so does who puts files back from a backup."""
    record = closed_with_log.with_name("graph.closed")
    stale = record.read_bytes()
    store = await opened(engine, closed_with_log)
    await store._write(lambda: store._engine.checkpoint(wait=True))
    for number in range(later):
        await store.commit(file_batch(f"later-{number}", name="y" * 3000))
    store._engine.checkpoint = lambda *, wait: False  # type: ignore[method-assign]
    await store.close()
    record.write_bytes(stale)
    assert await found(engine, closed_with_log) == 10 + later


@pytest.mark.long
@pytest.mark.parametrize(("lost", "whole"), [(1, 9), (5000, 8)])
async def test_a_log_that_was_torn_after_the_close_opens_at_the_last_whole_commit(
    engine: str, closed_with_log: Path, lost: int, whole: int
) -> None:
    os.truncate(log_of(closed_with_log), log_of(closed_with_log).stat().st_size - lost)
    assert [await found(engine, closed_with_log) for _ in range(2)] == [whole, whole]


@pytest.mark.long
def test_a_deadly_end_that_the_log_got_after_the_close_is_cut_off(engine: str, closed_with_log: Path) -> None:
    with log_of(closed_with_log).open("ab") as file:
        file.write(DEADLY.encode())
    for _ in range(2):
        run = child("uuids", engine, closed_with_log, fault="log")
        assert (run.returncode, run.stdout.split()) == (0, [str(number) for number in range(10)]), run.stderr


@pytest.mark.long
@pytest.mark.parametrize("damage", [_remove, _empty, _flip_a_bit], ids=["missing", "empty", "broken"])
async def test_damaged_log_can_be_given_up(engine: str, with_log: Path, damage: Callable[[Path], None]) -> None:
    damage(log_of(with_log))
    with pytest.raises(StoreDamaged) as refused:
        await found(engine, with_log)
    assert refused.value.hint.endswith("graphmill init --recover")
    assert kuzu.recover(f"{engine}:{with_log}") == (10, with_log.with_name("graph.before-recovery"))
    assert await found(engine, with_log) == 0


@pytest.mark.long
async def test_strange_log_beside_a_closed_database_can_be_given_up(engine: str, with_log: Path) -> None:
    strange = log_of(with_log).read_bytes()
    assert await found(engine, with_log, log_limit=1) == 10
    log_of(with_log).write_bytes(strange)
    with pytest.raises(StoreDamaged) as refused:
        await found(engine, with_log)
    assert refused.value.hint.endswith("graphmill init --recover")
    lost, backup = kuzu.recover(f"{engine}:{with_log}")
    assert lost == 0 and backup and (backup / log_of(with_log).name).read_bytes() == strange
    assert await found(engine, with_log) == 10


async def test_a_log_without_its_file_is_not_given_to_a_new_one(engine: str, with_log: Path) -> None:
    with_log.unlink()
    with pytest.raises(StoreDamaged, match="is gone, but its log"):
        await opened(engine, with_log)
    log_of(with_log).unlink()
    store = await opened(engine, with_log)
    assert await store.nodes(Select()) == []
    await store.close()


async def test_log_that_cannot_be_written_ends_the_handle_and_nothing_is_half(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "graph"
    run = child("run_out_of_room", engine, path)
    assert run.returncode == 0, run.stderr
    full, *others = run.stdout.splitlines()
    assert full == (
        f"store_full the commit failed: there is no room on the disk for {path}.wal "
        "free some space and run the command again; what was committed before is safe"
    )
    assert [other.split()[0] for other in others] == ["store_full", "done"]
    assert await found(engine, path) in (1, 201)
    store = await opened(engine, path)
    await store.commit(file_batch("there is room again"))
    await store.close()


async def test_a_checkpoint_without_room_is_a_warning_when_a_graph_is_closed(engine: str, tmp_path: Path) -> None:
    """What a command did is safe in the log, so the command did not fail."""
    path = tmp_path / "graph"
    run = child("close_without_room", engine, path)
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
    assert "closed without a checkpoint" in run.stderr
    assert await found(engine, path) == 1


async def test_the_log_is_checkpointed_before_it_outgrows_the_file(engine: str, tmp_path: Path) -> None:
    store = await opened(engine, tmp_path / "graph", log_limit=200_000)
    for number in range(60):
        await store.commit(file_batch(*(f"{number}-{index}" for index in range(20)), name="x" * 1000))
        guard = store._engine.guard
        assert guard.log_size() < max(200_000, guard.file_size() // 2) + 100_000
    await store.close()


async def test_a_short_log_is_checkpointed_too_where_the_process_has_grown_with_it(engine: str, tmp_path: Path) -> None:
    sizes = count(step=1 << 20)
    store = await opened(engine, tmp_path / "graph", log_limit=4 << 20)
    store._commits._growth = Growth(100 << 20, size=lambda: next(sizes))
    lengths: list[int] = []
    for number in range(150):
        await store.commit(file_batch(*(f"{number}-{index}" for index in range(5)), name="x" * 1000))
        lengths.append(store._engine.guard.log_size())
    await store.close()
    assert any(after < before for before, after in pairwise(lengths))
    assert lengths[0] > 0, "a log that is not worth it is left alone"
