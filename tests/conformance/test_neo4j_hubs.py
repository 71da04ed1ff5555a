"""Many processes write to one hub of a Neo4j graph, each in its own order: no edge is lost and none is there twice."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from graph_stores.protocol import Store
from orchestrator.checks import problems
from tests.conformance.examples import links
from tests.conformance.hub_writer import PAGES
from tests.conformance.place import Place
from tests.conftest import Neo4jAccess

pytestmark = pytest.mark.neo4j
ROOT = Path(__file__).parents[2]


@pytest.fixture
def engine(neo4j_server: Neo4jAccess) -> str:
    return "neo4j"


async def check_that_no_edge_is_lost(
    store: Store, server: Neo4jAccess, *, processes: int, writers: int, rounds: int
) -> None:
    command = [sys.executable, "-m", "tests.conformance.hub_writer", server.uri, server.user, store.project]
    environment = {**os.environ, "NEO4J_PASSWORD": server.password}
    running = [
        await asyncio.create_subprocess_exec(
            *command, str(number), str(writers), str(rounds), cwd=ROOT, env=environment
        )
        for number in range(processes)
    ]
    assert [await each.wait() for each in running] == [0] * processes
    others = [*(f"shared {page}" for page in range(PAGES))]
    others += [f"{writer} {number}" for writer in range(processes * writers) for number in range(rounds)]
    expected = {pair for name in others for pair in (("hub", name), (name, "hub"))}
    expected |= {(name, "folder") for name in ("hub", *others)}
    name = len(store.project) + 1
    assert {(source[name:], target[name:]) for source, target in await links(store)} == expected
    assert await problems(store) == []


async def test_writers_of_one_hub_lose_no_edge(store: Store, place: Place, neo4j_server: Neo4jAccess) -> None:
    await check_that_no_edge_is_lost(store, neo4j_server, processes=4, writers=3, rounds=4)


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_fifty_writers_of_one_hub_lose_no_edge(store: Store, place: Place, neo4j_server: Neo4jAccess) -> None:
    await check_that_no_edge_is_lost(store, neo4j_server, processes=10, writers=5, rounds=20)
