"""Servers for the tests, and the markers that `scripts/test` selects by. A missing server is an error, never a skip."""

import asyncio
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import pytest
from neo4j_server import Neo4jServer, cache_directory

from graph_stores import Credentials, open_store
from graph_stores.model import VectorSpace
from tests.report import reporter

# In a test run the server mostly plans queries: worth compiling well, but only what is used all the time.
os.environ.setdefault(
    "JAVA_TOOL_OPTIONS",
    "-XX:+UseSerialGC -XX:Tier4InvocationThreshold=20000 -XX:Tier4MinInvocationThreshold=5000"
    " -XX:Tier4CompileThreshold=40000",
)
# Tests move XDG_CACHE_HOME into folders that are deleted after them, and one of them starts the server for all others.
os.environ.setdefault("GRAPHMILL_NEO4J_CACHE", str(cache_directory()))


class Neo4jAccess(Protocol):
    @property
    def uri(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def password(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenNeo4j:
    uri: str
    user: str
    password: str


def pytest_configure(config: pytest.Config) -> None:
    if plugin := reporter():
        config.pluginmanager.register(plugin)
    # A shell lets what it starts in the background ignore Ctrl-C, and the commands that the tests interrupt with it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# At collection, so that the markers are there when -m selects.
def pytest_itemcollected(item: pytest.Item) -> None:
    fixtures = getattr(item, "fixturenames", ())
    callspec = getattr(item, "callspec", None)
    parameters = callspec.id.split("-") if callspec else []
    if "ladybug" in parameters:
        item.add_marker("ladybug")
    has_server_of_its_own = not {"private_neo4j", "open_neo4j", "own_server"}.isdisjoint(fixtures)
    if "neo4j" in parameters or "neo4j_server" in fixtures or has_server_of_its_own:
        item.add_marker("neo4j")
    if has_server_of_its_own:  # a fresh JVM plans every query anew: half a minute a test
        item.add_marker("long")


@pytest.fixture(scope="session")
def neo4j_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jAccess]:
    """One server for the whole run: the one in GRAPHMILL_TEST_NEO4J_URI, else our own."""
    if uri := os.environ.get("GRAPHMILL_TEST_NEO4J_URI"):
        given = GivenNeo4j(
            uri=uri,
            user=os.environ.get("GRAPHMILL_TEST_NEO4J_USER", "neo4j"),
            password=os.environ["GRAPHMILL_TEST_NEO4J_PASSWORD"],
        )
        _keep_schema(given)
        yield given
    else:
        with _fresh_server(tmp_path_factory) as server:
            _keep_schema(server)
            yield server


def _keep_schema(server: Neo4jAccess) -> None:
    """A project that stays, with vectors of the length that most tests use: so no test has to change schema or indexes.

    After each change of its schema a server plans every query anew, which took more time than the tests themselves.
    """

    async def make() -> None:
        credentials = Credentials(user=server.user, password=server.password)
        store = await open_store(server.uri, project="kept", credentials=credentials, create=True)
        await store.migrate()
        await store.use_vector_space(VectorSpace(provider="test", model="eight", dimension=8))
        await store.index_vectors()
        await store.close()

    asyncio.run(make())


@pytest.fixture
def private_neo4j(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    """A fresh server of the test's own, to kill and restart."""
    with _fresh_server(tmp_path_factory) as server:
        yield server


@contextmanager
def _fresh_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    # Hundreds of small graphs come and go: for none of them it is worth while to plan every query anew.
    server = Neo4jServer(tmp_path_factory.mktemp("neo4j"), settings="dbms.cypher.min_replan_interval=1h\n")
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.home)
