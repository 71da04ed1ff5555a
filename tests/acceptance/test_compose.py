"""What docker-compose.yml and the Dockerfile promise, read from the files: no container engine is needed."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pathspec
import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return document


@pytest.fixture(scope="module")
def worker(compose: dict[str, Any]) -> dict[str, Any]:
    service: dict[str, Any] = compose["services"]["worker"]
    return service


@pytest.fixture(scope="module")
def dockerfile() -> list[tuple[str, str]]:
    """Its instructions, each with what follows the name."""
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    instructions = [line.partition(" ") for line in lines if line.strip() and not line.startswith("#")]
    return [(name, value.strip()) for name, _, value in instructions]


@pytest.fixture(scope="module")
def neo4j(compose: dict[str, Any]) -> dict[str, Any]:
    service: dict[str, Any] = compose["services"]["neo4j"]
    return service


def test_server_is_the_long_term_community_release(neo4j):
    assert neo4j["image"] == "neo4j:5.26-community"


def test_ports_are_bound_to_loopback_only(neo4j):
    assert "127.0.0.1:7687:7687" in neo4j["ports"]
    assert all(port.startswith("127.0.0.1:") for port in neo4j["ports"])


def test_password_comes_from_the_environment_and_must_be_set(neo4j):
    assert neo4j["environment"]["NEO4J_AUTH"].startswith("neo4j/${NEO4J_PASSWORD:?")


def test_password_is_no_variable_of_its_own(neo4j):
    # The image takes any other NEO4J_ variable for a setting, and refuses to start on one it does not know.
    assert "NEO4J_PASSWORD" not in neo4j["environment"]


def test_data_live_in_a_named_volume(compose, neo4j):
    volume, target = neo4j["volumes"][0].split(":")
    assert target == "/data"
    assert volume in compose["volumes"]


def test_server_has_a_health_check(neo4j):
    assert neo4j["healthcheck"]["test"][0] == "CMD"
    assert neo4j["healthcheck"]["retries"] > 1


def test_workers_start_only_when_asked_for_and_after_the_server_is_healthy(worker):
    assert worker["profiles"] == ["workers"]
    assert worker["depends_on"] == {"neo4j": {"condition": "service_healthy"}}


def test_any_number_of_workers_can_be_started(worker):
    # A fixed name or port would belong to the first of them.
    assert not {"container_name", "ports"} & set(worker)


def test_workers_reach_the_server_by_its_name_and_get_the_password_from_the_environment(compose, worker):
    url = worker["command"][worker["command"].index("--store") + 1]
    assert urlsplit(url).hostname in compose["services"]
    assert worker["environment"]["NEO4J_PASSWORD"].startswith("${NEO4J_PASSWORD:?")


def test_command_of_the_workers_is_one_that_graphmill_takes(worker):
    command = [sys.executable, "-m", "orchestrator.cli", *worker["command"], "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--drain" in done.stdout


def test_image_is_built_from_files_that_are_there_and_not_ignored(worker, dockerfile):
    assert worker["build"] == "."
    ignored = pathspec.GitIgnoreSpec.from_lines((ROOT / ".dockerignore").read_text().splitlines())
    copied = [source for name, value in dockerfile if name == "COPY" for source in value.split()[:-1]]
    assert copied
    for source in copied:
        assert (ROOT / source).exists(), source
        assert not ignored.match_file(source), source


def test_image_holds_every_package_and_file_that_the_build_needs(dockerfile):
    copied = {source for name, value in dockerfile if name == "COPY" for source in value.split()[:-1]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    named = {*wheel["packages"], *wheel["force-include"], project["project"]["readme"], "pyproject.toml"}
    assert named | set(project["project"]["license-files"]) <= copied


def test_image_runs_graphmill_as_a_plain_user(dockerfile):
    names = [name for name, _ in dockerfile]
    values = dict(dockerfile)
    assert names[0] == "FROM"
    assert set(names) <= {"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT", "CMD"}
    assert json.loads(values["ENTRYPOINT"]) == ["graphmill"]
    assert values["USER"] not in ("root", "0")
    assert ("RUN", f"useradd --create-home --uid 1000 {values['USER']}") in dockerfile
