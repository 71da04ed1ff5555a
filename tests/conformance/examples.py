"""What the conformance tests write and read: small nodes and edges, a node's way through the stages, whole graphs."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from graph_stores.model import Batch, Edge, Node, NodeRow, Ref, Select, Update, Value, Vector
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import new_node
from orchestrator.retries import RetryPolicy
from orchestrator.states import Stage, State
from orchestrator.workers import ref_of

HOUR = 3600.0
# How long a test waits for what must come about: only what is broken takes this long.
PATIENCE = 600.0
# A node that failed can be claimed again at once, so that no test waits for it.
AT_ONCE = RetryPolicy(limit=3, losses=3, first_delay=0.0, longest_delay=0.0)

ELSEWHERE = "another-machine:17:4711:abcdef"
WHO_THEN_ENDS = "from orchestrator.leases import owner_name; print(owner_name())"

T = TypeVar("T")
Picture = tuple[dict[tuple[str, str], dict[str, Value]], dict[tuple[str, str, str], dict[str, Value]]]


def node(label: str, uuid: str, *, state: State = State.PENDING, depth: int = 0, **properties: Value) -> Node:
    return new_node(label=label, uuid=uuid, name=f"name of {uuid}", state=state, depth=depth, properties=properties)


def file(uuid: str, *, state: State = State.PENDING, depth: int = 0, **properties: Value) -> Node:
    return node("File", uuid, state=state, depth=depth, **properties)


def article(uuid: str, *, state: State = State.PENDING, depth: int = 0, **properties: Value) -> Node:
    return node("Article", uuid, state=state, depth=depth, **properties)


def section(uuid: str, **properties: Value) -> Node:
    return node("Section", uuid, state=State.PARSED, **properties)


def files(count: int) -> list[Node]:
    return [file(f"f{number:05}") for number in range(count)]


def ref(uuid: str, label: str = "File") -> Ref:
    return Ref(label=label, uuid=uuid)


def link(source: str, target: str, label: str = "File", **properties: Value) -> Edge:
    return Edge(type="LINKS_TO", source=ref(source, label), target=ref(target, label), properties=properties)


def somebody_who_ended() -> str:
    """The name of a worker whose process was on this machine."""
    done = subprocess.run([sys.executable, "-c", WHO_THEN_ENDS], check=True, capture_output=True, text=True)
    return done.stdout.strip()


async def put_there(store: Store, owner: str, *, heard_of: datetime | None = None, stages: Sequence[str] = ()) -> Ref:
    """A worker of another process, last heard of now or then."""
    ref = ref_of(store.project, owner)
    known = {"host": "another-machine", "process": 17, "stages": list(stages)}
    made = new_node(label=ref.label, uuid=ref.uuid, name=owner, properties=known)
    beat = Update(node=ref, properties={"heartbeat": heard_of}) if heard_of else Update(node=ref, stamp=("heartbeat",))
    await store.commit(Batch(nodes=[made], updates=[beat]))
    return ref


async def claim(
    lifecycle: Lifecycle,
    stage: Stage = states.PARSE,
    *,
    labels: Sequence[str] = ("File",),
    limit: int = 100,
    owner: str = "worker",
    seconds: float = HOUR,
    properties: Sequence[str] | None = None,
) -> list[NodeRow]:
    return await lifecycle.claim(stage, labels=labels, limit=limit, owner=owner, seconds=seconds, properties=properties)


async def claim_one(lifecycle: Lifecycle, stage: Stage = states.PARSE, **options: Any) -> NodeRow:
    [row] = await claim(lifecycle, stage, limit=1, **options)
    return row


async def bring(lifecycle: Lifecycle, label: str, *stages: Stage, vectors: Sequence[Vector] = ()) -> None:
    """Take every node of the label that waits for these stages through them."""
    of_node = {vector.node: [vector] for vector in vectors}
    for stage in stages:
        rows = await claim(lifecycle, stage, labels=[label], limit=100_000)
        produced = of_node if stage is states.EMBED else {}
        await lifecycle.complete([Result(node=row, vectors=produced.get(row.ref, ())) for row in rows])


async def expire(lifecycle: Lifecycle, rows: Sequence[NodeRow]) -> None:
    """Let the leases run out now, by the store's own clock."""
    await lifecycle.heartbeat(rows, seconds=0.001)
    await eventually(lambda: have_expired(lifecycle.store, rows))


async def have_expired(store: Store, rows: Sequence[NodeRow]) -> bool:
    expired = await store.nodes(Select(labels=sorted({row.label for row in rows}), expired=True, limit=100_000))
    return {row.ref for row in rows} <= {row.ref for row in expired}


async def eventually(asked: Callable[[], Awaitable[T]]) -> T:
    """Ask until the answer is not empty."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if answer := await asked():
                return answer
            await asyncio.sleep(0.002)


async def read(store: Store, uuid: str, label: str = "File") -> NodeRow:
    [row] = await store.nodes(Select(labels=[label], uuids=[uuid]))
    return row


async def states_of(store: Store) -> dict[str, str]:
    return {row.uuid: row.state for row in await store.nodes(Select(limit=100_000))}


async def picture(store: Store) -> Picture:
    """The whole graph of the project, to compare before and after."""
    nodes = {(node.label, node.properties["uuid"]): dict(node.properties) async for node in store.export_nodes()}
    edges = {
        (edge.type, edge.source.uuid, edge.target.uuid): dict(edge.properties) async for edge in store.export_edges()
    }
    return nodes, edges


async def links(store: Store) -> dict[tuple[str, str], dict[str, Value]]:
    """The properties of every edge of whatever type, by its ends; two edges between the same ends are an error."""
    found = [edge async for edge in store.export_edges()]
    by_ends = {(edge.source.uuid, edge.target.uuid): dict(edge.properties) for edge in found}
    assert len(by_ends) == len(found), "an edge is there twice"
    return by_ends


async def write(store: Store, **parts: Any) -> None:
    await store.commit(Batch(**parts))
