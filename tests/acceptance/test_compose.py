"""What docker-compose.yml promises, read from the file: no container engine is needed."""

from pathlib import Path
from typing import Any

import pytest
import yaml

COMPOSE = Path(__file__).parents[2] / "docker-compose.yml"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return document


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
