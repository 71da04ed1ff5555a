"""A step that does what a test says, and a worker that runs it over a real store."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from graph_stores.model import Fence, NodeRow
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.states import PARSE, Stage
from orchestrator.worker import Outcome, Worker
from tests.conformance.examples import HOUR, eventually, read, states_of
from tests.conformance.wrapped import wrapped

# Where real time passes: long enough for a machine that is ten times as slow.
LEASE = 2.0
Script = Callable[[Sequence[NodeRow]], Awaitable[Sequence[Outcome]]]


async def all_done(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
    return [Result(node=node) for node in nodes]


@dataclass(slots=True, kw_only=True)
class Scripted:
    script: Script = all_done
    stage: Stage = PARSE
    labels: Sequence[str] = ("File",)
    limit: int = 100
    runners: int = 1
    needs: Sequence[str] | None = None
    fences: list[Fence | None] = field(default_factory=lambda: [None])
    batches: list[Sequence[NodeRow]] = field(default_factory=list)
    committed: list[str] = field(default_factory=list)
    undone_times: int = 0

    async def is_ready(self) -> bool:
        return True

    async def work(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        self.batches.append(nodes)
        return await self.script(nodes)

    def fence(self) -> Fence | None:
        return self.fences[0]

    async def done(self, results: Sequence[Result]) -> None:
        self.committed += [result.node.uuid for result in results]

    async def undone(self) -> None:
        self.undone_times += 1

    @property
    def tries(self) -> list[int]:
        """Of the first node of each batch, how often it had gone wrong before."""
        return [batch[0].retry_count for batch in self.batches]


@dataclass(slots=True)
class Hold:
    """Work that goes on until it is let go, and says when it began and whether it was cancelled."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    nodes: list[NodeRow] = field(default_factory=list)

    async def __call__(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        self.nodes = list(nodes)
        self.begun.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return await all_done(nodes)


@asynccontextmanager
async def working(lifecycle: Lifecycle, *steps: Scripted, **options: Any) -> AsyncIterator[Worker]:
    """A worker that is stopped when the test has seen what it wanted to see."""
    worker = Worker(lifecycle, steps, **{"lease_seconds": HOUR, "grace": 0.0} | options)
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await running


async def worked(lifecycle: Lifecycle, step: Scripted, *, until: str = "parsed", **options: Any) -> None:
    """Run a worker until every node is in a state."""

    async def all_there() -> bool:
        return set((await states_of(lifecycle.store)).values()) <= {until, "error"}

    async with working(lifecycle, step, **options) as worker:
        await eventually(all_there)
        await eventually(lambda: idle(worker))  # others can see a commit before its worker hears of it


def around(lifecycle: Lifecycle, **calls: Any) -> Lifecycle:
    return replace(lifecycle, store=wrapped(lifecycle.store, **calls)[0])


async def is_in(store: Store, uuid: str, state: str) -> bool:
    return (await read(store, uuid)).state == state


async def everything_is_parsed(store: Store) -> bool:
    return set((await states_of(store)).values()) == {"parsed"}


async def idle(worker: Worker) -> bool:
    return worker.is_idle
