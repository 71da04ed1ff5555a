"""One suite for every engine: a fresh graph per test, of each engine in turn."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from graph_stores import Credentials, is_embedded, open_store, path_of
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle
from tests.conformance.examples import AT_ONCE
from tests.conformance.place import ENGINES, Place

# Without --all: tests of stores run on Kuzu and Neo4j, those that write or search also on Ladybug, a fork of Kuzu
# behind the same code. Tests of what builds on stores, and of the files of an embedded one, run on Kuzu.
ON_LADYBUG = [
    "test_claims",
    "test_edges",
    "test_model",
    "test_search",
    "test_transitions",
    "test_vectors",
    "test_writing",
]
BY_KEY = ["test_edges", "test_transitions", "test_writing"]
ON_KUZU_ONLY = (
    "test_adopted_labels",
    "test_checks",
    "test_copying",
    "test_expansion_",
    "test_files_",
    "test_kuzu_",
    "test_ledger",
    "test_losses",
    "test_lost_",
    "test_migration_",
    "test_repair",
    "test_runs",
    "test_settle",
    "test_shared_turns",
    "test_stages",
    "test_stuck",
    "test_worker",
)

# Modules whose tests on another engine than Kuzu are left to --soak. On Ladybug so is what builds on stores.
ON_KUZU_UNTIL_SOAK = {
    "ladybug": ("test_adopted_labels", "test_kuzu_logs", "test_kuzu_people", "test_kuzu_recovery", "test_kuzu_vectors"),
    "neo4j": ("test_adopted_labels", "test_copying", "test_expansion_edits", "test_files_breaks"),
}


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ids = {item.nodeid for item in items}
    for item in items:
        module = item.path.stem
        if "kuzu by key" in item.nodeid and module not in BY_KEY:
            item.add_marker("long")
        for engine in ("ladybug", "neo4j"):
            if engine not in item.nodeid or item.nodeid.replace(engine, "kuzu") not in ids:
                continue
            builds_on_stores = module.startswith(ON_KUZU_ONLY) and not module.startswith("test_kuzu_")
            if module in ON_KUZU_UNTIL_SOAK[engine] or (engine == "ladybug" and builds_on_stores):
                item.add_marker("soak")
            elif module.startswith(ON_KUZU_ONLY) or (engine == "ladybug" and module not in ON_LADYBUG):
                item.add_marker("long")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The scheme of an engine. A form after it makes the store write as it does into tables of millions."""
    name, _, form = str(request.param).partition(" ")
    if form:
        monkeypatch.setattr("graph_stores.kuzu.engine.Engine.prefers_keys", lambda *_: True)
    return name


@pytest.fixture
def server(engine: str, request: pytest.FixtureRequest) -> Any:
    """The server where the engine has one; asked for by name, so that none is started for the others."""
    return request.getfixturevalue("neo4j_server") if engine == "neo4j" else None


@pytest.fixture
async def place(engine: str, server: Any, tmp_path: Path) -> AsyncIterator[Place]:
    project = f"test-{uuid4().hex[:12]}"
    if server is None:
        place = Place(url=f"{engine}:{tmp_path / 'graph'}", project=project)
    else:
        place = Place(
            url=server.uri, project=project, credentials=Credentials(user=server.user, password=server.password)
        )
    yield place
    if server is not None:
        await wipe(await place.open())
    # Without the checkpoint that a graph gets when it is closed: this one is thrown away.
    await place.close(quickly=True)


async def wipe(store: Store) -> None:
    """Leave the shared server as it was found: without what this test's projects put there."""
    await store.query(
        "MATCH (n) WHERE n.projectId STARTS WITH $project DETACH DELETE n", {"project": store.project}, write=True
    )


@pytest.fixture(scope="session")
def empty_graph(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of an empty graph of an embedded engine, with its schema: to copy it is cheaper than to make one."""
    made: dict[str, Path] = {}

    async def make(url: str) -> None:
        store = await open_store(url, project="empty", create=True)
        await store.migrate()
        await store.close()

    def of(engine: str) -> Path:
        if engine not in made:
            folder = tmp_path_factory.mktemp("empty")
            with ThreadPoolExecutor(1) as thread:  # the loop of the test is of no use here: it may be running
                thread.submit(asyncio.run, make(f"{engine}:{folder / 'graph'}")).result()
            made[engine] = folder
        return made[engine]

    return of


@pytest.fixture
async def store(place: Place, engine: str, empty_graph: Callable[[str], Path]) -> Store:
    if is_embedded(place.url):
        graph = path_of(place.url)
        assert graph
        shutil.copytree(empty_graph(engine), graph.parent, dirs_exist_ok=True)
        return await place.open()
    store = await place.open(create=True)
    await store.migrate()
    return store


@pytest.fixture
def lifecycle(store: Store) -> Lifecycle:
    return Lifecycle(store=store, policy=AT_ONCE, random=Random(7))
