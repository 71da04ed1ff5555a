"""A writer to be killed: `python -m tests.conformance.kill_writer ENGINE PATH DIE_AT [close]`.

Checks first that the graph holds whole batches only, prints `found N`, then writes batches and prints `ack N` after
each. It kills itself with SIGKILL in the moment named DIE_AT ("-" for never, which leaves it to the parent).
Every batch is one commit of new nodes, edges between them, and a transition of all nodes of the batch before.
"""

import asyncio
import os
import signal
import sys
from itertools import count, pairwise

from graph_stores import kuzu
from graph_stores.kuzu.guard import Step
from graph_stores.kuzu.store import EmbeddedStore
from graph_stores.model import Batch, Edge, Ref
from orchestrator.moves import new_node, transition
from orchestrator.states import State

NODES = 20
BATCHES_PER_CHECKPOINT = 4


def die_at(moment: str) -> Step:
    def step(reached: str) -> None:
        print(f"step {reached}", flush=True)
        if reached == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    return step


def refs(batch: int) -> list[Ref]:
    return [Ref(label="File", uuid=f"{batch}-{index}") for index in range(NODES)]


async def write(store: EmbeddedStore, batch: int) -> None:
    nodes = [new_node(label="File", uuid=ref.uuid, name="x" * 2000, properties={"size": batch}) for ref in refs(batch)]
    edges = [
        Edge(type="LINKS_TO", source=source, target=target, properties={"count": batch})
        for source, target in pairwise(refs(batch))
    ]
    before = refs(batch - 1) if batch > 1 else []
    moves = [transition(ref, expected=State.PENDING, to=State.SKIP) for ref in before]
    await store.commit(Batch(transitions=moves, nodes=nodes, edges=edges))


async def counts(store: EmbeddedStore, query: str) -> dict[int, int]:
    return {row[0]: row[1] for row in (await store.query(query, {})).rows}


async def whole_batches(store: EmbeddedStore) -> int:
    """The number of the last batch; every batch up to it must be whole, and nothing of a later one there."""
    nodes = await counts(store, "MATCH (n:File) RETURN n.size, count(*)")
    edges = await counts(store, "MATCH (:File)-[r:LINKS_TO]->(:File) RETURN r.count, count(*)")
    moved = await counts(store, "MATCH (n:File) WHERE n._state = 'skip' RETURN n.size, count(*)")
    last = max(nodes, default=0)
    assert nodes == dict.fromkeys(range(1, last + 1), NODES), nodes
    assert edges == dict.fromkeys(range(1, last + 1), NODES - 1), edges
    assert moved == dict.fromkeys(range(1, last), NODES), moved
    return last


async def main(engine: str, path: str, moment: str, closing: bool) -> None:
    store = await kuzu.open(f"{engine}:{path}", project="kills", create=True, log_limit=1, step=die_at(moment))
    await store.migrate()
    last = await whole_batches(store)
    print(f"found {last}", flush=True)
    for batch in count(last + 1):
        if batch - last > BATCHES_PER_CHECKPOINT and closing:
            break
        await write(store, batch)
        print(f"ack {batch}", flush=True)
        if batch % BATCHES_PER_CHECKPOINT == 0 and not closing:
            await store._write(lambda: store._engine.checkpoint(wait=True))
    print("closing", flush=True)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], "close" in sys.argv[4:]))
