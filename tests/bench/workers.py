"""Several worker processes on one Neo4j against one of them: `python -m tests.bench.workers [TEXTS [FILES]]`.

What is measured is work that waits in a graph: to embed, with an endpoint that takes its time as a remote one does, and
to parse, which keeps a core busy. Start-up is aside: all workers begin at the same moment, and the last node ends it.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from graph_stores.model import VectorSpace
from graph_stores.protocol import Store
from orchestrator.embed import send_back_what_another_model_made
from orchestrator.files.roots import Source
from orchestrator.job import Job, Plan
from orchestrator.lifecycle import Lifecycle
from tests.bench.corpus import write_pages
from tests.bench.ingest import opened
from tests.bench.metered import Account
from tests.bench.slow_endpoint import DIMENSION, waiting
from tests.bench.table import Row, show

SIZES = (8192, 1536)
WAIT = 1.0
SHARE = 0.05
_SECTIONS = 4
_WORDS = 450
_ROWS_OF_A_TABLE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """What some workers did at the same time."""

    accounts: Sequence[Account]

    @property
    def seconds(self) -> float:
        return max(each.ended for each in self.accounts) - min(each.began for each in self.accounts)

    @property
    def moved(self) -> int:
        return sum(each.moved for each in self.accounts)

    @property
    def asking(self) -> float:
        """Of the time of all workers together, how much was waiting for the answers to claims and heartbeats."""
        return sum(each.asking for each in self.accounts) / self._worked

    @property
    def looking(self) -> float:
        """The same for claims that found nothing."""
        return sum(each.looking for each in self.accounts) / self._worked

    @property
    def _worked(self) -> float:
        return sum(each.ended - each.began for each in self.accounts)


def work_together(count: int, store: Store, label: str, *options: str) -> Together:
    with ExitStack() as stack:
        workers = [stack.enter_context(_worker(store, label, *options)) for _ in range(count)]
        for worker in workers:
            assert worker.stdout
            if worker.stdout.readline() != "ready\n":
                raise SystemExit("a worker ended before it began")
        for worker in workers:
            _begin(worker)
        said = [worker.communicate()[0] for worker in workers]
    if any(worker.returncode for worker in workers):
        raise SystemExit(f"the workers ended with {[worker.returncode for worker in workers]}")
    return Together(accounts=[Account(**json.loads(each.splitlines()[-1])) for each in said])


def _begin(worker: "subprocess.Popen[str]") -> None:
    assert worker.stdin
    worker.stdin.write("\n")
    worker.stdin.flush()


def _worker(store: Store, label: str, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.bench.metered", label, "--store", store.url, "--project", store.project]
    return subprocess.Popen(
        [*command, "--drain", "--json", *options],
        env=os.environ | {"NEO4J_PASSWORD": os.environ["GRAPHMILL_TEST_NEO4J_PASSWORD"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@asynccontextmanager
async def prepared(folder: Path, *stages: str) -> Any:
    """A graph in which the files of the folder have come through these stages."""
    async with opened("neo4j", folder) as store:
        await Job(store, Plan(sources=[Source(path=folder)], stages=frozenset(stages), workers=2)).run()
        yield store


async def measure_waiting(place: Path, texts: int) -> list[Row]:
    write_pages(place, texts // _SECTIONS, sections=_SECTIONS, words=_WORDS)
    times: dict[int, Together] = {}
    async with prepared(place, "read", "parse", "link") as store:
        with waiting(WAIT) as url:
            for count in (1, 2, 4):
                model = f"waiting-{count}"
                await _send_back(store, model)
                options = ["--stages", "embed", "--embedder", f"openai:{model}", "--embedder-url", url]
                times[count] = work_together(count, store, "MarkdownSection", *options)
    what = f"texts for an endpoint that waits {WAIT:g} s"
    return [
        _faster(what, times, 2, least=1.6),
        _faster(what, times, 4, least=3.2),
        *(_asking(times[count], count) for count in times),
    ]


async def _send_back(store: Store, model: str) -> None:
    """All texts wait for the vectors of this model."""
    space = VectorSpace(provider="openai", model=model, dimension=DIMENSION)
    await send_back_what_another_model_made(Lifecycle(store=store), space)
    await store.use_vector_space(space)


async def measure_parsing(place: Path, files: int) -> list[Row]:
    write_tables(place, files)
    times: dict[int, Together] = {}
    for count in (1, 2):
        async with prepared(place, "read") as store:
            times[count] = work_together(count, store, "File", "--stages", "parse", "--concurrency", "1")
    what = f"pages to parse, each a table of {_ROWS_OF_A_TABLE} rows"
    return [_faster(what, times, 2, least=1.6), *(_asking(times[count], count) for count in times)]


def write_tables(place: Path, count: int, *, seed: int = 11) -> None:
    """Pages that are much work to parse, and one section each in the graph."""
    random = Random(seed)
    for number in range(count):
        rows = [" | ".join(str(random.random()) for _ in range(4)) for _ in range(_ROWS_OF_A_TABLE)]
        text = "\n".join((f"# Table {number}\n", "a | b | c | d", "--|--|--|--", *rows))
        (place / f"table-{number}.md").write_text(text + "\n", encoding="utf-8")


def _faster(what: str, times: dict[int, Together], count: int, *, least: float) -> Row:
    ran, alone = times[count], times[1]
    return Row(
        what=f"{ran.moved:,} {what}: {count} workers, {alone.seconds / ran.seconds:.2f} times as fast",
        ours=ran.seconds,
        reference=alone.seconds,
        reference_name="1 worker",
        reach=round(1 / least, 3),
    )


def _asking(ran: Together, count: int) -> Row:
    beside = f"looks that found nothing, beside these: {ran.looking:.0%}"
    return Row(
        what=f"the same, {count} {'worker' if count == 1 else 'workers'}: claims and heartbeats ({beside})",
        ours=ran.asking * 100,
        reference=100,
        reference_name="of the time",
        reach=SHARE,
        unit="%",
    )


def main(texts: int, files: int) -> None:
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache  # or vectors would be remembered from one run to the next
        for name, measured, size in (("embed", measure_waiting, texts), ("parse", measure_parsing, files)):
            with tempfile.TemporaryDirectory() as place:
                show(f"Workers that {name}: neo4j", asyncio.run(measured(Path(place), size)))


if __name__ == "__main__":
    main(*(int(given) for given in (*sys.argv[1:], *map(str, SIZES[len(sys.argv) - 1 :]))))
