"""A process that dies between any two steps of a run strands nothing: another one finds what there is to do."""

from pathlib import Path
from typing import Any

import pytest

from graph_stores.errors import StoreClosed
from graph_stores.model import Batch
from graph_stores.protocol import Store
from orchestrator.checks import problems
from orchestrator.job import Job, Plan
from orchestrator.leases import owner_name
from orchestrator.runs.records import read_runs
from tests.conformance.conftest import wipe
from tests.conformance.folders import NONE, Folder, Mill, opened, quicken
from tests.conformance.pictures import differences, picture
from tests.conformance.place import HERE_AND_ON_A_SERVER, Place
from tests.conformance.wrapped import wrapped


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quicken(monkeypatch, tmp_path / "cache")


@pytest.fixture
async def store(place: Place) -> Store:
    return await opened(place)


@pytest.fixture
def notes(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "notes")
    for name in ("a", "b"):
        folder.write(f"{name}/{name}.md", f"# {name}\n\nsee [others](../a/a.md)\n")
    return folder


class Dead(StoreClosed):
    """The process is gone: nothing that it would still do reaches the store."""

    def __init__(self) -> None:
        super().__init__("killed", hint="")


@HERE_AND_ON_A_SERVER
async def test_a_process_that_dies_between_any_two_steps_strands_nothing(
    store: Store, notes: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after one commit further each time, until it gets to its end: another process goes on each time."""
    await Mill(store=store, roots=[notes]).run(NONE)
    for number in range(1, 100, 4 if store.capabilities.many_processes else 2):
        notes.edit("a/a.md", "see", "look")
        notes.write(f"new/{number}.md", f"# {number}\n")
        with monkeypatch.context() as patched:
            patched.setattr("orchestrator.job.owner_name", lambda: f"{owner_name().rsplit(':', 2)[0]}:0:gone")
            if await killed_after(store, notes, number):
                break
        # Not the same command, and it was told nothing: it finds what there is to do.
        await Job(store, Plan(embedder=NONE)).run()
        assert not [run for run in await read_runs(store) if run.is_open], f"killed after commit {number}"
        notes.edit("a/a.md", "look", "see")
    else:
        pytest.fail("it never got to its end")
    assert number > 8
    await Mill(store=store, roots=[notes]).run(NONE)
    assert await problems(store) == []
    found = await picture(store)
    await wipe(store)
    await Mill(store=store, roots=[notes]).run(NONE)
    assert differences(found, await picture(store)) == []


async def killed_after(store: Store, notes: Folder, number: int) -> bool:
    """Whether the job came to its end before."""
    commits = 0

    async def commit(real: Any, batch: Batch) -> None:
        nonlocal commits
        if commits >= number:
            raise Dead
        commits += 1
        await real(batch)

    async def other(real: Any, *arguments: Any, **options: Any) -> Any:
        if commits >= number:
            raise Dead
        return await real(*arguments, **options)

    dying, wrapper = wrapped(store, commit=commit, claim=other, heartbeat=other, hold=other, renew=other)
    if store.capabilities.many_processes:  # else what a process holds is gone with it
        wrapper.around["let_go"] = other
    try:
        await Mill(store=dying, roots=[notes]).run(NONE)
    except Dead:
        return False
    return commits < number
