"""The command line as people run it: a process of its own, in an empty folder, with a clean environment."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .jobs import DEADLINE, Mill, PacedEmbedder, mill_of

ROOT = Path(__file__).parents[2]
_SETTINGS = ("GRAPHMILL_", "NEO4J_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # Any: whatever the command printed
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """What `--json` says about a failure, which must be the only thing on standard output."""
        error = self.json["error"]
        assert set(error) == {"code", "message", "hint"}
        return dict(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cli:
    """`graphmill`, started in a folder."""

    folder: Path
    environment: Mapping[str, str]

    def __call__(self, *arguments: str, stdin: str | None = None, env: Mapping[str, str] | None = None) -> Outcome:
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env={**self.environment, **(env or {})},
            input=stdin if stdin is not None else "",
            check=False,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        return Outcome(code=done.returncode, out=done.stdout, err=done.stderr)

    def refused(self, *arguments: str, code: str, exit_code: int = 1, **options: Any) -> Outcome:  # Any: passed on
        """A command that must fail, as text and as JSON: one story, one exit code, nothing else. Returns the text."""
        text, document = self(*arguments, **options), self(*arguments, "--json", **options)
        assert (text.code, document.code) == (exit_code, exit_code), text.err + document.out
        assert text.out == ""
        assert "Traceback" not in text.err + document.err
        error = document.error
        assert error["code"] == code
        told = f"error: {error['message']}" + (f"\nhint: {error['hint']}" if error["hint"] else "")
        assert text.err.endswith(f"{told}\n")
        return text

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "orchestrator.cli", *arguments]

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:  # Any: passed on to Popen
        """The command as a process that the test talks to."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | options
        return subprocess.Popen(self.command(*arguments), cwd=self.folder, env={**self.environment}, text=True, **pipes)

    def wait_for_owner(self, process: subprocess.Popen[str]) -> None:
        """Until the process owns the embedded graph, as the lock beside it tells."""
        lock = self.folder / "graph.kuzu.lock"
        while str(process.pid) not in lock.read_text():
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)

    def python(self, code: str, *arguments: str) -> str:
        """Run Python in a process of its own: the two embedded engines must never meet in one."""
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=self.folder,
            env=self.environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def seed(self, url: str, *, project: str = "default") -> None:
        self.python((Path(__file__).parent / "seed_graph.py").read_text(encoding="utf-8"), url, project)


def cli_in(folder: Path) -> Cli:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(_SETTINGS)}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", "LC_ALL": "C.UTF-8"}
    # A slow machine must not turn a good end into an exit at once; tests of that say so themselves.
    environment["GRAPHMILL_STOP_SECONDS"] = "60"
    environment["XDG_STATE_HOME"] = str(folder / "state")
    return Cli(folder=folder, environment=environment)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return cli_in(tmp_path)


@pytest.fixture(scope="session")
def made_graph(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    cli = cli_in(tmp_path_factory.mktemp("graph"))
    outcome = cli("init")
    assert outcome.code == 0, outcome.err
    return cli


@pytest.fixture(scope="module")  # not longer: one of its leases ends after an hour
def made_filled(made_graph: Cli, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    cli = cli_in(tmp_path_factory.mktemp("filled"))
    _copy(made_graph, cli)
    cli.seed("kuzu:./graph.kuzu")
    return cli


@pytest.fixture
def graph(cli: Cli, made_graph: Cli) -> Cli:
    """`graphmill` where `init` has been run."""
    return _copy(made_graph, cli)


@pytest.fixture
def filled(cli: Cli, made_filled: Cli) -> Cli:
    """`graphmill` over a graph with nodes in many states, see `seed_graph.py`."""
    return _copy(made_filled, cli)


def _copy(made: Cli, cli: Cli) -> Cli:
    """A copy of what was made once: the times of its files are kept, so that it counts as closed well."""
    shutil.copytree(made.folder, cli.folder, dirs_exist_ok=True)
    return cli


@pytest.fixture
def embedder() -> Iterator[PacedEmbedder]:
    with PacedEmbedder() as embedder:
        yield embedder


@pytest.fixture
def mill(cli: Cli, embedder: PacedEmbedder) -> Iterator[Mill]:
    """A folder to be ingested into an embedded graph."""
    with mill_of(cli, embedder) as mill:
        yield mill


@pytest.fixture
def shared_mill(cli: Cli, embedder: PacedEmbedder, neo4j_server: Any) -> Iterator[Mill]:
    """A folder to be ingested into a graph that many processes work on."""
    with mill_of(cli, embedder, neo4j_server) as mill:
        yield mill


@pytest.fixture
def mill_on(request: pytest.FixtureRequest) -> Mill:
    """Either of them, by the name of its engine."""
    mill: Mill = request.getfixturevalue({"kuzu": "mill", "neo4j": "shared_mill"}[request.param])
    return mill
