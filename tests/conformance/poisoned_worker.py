"""A worker that one node brings down: it works until nothing is left to claim, or until it meets that node."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from graph_stores import Credentials, open_store
from graph_stores.model import Fence, NodeRow
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.retries import RetryPolicy
from orchestrator.states import PARSE
from orchestrator.worker import Outcome, Worker

LOSSES = 3
KILLED = 77
AT_ONCE = RetryPolicy(losses=LOSSES, first_delay=0.0, longest_delay=0.0)


class Poisoned:
    stage = PARSE
    labels: Sequence[str] = ("File",)
    limit = 100
    runners = 1
    needs: Sequence[str] | None = None

    def __init__(self, poison: str) -> None:
        self._poison = poison

    async def is_ready(self) -> bool:
        return True

    async def work(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        if any(node.uuid == self._poison for node in nodes):
            os._exit(KILLED)
        return [Result(node=node) for node in nodes]

    def fence(self) -> Fence | None:
        return None

    async def done(self, results: Sequence[Result]) -> None: ...

    async def undone(self) -> None: ...


async def main(url: str, project: str, poison: str) -> None:
    password = os.environ.get("PASSWORD")
    known: dict[str, Any] = {}
    if password:
        known["credentials"] = Credentials(user=os.environ["USER"], password=password)
    store = await open_store(url, project=project, **known)
    try:
        worker = Worker(Lifecycle(store=store, policy=AT_ONCE), [Poisoned(poison)])
        running = asyncio.create_task(worker.run())
        while await _is_anything_left(store):
            await asyncio.sleep(0.01)
        worker.stop()
        await running
    finally:
        await store.close()


async def _is_anything_left(store: Any) -> bool:
    progress = await store.progress(finished=[], window=1.0)
    return any(each.state in ("pending", "parsing") for each in progress.counts)


if __name__ == "__main__":
    asyncio.run(main(**json.loads(sys.argv[1])))
