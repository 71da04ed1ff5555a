"""A disk that breaks when it is told to, and what must be true of a ledger whatever broke."""

import errno
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from orchestrator.ledger.disk import Disk
from orchestrator.ledger.files import list_files
from orchestrator.ledger.latest import Standing, latest_of
from orchestrator.ledger.lines import Record, decode_record
from orchestrator.ledger.reading import Reading, opened
from orchestrator.ledger.record import Entry, time_of

How = Literal["before", "after", "power", "error"]
Key = tuple[str, int, str | None]


class Killed(BaseException):
    """The process is gone: nothing in it catches that."""


class BreakingDisk(Disk):
    """Real files. At one call the process dies before or after its effect (a write is torn), all power goes and with it
    whatever was not synchronised, or the call fails with an error and the process goes on."""

    def __init__(self, at: int | None = None, how: How = "before") -> None:
        self.calls = 0
        self.at = at
        self.how = how
        self.dead = False
        self._paths: dict[int, Path] = {}
        self._safe: dict[Path, int] = {}
        self._renamed: list[tuple[Path, Path]] = []

    def create(self, path: Path) -> int:
        self._before()
        file = super().create(path)
        self._paths[file] = path
        self._safe[path] = 0
        self._after()
        return file

    def reopen(self, path: Path) -> int:
        self._before()
        file = super().reopen(path)
        self._paths[file] = path
        self._safe.setdefault(path, path.stat().st_size)
        self._after()
        return file

    def write(self, file: int, data: memoryview) -> int:
        if self._is_due() and self.how != "after":
            super().write(file, data[: len(data) // 2])
        self._before()
        written = super().write(file, data)
        self._after()
        return written

    def sync(self, file: int) -> None:
        """Not for real: what matters here is what would have been lost without."""
        self._before()
        self._safe[self._paths[file]] = os.fstat(file).st_size
        self._after()

    def truncate(self, file: int, size: int) -> None:
        self._before()
        super().truncate(file, size)
        self._after()

    def close(self, file: int) -> None:
        if not self.dead:
            super().close(file)
            self._paths.pop(file)

    def rename(self, old: Path, new: Path) -> None:
        self._before()
        super().rename(old, new)
        self._safe[new] = self._safe.pop(old)
        self._renamed.append((old, new))
        self._after()

    def unlink(self, path: Path) -> None:
        self._before()
        super().unlink(path)
        self._safe.pop(path, None)
        self._after()

    def sync_folder(self, folder: Path) -> None:
        self._before()
        self._renamed.clear()
        self._after()

    def kill(self) -> None:
        """Now, whatever it is doing."""
        self.dead = True
        for file in self._paths:
            os.close(file)
        self._paths.clear()
        if self.how == "power":
            self._cut()

    def _cut(self) -> None:
        for old, new in reversed(self._renamed):
            new.rename(old)
            self._safe[old] = self._safe.pop(new)
        for path, size in self._safe.items():
            if path.exists() and (real := path.stat().st_size) > size:
                os.truncate(path, size + (real - size) // 3)

    def _is_due(self) -> bool:
        return self.at is not None and self.calls + 1 == self.at

    def _before(self) -> None:
        if self.dead:
            raise Killed
        self.calls += 1
        if self.calls == self.at and self.how != "after":
            self._break()

    def _after(self) -> None:
        if self.calls == self.at and self.how == "after":
            self._break()

    def _break(self) -> None:
        if self.how == "error":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.kill()
        raise Killed


def key_of(entry: Entry) -> Key:
    return entry.node, entry.at, entry.after


@dataclass(slots=True)
class Told:
    """What a ledger was told, and so must tell: `sure` was acknowledged, `open` was on its way when something broke."""

    sure: dict[Key, Entry] = field(default_factory=dict)
    open: dict[Key, Entry] = field(default_factory=dict)
    needed: set[Key] = field(default_factory=set)

    def begin(self, entries: Iterable[Entry]) -> None:
        self.open |= {key_of(entry): entry for entry in entries}

    def acknowledge(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            key = key_of(entry)
            self.open.pop(key, None)
            self.sure[key] = entry
            self.needed.add(key)

    def compacted(self, keep: int) -> None:
        """History beyond may go; the latest of each node that is there must stay."""
        newest = sorted((key[1] for key in self.sure), reverse=True)[:keep]
        since = newest[-1] if newest else 1 << 62
        latest = {key_of(entry) for entry in self.standing().values() if entry.after is not None}
        self.needed = {key for key in self.needed if key[1] >= since or key in latest}

    def standing(self) -> dict[str, Entry]:
        standing: dict[str, Entry] = {}
        for entry in self.sure.values():
            standing[entry.node] = entry
        return standing

    def check(self, folder: Path) -> None:
        found = [record for record in all_records(folder) if record.node]
        keys = Counter((record.node, time_of(record.at), record.after) for record in found)
        assert [key for key, count in keys.items() if count > 1] == []
        assert self.needed - set(keys) == set()
        assert set(keys) - set(self.sure) - set(self.open) == set()
        # What was on its way and arrived has happened; the rest was never told.
        self.acknowledge([self.open[key] for key in list(self.open) if key in keys])
        self.open.clear()
        expected = {entry.node: entry.after for entry in self.standing().values() if entry.after is not None}
        assert latest(folder) == expected == replayed(found)


def all_records(folder: Path) -> list[Record]:
    return [decode_record(line) for file in list_files(folder).histories() for line in opened(file).lines()]


def latest(folder: Path) -> dict[str, str | None]:
    with Reading.open(folder) as reading:
        return {each.node: each.state for each in reading.latest()}


def replayed(records: Iterable[Record]) -> dict[str, str | None]:
    """Without any snapshot."""
    standing: dict[str, Standing] = {}
    for record in records:
        if record.node in standing:
            standing[record.node].take(record)
        else:
            standing[record.node] = Standing(latest_of(record), record.before)
    return {node: each.latest.state for node, each in standing.items() if each.latest.state is not None}


FOLLOWING = {
    None: "pending",
    "pending": "parsing",
    "parsing": "parsed",
    "parsed": "linking",
    "linking": "linked",
    "linked": "embedding",
    "embedding": "ready",
    "ready": "pending",
}


class Lives:
    """Nodes that go their way; each move is later than the one before."""

    def __init__(self, *, start: int = 1_790_000_000_000_000) -> None:
        self.now = start

    def moves(self, told: Told, nodes: Iterable[str], *, removed: Iterable[str] = (), tick: int = 1) -> list[Entry]:
        standing = told.standing()
        gone = set(removed)
        entries = []
        for node in nodes:
            self.now += tick
            before = standing[node].after if node in standing else None
            after = None if node in gone and before else FOLLOWING[before]
            entry = Entry(at=self.now, node=node, label="File", before=before, after=after, by="w", tries=1)
            standing[node] = entry
            entries.append(entry)
        self.now += 1
        return entries


def changed(entry: Entry, **changes: object) -> Entry:
    return entry._replace(**changes)  # type: ignore[arg-type]  # as the test says
