"""Old ledgers are taken in whole: every word, every odd move, once."""

import json
from pathlib import Path

import pytest

from orchestrator.ledger import Reading
from orchestrator.ledger.compaction import compact
from orchestrator.ledger.legacy import LABEL, LEGACY, apply, survey
from orchestrator.ledger.validation import validate

from .ledger_faults import BreakingDisk, Killed, all_records

OLD = [
    {"doc_id": "d1", "state": "pending", "timestamp": 1728043200.0, "metadata": {}},
    {"doc_id": "d1", "state": "auto_inflight", "timestamp": 1728043201.0, "metadata": {"pages": 3}},
    {"doc_id": "d1", "state": "pdf_ir_ready", "timestamp": 1728043203.5},
    {"doc_id": "d1", "state": "auto_done", "timestamp": "2024-10-04T12:00:09Z"},
    {"doc_id": "d2", "state": "mineru_failed", "timestamp": 1728043200.0},
    {"doc_id": "d2", "state": "hand_polished", "timestamp": 1728043201.0},
    {"doc_id": "d3", "state": "auto_done", "timestamp": 1728043200.0},
    {"doc_id": "d3", "state": "embedding", "timestamp": 1728043100.0},
    {
        "doc_id": "d4",
        "old_state": "fetching",
        "new_state": "failed",
        "timestamp": 1728043200.0,
        "adapter": "pubmed",
        "error_type": "HTTPError",
        "error_message": "503",
        "retry_count": 2,
        "duration_seconds": 1.5,
        "traceback": "…",
    },
]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.jsonl"
    path.write_text("\n".join([*map(json.dumps, OLD), "{torn", '{"no": "id"}', ""]), encoding="utf-8")
    return path


def test_the_dry_run_tells_all_and_changes_nothing(tmp_path: Path, old: Path) -> None:
    folder = tmp_path / "ledger"
    found = survey(old, folder)
    assert (found.rows, found.documents, found.unknown) == (9, 4, {"hand_polished": 1})
    assert found.states == {"ready": 1, LEGACY: 1, "embedding": 1, "error": 1}
    assert found.invalid == {"ready → embedding": 1}
    assert (len(found.unreadable), found.out_of_order) == (2, 1)
    assert not folder.exists()


def test_words_become_ours_or_keep_their_text(tmp_path: Path, old: Path) -> None:
    apply(old, tmp_path / "ledger")
    told = [(each.node, each.before, each.after, each.was) for each in all_records(tmp_path / "ledger")]
    assert told == [
        ("d1", None, "pending", None),
        ("d1", "pending", "parsing", "auto_inflight"),
        ("d1", "parsing", "linked", "pdf_ir_ready"),
        ("d1", "linked", "ready", "auto_done"),
        ("d2", None, "error", "mineru_failed"),
        ("d2", "error", LEGACY, "hand_polished"),
        ("d3", None, "ready", "auto_done"),
        ("d3", "ready", "embedding", None),
        ("d4", "parsing", "error", "failed"),
    ]


def test_errors_durations_and_whatever_else_there_is_are_kept(tmp_path: Path, old: Path) -> None:
    apply(old, tmp_path / "ledger")
    records = all_records(tmp_path / "ledger")
    last = records[-1]
    assert (last.error_type, last.error, last.tries, last.seconds, last.by) == ("HTTPError", "503", 2, 1.5, "pubmed")
    assert last.more == {"traceback": "…"} and records[1].more == {"metadata": {"pages": 3}}
    assert [record.seconds for record in records[1:3]] == [1.0, 2.5]


def test_what_came_of_it_is_valid_and_is_not_mixed_with_the_graphs_own_nodes(tmp_path: Path, old: Path) -> None:
    folder = tmp_path / "ledger"
    assert apply(old, folder).applied
    verdict = validate(folder)
    assert (verdict.problems, verdict.odd["imported"]) == ({}, 9)
    with Reading.open(folder) as reading:
        assert list(reading.latest()) == []
        standing = {each.node: each.state for each in reading.latest(imported=True)}
        assert {each.label for each in reading.latest(imported=True)} == {LABEL}
    assert standing == {"d1": "ready", "d2": LEGACY, "d3": "embedding", "d4": "error"}


def test_nothing_is_taken_in_twice_not_even_after_compactions(tmp_path: Path, old: Path) -> None:
    folder = tmp_path / "ledger"
    apply(old, folder)
    assert apply(old, folder).already
    compact(folder, keep=3)
    compact(folder, keep=0)
    assert apply(old, folder).already and survey(old, folder).already
    assert len(all_records(folder)) == 4


def test_whenever_it_is_killed_all_of_it_is_there_or_nothing(tmp_path: Path, old: Path) -> None:
    whole = BreakingDisk()
    apply(old, tmp_path / "whole", disk=whole)
    for number in range(1, whole.calls + 1):
        folder = tmp_path / f"at-{number}"
        with pytest.raises(Killed):
            apply(old, folder, disk=BreakingDisk(number, "after"))
        assert len(all_records(folder)) in (0, 9)
        apply(old, folder)
        assert len(all_records(folder)) == 9


@pytest.mark.parametrize("time", [None, "soon", 1e300, -5, True, "0001-01-01T00:00:00+23:00", 1728043200000])
def test_odd_times_never_stop_it(tmp_path: Path, time: object) -> None:
    old = tmp_path / "old.jsonl"
    odd = {"doc_id": 7, "state": "\ud800", "timestamp": time, "retry_count": "many", "x": [10**40, "\udfff", None]}
    old.write_text(json.dumps(odd), encoding="utf-8")
    apply(old, tmp_path / "ledger")
    (record,) = all_records(tmp_path / "ledger")
    assert (record.node, record.after, record.was) == ("7", LEGACY, "\\ud800")
    assert validate(tmp_path / "ledger").problems == {}
