"""What a guest is told over the owner's socket is what the owner itself is told, and what a guest does is heard of."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from graph_stores import kuzu, open_store
from graph_stores.errors import (
    GraphmillError,
    HoldLost,
    LeaseLost,
    Misuse,
    QueryFailed,
    QueryTimeout,
    TransitionConflict,
    UnknownLabel,
    WriteRefused,
)
from graph_stores.kuzu.shared import SharedStore
from graph_stores.kuzu.store import EmbeddedStore
from graph_stores.model import Batch, Claim, Fence, Ref, Select, Vector, VectorSpace
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.states import ErrorClass
from tests.conformance.examples import (
    AT_ONCE,
    PATIENCE,
    bring,
    claim,
    claim_one,
    eventually,
    expire,
    file,
    link,
    node,
    section,
    states_of,
    write,
)
from tests.conformance.kuzu_child import opened

# Takes minutes if nobody stops it; the table must hold some hundreds of nodes.
LONG = "MATCH (a:File), (b:File), (c:File), (d:File) WHERE a.name <> b.name OR c.name <> d.name RETURN count(*)"
FILES = [file(f"f{number:05}", size=number) for number in range(700)]


@pytest.fixture(params=["kuzu", "ladybug"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def owner(engine: str, tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    store = await opened(engine, tmp_path / "graph")
    yield store
    await store.close()


@pytest.fixture
async def guest(owner: EmbeddedStore) -> AsyncIterator[Store]:
    store = await open_store(owner.url, project=owner.project, share=True)
    yield store
    await store.close()
    assert isinstance(store, SharedStore)
    assert store._owned is None, "it was the owner who answered"


@pytest.fixture
def lifecycle(owner: EmbeddedStore) -> Lifecycle:
    return Lifecycle(store=owner, policy=AT_ONCE, random=Random(7))


only_kuzu = pytest.mark.parametrize("engine", ["kuzu"], indirect=True)


async def test_every_call_is_answered_as_the_owner_itself_would(
    owner: EmbeddedStore, guest: Store, lifecycle: Lifecycle
) -> None:
    await owner.use_vector_space(VectorSpace(provider="test", model="two", dimension=2))
    await write(owner, nodes=[*FILES[:300], section("s")], edges=[link("f00000", "f00001", count=2)])
    await claim(lifecycle, limit=3)
    await expire(lifecycle, await claim(lifecycle, limit=1))
    await lifecycle.fail(await claim_one(lifecycle), message="broken", error_class=ErrorClass.PERMANENT)
    await bring(
        lifecycle,
        "Section",
        states.LINK,
        states.EMBED,
        vectors=[Vector(node=Ref(label="Section", uuid="s"), values=[1.0, 0.5])],
    )
    calls: list[tuple[str, dict[str, Any]]] = [
        ("schema", {}),
        ("progress", {"finished": ["ready"], "window": 3600.0}),
        ("vector_space", {}),
        ("index_vectors", {}),
        ("nodes", {"select": Select(limit=250)}),
        ("nodes", {"select": Select(labels=["File"], after=Ref(label="File", uuid="f00290"))}),
        ("nodes", {"select": Select(expired=True)}),
        ("search", {"vector": [1.0, 1.0], "limit": 3, "labels": ("Section",)}),
        ("ask", {"question": "manifests", "parameters": {"after": "", "limit": 5}}),
        ("query", {"text": "MATCH (a:File)-[e]->(b) RETURN a, e, b.uuid", "parameters": {}}),
        ("query", {"text": "RETURN $x AS x, $y AS y", "parameters": {"x": "é\n", "y": [1, 2]}, "timeout": 5.0}),
    ]
    for call, arguments in calls:
        told = await getattr(guest, call)(**arguments)
        assert told == await getattr(owner, call)(**arguments), call
    assert (guest.capabilities, guest.url, guest.project) == (owner.capabilities, owner.url, owner.project)


async def test_what_a_guest_changes_is_heard_of_by_the_owner(
    owner: EmbeddedStore, guest: Store, lifecycle: Lifecycle
) -> None:
    assert await claim(lifecycle) == []
    await write(guest, nodes=FILES[:2])
    first = await claim_one(lifecycle)
    # The owner knows by heart what waits; a guest's move and a guest's own Cypher change that.
    others = Lifecycle(store=guest, policy=AT_ONCE, random=Random(7))
    await expire(lifecycle, [first])
    await others.reclaim()
    other = await open_store(owner.url, project="another", share=True)
    text = "CREATE (:File {uuid: 'by hand', projectId: 'p', name: 'x', _state: 'pending', _depth: -1})"
    await other.query(text, {}, write=True)
    await other.close()
    rows = await claim(lifecycle)
    assert [row.uuid for row in rows] == ["by hand", "f00000", "f00001"]
    with pytest.raises(LeaseLost):
        await lifecycle.complete([Result(node=first)])


@only_kuzu
async def test_errors_keep_their_type_and_their_advice(
    owner: EmbeddedStore, guest: Store, lifecycle: Lifecycle
) -> None:
    await write(owner, nodes=FILES[:2])
    row = await claim_one(lifecycle)
    await owner.commit(Batch(deletions=[row.ref]))
    asked: list[tuple[type[GraphmillError], Any]] = [
        (
            LeaseLost,
            lambda store: Lifecycle(store=store, policy=AT_ONCE, random=Random(7)).complete([Result(node=row)]),
        ),
        (QueryFailed, lambda store: store.query("MATCH (n:Fil) RETURN n", {})),
        (WriteRefused, lambda store: store.query("CREATE (:File {uuid: 'x'})", {})),
        (QueryFailed, lambda store: store.query("RETURN $missing", {})),
        (QueryFailed, lambda store: store.query("CREATE (:Fil)", {}, write=True)),
        (UnknownLabel, lambda store: store.nodes(Select(labels=["Fil"]))),
        (UnknownLabel, lambda store: write(store, nodes=[node("Fil", "x")])),
        (Misuse, lambda store: write(store, nodes=[file("x", _state="ready")])),
        (Misuse, lambda store: store.ask("no such question")),
        (HoldLost, lambda store: store.commit(Batch(nodes=FILES[:1], fence=Fence(name="x", token="y")))),
    ]
    for kind, ask in asked:
        with pytest.raises(kind) as told:
            await ask(guest)
        with pytest.raises(kind) as direct:
            await ask(owner)
        assert (told.value.message, told.value.hint) == (direct.value.message, direct.value.hint)
        if isinstance(told.value, TransitionConflict):
            assert isinstance(direct.value, TransitionConflict)
            assert told.value.conflicts == direct.value.conflicts


@only_kuzu
async def test_a_hold_of_a_guest_is_a_hold_for_everybody(owner: EmbeddedStore, guest: Store) -> None:
    token = await guest.hold("root", owner="guest", seconds=60)
    assert token
    assert await owner.hold("root", owner="job", seconds=60) is None
    assert await guest.renew("root", token=token, seconds=60)
    await guest.commit(Batch(nodes=FILES[:1], fence=Fence(name="root", token=token)))
    await guest.let_go("root", token=token)
    assert not await guest.renew("root", token="another", seconds=60)
    assert await owner.hold("root", owner="job", seconds=60)
    with pytest.raises(HoldLost):
        await guest.commit(Batch(nodes=FILES[1:2], fence=Fence(name="root", token=token)))


@only_kuzu
async def test_the_owner_answers_for_other_projects_too(owner: EmbeddedStore, guest: Store) -> None:
    other = await open_store(owner.url, project="another", share=True)
    await write(guest, nodes=FILES[:1])
    await write(other, nodes=FILES[1:4])
    assert sorted(await states_of(owner)) == ["f00000"]
    assert sorted(await states_of(other)) == ["f00001", "f00002", "f00003"]
    assert (await other.progress(finished=[], window=1.0)).counts[0].count == 3
    token = await other.hold("root", owner="guest", seconds=60)
    assert token
    assert await other.hold("root", owner="another", seconds=60) is None, "it is remembered between two calls"
    assert await owner.hold("root", owner="job", seconds=60), "and is no hold of this project"
    await other.commit(Batch(deletions=[FILES[1].ref], fence=Fence(name="root", token=token)))
    await other.close()
    assert (await owner.query("MATCH (f:File) RETURN count(*)", {})).rows == [[3]]


@only_kuzu
async def test_what_only_a_job_does_is_refused(guest: Store) -> None:
    wish = Claim(labels=["File"], waiting="pending", working="parsing", owner="x", limit=1, seconds=1.0)
    for call in (
        guest.migrate,
        lambda: guest.claim(wish),
        lambda: guest.heartbeat([], token="x", seconds=1.0),
        lambda: guest.use_vector_space(VectorSpace(provider="a", model="b", dimension=2)),
    ):
        with pytest.raises(Misuse, match="shared"):
            await call()
    for export in (guest.export_nodes, guest.export_edges):
        with pytest.raises(Misuse, match="shared"):
            export()


@only_kuzu
async def test_values_of_every_type_arrive_whole(owner: EmbeddedStore, guest: Store) -> None:
    text = (
        "RETURN date('2026-01-02'), timestamp('2026-01-02 03:04:05.678901'), interval('3 days'), blob('\\\\xAA'), "
        "uuid('00000000-0000-0000-0000-000000000001'), map([1, 2], ['a', 'b']), {a: 1, b: [NULL, 2]}, 1.5, NULL, true"
    )
    [row] = (await guest.query(text, {})).rows
    assert row == (await owner.query(text, {})).rows[0]
    assert row == [
        date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC), timedelta(days=3), b"\xaa", UUID(int=1),
        {1: "a", 2: "b"}, {"a": 1, "b": [None, 2]}, 1.5, None, True,
    ]  # fmt: skip


@only_kuzu
async def test_an_answer_that_would_take_the_owners_memory_is_refused(
    owner: EmbeddedStore, guest: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph_stores.kuzu.door._LARGEST_TABLE", 1 << 20)
    text = "UNWIND range(1, $n) AS i RETURN i, lpad('', 1000, 'x')"
    assert len((await guest.query(text, {"n": 500})).rows) == 500
    with pytest.raises(QueryFailed, match="larger than 1 MB") as caught:
        await guest.query(text, {"n": 5000})
    assert "LIMIT" in caught.value.hint
    assert len((await owner.query(text, {"n": 5000})).rows) == 5000


async def test_many_guests_at_once_are_all_answered(owner: EmbeddedStore, guest: Store) -> None:
    await write(owner, nodes=FILES[:50])
    asked = [guest.nodes(Select(labels=["File"], uuids=[f"f{number:05}"])) for number in range(40)]
    commits = [write(guest, nodes=[file(f"new{number}")]) for number in range(5)]
    found, _ = await asyncio.gather(asyncio.gather(*asked), asyncio.gather(*commits))
    assert [[row.uuid for row in rows] for rows in found] == [[f"f{number:05}"] for number in range(40)]
    assert len(await owner.nodes(Select())) == 55


def readers(owner: EmbeddedStore) -> int:
    """How many queries of people are running."""
    return len(owner._engine._gate._stoppable)


async def started(owner: EmbeddedStore, guest: Store, count: int = 1) -> "list[asyncio.Task[Any]]":
    """Long queries of a guest that are running, as many as may at once."""
    queries = [asyncio.create_task(guest.query(LONG, {}, timeout=600.0)) for _ in range(count)]

    async def are_running() -> bool:
        return readers(owner) == min(count, 2)

    await eventually(are_running)
    return queries


async def gone(queries: "list[asyncio.Task[Any]]") -> None:
    for query in queries:
        query.cancel()
    await asyncio.wait(queries)


async def test_a_query_that_its_guest_no_longer_waits_for_is_stopped(owner: EmbeddedStore, guest: Store) -> None:
    await write(owner, nodes=FILES)
    # More than may run at once: those that never started must not start once nobody waits for them.
    await gone(await started(owner, guest, count=5))

    async def nobody_reads() -> bool:
        return not readers(owner)

    await eventually(nobody_reads)
    assert (await guest.query("RETURN 1", {})).rows == [[1]]


async def test_long_queries_of_guests_hold_up_neither_the_owner_nor_other_guests(
    owner: EmbeddedStore, guest: Store, lifecycle: Lifecycle
) -> None:
    await write(owner, nodes=FILES)
    queries = await started(owner, guest, count=3)
    async with asyncio.timeout(PATIENCE):
        await write(owner, nodes=[file("while they run")])
        await claim(lifecycle, limit=5)
        assert len(await owner.nodes(Select(limit=1000))) == 701
        counts = (await guest.progress(finished=[], window=1.0)).counts
        assert [each.count for each in counts if each.state == "parsing"] == [5]
    assert not any(query.done() for query in queries)
    await gone(queries)


@only_kuzu
async def test_a_checkpoint_stops_a_long_query_which_is_then_begun_again(owner: EmbeddedStore, guest: Store) -> None:
    await write(owner, nodes=FILES)
    queries = await started(owner, guest)
    async with asyncio.timeout(PATIENCE):
        await owner._write(lambda: owner._engine.checkpoint(wait=True))

    async def runs_again() -> bool:
        return readers(owner) == 1

    await eventually(runs_again)
    assert not queries[0].done()
    await gone(queries)


@only_kuzu
async def test_a_query_ends_at_the_guests_timeout(owner: EmbeddedStore, guest: Store) -> None:
    await write(owner, nodes=FILES)
    with pytest.raises(QueryTimeout):
        await guest.query(LONG, {}, timeout=0.2)


@only_kuzu
async def test_the_file_can_be_shared_from_the_process_that_owns_it_and_is_owned_once(owner: EmbeddedStore) -> None:
    with pytest.raises(GraphmillError, match="already open in this process"):
        await kuzu.open(owner.url, project="p")
    assert await read_through(owner.url) == []


async def read_through(url: str) -> list[str]:
    store = await open_store(url, project="p", share=True)
    try:
        return [row.uuid for row in await store.nodes(Select())]
    finally:
        await store.close()
