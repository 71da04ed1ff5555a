"""The files around an embedded database, and why kill -9 never costs it.

A checkpoint moves the log into the database file. A kill inside one can leave both in a state that nothing repairs
(measured: about once in 45 to 90 such kills), so before each checkpoint the file and its log are copied aside, and
a copy that is found when the database is opened is put back. Commits wait while a checkpoint runs, so the copy
always holds every acknowledged commit, and putting it back is always right.

The engine applies any log that lies beside the file, also that of another database, so the seal remembers which log
is ours: none after a checkpoint, any until the first commit is in it, and from then on the one with that beginning.

A kill inside a commit leaves a torn end on the log, and reading one can crash the engine. So the length of the log is
noted after every commit: what lies beyond the last note was never acknowledged, and can be cut off.

The engines do not notice a damaged log: they crash, or lose or change commits without a word. So a clean close records
a checksum of the log up to each commit, and size and time of the file. What differs at the next open was changed by
somebody else.
"""

import hashlib
import json
import os
import re
import shutil
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from graph_stores.errors import StoreDamaged, StoreFull

Step = Callable[[str], None]
"""Called with the name of each moment in which a kill must be survived."""

_NOTE = struct.Struct("<Q")
_NO_LOG, _ANY_LOG = "none", "any"
_SEAL = re.compile(rf"{_NO_LOG}|{_ANY_LOG}|\d+:[0-9a-f]{{64}}")
# What an engine keeps beside its file while it checkpoints; the second log is one that a checkpoint has set aside.
_SECOND_LOG = ".wal.checkpoint"
_LEFTOVERS = (".wal", _SECOND_LOG, ".shadow", ".checkpoint.intent.lock", ".checkpoint.apply.lock")
_RECOVER = "go back to the last commit that can be read, with a backup: graphmill init --recover"


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """How the last owner left the files."""

    file_size: int
    modified_ns: int
    checksums: Mapping[int, int]
    """Of the log up to the end of each commit."""


class Guard:
    def __init__(self, path: Path, step: Step) -> None:
        self.path = path
        self.log = _beside(path, ".wal")
        self._second_log = _beside(path, _SECOND_LOG)
        self._copy = _beside(path, ".guard")
        self._unfinished = _beside(path, ".guard-unfinished")
        self._seal = _beside(path, ".seal")
        self._notes = _beside(path, ".commits")
        self._closed = _beside(path, ".closed")
        self._workspace = _beside(path, ".recovery")
        self._step = step
        self._sealed: str | None = None

    def recover(self, *, check: bool = True) -> bool:
        """Bring the files into the state of the last acknowledged commit; True if a copy had to be put back.

        With `check`, refuse a log that is damaged or of another database.
        """
        for scratch in (self._unfinished, self._workspace):
            self._remove_tree(scratch)
        if not self.path.exists() and not self.holds_copy():
            self._start_afresh()
        if restored := self.holds_copy():
            self._put_back()
        self._read_seal()
        if check:
            self._check_log()
        return restored

    def _start_afresh(self) -> None:
        """Where the file is gone, what is left beside it must not meet a new one."""
        if self.log_size():
            raise StoreDamaged(
                f"{self.path} is gone, but its log {self.log.name} is still there",
                hint=f"put {self.path.name} back, or remove {self.log.name} to start with an empty graph",
            )
        for leftover in (self.log, self._seal, self._notes, self._closed):
            leftover.unlink(missing_ok=True)

    def holds_copy(self) -> bool:
        return self._copy.exists()

    def before_write(self) -> None:
        if self._sealed in (None, _NO_LOG):
            self._write_seal(_ANY_LOG)
            self._step("log expected")

    def after_commit(self) -> None:
        self._step("committed")
        # Not synced: this is for a killed process, whose writes the kernel keeps. Where the machine went down and notes
        # are missing, the log is longer than they say, and is tried whole first.
        with self._notes.open("ab") as notes:
            notes.write(_NOTE.pack(self.log_size()))
        self._step("noted")
        if self._sealed == _ANY_LOG:
            beginning = min(self.log_size(), 4096)
            if beginning:
                self._write_seal(f"{beginning}:{self._digest(beginning)}")
                self._step("log sealed")

    def torn_end(self) -> int | None:
        """Where the last whole commit ends, if the log goes on after it; None if the log ends there."""
        if self._read_closed() and self.is_log_as_closed():
            return None
        end, size = self._last_noted(), self.log_size()
        return end if size != end else None

    def lost_commits(self) -> int:
        """How many acknowledged commits the log no longer holds."""
        size = self.log_size()
        return sum(end > size for end in self.noted_ends())

    def forget_lost(self) -> None:
        """Or a commit that is written in their place would seem to end where one of them did."""
        size = self.log_size()
        self._notes.write_bytes(b"".join(_NOTE.pack(end) for end in self.noted_ends() if end <= size))

    def cut_log(self, end: int) -> None:
        """Cut off what was never acknowledged, and keep the log as it was: after a power cut notes may be missing."""
        if self.log.exists():
            _copy_file(self.log, _beside(self.path, ".wal.torn"))
        if end:
            os.truncate(self.log, end)
        else:
            self.log.unlink(missing_ok=True)

    def is_log_ours(self) -> bool:
        """False if the log is known to be damaged, missing or of another database."""
        if self._sealed == _NO_LOG:
            return not self.log_size()
        return self._begins_as_sealed() and self.intact_end() == self.log_size()

    def intact_end(self) -> int:
        """Where the last commit before the damage ends; the length of the log if none is known."""
        if self._sealed == _NO_LOG or not self._begins_as_sealed():
            return 0
        recorded = closed.checksums if (closed := self._read_closed()) else {}
        found = self._checksums(recorded)
        intact = [end for end, checksum in found.items() if recorded.get(end, checksum) == checksum]
        return self.log_size() if len(intact) == len(found) else max(intact)

    def record_close(self) -> None:
        """After a clean close: remember the files as they are."""
        # Where there is no room for it, the next owner lets a child process open the graph first.
        with suppress(OSError):
            file = self.path.stat()
            checksums = self._checksums([*self.noted_ends(), self.log_size()])
            record = {
                "file": [file.st_size, file.st_mtime_ns],
                "log": list(checksums.items()),
                "notes": self._checksum_of_notes(),
            }
            self._closed.write_text(json.dumps(record))

    def forget_close(self) -> None:
        """Before the files change."""
        self._closed.unlink(missing_ok=True)

    def is_graphmills(self) -> bool:
        """Whether graphmill has written to the database."""
        return self._seal.exists()

    def is_file_as_closed(self) -> bool:
        """Whether the file is as the last owner left it; True if that is not known."""
        if not (closed := self._read_closed()):
            return True
        file = self.path.stat()
        return (closed.file_size, closed.modified_ns) == (file.st_size, file.st_mtime_ns)

    def is_log_as_closed(self) -> bool:
        """Whether the log is as long as the last owner left it; if that is not known, whether there is none."""
        closed = self._read_closed()
        return self.log_size() == (max(closed.checksums) if closed else 0)

    def log_size(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    def file_size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def checkpoint(self, run: Callable[[], object], reopen: Callable[[], object]) -> None:
        """Run the engine's checkpoint so that a kill at any instant of it can be undone.

        The copy stays until the engine has opened the result: it may crash only then.
        """
        self._copy_aside(self._unfinished)
        self._step("guard copied")
        self._unfinished.rename(self._copy)
        _sync_folder(self.path.parent)
        self._step("guard in place")
        run()
        self._step("checkpointed")
        self._write_seal(_NO_LOG if not self.log_size() else _ANY_LOG)
        self._note_only(self.log_size())
        self._step("sealed")
        reopen()
        self._step("reopened")
        self._copy.rename(self._unfinished)
        _sync_folder(self.path.parent)
        self._step("guard lifted")
        self._remove_tree(self._unfinished)
        self._step("guard removed")

    def backup(self, name: str) -> Path:
        """A copy of file and log that stays, for a change that people may want to undo."""
        target = _beside(self.path, f".{name}")
        self._remove_tree(target)
        self._copy_aside(self._unfinished)
        self._unfinished.rename(target)
        return target

    def replace_by(self, folder: Path) -> None:
        """The database in the folder takes the place of this one, and its log with it; the folder is gone afterwards.

        Killed on the way, the next one who opens the database ends it, as after a checkpoint.
        """
        for file in folder.iterdir():
            if file.name not in (self.path.name, self.log.name, self._second_log.name):
                file.unlink()
        _sync_folder(folder)
        self._step("replacement there")
        # At once, and not by way of what the next opening throws away: it may be the only copy there is.
        folder.rename(self._copy)
        _sync_folder(self.path.parent)
        self._step("replacement in place")
        self._put_back()

    def workspace(self, *, empty: bool = True) -> Path:
        """A folder beside the database for files that nothing depends on yet."""
        if empty:
            self._remove_tree(self._workspace)
            self._workspace.mkdir()
        return self._workspace

    def copy_to_workspace(self, end: int | None = None) -> Path:
        """File and log, or so much of the log, to try something with."""
        self._copy_aside(self._workspace)
        log = self._workspace / self.log.name
        if end is not None and log.exists():
            os.truncate(log, end)
        return self._workspace

    def check_room(self, times: float, purpose: str) -> None:
        """Refuse what needs so many times the room that file and log take."""
        needed = int(times * (self.file_size() + self.log_size()))
        if (free := shutil.disk_usage(self.path.parent).free) < needed:
            raise StoreFull(
                f"{self.path.parent} has {free:,} bytes free, and {needed:,} are needed to {purpose}",
                hint="free some space and run the command again; nothing was lost",
            )

    def forget(self) -> None:
        """What is only known of a database that is graphmill's."""
        for mine in (self._seal, self._notes, self._closed):
            mine.unlink(missing_ok=True)
        self._sealed = None

    def _copy_aside(self, target: Path) -> None:
        self._remove_tree(target)
        self.check_room(1.0, "keep a checkpoint safe")
        target.mkdir()
        for file in (self.path, self.log, self._second_log):
            if file.exists():
                _copy_file(file, target / file.name)
        _sync_folder(target)

    def _put_back(self) -> None:
        """Repeatable from any point: the copy's folder goes last, and with it the order to put it back."""
        self.forget_close()
        file_in_copy = self._copy / self.path.name
        if file_in_copy.exists():
            # The file moves last, so as long as it is in the copy the logs are there too, or never were.
            for suffix in _LEFTOVERS:
                _beside(self.path, suffix).unlink(missing_ok=True)
            self._step("leftovers removed")
            for log in (self.log, self._second_log):
                if (self._copy / log.name).exists():
                    _copy_file(self._copy / log.name, log)
            self._step("log put back")
            file_in_copy.replace(self.path)
            _sync_folder(self.path.parent)
            self._step("file put back")
        self._write_seal(_ANY_LOG if self.log_size() else _NO_LOG)
        # The copy was taken between commits, so its log ends with a whole one.
        self._note_only(self.log_size())
        self._remove_tree(self._copy)
        self._step("copy removed")

    def _read_seal(self) -> None:
        text = self._seal.read_text(errors="replace") if self._seal.exists() else ""
        # One that cannot be read says as little as one that is missing.
        self._sealed = text if _SEAL.fullmatch(text) else None

    def _check_log(self) -> None:
        size = self.log_size()
        if self._sealed == _NO_LOG and size:
            raise StoreDamaged(
                f"{self.log} does not belong to {self.path}, which was closed without a log",
                hint=f"move {self.log.name} away and run the command again, or {_RECOVER}",
            )
        if not self._begins_as_sealed():
            raise StoreDamaged(
                f"{self.log} is missing, cut off or of another database: it holds the last commits of {self.path}",
                hint=f"put {self.log.name} back, or {_RECOVER}",
            )
        if not self.is_log_ours():
            raise StoreDamaged(
                f"{self.log} was damaged after {self.path} was closed: it holds its last commits",
                hint=f"put {self.log.name} back, or {_RECOVER}",
            )

    def _begins_as_sealed(self) -> bool:
        if self._sealed in (None, _NO_LOG, _ANY_LOG):
            return True
        beginning, _, digest = self._sealed.partition(":")
        return self.log_size() >= int(beginning) and self._digest(int(beginning)) == digest

    def _read_closed(self) -> Closed | None:
        # One that cannot be read says as little as one that is missing.
        with suppress(OSError, ValueError, TypeError, LookupError):
            record = json.loads(self._closed.read_bytes())
            size, modified = record["file"]
            # A graphmill that knows no such record, or files put back from a backup, leave one of another log.
            if record["notes"] == self._checksum_of_notes():
                return Closed(file_size=size, modified_ns=modified, checksums=dict(record["log"]))
        return None

    def _checksum_of_notes(self) -> int:
        return zlib.crc32(self._notes.read_bytes() if self._notes.exists() else b"")

    def _checksums(self, ends: Iterable[int]) -> dict[int, int]:
        """Of the log up to each of these ends that it reaches."""
        found, checksum, size = {0: 0}, 0, self.log_size()
        if size:
            with self.log.open("rb") as file:
                for end in sorted(end for end in {*ends} if 0 < end <= size):
                    checksum = zlib.crc32(file.read(end - file.tell()), checksum)
                    found[end] = checksum
        return found

    def noted_ends(self) -> list[int]:
        """The length of the log after each commit since the last checkpoint."""
        data = self._notes.read_bytes() if self._notes.exists() else b""
        return [end for (end,) in _NOTE.iter_unpack(data[: len(data) // _NOTE.size * _NOTE.size])]

    def _last_noted(self) -> int:
        size = self.log_size()
        return max((end for end in self.noted_ends() if end <= size), default=0)

    def _note_only(self, end: int) -> None:
        self._notes.write_bytes(_NOTE.pack(end))

    def _digest(self, length: int) -> str:
        with self.log.open("rb") as file:
            return hashlib.sha256(file.read(length)).hexdigest()

    def _write_seal(self, seal: str) -> None:
        fresh = _beside(self.path, ".seal-unfinished")
        with fresh.open("w") as file:
            file.write(seal)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._seal)
        _sync_folder(self.path.parent)
        self._sealed = seal

    @staticmethod
    def _remove_tree(folder: Path) -> None:
        if folder.exists():
            shutil.rmtree(folder)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _copy_file(source: Path, target: Path) -> None:
    """Copy and make durable; the kernel shares the blocks where the file system can."""
    with source.open("rb") as reading, target.open("wb") as writing:
        left = os.fstat(reading.fileno()).st_size
        while left and (copied := _copy_range(reading, writing, left)):
            left -= copied
        os.fsync(writing.fileno())


def _copy_range(reading: BinaryIO, writing: BinaryIO, most: int) -> int:
    if hasattr(os, "copy_file_range"):
        return os.copy_file_range(reading.fileno(), writing.fileno(), most)
    return os.write(writing.fileno(), os.read(reading.fileno(), 1 << 20))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
