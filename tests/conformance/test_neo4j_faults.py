"""Neo4j and the wire to it fail: lost answers, half-open connections, a killed server, eight processes at once."""

import asyncio
import os
import shutil
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from neo4j_server import Neo4jServer

from graph_stores import DEFAULT_DEADLINE, Credentials, open_store
from graph_stores.errors import DeadlineExceeded, GraphmillError, StoreUnavailable, TransientStoreError
from graph_stores.model import Batch, Node, Select
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.checks import problems
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import new_node, transition
from orchestrator.states import State
from tests.conformance.examples import HOUR, claim, file, files, ref, states_of, write
from tests.conformance.listeners import Heard
from tests.conformance.neo4j_proxy import Cut, Proxy, proxy_to
from tests.conformance.place import Place
from tests.conftest import Neo4jAccess

pytestmark = pytest.mark.neo4j
ROOT = Path(__file__).parents[2]
PROCESSES, NODES = 8, 4000


@pytest.fixture
def engine(neo4j_server: Neo4jAccess) -> str:
    return "neo4j"


@pytest.fixture
async def proxy(neo4j_server: Neo4jAccess) -> AsyncIterator[Proxy]:
    async with proxy_to(neo4j_server.uri) as proxy:
        yield proxy


@pytest.fixture
async def wired(store: Store, place: Place, proxy: Proxy) -> AsyncIterator[Store]:
    """A second handle on the same project, by way of the proxy."""
    store = await open_store(proxy.uri, project=place.project, credentials=place.credentials)
    yield store
    proxy.thaw()
    await store.close()


@contextmanager
def deadline_of(store: Any, seconds: float) -> Iterator[None]:
    """Any call of the store ends by this deadline; before and after, a slow machine has all the time it needs."""
    connection = store._connection
    before, connection.deadline = connection.deadline, seconds
    try:
        yield
    finally:
        connection.deadline = before


CUTS = [[Cut.AFTER], [Cut.BEFORE], [Cut.BEFORE, Cut.AFTER], [Cut.BEFORE, Cut.BEFORE, Cut.BEFORE]]


@pytest.mark.parametrize("cuts", CUTS, ids=lambda cuts: "-".join(cut.name.lower() for cut in cuts))
async def test_a_commit_has_exactly_one_effect_however_its_answer_is_lost(
    store: Store, wired: Store, proxy: Proxy, cuts: list[Cut]
) -> None:
    await write(store, nodes=[file("a")])
    proxy.cuts, proxy.commits = list(cuts), 0
    wired.listen(heard := Heard())
    # Moving a second time would be a conflict, so that a blind repetition shows.
    moves = [transition(ref("a"), expected=State.PENDING, to=State.SKIP, retry_count=1)]
    await wired.commit(Batch(transitions=moves, nodes=[file("b")]))
    assert proxy.cuts == []
    # One that happened is recognised by its marker: it is not committed again.
    assert proxy.commits == len(cuts) + (cuts[-1] is Cut.BEFORE)
    assert await states_of(store) == {"a": "skip", "b": "pending"}
    assert [(move.node.uuid, move.before, move.after) for move in heard.moves] == [
        ("a", "pending", "skip"),
        ("b", None, "pending"),
    ]


@pytest.mark.parametrize("cut", list(Cut), ids=lambda cut: cut.name.lower())
async def test_a_claim_keeps_what_it_took_although_the_answer_was_lost(
    store: Store, wired: Store, proxy: Proxy, cut: Cut
) -> None:
    await write(store, nodes=files(10))
    # On a slow machine the first of all claims, which the server has to plan, may take longer than any repetition may.
    before = await claim(Lifecycle(store=wired), limit=2)
    proxy.cuts = [cut]
    wired.listen(heard := Heard())
    rows = await claim(Lifecycle(store=wired), limit=4)
    assert proxy.cuts == []
    assert len(rows) == 4
    held = {row.uuid: row.lease for row in await store.nodes(Select(states=["parsing"]))}
    assert held == {row.uuid: row.lease for row in before + rows}
    assert sorted(move.node.uuid for move in heard.moves) == sorted(row.uuid for row in rows)


@pytest.mark.parametrize("cut", list(Cut), ids=lambda cut: cut.name.lower())
async def test_a_hold_is_kept_although_the_answer_was_lost(store: Store, wired: Store, proxy: Proxy, cut: Cut) -> None:
    assert await wired.hold("another", owner="me", seconds=HOUR)
    proxy.cuts = [cut]
    token = await wired.hold("scan", owner="me", seconds=HOUR)
    assert proxy.cuts == []
    assert token is not None
    assert await store.renew("scan", token=token, seconds=HOUR)
    assert await store.hold("scan", owner="other", seconds=HOUR) is None


async def test_a_commit_that_is_never_answered_ends_by_its_deadline_and_the_handle_lives_on(
    store: Store, wired: Store, proxy: Proxy
) -> None:
    await write(wired, nodes=[file("before")])
    proxy.freeze()
    with pytest.raises(DeadlineExceeded) as refusal, deadline_of(wired, 2.0):
        await write(wired, nodes=[file("lost")])
    assert refusal.value.transient
    assert "read again" in refusal.value.hint
    proxy.thaw()
    await write(wired, nodes=[file("after")])
    assert set(await states_of(store)) >= {"before", "after"}


VERBS = ["nodes", "progress", "claim", "heartbeat", "ask", "hold", "renew", "query", "export", "search", "schema"]


@pytest.mark.parametrize("verb", VERBS)
async def test_no_call_outlives_its_deadline(wired: Store, proxy: Proxy, verb: str) -> None:
    calls = {
        "nodes": lambda: wired.nodes(Select()),
        "progress": lambda: wired.progress(finished=[], window=1),
        "claim": lambda: claim(Lifecycle(store=wired)),
        "heartbeat": lambda: wired.heartbeat([ref("a")], token="t", seconds=1),
        "ask": lambda: wired.ask("manifests", {"after": "", "limit": 1}),
        "hold": lambda: wired.hold("scan", owner="me", seconds=1),
        "renew": lambda: wired.renew("scan", token="t", seconds=1),
        "query": lambda: wired.query("RETURN 1", {}),
        "export": lambda: anext(wired.export_nodes()),
        "search": lambda: wired.search([1.0], limit=1),
        "schema": wired.schema,
    }
    proxy.freeze()
    with pytest.raises(GraphmillError) as refusal, deadline_of(wired, 0.7):
        await calls[verb]()
    assert refusal.value.code == ("query_timeout" if verb == "query" else "deadline_exceeded")


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.soak)])
async def test_eight_processes_claim_every_node_exactly_once(
    store: Store, place: Place, neo4j_server: Neo4jAccess, rounds: int
) -> None:
    projects = [f"{place.project}-{number}" for number in range(rounds)]
    for project in projects:
        handle = await place.open(project=project)
        nodes = [
            new_node(label="File", uuid=f"{project} {number}", name="f", depth=number % 3) for number in range(NODES)
        ]
        await handle.commit(Batch(nodes=nodes))
    command = [sys.executable, "-m", "tests.conformance.claim_worker", neo4j_server.uri, neo4j_server.user, *projects]
    environment = {**os.environ, "NEO4J_PASSWORD": neo4j_server.password}
    workers = [
        await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE)
        for _ in range(PROCESSES)
    ]
    printed = await asyncio.gather(*(worker.communicate() for worker in workers))
    assert [worker.returncode for worker in workers] == [0] * PROCESSES
    claimed = Counter(
        line.rpartition(b" ")[0].partition(b" ")[2] for output, _ in printed for line in output.splitlines()
    )
    assert len(claimed) == NODES * rounds
    assert set(claimed.values()) == {1}
    assert sum(1 for output, _ in printed if output) > 1
    for handle in place.handles[1:]:
        assert {problem.check for problem in await problems(handle)} == set()


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    """An empty server to kill and start again."""
    server = Neo4jServer(tmp_path_factory.mktemp("own-neo4j"))
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.home)


async def opened(server: Neo4jServer, deadline: float = DEFAULT_DEADLINE) -> Store:
    credentials = Credentials(user=server.user, password=server.password)
    return await open_store(server.uri, project="own", credentials=credentials, create=True, deadline=deadline)


async def test_an_empty_server_is_migrated_by_many_at_once(own_server: Neo4jServer) -> None:
    handles = [await opened(own_server) for _ in range(4)]
    try:
        assert (await handles[0].schema()).found is None
        found = await asyncio.gather(*(handle.migrate() for handle in handles))
        assert {(status.found, tuple(status.missing)) for status in found} == {(found[0].newest, ())}
        await write(handles[0], nodes=[file("a")])
        await write(handles[0], deletions=[ref("a")])
    finally:
        for handle in handles:
            await handle.close()


@dataclass(slots=True, kw_only=True)
class Chain:
    """A worker with a handle of its own: moves each node on together with writing the next one, until it is told."""

    store: Store
    name: str
    acknowledged: int = 0
    troubles: list[GraphmillError] = field(default_factory=list)

    async def work(self, enough: asyncio.Event) -> None:
        await self._persist(Batch(nodes=[self._file(0)]))
        while not enough.is_set() or self.acknowledged < 50:
            here = self._file(self.acknowledged)
            moves = [transition(here.ref, expected=State.PENDING, to=State.SKIP)]
            await self._persist(Batch(transitions=moves, nodes=[self._file(self.acknowledged + 1)]))
            self.acknowledged += 1

    @property
    def expected(self) -> dict[str, str]:
        done = {self._file(number).uuid: "skip" for number in range(self.acknowledged)}
        return {**done, self._file(self.acknowledged).uuid: "pending"}

    def _file(self, number: int) -> Node:
        return file(f"{self.name} {number}")

    async def _persist(self, batch: Batch) -> None:
        """What is transient is simply tried again."""
        while True:
            try:
                return await self.store.commit(batch)
            except TransientStoreError as error:
                self.troubles.append(error)


async def test_four_workers_go_on_by_themselves_when_the_server_is_killed_and_comes_back(
    own_server: Neo4jServer,
) -> None:
    handles = [await opened(own_server) for _ in range(4)]
    await handles[0].migrate()
    chains = [Chain(store=handle, name=f"chain {number}") for number, handle in enumerate(handles)]
    enough = asyncio.Event()
    workers = [asyncio.create_task(chain.work(enough)) for chain in chains]

    async def until_each_has_done(more: int) -> None:
        wanted = [chain.acknowledged + more for chain in chains]
        while any(chain.acknowledged < count for chain, count in zip(chains, wanted, strict=True)):
            assert not any(worker.done() for worker in workers)
            await asyncio.sleep(0.01)

    try:
        await until_each_has_done(20)
        own_server.kill()
        await asyncio.to_thread(own_server.start)
        await until_each_has_done(5)
        enough.set()
        await asyncio.gather(*workers)
        troubles = [trouble for chain in chains for trouble in chain.troubles]
        assert all(isinstance(trouble, StoreUnavailable | DeadlineExceeded) for trouble in troubles)
        expected = {uuid: state for chain in chains for uuid, state in chain.expected.items()}
        assert await states_of(handles[0]) == expected
        assert {problem.check for problem in await problems(handles[0])} == set()
        waiting = {uuid for uuid, state in expected.items() if state == "pending"}
        assert {row.uuid for row in await claim(Lifecycle(store=handles[1]), states.PARSE)} == waiting
    finally:
        for worker in workers:
            worker.cancel()
        for handle in handles:
            await handle.close()
