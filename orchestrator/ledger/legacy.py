"""Ledgers that older tools wrote: a JSON object a line, with free words for states.

Owns what those words mean. Nothing is left out: a word that nobody knows becomes LEGACY and keeps its text, a move that
should not have happened did happen, and what a row holds beside is kept as it is.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.ledger import locks
from orchestrator.ledger.content import Closed, Content
from orchestrator.ledger.disk import DISK, Disk
from orchestrator.ledger.files import CLOSED, TEMPORARY, import_stem, list_files
from orchestrator.ledger.lines import FORMAT, End, Header, encoded, line_of
from orchestrator.ledger.record import Entry, time_text
from orchestrator.ledger.upkeep import sweep
from orchestrator.states import State

LEGACY = "LEGACY"
LABEL = "LegacyDocument"
# Beyond it a number of seconds is one of milliseconds.
_LAST = 1e11

_SAME = {
    State.PENDING: "pending mentioned discovered retrying",
    State.PARSING: "parsing fetching fetched auto_inflight claimed",
    State.PARSED: "parsed validating validated loaded",
    State.LINKING: "linking relations ir_building",
    State.LINKED: "linked ir_ready pdf_ir_ready ir_written entities",
    State.EMBEDDING: "embedding",
    State.READY: "ready completed auto_done indexed embedded processed",
    State.SKIP: "skip skipped",
    State.ERROR: "error failed auto_failed mineru_failed",
}
WORDS = {word: str(state) for state, words in _SAME.items() for word in words.split()}
_FORWARD = ["pending", "parsing", "parsed", "linking", "linked", "embedding", "ready"]
_KNOWN = frozenset({"doc_id", "state", "old_state", "new_state", "timestamp", "adapter"}) | {
    "error_type",
    "error_message",
    "retry_count",
    "duration_seconds",
}


@dataclass(slots=True, kw_only=True)
class Survey:
    """What an old ledger holds, and what would become of it."""

    rows: int = 0
    documents: int = 0
    states: Counter[str] = field(default_factory=Counter)
    """Where the documents stand in the end."""
    words: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    out_of_order: int = 0
    without_time: int = 0
    digest: str = ""
    already: bool = False
    applied: bool = False

    def document(self) -> dict[str, object]:
        return {
            "rows": self.rows,
            "documents": self.documents,
            "states": dict(self.states.most_common()),
            "words": {word: {"to": WORDS.get(word, LEGACY), "count": n} for word, n in self.words.most_common()},
            "unknown": dict(self.unknown.most_common()),
            "invalid": dict(self.invalid.most_common()),
            "unreadable": self.unreadable,
            "out_of_order": self.out_of_order,
            "without_time": self.without_time,
            "already": self.already,
            "applied": self.applied,
        }


def survey(old: Path, folder: Path) -> Survey:
    """The dry run: everything that `apply` would do, but for doing it."""
    found = Survey(digest=_digest(old))
    found.already = folder.is_dir() and _is_there(folder, found.digest)
    for _ in _entries(old, found):
        pass
    return found


def apply(old: Path, folder: Path, *, disk: Disk = DISK) -> Survey:
    """All of it or nothing, and never twice: the file that it becomes is named by what it holds."""
    folder.mkdir(parents=True, exist_ok=True)
    with locks.upkeep(folder, wait=True):
        found = Survey(digest=_digest(old))
        if _is_there(folder, found.digest):
            found.already = True
            return found
        sweep(folder, disk)
        path = folder / f"{import_stem(found.digest)}{CLOSED}"
        beside = path.with_name(f"{path.name}{TEMPORARY}")
        _write(old, found, disk, beside)
        _check(beside, found)
        if not found.rows:
            disk.unlink(beside)
            return found
        disk.rename(beside, path)
        disk.sync_folder(folder)
        found.applied = True
    return found


def _write(old: Path, found: Survey, disk: Disk, beside: Path) -> None:
    out = Closed(disk, beside)
    try:
        began = time_text(int(old.stat().st_mtime * 1e6))
        name = import_stem(found.digest)
        out.add(line_of(Header(FORMAT, "segment", name, writer=f"import of {old.name}", began=began)))
        for seq, entry in enumerate(_entries(old, found), 1):
            out.add(encoded([entry], seq))
        out.end_member()
        out.add(line_of(End("clean", records=found.rows, reconciled=0)))
        out.finish()
    finally:
        disk.close(out.file)


def _check(beside: Path, found: Survey) -> None:
    """Read back before it counts: what cannot be read must not come to stand in the ledger."""
    content = Content(path=beside)
    count = sum(1 for _ in content.lines())
    if count != found.rows or content.damage:
        raise OSError(f"{beside} holds {count:,} records of {found.rows:,} after writing")


def _entries(old: Path, found: Survey) -> Iterator[Entry]:
    standing: dict[str, tuple[str, int]] = {}
    last = int(old.stat().st_mtime * 1e6)
    with old.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            row = _row(line)
            if row is None:
                found.unreadable.append(f"line {number}: {line.strip()[:60]!r}")
                continue
            last = _time(row.get("timestamp"), found) or last
            entry = _entry(row, last, standing, found)
            standing[entry.node] = (str(entry.after), entry.at)
            yield entry
    found.documents = len(standing)
    found.states = Counter(state for state, _ in standing.values())


def _row(line: str) -> dict[str, object] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not row.get("doc_id") or not (row.get("new_state") or row.get("state")):
        return None
    return row


def _entry(row: Mapping[str, object], at: int, standing: Mapping[str, tuple[str, int]], found: Survey) -> Entry:
    node, word = str(row["doc_id"]), str(row.get("new_state") or row["state"])
    after = _state(word)
    before, since = standing.get(node, (None, 0))
    if before is None and row.get("old_state"):
        before = _state(str(row["old_state"]))
    found.rows += 1
    found.words[word] += 1
    found.unknown[word] += after == LEGACY
    found.unknown += Counter()  # leaves out what is zero
    found.out_of_order += at < since
    if not _may_have_happened(before, after):
        found.invalid[f"{before} → {after}"] += 1
    seconds = _number(row.get("duration_seconds"))
    if seconds is None and since and at >= since:
        seconds = (at - since) / 1e6
    tries = _number(row.get("retry_count"))
    return Entry(
        # Of two rows the later one holds, whatever their clocks said.
        at=max(at, since),
        node=node,
        label=LABEL,
        before=before,
        after=after,
        by=str(row.get("adapter") or ""),
        tries=int(tries) if tries is not None else None,
        seconds=seconds,
        error_type=_text(row.get("error_type")),
        error=_text(row.get("error_message")),
        imported=True,
        was=word if word != after else None,
        more={key: value for key, value in row.items() if key not in _KNOWN and value not in (None, {}, [])},
    )


def _state(word: str) -> str:
    return WORDS.get(word.strip().lower(), LEGACY)


def _may_have_happened(before: str | None, after: str) -> bool:
    """Old ledgers left steps out: forward by any number of them is fine, and back only where ours may go back."""
    if before is None or before == after or LEGACY in (before, after):
        return True
    if after in ("error", "skip"):
        return before in _FORWARD[:-1]
    if before in ("skip", "ready"):
        return after in ("pending", "linked")
    if before == "error":
        return after in ("pending", "parsing", "parsed", "linked")
    return _FORWARD.index(after) > _FORWARD.index(before) or after in ("pending", "parsed", "linked")


def _time(value: object, found: Survey) -> int | None:
    """Seconds since the epoch, or thousandths of them, or ISO 8601."""
    if (number := _number(value)) is not None and 0 < number < _LAST * 1000:
        return int(number * 1e6) if number < _LAST else int(number * 1e3)
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
        except (ValueError, OverflowError):
            pass
        else:
            return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1e6)
    found.without_time += 1
    return None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _text(value: object) -> str | None:
    return str(value) if value not in (None, "") else None


def _digest(old: Path) -> str:
    with old.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _is_there(folder: Path, digest: str) -> bool:
    listing = list_files(folder)
    within = {stem for file in listing.compacted if file.header for stem in file.header.imports}
    return import_stem(digest) in within or any(file.stem == import_stem(digest) for file in listing.segments)
