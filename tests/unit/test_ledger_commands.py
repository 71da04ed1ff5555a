"""The commands over a ledger: they need its folder and nothing else, and their exit codes tell."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import main
from orchestrator.ledger import Entry, Ledger
from orchestrator.ledger.files import list_files
from orchestrator.ledger.record import time_text
from orchestrator.ledger.stats import Durations
from orchestrator.ledger.upkeep import take_snapshot
from pipelines.files.identity import file_uuid
from pipelines.wikipedia.identity import article_uuid

NOON = 1_790_000_000_000_000
SECOND = 1_000_000


class Commands:
    """Runs `graphmill ledger …` on the ledgers in a folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.code = 0

    def __call__(self, *arguments: str) -> str:
        try:
            main(["ledger", *arguments, "--ledger", str(self.folder)])
            self.code = 0
        except SystemExit as ended:
            self.code = int(ended.code or 0)
        told = self._capsys.readouterr()
        return told.out + told.err

    def json(self, *arguments: str) -> Any:  # Any: whatever the command prints
        return json.loads(self(*arguments, "--json"))

    def write(self, *entries: Entry, writer: str = "w") -> Path:
        place = self.folder / "default"
        ledger = Ledger.open(place, writer=writer)
        ledger.append(entries)
        ledger.close()
        return place


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(tmp_path / "ledgers", capsys)


def move(node: str, before: str | None, after: str | None, second: int, **more: Any) -> Entry:  # Any: fields of it
    return Entry(at=NOON + second * SECOND, node=node, label="File", before=before, after=after, **more)


def a_life() -> list[Entry]:
    return [
        move("abc-1", None, "pending", 0),
        move("abc-1", "pending", "parsing", 1, tries=1, seconds=1.0),
        move("abc-1", "parsing", "error", 3, tries=1, seconds=2.0, error_type="parse", error="line 3: unclosed"),
        move("abc-1", "error", "pending", 4, seconds=1.0),
        move("abc-1", "pending", "parsing", 5, tries=2, seconds=1.0, by="worker 2"),
        move("abc-1", "parsing", "parsed", 9, seconds=4.0),
        move("abc-1", "parsed", "linked", 10, via=("linking",), seconds=1.0),
        move("abd-2", None, "parsing", 11, reconciled=True),
    ]


def test_stats_count_stages_times_errors_and_retries(ledger: Commands) -> None:
    ledger.write(*a_life())
    found = ledger.json("stats")
    assert found["changes"] == 8 and found["reconciled"] == 1
    assert found["into"]["parsing"] == 3
    parse = found["stages"]["parse"]
    assert {key: parse[key] for key in ("begun", "done", "failed", "retried", "error_rate")} == {
        "begun": 3,
        "done": 1,
        "failed": 1,
        "retried": 1,
        "error_rate": 0.5,
    }
    assert parse["seconds_median"] == pytest.approx(2.0, rel=0.02)
    assert parse["seconds_95"] == pytest.approx(4.0, rel=0.02)
    assert found["stages"]["link"]["done"] == 1
    assert found["errors"] == {"parse": 1}
    assert "8 changes from 2026-09-21 14:13:20" in ledger("stats")


def test_stages_count_the_nodes_that_they_work_on(ledger: Commands) -> None:
    passing = [
        Entry(at=NOON, node=label, label=label, before=None, after="parsed") for label in ("Directory", "Partition")
    ]
    moved = [
        entry._replace(at=NOON + 1, before="parsed", after="ready", via=("linking", "linked", "embedding"))
        for entry in passing
    ]
    file = move("f", "linked", "ready", 2, via=("embedding",))
    text = Entry(at=NOON, node="t", label="Scope", before="parsed", after="linked", via=("linking",))
    ledger.write(*passing, *moved, file, text, text._replace(before="linked", after="embedding", via=(), at=NOON + 2))
    stages = ledger.json("stats")["stages"]
    assert {name: stage["begun"] for name, stage in stages.items()} == {"parse": 0, "link": 0, "embed": 1}


def test_of_a_compacted_history_stages_tell_what_is_left_of_it(ledger: Commands) -> None:
    ledger.write(*a_life()[:6])
    ledger("compact", "--keep", "1")
    found = ledger.json("stats")
    parse = found["stages"]["parse"]
    assert (found["changes"], parse["begun"], parse["done"], parse["failed"]) == (1, 1, 1, 0)
    assert "until 2026-09-21 14:13:25 only the latest of each node are left" in ledger("stats")
    assert ledger.json("validate")["odd"] == {"nodes whose older changes were dropped by a compaction": 1}


def test_shares_of_many_times_are_right_to_one_in_a_hundred() -> None:
    times = Durations()
    for number in range(1, 1001):
        times.add(number / 100)
    assert times.within(0.5) == pytest.approx(5.0, rel=0.011)
    assert times.within(0.95) == pytest.approx(9.5, rel=0.011)
    assert Durations().within(0.5) is None


def test_history_tells_a_nodes_life_by_how_its_id_begins(ledger: Commands) -> None:
    ledger.write(*reversed(a_life()[4:]), writer="b")
    ledger.write(*a_life()[:4], writer="a")
    told = ledger("history", "abc")
    assert [line.split()[3] if "+" not in line else line.split()[4] for line in told.splitlines()[2:]]
    states = [change["to"] for change in ledger.json("history", "abc-1")["changes"]]
    assert states == ["pending", "parsing", "error", "pending", "parsing", "parsed", "linked"]
    assert "line 3: unclosed" in told and "try 2" in told and "via linking" in told


def test_history_finds_a_file_by_its_path_and_an_article_by_its_title(ledger: Commands) -> None:
    file, article = file_uuid("default", "notes", "a/b.md"), article_uuid("default", "enwiki", "Water mill")
    ledger.write(move(file, None, "pending", 0, by="mill/7:11:12:ab"), move(article, None, "pending", 1))
    for name in ("notes/a/b.md", "./notes/a/b.md", "/home/me/notes/a/b.md"):
        head, line = ledger("history", name).splitlines()
        assert head == f"{file}  File  {name}" and line.endswith("pending  by process 11 on mill")
    assert ledger.json("history", "enwiki:Water_mill")["node"] == article
    assert "the path of a file in its root" in ledger("history", "a/c.md")


@pytest.mark.parametrize(("start", "code"), [("ab", "ambiguous_node"), ("zzz", "unknown_node")])
def test_history_of_none_or_of_several_is_refused(ledger: Commands, start: str, code: str) -> None:
    ledger.write(*a_life())
    assert ledger.json("history", start)["error"]["code"] == code
    assert ledger.code == 1


def test_stuck_lists_what_was_begun_and_never_ended(ledger: Commands) -> None:
    ledger.write(*a_life())
    found = ledger.json("stuck", "--older-than", "1h")
    assert [(each["node"], each["state"]) for each in found] == [("abd-2", "parsing")]
    assert ledger.code == 1
    assert ledger.json("stuck", "--older-than", "20000d") == [] and ledger.code == 0
    ledger("stuck", "--older-than", "soon")
    assert ledger.code == 2


def test_a_good_ledger_is_valid(ledger: Commands) -> None:
    take_snapshot(ledger.write(*a_life()))
    found = ledger.json("validate")
    assert (found["records"], found["nodes"], found["problems"]) == (8, 2, [])
    assert found["odd"] == {"reconciled": 1}
    assert ledger.code == 0


@pytest.mark.parametrize(
    ("entries", "check"),
    [
        ([move("a", None, "pending", 0), move("a", "pending", "ready", 1)], "move"),
        ([move("a", None, "embedding", 0)], "move"),
        ([move("a", None, "pending", 0), move("a", "pending", "parsed", 1, via=("linking",))], "move"),
        ([move("a", None, "pending", 0), move("a", "pending", "nonsense", 1)], "move"),
        ([move("a", None, "pending", 0), move("a", "parsing", "parsed", 1)], "chain"),
    ],
)
def test_what_cannot_be_is_found(ledger: Commands, entries: list[Entry], check: str) -> None:
    ledger.write(*entries)
    assert [problem["check"] for problem in ledger.json("validate")["problems"]] == [check]
    assert ledger.code == 1


def test_a_flipped_byte_and_a_missing_record_are_found(ledger: Commands) -> None:
    place = ledger.folder / "default"
    Ledger.open(place, writer="w").append(a_life())
    path = list_files(place).segments[0].path
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], lines[3].replace(b"parsing", b"parsinG"), *lines[4:]]))
    found = ledger.json("validate")
    checks = {problem["check"]: problem for problem in found["problems"]}
    assert set(checks) == {"damage", "order"}
    # The next record tells what the one that is gone must have said.
    assert found["odd"]["changes that a killed process could not write down, known from the next one"] == 1
    assert path.name in checks["damage"]["examples"][0]
    assert "damage: 1" in ledger("validate")


def test_a_snapshot_that_says_something_else_is_found(ledger: Commands) -> None:
    place = ledger.write(*a_life())
    take_snapshot(place)
    for file in list_files(place).segments:
        file.path.unlink()
    assert [problem["check"] for problem in ledger.json("validate")["problems"]] == ["snapshot"]


def test_moves_of_two_writers_within_a_moment_are_a_chain(ledger: Commands) -> None:
    ledger.write(move("a", None, "pending", 0), move("a", "parsing", "parsed", 1), writer="a")
    ledger.write(move("a", "pending", "parsing", 1), writer="b")
    assert ledger.json("validate")["problems"] == []


def test_a_commit_told_after_the_one_that_follows_from_it_is_no_hole(ledger: Commands) -> None:
    """A server's answers to two commits of one process may come in the other order."""
    claimed, parsed = ("pending", "parsing"), ("parsing", "parsed")
    ledger.write(move("a", *claimed, 1), move("a", *parsed, 2), move("a", None, "pending", 0))
    ledger.write(move("b", "parsed", "linking", 3), move("b", *parsed, 2), move("b", *claimed, 1))
    ledger.write(move("c", "parsed", "linking", 3), move("c", *claimed, 1), move("c", *parsed, 2))
    found = ledger.json("validate")
    assert (found["problems"], found["odd"]) == ([], {"nodes whose life began before it": 2})


def test_a_node_that_is_created_twice_is_found(ledger: Commands) -> None:
    for node, before in (("a", None), ("b", "parsed")):
        ledger.write(
            move(node, before, "pending", 0), move(node, "pending", "parsing", 1), move(node, None, "pending", 2)
        )
    [problem] = ledger.json("validate")["problems"]
    assert (problem["check"], problem["count"]) == ("chain", 2)


def test_compact_needs_to_know_how_much_to_keep(ledger: Commands) -> None:
    ledger.write(*a_life())
    assert "--older-than AGE or --keep N" in ledger("compact") and ledger.code == 2
    assert ledger.json("compact", "--keep", "3")["dropped"] == 5
    assert ledger("compact", "--older-than", "5000d") == "nothing to drop\n"


def test_export_writes_parquet_and_csv(ledger: Commands, tmp_path: Path) -> None:
    ledger.write(*a_life())
    assert ledger("export", "all.csv") == "8 changes written to all.csv\n"
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[2]["error"] == "line 3: unclosed" and rows[6]["via"] == "linking"
    assert rows[0]["at"] == time_text(NOON)
    ledger("export", "all.parquet")
    from pyarrow import parquet

    table = parquet.read_table(tmp_path / "all.parquet")
    assert table.num_rows == 8
    assert table.column("to").to_pylist()[-1] == "parsing"
    assert table.column("at").to_pylist()[0].isoformat() == "2026-09-21T14:13:20+00:00"
    assert "expected FILE.parquet or FILE.csv" in ledger("export", "all.xml") and ledger.code == 2


def test_of_an_old_ledger_that_nobody_can_read_nothing_is_taken_in(ledger: Commands, tmp_path: Path) -> None:
    ledger.write(*a_life())
    (tmp_path / "old.jsonl").write_text("no JSON\n", encoding="utf-8")
    for more in ((), ("--apply",)):
        told = ledger("import", "old.jsonl", *more)
        assert "nothing in old.jsonl can be taken in" in told and "next:" not in told
        assert ledger.code == 1
    assert not list_files(ledger.folder / "default").leftovers


def test_a_ledger_that_is_not_there_is_said_to_be_missing(ledger: Commands) -> None:
    for command in (["stats"], ["validate"], ["stuck"], ["history", "a"], ["compact", "--keep", "1"]):
        assert "there is no ledger at" in ledger(*command)
        assert ledger.code == 1
    assert not ledger.folder.exists()
