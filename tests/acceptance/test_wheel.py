"""The distribution as a user gets it: built, installed into an empty environment, run far from the checkout."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUERIES = {path.relative_to(ROOT).as_posix() for path in (ROOT / "cypher").rglob("*.cypher")}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution, and the wheel built from it."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def environment(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    _run(sys.executable, "-m", "venv", folder)
    pip = (folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile")
    _run(*pip, next(dist.glob("*.whl")))
    return folder


def test_wheel_holds_every_query(dist: Path) -> None:
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        assert QUERIES
        assert set(wheel.namelist()) >= QUERIES


def test_wheel_holds_what_the_demo_reads(dist: Path) -> None:
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        assert {"pipelines/wikipedia/demo/mills.xml", "orchestrator/docs/wikipedia.md"} <= set(wheel.namelist())


def test_source_distribution_holds_every_query(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as source:
        assert {name.partition("/")[2] for name in source.getnames()} >= QUERIES


def test_installed_command_makes_and_reads_a_graph(environment: Path, tmp_path: Path) -> None:
    graphmill = environment / "bin" / "graphmill"
    store = f"kuzu:{tmp_path / 'graph.kuzu'}"
    _run(graphmill, "--store", store, "init", cwd=tmp_path)
    assert '"states"' in _run(graphmill, "--store", store, "--json", "status", cwd=tmp_path)


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{command} exited {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout
