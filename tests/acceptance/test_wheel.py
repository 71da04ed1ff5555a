"""The distribution as a user gets it: built, installed into an empty environment, run far from the checkout."""

import json
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


@pytest.mark.long
def test_the_installed_command_runs_the_demo(environment: Path, tmp_path: Path) -> None:
    said = _run(environment / "bin" / "graphmill", "demo", tmp_path / "shown", "--json", cwd=tmp_path)
    ended = json.loads(said)
    assert [each["exit_code"] for each in ended["commands"][1:]] == [0] * 5, ended  # the first was stopped half way
    assert (tmp_path / "shown" / "graph.kuzu").exists()


@pytest.mark.long
def test_what_is_heavy_and_optional_is_not_installed(environment: Path) -> None:
    listed = _run(environment / "bin" / "python", "-m", "pip", "list", "--format", "json")
    installed = {each["name"].lower() for each in json.loads(listed)}
    assert "graphmill" in installed
    assert not installed & {"torch", "sentence-transformers", "ladybug", "pypdf", "python-docx", "pytest", "mypy"}


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{command} exited {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout
