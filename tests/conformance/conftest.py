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

# Tests of a store always run on every engine. What builds on stores, and what guards the files of an embedded one, is
# always tested on Kuzu, and on the other engines by `scripts/test --all`.
KUZU_FIRST = (
    *(
        "test_adopted_labels",
        "test_checks",
        "test_copying",
        "test_expansion_",
        "test_files_",
        "test_kuzu_",
        "test_ledger",
    ),
    *("test_losses", "test_lost_", "test_migration_", "test_repair", "test_runs", "test_settle", "test_shared_turns"),
    *("test_stages", "test_stuck", "test_worker"),
)


# Of these one engine more says little that the others have not said: only `scripts/test --soak` asks it.
ONCE_MORE = {
    "ladybug": ("test_adopted_labels", "test_kuzu_logs", "test_kuzu_people", "test_kuzu_recovery", "test_kuzu_vectors"),
    "neo4j": ("test_adopted_labels", "test_copying", "test_expansion_edits", "test_files_breaks"),
}


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    of_kuzu_first = [item for item in items if item.path.stem.startswith(KUZU_FIRST)]
    on_kuzu = {item.nodeid for item in of_kuzu_first}
    for item in of_kuzu_first:
        for other, modules in ONCE_MORE.items():
            if other in item.nodeid and item.nodeid.replace(other, "kuzu") in on_kuzu:
                item.add_marker("soak" if item.path.stem in modules else "long")


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
    await place.close()


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
