"""A database on which the engine crashes: no command crashes after the first, and no acknowledged commit is lost."""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_stores import kuzu
from graph_stores.errors import TransientStoreError
from graph_stores.kuzu import recovery
from graph_stores.kuzu import store as embedded
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.guard import Guard
from graph_stores.kuzu.traits import TRAITS
from tests.conformance.kuzu_child import child

_WAIT = 600.0


@pytest.fixture(params=["kuzu", "ladybug"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.long
@pytest.mark.parametrize("fault", ["checkpoint", "checkpointed"])
def test_a_checkpoint_that_always_crashes_costs_one_crash_and_no_commit(
    engine: str, fault: str, tmp_path: Path
) -> None:
    """It dies in the checkpoint, or makes a file that cannot be opened; both again whenever it is repeated."""
    path = tmp_path / "it's a graph"
    first = child("write_deadly", engine, path, "close", fault=fault)
    assert (first.returncode, first.stdout) == (-signal.SIGSEGV, "acknowledged\n"), first.stderr
    second = child("uuids", engine, path, fault=fault)
    assert (second.returncode, second.stdout) == (0, "a b c\n"), second.stderr
    assert second.stderr.strip().endswith("and no commit is lost")
    third = child("checkpoint", engine, path, fault=fault)
    assert (third.returncode, third.stdout, third.stderr) == (0, "0\n", "")
    assert child("uuids", engine, path, fault=fault).stdout == "a b c\n"


@pytest.mark.long
@pytest.mark.parametrize("engine", ["kuzu"], indirect=True)
def test_a_graph_that_earlier_versions_left_in_a_crash_loop_works_again(engine: str, tmp_path: Path) -> None:
    """No script here: Kuzu itself crashes in a checkpoint after a vector column was dropped and added again."""
    path = tmp_path / "graph"
    first = child("change_column_in_place", engine, path)
    assert (first.returncode, first.stdout) == (-signal.SIGSEGV, "acknowledged\n"), first.stderr
    second = child("uuids", engine, path)
    assert (second.returncode, second.stdout) == (0, "a b c\n"), second.stderr
    assert second.stderr.strip().endswith("and no commit is lost")
    assert child("checkpoint", engine, path).stdout == "0\n"
    third = child("uuids", engine, path)
    assert (third.stdout, third.stderr) == ("a b c\n", "")


@pytest.mark.long
def test_a_log_that_crashes_its_reader_is_refused_with_the_command_that_recovers(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "graph"
    assert child("write_deadly", engine, path, "die").stdout == "acknowledged\n"
    for _ in range(2):
        refused = child("uuids", engine, path, fault="log")
        assert refused.returncode == 0, refused.stderr
        assert refused.stdout.startswith("store_damaged")
        assert refused.stdout.strip().endswith(f"graphmill --store {engine}:{path} init --recover")
    recovered = child("recover", engine, path, fault="log")
    assert recovered.stdout == f"1 {path}.before-recovery\n", recovered.stderr
    assert child("uuids", engine, path, fault="log").stdout == "a b\n"
    assert child("recover", engine, path, fault="log").stdout == "0 None\n"
    assert "deadly" in (path.with_name("graph.before-recovery") / "graph.wal").read_bytes().decode(errors="ignore")


def test_a_deadly_log_without_a_sign_of_a_death_is_tried_in_a_child_first(engine: str, tmp_path: Path) -> None:
    """The lock file tells of the last owner; here it was removed, or not copied with the graph."""
    path = tmp_path / "graph"
    child("write_deadly", engine, path, "die")
    path.with_name("graph.lock").unlink()
    for _ in range(2):
        refused = child("uuids", engine, path, fault="log")
        assert (refused.returncode, refused.stdout.split()[0]) == (0, "store_damaged"), refused.stderr


def test_a_child_whose_parent_died_while_it_started_does_not_open_the_database(engine: str, tmp_path: Path) -> None:
    """The next owner may have the database by then."""
    path = tmp_path / "new"

    def exit_code(parent: int) -> int:
        command = [sys.executable, "-m", "graph_stores.kuzu.probe", str(parent), "open", engine, str(path)]
        return subprocess.run(command, check=False).returncode

    assert exit_code(parent=os.getppid()) != 0
    assert not path.exists()
    assert exit_code(parent=os.getpid()) == 0
    assert path.exists()


@pytest.mark.long
@pytest.mark.parametrize("end", ["write_and_die", "write_and_close"])
def test_ctrl_c_while_a_child_tries_the_graph_costs_nothing(engine: str, tmp_path: Path, end: str) -> None:
    """A child that ended by it would checkpoint, without a guard: the log would be gone, and the graph refused."""
    path = tmp_path / "graph"
    child(end, engine, path)
    os.utime(path)
    child("uuids", engine, path, fault="interrupt")
    after = child("uuids", engine, path)
    assert (after.stdout.split(), after.stderr) == ([str(number) for number in range(10)], "")


_HOLD = """
import importlib, os, sys
database = importlib.import_module(sys.argv[1]).Database(sys.argv[2], auto_checkpoint=False)
print("opened", flush=True)
sys.stdin.read()
os._exit(0)
"""


@pytest.mark.long
def test_a_log_is_not_cut_because_another_program_has_the_database_open(engine: str, tmp_path: Path) -> None:
    """Without notes, as in a copy of the file and its log only, all of the log is beyond the last note."""
    path = tmp_path / "graph"
    child("write_and_close", engine, path)
    for suffix in ("lock", "seal", "commits", "closed"):
        path.with_name(f"graph.{suffix}").unlink()
    command = [sys.executable, "-c", _HOLD, TRAITS[engine].module, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout and other.stdout.readline() == "opened\n"
        refused = child("uuids", engine, path)
    assert (refused.stdout.split()[0], refused.stderr) == ("store_owned", "")
    assert child("uuids", engine, path).stdout.split() == [str(number) for number in range(10)]


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_log_is_not_cut_because_the_child_was_ended(
    engine: str, tmp_path: Path, by: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph"
    child("write_and_die", engine, path)
    path.with_name("graph.commits").unlink()
    log = path.with_name("graph.wal").read_bytes()
    monkeypatch.setattr(recovery, "attempt", lambda *_: recovery.Outcome(code=-by, error=""))
    with pytest.raises(TransientStoreError):
        recovery.make_usable(engine, path, Guard(path, lambda _: None), deaths=1, first=True)
    assert path.with_name("graph.wal").read_bytes() == log


class _Heard(logging.Handler):
    """What is said of the store; `gate` opens with the first of it."""

    def __init__(self, gate: threading.Event) -> None:
        super().__init__()
        self.gate = gate
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self.gate.set()


@pytest.fixture
def heard() -> Iterator[_Heard]:
    handler = _Heard(threading.Event())
    logger = logging.getLogger("graphmill.store")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, heard: _Heard) -> None:
    """After a kill, opening goes on only when something was said of it."""
    recover_and_open = Engine.recover_and_open

    def wait(engine: Engine, *, deaths: int = 0) -> None:
        heard.gate.wait(_WAIT if deaths else 0)
        recover_and_open(engine, deaths=deaths)

    monkeypatch.setattr(embedded, "_UNEXPLAINED", 0.0)
    monkeypatch.setattr(embedded, "_LONG_LOG", 1)
    monkeypatch.setattr(Engine, "recover_and_open", wait)


@pytest.mark.usefixtures("slow")
async def test_a_long_replay_after_a_kill_is_explained_once(engine: str, tmp_path: Path, heard: _Heard) -> None:
    path = tmp_path / "graph"
    child("write_and_die", engine, path)
    for _ in range(2):
        await (await kuzu.open(f"{engine}:{path}", project="p")).close()
    assert heard.lines == [
        f"the last job on {path} ended without closing it: replaying its log (0 MB) and moving it into the graph. "
        "This happens once."
    ]


async def test_the_replay_of_a_short_log_is_not_explained(
    engine: str, tmp_path: Path, heard: _Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    child("write_and_die", engine, tmp_path / "graph")
    monkeypatch.setattr(embedded, "_UNEXPLAINED", 0.0)
    await (await kuzu.open(f"{engine}:{tmp_path / 'graph'}", project="p")).close()
    assert heard.lines == []
