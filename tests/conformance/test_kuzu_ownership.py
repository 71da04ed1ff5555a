"""One process owns an embedded database, and one handle in it; the others are told who."""

import asyncio
import os
import signal
import threading
from pathlib import Path

import pytest

from graph_stores import kuzu
from graph_stores.errors import StoreOwned
from graph_stores.model import Select
from tests.conformance.examples import PATIENCE
from tests.conformance.kuzu_child import child, file_batch, opened


@pytest.fixture(params=["kuzu", "ladybug"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_second_handle_and_second_process_are_told_who_owns_the_graph(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "graph"
    store = await opened(engine, path)
    with pytest.raises(StoreOwned, match="already open in this process"):
        await kuzu.open(f"{engine}:{path}", project="p")
    for _ in range(2):
        told = child("try_to_open", engine, path).stdout
        assert f"store_owned {path} is in use by process {os.getpid()} on {os.uname().nodename}" in told
        assert "pytest" in told
        assert "since 20" in told
    await store.commit(file_batch("still mine"))
    await store.close()
    assert child("try_to_open", engine, path).stdout == ""


def test_a_forked_child_is_refused_and_its_end_does_not_free_the_lock(engine: str, tmp_path: Path) -> None:
    run = child("fork", engine, tmp_path / "graph")
    assert run.stdout.split("\n") == ["7", "store_owned", "[]", ""], run.stderr


@pytest.mark.parametrize("moment", ["guard copied", "guard in place", "checkpointed", "guard lifted"])
async def test_closing_that_nobody_waits_for_keeps_the_lock_until_it_is_done(
    engine: str, tmp_path: Path, moment: str
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def slow(step: str) -> None:
        if step == moment:
            reached.set()
            go_on.wait(PATIENCE)

    path = tmp_path / "graph"
    store = await opened(engine, path, step=slow)
    await store.commit(file_batch("acknowledged"))
    closing = asyncio.create_task(store.close())
    await asyncio.to_thread(reached.wait, 60)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert child("try_to_open", engine, path).stdout.startswith("store_owned")
    go_on.set()
    await store.close()
    store = await kuzu.open(f"{engine}:{path}", project="p")
    assert [row.uuid for row in await store.nodes(Select())] == ["acknowledged"]
    await store.close()


async def test_the_lock_of_a_dead_process_is_taken_over(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "graph"
    assert child("die_as_owner", engine, path).returncode == -signal.SIGKILL
    assert (tmp_path / "graph.lock").read_text() != ""
    store = await kuzu.open(f"{engine}:{path}", project="p")
    await store.close()
