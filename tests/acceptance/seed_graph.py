"""Fills a graph with nodes in many states, through the product's own lifecycle: `python seed_graph.py URL PROJECT`."""

import asyncio
import os
import sys

import graph_stores
from graph_stores.model import Edge, NodeRow, Ref
from orchestrator import states
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import new_node
from orchestrator.states import ErrorClass, State

FILES = ("a.py", "b.md", "c.txt", "d.md", "e.png", "f.rst")


async def seed(url: str, project: str) -> None:
    credentials = None
    if graph_stores.needs_credentials(url):
        credentials = graph_stores.Credentials(user="neo4j", password=os.environ["NEO4J_PASSWORD"])
    store = await graph_stores.open_store(url, project=project, credentials=credentials)
    try:
        lifecycle = Lifecycle(store=store)
        await lifecycle.upsert([_file(project, place, name) for place, name in enumerate(FILES)])
        await lifecycle.upsert([new_node(label="File", uuid=f"{project}-skip", name="g.bin", state=State.SKIP)])
        await _parse_one(lifecycle, project)
        await lifecycle.fail(
            await _claim(lifecycle), message="line 3: unclosed [tag]", error_class=ErrorClass.PERMANENT
        )
        await _claim(lifecycle, seconds=0.01)
        await _claim(lifecycle, seconds=3600)
    finally:
        await store.close()


def _file(project: str, place: int, name: str) -> graph_stores.model.Node:
    properties = {"path": f"src/{name}", "size": 10 * place}
    return new_node(label="File", uuid=f"{project}-{place}", name=name, depth=place, properties=properties)


async def _claim(lifecycle: Lifecycle, seconds: float = 60) -> NodeRow:
    (row,) = await lifecycle.claim(states.PARSE, labels=["File"], limit=1, owner="seed", seconds=seconds)
    return row


async def _parse_one(lifecycle: Lifecycle, project: str) -> None:
    row = await _claim(lifecycle)
    section = Ref(label="MarkdownSection", uuid=f"{project}-section")
    node = new_node(
        label=section.label,
        uuid=section.uuid,
        name="Intro",
        state=State.PARSED,
        properties={"title": "Intro", "level": 1, "content": "first line\nsecond line, " + "long " * 100},
    )
    edge = Edge(type="HAS_SECTION", source=row.ref, target=section, properties={"index": 0})
    await lifecycle.complete([Result(node=row, nodes=[node], edges=[edge])])


asyncio.run(seed(sys.argv[1], sys.argv[2]))
