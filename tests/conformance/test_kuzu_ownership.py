"""One process owns an embedded database, and one handle in it; the others are told who."""

import os
import signal
from pathlib import Path

import pytest

from graph_stores import kuzu
from graph_stores.errors import StoreOwned
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


async def test_the_lock_of_a_dead_process_is_taken_over(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "graph"
    assert child("die_as_owner", engine, path).returncode == -signal.SIGKILL
    assert (tmp_path / "graph.lock").read_text() != ""
    store = await kuzu.open(f"{engine}:{path}", project="p")
    await store.close()
