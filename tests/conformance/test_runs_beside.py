"""Runs beside each other: each ends with its own work, whoever has how much else to do."""

import asyncio
from pathlib import Path

import pytest

from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle
from orchestrator.runs.records import read_runs
from orchestrator.stages import STAGES
from tests.conformance.examples import ELSEWHERE, PATIENCE, claim, put_there
from tests.conformance.folders import NONE, Folder, Mill, opened, quicken
from tests.conformance.place import HERE_AND_ON_A_SERVER, Place


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quicken(monkeypatch, tmp_path / "cache")


@pytest.fixture
async def store(place: Place) -> Store:
    return await opened(place)


def folder(place: Path) -> Folder:
    made = Folder(place)
    made.write("a.md", f"# {place.name}\n")
    return made


@HERE_AND_ON_A_SERVER
async def test_a_run_ends_with_its_own_work_and_its_job_leaves_other_work_to_others(
    store: Store, tmp_path: Path
) -> None:
    other, notes, more = [folder(tmp_path / name) for name in ("other", "notes", "more")]
    await Mill(store=store, roots=[other]).job(NONE, stages=0).run()
    assert await claim(Lifecycle(store=store), owner=ELSEWHERE)
    await put_there(store, ELSEWHERE, stages=STAGES)
    async with asyncio.timeout(PATIENCE):
        report = await Mill(store=store, roots=[notes, more]).run(NONE)
    assert [run.outcome for run in report.runs] == ["completed"] * 2
    outcomes = {run.source: run.outcome for run in await read_runs(store)}
    assert outcomes["files:other"] == "running"
