"""The ledger's files: what is written, what is read again, and what becomes of damage."""

import gzip
import json
import os
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest

from graph_stores.model import Move, Ref
from orchestrator.leases import owner_name
from orchestrator.ledger import Entry, Ledger, Reading, folder_of, locks
from orchestrator.ledger.files import list_files
from orchestrator.ledger.ledger import LedgerClosed
from orchestrator.ledger.lines import FORMAT
from orchestrator.ledger.merged import met
from orchestrator.ledger.reading import LedgerMissing, LedgerNewer
from orchestrator.ledger.record import time_of, time_text
from orchestrator.ledger.scribe import Scribe
from orchestrator.ledger.upkeep import compress, keep_up, take_snapshot

from .ledger_faults import Lives, Told, all_records, latest

NOON = 1_790_000_000_000_000


def entry(node: str = "a", after: str | None = "pending", *, before: str | None = None, at: int = NOON) -> Entry:
    return Entry(at=at, node=node, label="File", before=before, after=after)


def written(folder: Path, *entries: Entry, writer: str = "w", close: bool = True) -> Ledger:
    ledger = Ledger.open(folder, writer=writer)
    ledger.append(entries)
    if close:
        ledger.close()
    return ledger


def segment(folder: Path) -> Path:
    return list_files(folder).segments[0].path


def text_of(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")


def states(folder: Path) -> dict[str, str | None]:
    with Reading.open(folder) as reading:
        return {each.node: each.state for each in reading.latest()}


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x01
    path.write_bytes(bytes(data))


def test_a_record_is_a_line_of_json_whose_checksum_anybody_can_work_out(tmp_path: Path) -> None:
    full = Entry(
        at=NOON + 5,
        node="n",
        label="File",
        before="parsed",
        after="linked",
        via=("linking",),
        by="me",
        run="r",
        tries=2,
        seconds=0.5,
        error_type="link",
        error='a "quoted"\nline',
        reconciled=True,
    )
    written(tmp_path, full)
    header, line, end = text_of(segment(tmp_path)).splitlines()
    assert {key: json.loads(header)[key] for key in ("ledger", "kind", "writer")} == {
        "ledger": FORMAT,
        "kind": "segment",
        "writer": "w",
    }
    before_the_checksum = line.rpartition(',"crc"')[0]
    assert json.loads(line) == {
        "seq": 1,
        "at": "2026-09-21T14:13:20.000005Z",
        "node": "n",
        "label": "File",
        "from": "parsed",
        "to": "linked",
        "via": ["linking"],
        "by": "me",
        "run": "r",
        "try": 2,
        "seconds": 0.5,
        "errorType": "link",
        "error": 'a "quoted"\nline',
        "reconciled": True,
        "crc": f"{zlib.crc32(before_the_checksum.encode()):08x}",
    }
    assert json.loads(end)["end"] == "clean"


def test_what_is_empty_is_left_out(tmp_path: Path) -> None:
    written(tmp_path, entry())
    assert list(json.loads(text_of(segment(tmp_path)).splitlines()[1])) == ["seq", "at", "node", "label", "to", "crc"]


@pytest.mark.parametrize("at", [0, 1, NOON, NOON + 999_999, 253_402_300_799_999_999])
def test_times_come_back_as_they_were(at: int) -> None:
    assert time_of(time_text(at)) == at


def test_half_a_surrogate_pair_is_no_reason_to_fail(tmp_path: Path) -> None:
    written(tmp_path, Entry(at=NOON, node="n", label="File", before=None, after="pending", by="\udcff.md"))
    assert [record.by for record in all_records(tmp_path)] == ["\\udcff.md"]


def test_opening_makes_no_segment_and_closing_ends_it(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "new" / "ledger", writer="w")
    ledger.append([])
    ledger.close()
    assert list((tmp_path / "new" / "ledger").iterdir()) == []
    with pytest.raises(LedgerClosed):
        ledger.append([entry()])


def test_a_removed_node_is_gone_and_may_come_back(tmp_path: Path) -> None:
    ledger = written(tmp_path, entry(), entry(before="pending", after=None, at=NOON + 1), close=False)
    assert states(tmp_path) == {}
    take_snapshot(tmp_path)
    assert states(tmp_path) == {}
    ledger.append([entry(after="parsed", at=NOON + 2)])
    assert states(tmp_path) == {"a": "parsed"}


def test_a_late_record_about_a_removed_node_does_not_bring_it_back(tmp_path: Path) -> None:
    written(tmp_path, entry(), entry(before="parsing", after=None, at=NOON + 9))
    take_snapshot(tmp_path)
    written(tmp_path, entry(before="pending", after="parsing", at=NOON + 5), writer="late")
    assert states(tmp_path) == {}


def test_between_writers_time_decides_and_within_a_moment_what_follows_from_what(tmp_path: Path) -> None:
    first = [entry(at=NOON), entry(before="parsing", after="parsed", at=NOON + 5)]
    second = [entry(before="pending", after="parsing", at=NOON + 5)]
    third = [entry(before="parsed", after="linking", at=NOON + 5), entry(before="linking", after="linked", at=NOON + 6)]
    for name, entries in {"b": third, "a": second, "c": first}.items():
        written(tmp_path, *entries, writer=name)
        take_snapshot(tmp_path)
    assert states(tmp_path) == {"a": "linked"}
    for snapshot in list_files(tmp_path).snapshots:
        snapshot.path.unlink()
    assert states(tmp_path) == {"a": "linked"}


def test_a_reconciled_record_beside_a_real_one_is_told_once(tmp_path: Path) -> None:
    real = entry(before="pending", after="parsing", at=NOON + 1)
    written(tmp_path, entry(), real)
    found = [Entry(at=NOON + 1, node="a", label="File", before=None, after="parsing", reconciled=True)]
    found += [Entry(at=NOON + 2, node="b", label="File", before=None, after="ready", reconciled=True)]
    written(tmp_path, *found, writer="elsewhere")
    told = [(each.node, each.after, each.reconciled) for each in met(list(list_files(tmp_path).histories()), [])]
    assert told == [("a", "pending", False), ("a", "parsing", False), ("b", "ready", True)]


def test_a_torn_last_line_is_survived_and_named(tmp_path: Path) -> None:
    written(tmp_path, entry("a"), entry("b"), writer="gone", close=False)
    path = segment(tmp_path)
    os.truncate(path, path.stat().st_size - 10)
    with Reading.open(tmp_path, is_gone=lambda writer: writer == "gone") as reading:
        assert [each.node for each in reading.latest()] == ["a"]
        assert len(reading.damage) == 1 and "torn" in reading.damage[0].what
        assert reading.damage[0].file == path.name
        assert [each.writer for each in reading.unclean] == ["gone"]


def test_a_line_that_is_just_being_written_is_no_damage(tmp_path: Path) -> None:
    written(tmp_path, entry("a"), entry("b"), close=False)
    path = segment(tmp_path)
    os.truncate(path, path.stat().st_size - 10)
    with Reading.open(tmp_path) as reading:
        assert (reading.damage, reading.unclean) == ([], [])


def test_a_lost_writer_counts_as_ended_once_that_is_settled(tmp_path: Path) -> None:
    written(tmp_path, entry("a"), entry("b"), writer="gone", close=False)
    path = segment(tmp_path)
    os.truncate(path, path.stat().st_size - 10)
    ledger = written(tmp_path, entry("c"), close=False)
    with Reading.open(tmp_path, is_gone=lambda writer: writer == "gone") as reading:
        lost = reading.unclean
    ledger.settle(lost)
    with Reading.open(tmp_path, is_gone=lambda writer: writer == "gone") as reading:
        assert reading.unclean == []
        assert len(reading.damage) == 1
    compress(tmp_path)
    assert states(tmp_path) == {"a": "pending", "c": "pending"}


def test_nobody_waits_for_a_compaction_to_settle_what_others_left(tmp_path: Path) -> None:
    written(tmp_path, entry("a"), writer="gone", close=False)
    ledger = written(tmp_path, entry("c"), close=False)
    with Reading.open(tmp_path, is_gone=lambda writer: writer == "gone") as reading:
        lost = reading.unclean
    with locks.upkeep(tmp_path):
        ledger.settle(lost)
    with Reading.open(tmp_path, is_gone=lambda writer: writer == "gone") as reading:
        assert reading.unclean == lost


def test_a_scribe_that_cannot_write_at_all_lets_nobody_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Ledger, "append", refuse)
    scribe = Scribe(tmp_path, writer="w")
    move = Move(node=Ref(label="File", uuid="a"), before=None, after="pending", at=NOON)
    scribe.hear([move])
    waiting = threading.Thread(target=scribe.flush, daemon=True)
    waiting.start()
    waiting.join(5)
    assert not waiting.is_alive()
    scribe.close()


def test_what_is_told_after_the_end_holds_nobody_up(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path, writer="w")
    scribe._told.put(None)
    scribe.hear([Move(node=Ref(label="File", uuid="a"), before=None, after="pending", at=NOON)])
    assert scribe._thread
    scribe._thread.join(5)
    assert not scribe._thread.is_alive()


def test_a_process_that_is_gone_is_found_by_its_name(tmp_path: Path) -> None:
    host, _, rest = owner_name().partition(":")
    written(tmp_path, entry(), writer=f"{host}:{2**22 - 1}:{rest.split(':', 1)[1]}", close=False)
    written(tmp_path, entry("b"), writer=owner_name(), close=False)
    with Reading.open(tmp_path) as reading:
        assert len(reading.unclean) == 1


@pytest.mark.parametrize("is_closed", [False, True], ids=["open", "compressed"])
def test_a_flipped_byte_costs_its_record_and_is_named(tmp_path: Path, is_closed: bool) -> None:
    ledger = written(tmp_path, *(entry(f"n{number}", at=NOON + number) for number in range(50)), close=False)
    if is_closed:
        ledger.close()
    path = segment(tmp_path)
    assert (path.suffix == ".gz") is is_closed
    flip(path, path.stat().st_size // 2)
    with Reading.open(tmp_path) as reading:
        found = len(list(reading.latest()))
        assert reading.damage and all(each.file == path.name for each in reading.damage)
    assert found == 49 or (is_closed and 0 < found < 50)


def test_a_flipped_byte_costs_one_member_of_a_large_file(tmp_path: Path) -> None:
    told, lives = Told(), Lives()
    entries = [each for _ in range(3) for each in lives.moves(told, [f"node-{number:05}" for number in range(6000)])]
    written(tmp_path, *entries)
    path = segment(tmp_path)
    assert path.suffix == ".gz"
    flip(path, path.stat().st_size // 2)
    for snapshot in list_files(tmp_path).snapshots:
        snapshot.path.unlink()
    lost = len(entries) - len(all_records(tmp_path))
    assert 0 < lost < len(entries) * 0.6


@pytest.mark.parametrize("damage", ["flipped", "torn", "missing", "empty", "foreign"])
def test_a_broken_snapshot_is_named_and_the_one_before_it_used(tmp_path: Path, damage: str) -> None:
    ledger = written(tmp_path, entry(), close=False)
    take_snapshot(tmp_path)
    ledger.append([entry(before="pending", after="parsing", at=NOON + 1)])
    take_snapshot(tmp_path)
    path = list_files(tmp_path).snapshots[0].path
    match damage:
        case "flipped":
            flip(path, path.stat().st_size // 2)
        case "torn":
            os.truncate(path, path.stat().st_size // 2)
        case "missing":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "foreign":
            path.write_bytes(gzip.compress(b"something else\n"))
    with Reading.open(tmp_path) as reading:
        assert {each.node: each.state for each in reading.latest()} == {"a": "parsing"}
        assert [each.file for each in reading.damage] == ([] if damage == "missing" else [path.name])
        assert reading.snapshot and reading.snapshot.file.number == 1
    take_snapshot(tmp_path)
    assert states(tmp_path) == {"a": "parsing"}


def test_a_snapshot_holds_where_nodes_stand_and_nothing_of_how_they_got_there(tmp_path: Path) -> None:
    told, lives = Told(), Lives()
    ledger = Ledger.open(tmp_path, writer="w")
    for _ in range(20):
        entries = lives.moves(told, ["a", "b"])
        told.acknowledge(entries)
        ledger.append(entries)
    take_snapshot(tmp_path)
    lines = text_of(list_files(tmp_path).snapshots[0].path).splitlines()
    assert [json.loads(line)["node"] for line in lines[1:-1]] == ["a", "b"]
    assert latest(tmp_path) == {"a": "embedding", "b": "embedding"}


def test_the_newest_snapshot_and_seven_more_are_kept(tmp_path: Path) -> None:
    ledger = written(tmp_path, entry(), close=False)
    for _ in range(12):
        take_snapshot(tmp_path)
    keep_up(tmp_path)
    assert [file.number for file in list_files(tmp_path).snapshots] == list(range(12, 4, -1))
    ledger.close()


def test_reading_costs_only_what_came_after_the_snapshot(tmp_path: Path) -> None:
    ledger = written(tmp_path, *(entry(f"n{number}") for number in range(100)), close=False)
    take_snapshot(tmp_path)
    ledger.append([entry("n1", before="pending", after="parsing", at=NOON + 1)])
    with Reading.open(tmp_path) as reading:
        assert reading.tail == 1
        assert reading.counts() == {("File", "pending"): 99, ("File", "parsing"): 1}
        assert reading.newest == NOON + 1


def test_what_happened_since_a_time_is_told_without_the_rest(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path, writer="w")
    for number in range(40):
        ledger.append([entry(f"n{number}-{each}", at=NOON + number * 10**6) for each in range(200)])
    with Reading.open(tmp_path) as reading:
        recent = list(reading.since(NOON + 38 * 10**6))
    assert {record.at for record in recent} == {time_text(NOON + number * 10**6) for number in (38, 39)}
    assert len(recent) == 400


def test_threads_may_append_at_once(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path, writer="w")

    def work(name: int) -> None:
        for number in range(30):
            ledger.append([entry(f"{name}-{number}-{each}") for each in range(5)])

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.close()
    assert [record.seq for record in all_records(tmp_path)] == list(range(1, 601))


def test_a_folder_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(LedgerMissing, match="there is no ledger at"):
        Reading.open(tmp_path / "nowhere")


def test_a_newer_format_is_refused_with_the_way_out(tmp_path: Path) -> None:
    written(tmp_path, entry(), close=False)
    path = segment(tmp_path)
    header, *rest = path.read_bytes().split(b"\n")
    body = header[:-18].replace(b'{"ledger":1', b'{"ledger":2')
    path.write_bytes(b"\n".join([b'%b,"crc":"%08x"}' % (body, zlib.crc32(body)), *rest]))
    with pytest.raises(LedgerNewer, match="knows up to 1"):
        Reading.open(tmp_path)


def test_each_project_of_each_graph_has_its_own_folder(tmp_path: Path) -> None:
    graph = tmp_path / "graph.kuzu"
    assert folder_of(f"kuzu:{graph}", "default", None) == tmp_path / "graph.kuzu.ledger" / "default"
    places = [folder_of(f"kuzu:{graph}", name, None) for name in ("..", ".", "a/b", "a", "x" * 300, "x" * 301)]
    assert len(set(places)) == 6
    assert {place.parent for place in places} == {tmp_path / "graph.kuzu.ledger"}
    assert all(len(place.name) < 200 for place in places)


def test_a_server_is_the_same_however_it_is_spoken_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    one = folder_of("neo4j://db.example.org:7687/wiki", "p", None)
    assert one == folder_of("bolt+s://db.example.org:7687/wiki", "p", None)
    assert one != folder_of("neo4j://db.example.org:7687", "p", None)
    assert one.is_relative_to(tmp_path)
    assert folder_of("neo4j://db.example.org", "p", tmp_path / "shared") == tmp_path / "shared" / "p"


def test_asking_for_help_imports_no_ledger(tmp_path: Path) -> None:
    script = "import sys, orchestrator.ledger, orchestrator.cli.ledger; print('msgspec' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "False"
