"""One suite for every engine: a fresh graph per test, of each engine in turn."""

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from graph_stores import Credentials
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle
from tests.conformance.examples import AT_ONCE
from tests.conformance.place import ENGINES, Place


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


@pytest.fixture
async def store(place: Place) -> Store:
    store = await place.open(create=True)
    await store.migrate()
    return store


@pytest.fixture
def lifecycle(store: Store) -> Lifecycle:
    return Lifecycle(store=store, policy=AT_ONCE, random=Random(7))
