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
    """Times are of the clock that all processes of a machine share; `asking` ends with the last node."""

    began: float
    ended: float
    moved: int
    asking: float


class Meter:
    def __init__(self, label: str) -> None:
        self._label = label
        self._asked: list[tuple[float, float]] = []
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

    @contextmanager
    def asking(self) -> Iterator[None]:
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
        asking = sum(seconds for at, seconds in self._asked if at < self._ended)
        return Account(began=self._began, ended=self._ended, moved=self._moved, asking=asking)


def install(meter: Meter) -> None:
    claim, heartbeat, commit = Neo4jStore.claim, Neo4jStore.heartbeat, Neo4jStore.commit

    async def metered_claim(store: Neo4jStore, asked: Claim) -> object:
        await meter.start()
        with meter.asking():
            return await claim(store, asked)

    async def metered_heartbeat(store: Neo4jStore, *nodes: object, **until: object) -> object:
        with meter.asking():
            return await heartbeat(store, *nodes, **until)  # type: ignore[arg-type]

    async def metered_commit(store: Neo4jStore, batch: Batch) -> None:
        with meter.asking() if _is_a_sign_of_life(batch) else nullcontext():
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
