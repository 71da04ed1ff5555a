"""Asking an embedded graph while a job runs on it: the owner answers, and when it is dead the file does."""

import asyncio
import json
import stat
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph_stores import open_store

from .corpus import write_corpus
from .jobs import DEADLINE, PROBE, Mill, Running, eventually

PAGES, MODULES = 15, 5
FILES = 2 * (PAGES + MODULES)
ASKED_TIMES = 40
ASKED = "flour and water"
_READY = "MATCH (t:MarkdownSection:Scope) WHERE t._state = 'ready' RETURN count(*) AS n"


@pytest.fixture
def half_way(mill: Mill) -> Running:
    """A job that has half of its texts in hand, and an embedder that answers for nothing but what is asked here."""
    mill.embedder.free = (PROBE, ASKED)
    write_corpus(mill.root / "first", pages=PAGES, modules=MODULES, seed=1)
    mill.ingest().end()
    mill.embedder.allow(0)
    write_corpus(mill.root / "second", pages=PAGES, modules=MODULES, seed=2)
    job = mill.ingest()
    assert mill.embedder.holding.wait(DEADLINE)
    eventually(lambda: not mill.waiting("MarkdownSection", "Scope"), "all texts are in hand")
    return job


def ready(mill: Mill) -> int:
    outcome = mill.cli("query", _READY, "--json")
    assert outcome.code == 0, outcome.out
    return int(outcome.json[0]["n"])


def check_answers(mill: Mill) -> dict[str, Any]:
    """What each command says of the job that is half way; returns the states."""
    status = mill.cli("status", "--json").json
    texts = [status["labels"][label] for label in ("MarkdownSection", "Scope")]
    assert sum(status["labels"]["File"].values()) == FILES
    assert sum(states.get("ready", 0) for states in texts) == ready(mill)
    assert status["total"] == sum(status["states"].values())
    assert (status["errors"], mill.cli("errors", "--json").json) == ([], [])
    hits = mill.cli("search", ASKED, "--limit", "3", "--json").json
    assert [set(hit) >= {"uuid", "label", "name", "score", "source", "text"} for hit in hits] == [True] * len(hits)
    assert len(hits) == 3
    told = mill.cli("ingest", str(mill.root), "--dry-run", "--json").json
    assert (told["new"], told["changed"], told["deleted"], told["unchanged"]) == ([], [], [], FILES)
    return dict(status["states"])


@pytest.mark.long
def test_every_question_is_answered_while_a_job_runs_and_after_it_was_killed(mill: Mill, half_way: Running) -> None:
    running = check_answers(mill)
    status = mill.cli("status", "--json").json
    assert status["in_flight"] == running["embedding"] > 0
    assert half_way.process.poll() is None
    half_way.kill()
    mill.embedder.drop()
    assert check_answers(mill) == running


def test_only_its_own_user_may_ask_the_owner(mill: Mill, half_way: Running) -> None:
    told = json.loads((mill.cli.folder / "graph.kuzu.lock").read_text(encoding="utf-8"))
    assert told["process"] == half_way.process.pid
    place = Path(told["socket"])
    assert stat.S_ISSOCK(place.stat().st_mode)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    if place.parent != mill.cli.folder:
        assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700


@pytest.mark.long
async def test_what_is_asked_over_and_over_while_texts_become_ready_never_goes_back(
    mill: Mill, half_way: Running, record_testsuite_property: Callable[[str, object], None]
) -> None:
    store = await open_store(mill.url, project=mill.project, share=True)
    seen: list[int] = []
    seconds: list[float] = []
    try:
        mill.embedder.allow(None)
        for _ in range(ASKED_TIMES):
            began = time.monotonic()
            seen.append(int((await store.query(_READY, {})).rows[0][0]))
            seconds.append(time.monotonic() - began)
    finally:
        await store.close()
    await asyncio.to_thread(half_way.end)
    assert seen == sorted(seen)
    record_testsuite_property("95 of 100 answers came within seconds", statistics.quantiles(seconds, n=20)[-1])
