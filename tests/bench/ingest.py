"""Ingestion of a folder against the raw work: `python -m tests.bench.ingest kuzu|neo4j [FOLDER]`.

The embedder costs nothing, so that what is measured is graphmill. Start-up of the process is aside: a job is measured
from its first statement to its report.
"""

import asyncio
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from graph_stores import Credentials, open_store
from graph_stores.protocol import Store
from orchestrator import job as jobs
from orchestrator.files.roots import Source
from orchestrator.job import Job, Plan, Report
from pipelines.embedding import Appetite, EmbedderChoice
from pipelines.files.content import hash_file
from tests.bench.corpus import write_pages
from tests.bench.raw import copy_into_kuzu, exported, remove_raw, unwind_into_neo4j
from tests.bench.table import Row, median, show

PAGES = 1000
ROUNDS = 3


class Cheap:
    """Vectors that cost nothing: one row of numbers, turned by the text's length."""

    provider = "bench"
    model = "cheap"
    dimension = 256
    appetite = Appetite(texts=1024, characters=10_000_000, calls=1)

    def __init__(self) -> None:
        self._row = np.frombuffer(hashlib.shake_256(b"graphmill").digest(256), dtype=np.uint8).astype(np.float32) + 1

    async def embed(self, texts: Sequence[str]) -> list[Any]:
        return [np.roll(self._row, len(text)) for text in texts]

    async def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        return [[text] for text in texts]

    async def close(self) -> None: ...


async def _cheap(_: EmbedderChoice) -> Cheap:
    return Cheap()


async def ingest(store: Store, folder: Path, *, rehash: bool = False) -> Report:
    plan = Plan(sources=[Source(path=folder)], workers=os.cpu_count() or 1, rehash=rehash)
    return await Job(store, plan).run()


@asynccontextmanager
async def opened(engine: str, place: Path) -> Any:
    url, credentials = f"{engine}:{place / uuid4().hex}", None
    if engine == "neo4j":
        url = os.environ["GRAPHMILL_TEST_NEO4J_URI"]
        credentials = Credentials(user="neo4j", password=os.environ["GRAPHMILL_TEST_NEO4J_PASSWORD"])
    store = await open_store(url, project=f"bench-{uuid4().hex[:8]}", credentials=credentials, create=True)
    await store.migrate()
    try:
        yield store
    finally:
        if engine == "neo4j":
            await store.query(
                "MATCH (n) WHERE n.projectId = $project CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS",
                {"project": store.project},
                write=True,
            )
        await store.close()


async def measure(engine: str, folder: Path) -> list[Row]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    times: dict[str, list[float]] = {name: [] for name in ("cold", "raw", "again", "stat", "rehash", "hash", "one")}
    nodes = 0
    for number in range(ROUNDS):
        with tempfile.TemporaryDirectory() as place:
            async with opened(engine, Path(place)) as store:
                report = await ingest(store, folder)
                nodes = report.standing.total
                times["cold"].append(report.seconds)
                times["again"].append((await ingest(store, folder)).seconds)
                times["stat"].append(_seconds(lambda: [path.stat() for path in files]))
                times["rehash"].append((await ingest(store, folder, rehash=True)).seconds)
                times["hash"].append(_seconds(lambda: [hash_file(path) for path in files]))
                with files[number].open("a", encoding="utf-8") as file:
                    file.write(f"\nOne more line, number {number}.\n")
                times["one"].append((await ingest(store, folder)).seconds)
                times["raw"].append(await _raw(engine, store))
    middle = {name: median(values) for name, values in times.items()}

    def row(what: str, ours: str, reference: str, name: str, reach: float) -> Row:
        return Row(what=what, ours=middle[ours], reference=middle[reference], reference_name=name, reach=reach)

    raw, reach = ("raw UNWIND of the same rows", 1.5) if engine == "neo4j" else ("raw COPY of the same rows", 3.0)
    return [
        row(f"{len(files):,} files → {nodes:,} nodes", "cold", "raw", raw, reach),
        row("nothing changed", "again", "stat", "a stat of each file", 1.5),
        row("nothing changed, --rehash", "rehash", "hash", "hashing each file", 1.5),
        row("one file changed", "one", "cold", "the cold run", 0.02),
    ]


async def _raw(engine: str, store: Store) -> float:
    nodes, edges = await exported(store)
    began = time.perf_counter()
    if engine == "neo4j":
        await unwind_into_neo4j(store, nodes, edges)
    else:
        copy_into_kuzu(nodes, edges)
    seconds = time.perf_counter() - began
    if engine == "neo4j":
        await remove_raw(store)
    return seconds


def _seconds(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main(engine: str, folder: str | None = None) -> None:
    jobs.open_embedder = _cheap  # type: ignore[attr-defined, assignment]
    with tempfile.TemporaryDirectory() as place:
        if folder is None:
            write_pages(Path(place), PAGES)
        show(f"Ingest: {engine}", asyncio.run(measure(engine, Path(folder or place))))


if __name__ == "__main__":
    main(*sys.argv[1:])
