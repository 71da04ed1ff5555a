"""History is bounded, and whoever is killed at whatever step: nothing is lost and nothing there twice."""

import contextlib
import gzip
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.ledger import Entry, Ledger, Reading
from orchestrator.ledger.compaction import compact
from orchestrator.ledger.files import list_files
from orchestrator.ledger.locks import reading
from orchestrator.ledger.record import time_of
from orchestrator.ledger.upkeep import take_snapshot
from orchestrator.ledger.validation import validate

from .ledger_faults import Lives, Told, all_records, latest

ROOT = Path(__file__).parents[2]
COMPACTING = """
import sys
from pathlib import Path
from orchestrator.ledger import compaction
compaction._FEW = 1
while True:
    compaction.compact(Path(sys.argv[1]), keep=int(sys.argv[2]))
    print("done", flush=True)
"""


def lived(folder: Path, rounds: int, nodes: int = 10) -> Told:
    told, lives = Told(), Lives()
    for number in range(rounds):
        ledger = Ledger.open(folder, writer=f"w{number}")
        entries = lives.moves(told, [f"node-{each}" for each in range(nodes)])
        ledger.append(entries)
        told.acknowledge(entries)
        ledger.close()
    return told


def test_so_many_of_the_latest_changes_are_kept_and_the_latest_of_each_node(tmp_path: Path) -> None:
    told = lived(tmp_path, 7)
    ledger = Ledger.open(tmp_path, writer="old")
    ledger.append([Entry(at=1, node="asleep", label="File", before=None, after="ready")])
    ledger.close()
    done = compact(tmp_path, keep=25)
    assert (done.kept, done.dropped) == (26, 45)
    assert latest(tmp_path) == {**{node: each.after for node, each in told.standing().items()}, "asleep": "ready"}
    newest = sorted(time_of(record.at) for record in all_records(tmp_path))[1:]
    assert newest == sorted(entry.at for entry in told.sure.values())[-25:]


def test_what_is_older_than_wanted_goes(tmp_path: Path) -> None:
    told = lived(tmp_path, 5)
    times = sorted(entry.at for entry in told.sure.values())
    done = compact(tmp_path, before=times[30])
    assert (done.kept, done.dropped, done.files) == (20, 30, 5)
    assert compact(tmp_path, before=times[30]).files == 0
    assert validate(tmp_path).problems == {}


def test_without_any_snapshot_the_files_still_tell_where_every_node_stands(tmp_path: Path) -> None:
    lived(tmp_path, 6)
    expected = latest(tmp_path)
    compact(tmp_path, keep=0)
    for snapshot in list_files(tmp_path).snapshots:
        snapshot.path.unlink()
    assert latest(tmp_path) == expected
    with Reading.open(tmp_path) as found:
        assert (found.snapshot, found.tail) == (None, 10)


def test_one_broken_snapshot_after_a_compaction_costs_nothing(tmp_path: Path) -> None:
    lived(tmp_path, 6)
    expected = latest(tmp_path)
    compact(tmp_path, keep=12)
    list_files(tmp_path).snapshots[0].path.write_bytes(b"")
    with Reading.open(tmp_path) as found:
        assert found.snapshot is not None and len(found.damage) == 1
        assert found.tail == 0
    assert latest(tmp_path) == expected


def test_a_damaged_file_is_left_as_it_is_and_named(tmp_path: Path) -> None:
    lived(tmp_path, 4)
    bad = list_files(tmp_path).segments[1].path
    data = bytearray(bad.read_bytes())
    data[len(data) // 2] ^= 1
    bad.write_bytes(bytes(data))
    done = compact(tmp_path, keep=0)
    assert {each.file for each in done.damage} == {bad.name}
    assert bad.exists() and done.files == 3


def test_a_file_of_which_no_record_is_left_is_damage_and_not_emptiness(tmp_path: Path) -> None:
    lived(tmp_path, 4)
    bad = list_files(tmp_path).segments[1].path
    text = gzip.decompress(bad.read_bytes())
    bad.write_bytes(gzip.compress(text.replace(b'"label"', b'"lable"')))
    done = compact(tmp_path, keep=0)
    assert {each.file for each in done.damage} == {bad.name}
    assert bad.exists() and done.files == 3


def test_what_somebody_reads_is_removed_later(tmp_path: Path) -> None:
    lived(tmp_path, 4)
    before = {file.path for file in list_files(tmp_path).segments}
    with reading(tmp_path):
        compact(tmp_path, keep=0)
        assert all(path.exists() for path in before)
        assert len(all_records(tmp_path)) == 10
        compact(tmp_path, keep=0)
    compact(tmp_path, keep=0)
    assert not any(path.exists() for path in before)
    assert len(all_records(tmp_path)) == 10


def test_ledgers_of_two_machines_are_one_when_their_folders_are_put_together(tmp_path: Path) -> None:
    told, lives = Told(), Lives()
    here, there = tmp_path / "here", tmp_path / "there"
    for number in range(6):
        entries = lives.moves(told, ["a", "b"])
        ledger = Ledger.open(here if number % 2 else there, writer=f"w{number}")
        ledger.append(entries)
        told.acknowledge(entries)
        ledger.close()
        take_snapshot(here if number % 2 else there)
    for path in there.iterdir():
        path.rename(here / path.name)
    told.check(here)
    compact(here, keep=3)
    told.compacted(3)
    told.check(here)


@contextlib.contextmanager
def processes(*commands: list[str]) -> Iterator[list[subprocess.Popen[str]]]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = [
        subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True, env=environment)
        for command in commands
    ]
    try:
        yield running
    finally:
        for process in running:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("keep", [40, 1_000_000], ids=["dropping", "merging"])
def test_compaction_killed_again_and_again_with_four_appenders_loses_and_doubles_nothing(
    tmp_path: Path, keep: int
) -> None:
    names = [f"appender{number}" for number in range(4)]
    module = ["-m", "tests.unit.ledger_appender", str(tmp_path)]
    with processes(*([*module, name] for name in names)) as appenders:
        for process in appenders:
            assert process.stdout and process.stdout.readline() == "0\n"
        for number in range(6):
            with processes(["-c", COMPACTING, str(tmp_path), str(keep)]) as (compacting,):
                assert compacting.stdout and compacting.stdout.readline() == "done\n"
                # At another moment of the next one each time.
                time.sleep(0.007 * number)
                compacting.send_signal(signal.SIGKILL)
        acknowledged = {}
        for name, process in zip(names, appenders, strict=True):
            process.send_signal(signal.SIGKILL)
            assert process.stdout
            acknowledged[name] = int(process.stdout.read().split("\n")[-2])
    records = all_records(tmp_path)
    counts = Counter((record.node, record.tries) for record in records)
    assert max(counts.values()) == 1
    standing = latest(tmp_path)
    for name, last in acknowledged.items():
        numbers = {record.tries or 0 for record in records if record.node == f"{name}-0"}
        assert last <= max(numbers) <= last + 1
        assert standing[f"{name}-0"] == ("parsing" if max(numbers) % 2 else "pending")
        if keep > last:
            assert numbers == set(range(max(numbers) + 1))
    compact(tmp_path, keep=keep)
    assert latest(tmp_path) == standing
