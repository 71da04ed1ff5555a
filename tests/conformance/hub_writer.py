"""A process of writers: `python -m tests.conformance.hub_writer URI USER PROJECT NUMBER WRITERS ROUNDS`.

Each writer commits, round after round, the same hub and the same pages as all others, with edges both ways, and a page
of its own; all pages are in one folder. Every second batch has everything in the opposite order.
"""

import asyncio
import os
import sys

from graph_stores import Credentials, open_store
from graph_stores.model import Batch, Edge, Node, Ref
from graph_stores.protocol import Store

PAGES = 12


def page(project: str, name: str) -> Node:
    return Node(label="File", uuid=f"{project} {name}", name=name, state="skip", properties={"root": "r", "path": name})


def batch(project: str, own: str, *, backwards: bool) -> Batch:
    hub, *shared = (page(project, name) for name in ("hub", *(f"shared {number}" for number in range(PAGES))))
    mine = page(project, own)
    folder = Node(label="Directory", uuid=f"{project} folder", name="folder", state="skip")
    pages = [hub, *shared, mine]
    nodes = [folder, *pages]
    edges = [
        *(Edge(type="IN_DIRECTORY", source=each.ref, target=folder.ref) for each in pages),
        *(_link(hub.ref, each.ref) for each in shared),
        *(_link(each.ref, hub.ref) for each in shared),
        _link(mine.ref, hub.ref),
        _link(hub.ref, mine.ref),
    ]
    step = -1 if backwards else 1
    return Batch(nodes=nodes[::step], edges=edges[::step])


def _link(source: Ref, target: Ref) -> Edge:
    return Edge(type="LINKS_TO", source=source, target=target, properties={"count": 1})


async def write(store: Store, writer: int, rounds: int) -> None:
    for number in range(rounds):
        own = f"{writer} {number}"
        await store.commit(batch(store.project, own, backwards=bool((writer + number) % 2)))


async def main(uri: str, user: str, project: str, number: int, writers: int, rounds: int) -> None:
    credentials = Credentials(user=user, password=os.environ["NEO4J_PASSWORD"])
    store = await open_store(uri, project=project, credentials=credentials)
    try:
        first = number * writers
        await asyncio.gather(*(write(store, writer, rounds) for writer in range(first, first + writers)))
    finally:
        await store.close()


if __name__ == "__main__":
    _, uri, user, project, *numbers = sys.argv
    asyncio.run(main(uri, user, project, *map(int, numbers)))
