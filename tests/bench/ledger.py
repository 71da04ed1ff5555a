"""The ledger: opening with much history against little and against replaying it, appending against raw writes, and
the memory that compaction takes."""

import os
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from orchestrator.ledger import Entry, Ledger, Reading
from orchestrator.ledger.compaction import compact
from orchestrator.ledger.files import list_files
from orchestrator.ledger.latest import Standing, latest_of
from orchestrator.ledger.lines import decode_record, encoded
from orchestrator.ledger.reading import opened
from orchestrator.ledger.upkeep import take_snapshot
from tests.bench.table import Row, median, show

NODES = 100_000
MUCH = int(os.environ.get("GRAPHMILL_BENCH_CHANGES", "10000000"))
BATCH = 1000
ROUNDS = 5
WAY = ("pending", "parsing", "parsed", "linking", "linked", "embedding", "ready")


def changes(count: int, batch: int = BATCH) -> Iterator[list[Entry]]:
    """Batches as a job makes them: all nodes come one step further, then all of them another."""
    nodes = [str(uuid.UUID(int=number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)) for number in range(NODES)]
    made = (
        Entry(
            at=1_790_000_000_000_000 + number * 50,
            node=nodes[number % NODES],
            label="MarkdownSection",
            before=WAY[(number // NODES - 1) % len(WAY)] if number >= NODES else None,
            after=WAY[number // NODES % len(WAY)],
            by="host/4026531836:4711:815:abcdef",
            run="bcaffe35-59d9-549f-b27d-5cb9309a589f",
            tries=1,
            seconds=0.25,
        )
        for number in range(count)
    )
    return iter(lambda: list(islice(made, batch)), [])


def write(folder: Path, count: int) -> None:
    ledger = Ledger.open(folder, writer="bench")
    for batch in changes(count, 20_000):
        ledger.append(batch)
    ledger.close()


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def opening(folder: Path) -> None:
    with Reading.open(folder) as reading:
        assert len({each.node: each.state for each in reading.latest()}) == NODES


def replaying(folder: Path) -> None:
    standing: dict[str, Standing] = {}
    for file in list_files(folder).histories():
        for line in opened(file).lines():
            record = decode_record(line)
            if known := standing.get(record.node):
                known.take(record)
            else:
                standing[record.node] = Standing(latest_of(record), record.before)
    assert len(standing) == NODES


def appending(folder: Path) -> tuple[float, float]:
    """The same bytes in the same batches, by the ledger and raw; turn by turn, so that a noisy moment hits both."""
    batches = list(changes(200_000))
    texts = [encoded(batch, 1) for batch in batches]
    ledger = Ledger.open(folder / "appended", writer="bench")
    raw = os.open(folder / "raw", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    ours = theirs = 0.0
    for batch, text in zip(batches, texts, strict=True):
        ours += seconds(lambda batch=batch: ledger.append(batch))  # type: ignore[misc]
        start = time.perf_counter()
        os.write(raw, text)
        os.fdatasync(raw)
        theirs += time.perf_counter() - start
    os.close(raw)
    ledger.close()
    return ours, theirs


def memory_of_compacting(folder: Path) -> float:
    """Megabytes at the highest, in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.ledger", "compact", str(folder)]
    return float(subprocess.check_output(command, text=True))


def compact_here(folder: Path) -> None:
    compact(folder, keep=50_000)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("GRAPHMILL_BENCH_FOLDER")) as room:
        little, much = Path(room) / "little", Path(room) / "much"
        write(little, NODES)
        written = seconds(lambda: write(much, MUCH))
        for folder in (little, much):
            take_snapshot(folder)
        times: dict[Path, list[float]] = {little: [], much: []}
        for _ in range(ROUNDS):
            for folder in (little, much):
                times[folder].append(seconds(lambda folder=folder: opening(folder)))  # type: ignore[misc]
        replayed = seconds(lambda: replaying(much))
        ours, theirs = appending(Path(room))
        memory = {folder: memory_of_compacting(folder) for folder in (little, much)}
    print(f"{MUCH:,} changes written in {written:,.0f} s", file=sys.stderr)
    rows = [
        Row(
            what=f"opening, {MUCH:,} changes of {NODES:,} nodes",
            ours=median(times[much]),
            reference=median(times[little]),
            reference_name=f"{NODES:,} changes of the same nodes",
            reach=1.2,
        ),
        Row(
            what="the same",
            ours=median(times[much]),
            reference=replayed,
            reference_name="replaying every change",
            reach=0.1,
        ),
        Row(
            what=f"appending 200,000 changes, {BATCH:,} at a time",
            ours=ours,
            reference=theirs,
            reference_name="raw write and fsync of the same bytes",
            reach=2.0,
        ),
        Row(
            what=f"memory of compacting {MUCH:,} changes to 50,000",
            ours=memory[much],
            reference=memory[little],
            reference_name=f"of compacting {NODES:,}",
            reach=1.2,
            unit="MB",
        ),
    ]
    show("Ledger", rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["compact"]:
        compact_here(Path(sys.argv[2]))
    else:
        main()
