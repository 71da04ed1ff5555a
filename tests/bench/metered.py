"""`graphmill worker` as a process that keeps account of itself: `python -m tests.bench.metered LABEL ARGUMENTS…`.

Says `ready` before its first claim and goes on when it reads a line, so that several can begin at the same moment. Its
last line is what it did for the nodes of the label, and how long it waited for the answers to claims and heartbeats.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass

from graph_stores.model import Batch, Claim
from graph_stores.neo4j.store import Neo4jStore
from orchestrator.cli import main


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Times are of the clock that all processes of a machine share, up to the last node.

    `asking` is for claims that found something and for heartbeats, `looking` for claims that found nothing: those of
    steps that have nothing to do, beside the others.
    """

    began: float
    ended: float
    moved: int
    asking: float
    looking: float


class Meter:
    def __init__(self, label: str) -> None:
        self._label = label
        self._asked: list[tuple[float, float]] = []
        self._looked: list[tuple[float, float]] = []
        self._began = self._ended = time.monotonic()
        self._moved = 0
        self._start: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Wait for the others, once."""
        self._start = self._start or asyncio.create_task(self._wait())
        await asyncio.shield(self._start)

    async def _wait(self) -> None:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        self._began = self._ended = time.monotonic()

    def claimed(self, began: float, *, found: bool) -> None:
        (self._asked if found else self._looked).append((began, time.monotonic() - began))

    @contextmanager
    def beating(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._asked.append((began, time.monotonic() - began))

    def committed(self, batch: Batch) -> None:
        moved = sum(move.node.label == self._label for move in batch.transitions)
        if moved:
            self._moved += moved
            self._ended = time.monotonic()

    def account(self) -> Account:
        asking, looking = (
            sum(seconds for at, seconds in calls if at < self._ended) for calls in (self._asked, self._looked)
        )
        return Account(began=self._began, ended=self._ended, moved=self._moved, asking=asking, looking=looking)


def install(meter: Meter) -> None:
    claim, heartbeat, commit = Neo4jStore.claim, Neo4jStore.heartbeat, Neo4jStore.commit

    async def metered_claim(store: Neo4jStore, asked: Claim) -> object:
        await meter.start()
        began = time.monotonic()
        nodes = await claim(store, asked)
        meter.claimed(began, found=bool(nodes))
        return nodes

    async def metered_heartbeat(store: Neo4jStore, *nodes: object, **until: object) -> object:
        with meter.beating():
            return await heartbeat(store, *nodes, **until)  # type: ignore[arg-type]

    async def metered_commit(store: Neo4jStore, batch: Batch) -> None:
        with meter.beating() if _is_a_sign_of_life(batch) else nullcontext():
            await commit(store, batch)
        meter.committed(batch)

    Neo4jStore.claim = metered_claim  # type: ignore[method-assign, assignment]
    Neo4jStore.heartbeat = metered_heartbeat  # type: ignore[method-assign, assignment]
    Neo4jStore.commit = metered_commit  # type: ignore[method-assign, assignment]


def _is_a_sign_of_life(batch: Batch) -> bool:
    return not batch.transitions and any("heartbeat" in update.stamp for update in batch.updates)


def work(label: str, *arguments: str) -> None:
    meter = Meter(label)
    install(meter)
    main(["worker", *arguments])
    print(json.dumps(asdict(meter.account())), flush=True)


if __name__ == "__main__":
    work(*sys.argv[1:])
