"""A copy from Kuzu to Kuzu against the engine's own export and import: `python -m tests.bench.copy [NODES]`.

Ours reads in one process and writes in another, and reads the copy once more to compare; its time has the start of
that process in it. The engine's own writes Parquet files, and reads them.
"""

import asyncio
import importlib
import importlib.util
import resource
import shutil
import sys
import tempfile
from array import array
from collections.abc import Awaitable
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from graph_stores import open_store
from graph_stores.model import ExportedEdge, ExportedNode, Ref, VectorSpace
from orchestrator.copying.copy import Copy
from orchestrator.copying.reading import Origin, reading
from tests.bench.table import Row, median, show, timed

PROJECT = "bench"
NODES = 20_000
ROUNDS = 3
_SPACE = VectorSpace(provider="bench", model="random", dimension=256)
_AT_ONCE = 5000
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def section(random: Random, number: int) -> ExportedNode:
    words = " ".join(random.choice(("grain", "stone", "wheel", "water", "flour")) for _ in range(80))
    return ExportedNode(
        label="Section",
        properties={
            "uuid": f"s{number:08}",
            "projectId": PROJECT,
            "name": f"section {number}",
            "title": f"section {number}",
            "content": words,
            "level": 2,
            "word_count": 80,
            "_state": "ready",
            "_depth": 0,
            "_retryCount": 0,
            "_detectedAt": _NOW,
            "_stateChangedAt": _NOW,
            "_embeddedAt": _NOW,
            "_contentHash": f"{number:032x}",
            "_embeddingProvider": _SPACE.provider,
            "_embeddingModel": _SPACE.model,
            "_embeddingHash": f"{number:064x}",
            "embedding": array("f", [random.uniform(-1, 1) for _ in range(_SPACE.dimension)]).tolist(),
        },
    )


def article(number: int) -> ExportedNode:
    return ExportedNode(
        label="Article",
        properties={
            "uuid": f"a{number:08}",
            "projectId": PROJECT,
            "name": f"article {number}",
            "title": f"article {number}",
            "_state": "ready",
            "_detectedAt": _NOW,
            "_stateChangedAt": _NOW,
            "expansion_state": "processed",
        },
    )


async def grow(path: Path, count: int) -> None:
    """As many sections as articles have between them, four each, and as many links."""
    random = Random(1)
    store = await open_store(f"kuzu:{path}", project=PROJECT, create=True, deadline=600.0)
    await store.migrate()
    await store.use_vector_space(_SPACE)
    articles = [article(number) for number in range(count // 5)]
    await store.restore(articles, new=True)
    sections = count - len(articles)
    for start in range(0, sections, _AT_ONCE):
        numbers = range(start, min(start + _AT_ONCE, sections))
        edges = [_edge("HAS_SECTION", number // 4 % len(articles), "Section", f"s{number:08}") for number in numbers]
        links = {random.randrange(len(articles)): random.randrange(len(articles)) for _ in numbers}
        edges += [_edge("LINKS_TO", source, "Article", f"a{target:08}") for source, target in links.items()]
        await store.restore([section(random, number) for number in numbers], edges)
    await store.close()


def _edge(kind: str, source: int, label: str, target: str) -> ExportedEdge:
    return ExportedEdge(
        type=kind,
        source=Ref(label="Article", uuid=f"a{source:08}"),
        target=Ref(label=label, uuid=target),
        properties={"count": 1} if kind == "LINKS_TO" else {"section_index": 1},
    )


async def ours(source: Path, target: Path) -> None:
    store = await open_store(f"kuzu:{target}", project=PROJECT, create=True, deadline=600.0)
    await store.migrate()
    async with reading(Origin(url=f"kuzu:{source}", project=PROJECT), again=False) as read:
        await Copy(source=read, target=store).run()
    await store.close()


def raw(source: Path, folder: Path) -> None:
    kuzu: Any = importlib.import_module("kuzu")
    assert importlib.util is not None  # the engine uses it without importing it
    for path, statement in (
        (source, f"EXPORT DATABASE '{folder / 'files'}' (format='parquet')"),
        (folder / "raw", f"IMPORT DATABASE '{folder / 'files'}'"),
    ):
        database = kuzu.Database(str(path), buffer_pool_size=1 << 30)
        connection = kuzu.Connection(database)
        connection.execute(statement)
        connection.close()
        database.close()


async def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await grow(folder / "source", count)
        mine, theirs = [], []
        for number in range(ROUNDS):
            mine.append(await spent(ours(folder / "source", folder / f"copy{number}")))
            await asyncio.to_thread(shutil.rmtree, folder / "out", ignore_errors=True)
            (folder / "out").mkdir()
            theirs.append(await spent(asyncio.to_thread(raw, folder / "source", folder / "out")))
    wholes = (
        f"{count:,} nodes, four fifths of them with vectors of 256 numbers, Kuzu to Kuzu",
        "the same: processor time",
    )
    rows = [
        Row(
            what=what,
            ours=median([each[index] for each in mine]),
            reference=median([each[index] for each in theirs]),
            reference_name="EXPORT and IMPORT DATABASE",
            reach=2,
        )
        for index, what in enumerate(wholes)
    ]
    show("Copy", rows)


async def spent(work: Awaitable[object]) -> tuple[float, float]:
    """Seconds by the clock, and of processor time of all threads and processes."""
    before = _processor()
    seconds = await timed(work)
    return seconds, _processor() - before


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else NODES))
