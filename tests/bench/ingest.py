"""Ingestion of a folder against the raw work: `python -m tests.bench.ingest kuzu|neo4j [FOLDER]`.

The embedder costs nothing, so that what is measured is graphmill. Start-up of the process is aside: a job is measured
from its first statement to its report, on a store that was opened for it. Of an embedded engine the processor time is
told as well, of all threads and processes: on a busy machine it says more than the clock.
"""

import asyncio
import hashlib
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
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
    store = await _open(engine, place, f"bench-{uuid4().hex[:8]}")
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


async def _open(engine: str, place: Path, project: str) -> Store:
    url, credentials = f"{engine}:{place / 'graph'}", None
    if engine == "neo4j":
        url = os.environ["GRAPHMILL_TEST_NEO4J_URI"]
        credentials = Credentials(user="neo4j", password=os.environ["GRAPHMILL_TEST_NEO4J_PASSWORD"])
    return await open_store(url, project=project, credentials=credentials, create=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    seconds: float
    processor: float


class Watch:
    """What is spent from here on."""

    def __init__(self) -> None:
        self._began, self._used = time.perf_counter(), _processor()

    def stop(self) -> Spent:
        return Spent(seconds=time.perf_counter() - self._began, processor=_processor() - self._used)


def _processor() -> float:
    """Of this process and of those that it has started and seen end."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


async def measure(engine: str, folder: Path) -> list[Row]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    spent: dict[str, list[Spent]] = {name: [] for name in ("cold", "raw", "again", "stat", "rehash", "hash", "one")}
    nodes = 0

    async def job(name: str, store: Store, **options: bool) -> Report:
        watch = Watch()
        report = await ingest(store, folder, **options)
        spent[name].append(watch.stop())
        return report

    for number in range(ROUNDS):
        with tempfile.TemporaryDirectory() as place:
            async with opened(engine, Path(place)) as first:
                nodes = (await job("cold", first)).standing.total
                # As it is for people: each job has a process of its own, and closing the store is aside.
                store = await _reopened(engine, Path(place), first)
                await job("again", store)
                spent["stat"].append(_spent(lambda: [path.stat() for path in files]))
                store = await _reopened(engine, Path(place), store)
                await job("rehash", store, rehash=True)
                spent["hash"].append(_spent(lambda: [hash_file(path) for path in files]))
                with files[number].open("a", encoding="utf-8") as file:
                    file.write(f"\nOne more line, number {number}.\n")
                store = await _reopened(engine, Path(place), store)
                await job("one", store)
                spent["raw"].append(await _raw(engine, store))
                await _reopened(engine, Path(place), store, last=True)
    return _rows(engine, spent, f"{len(files):,} files → {nodes:,} nodes")


async def _reopened(engine: str, place: Path, store: Store, *, last: bool = False) -> Store:
    """A server's connection is kept: it has no file to be opened."""
    if engine == "neo4j":
        return store
    await store.close()
    return store if last else await _open(engine, place, store.project)


def _rows(engine: str, spent: dict[str, list[Spent]], cold: str) -> list[Row]:
    raw, reach = ("raw UNWIND of the same rows", 1.5) if engine == "neo4j" else ("raw COPY of the same rows", 3.0)
    compared = [
        (cold, "cold", "raw", raw, reach),
        ("nothing changed", "again", "stat", "a stat of each file", 1.5),
        ("nothing changed, --rehash", "rehash", "hash", "hashing each file", 1.5),
        ("one file changed", "one", "cold", "the cold run", 0.02),
    ]
    rows = []
    for what, ours, reference, name, most in compared:
        clock = [median([each.seconds for each in spent[kind]]) for kind in (ours, reference)]
        rows.append(Row(what=what, ours=clock[0], reference=clock[1], reference_name=name, reach=most))
        if engine != "neo4j":  # a server's is its own
            used = [median([each.processor for each in spent[kind]]) for kind in (ours, reference)]
            told = f"{what}: processor time"
            rows.append(Row(what=told, ours=used[0], reference=used[1], reference_name=name, reach=most))
    return rows


async def _raw(engine: str, store: Store) -> Spent:
    nodes, edges = await exported(store)
    watch = Watch()
    if engine == "neo4j":
        await unwind_into_neo4j(store, nodes, edges)
    else:
        copy_into_kuzu(nodes, edges)
    spent = watch.stop()
    if engine == "neo4j":
        await remove_raw(store)
    return spent


def _spent(work: Any) -> Spent:
    watch = Watch()
    work()
    return watch.stop()


def main(engine: str, folder: str | None = None) -> None:
    jobs.open_embedder = _cheap  # type: ignore[attr-defined, assignment]
    with tempfile.TemporaryDirectory() as place:
        if folder is None:
            write_pages(Path(place), PAGES)
        show(f"Ingest: {engine}", asyncio.run(measure(engine, Path(folder or place))))


if __name__ == "__main__":
    main(*sys.argv[1:])
