"""`ingest --watch`: what is edited, added and removed while it runs is in the graph soon after, and costs no more."""

import asyncio
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.files.roots import Root
from orchestrator.files.watch import changes
from pipelines.files.walk import Rules

from .jobs import DEADLINE, Mill, Running, eventually

MANY = 1000
# How long changes are gathered at most before they are looked at as one, and how many files are then told at once.
BURST, PORTION = 1.6, 500
_MOMENTS = "MATCH (f:File) WHERE f.path STARTS WITH 'many/' RETURN count(DISTINCT f._detectedAt) AS moments"


def write(folder: Path, path: str, text: str) -> None:
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


@pytest.fixture
def job(mill: Mill) -> Running:
    """One that has read what there is, and follows the folder."""
    write(mill.root, "a.md", "# Old\n\nwords\n")
    job = mill.ingest("--watch", "--json", "--allow-deletes")
    assert mill.embedder.asked.wait(DEADLINE)
    comes_about(job, lambda: is_at_rest(mill), "the first state of the folder is ready")
    return job


def comes_about(job: Running, found: Callable[[], bool], what: str) -> None:
    """While the job goes on."""
    eventually(lambda: job.process.poll() is not None or found(), what)
    assert job.process.poll() is None, job.said


def is_at_rest(mill: Mill, *, files: int = 1) -> bool:
    standing = mill.standing()
    return sum(standing.labels.get("File", {}).values()) == files and not standing.remaining


def ready_titles(mill: Mill) -> set[str]:
    rows = mill.ask("MATCH (s:MarkdownSection) WHERE s._state = 'ready' RETURN s.title AS title")
    return {str(title) for (title,) in rows}


@pytest.mark.long
def test_what_changes_is_ready_soon_a_burst_is_one_change_and_what_goes_is_gone(mill: Mill, job: Running) -> None:
    write(mill.root, "a.md", "# New\n\nother words\n")
    comes_about(job, lambda: ready_titles(mill) == {"New"}, "the edit is ready")
    job.until_it_says("changed: corpus/a.md\n")  # a line about progress may come in between
    job.until_it_says("1 text embedded, ready in ")

    began = time.monotonic()
    for number in range(MANY):
        write(mill.root, f"many/{number}.txt", f"line of file {number}\n")
    bursts = 2 + (time.monotonic() - began) / BURST
    comes_about(job, lambda: is_at_rest(mill, files=MANY + 1), "the burst is ready")
    job.until_it_says("new: corpus/many/")
    [[moments]] = mill.ask(_MOMENTS)
    assert int(moments) <= bursts * (1 + MANY / PORTION)

    shutil.rmtree(mill.root / "many")
    comes_about(job, lambda: is_at_rest(mill), "what was removed is gone")
    job.until_it_says("gone: corpus/many/")

    job.hears(signal.SIGTERM)
    told = job.end().json
    assert (told["stopped"], told["states"]) == (True, {"ready": told["total"]})


async def test_what_is_ignored_is_not_even_looked_at(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "build/\n*.log\n")
    write(tmp_path, "build/old.txt", "made\n")
    root = Root(name="notes", location=tmp_path, rules=Rules())
    stop = asyncio.Event()
    looks = changes([root], own=None, stop=stop)
    assert await anext(looks) == [root], "once, for what changed before anybody looked"
    for number in range(100):
        write(tmp_path, f"build/{number}.txt", "made\n")
        write(tmp_path, "mill.log", f"line {number}\n")
    look = asyncio.ensure_future(anext(looks))
    await asyncio.wait([look], timeout=BURST)
    assert not look.done()
    write(tmp_path, "a.md", "# A\n")
    async with asyncio.timeout(DEADLINE):
        assert await look == [root]
    stop.set()
    assert [each async for each in looks] == []
