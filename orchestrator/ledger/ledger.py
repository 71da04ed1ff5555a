"""Writing the ledger: a process appends what it committed to a segment of its own.

What `append` has returned from is on the disk. What it could not write is cut off again before anything else is
written, so that whoever tries again writes it once.
"""

import logging
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self
from uuid import uuid4

from graph_stores.errors import GraphmillError
from orchestrator.ledger.disk import DISK, Disk
from orchestrator.ledger.files import segment_name, series_of, stem_of
from orchestrator.ledger.lines import FORMAT, RECONCILED, End, Header, encoded, line_of
from orchestrator.ledger.reading import Unclean
from orchestrator.ledger.record import Entry, time_text
from orchestrator.ledger.upkeep import end_lost, keep_up

SEGMENT_BYTES = 16 << 20
# So much is appended between two looks at whether a snapshot is due.
_BETWEEN_LOOKS = 4 << 20

logger = logging.getLogger("graphmill")


class LedgerClosed(GraphmillError):
    code = "ledger_closed"


class Ledger:
    """Of one process; several threads may append. Holds nothing of what it wrote."""

    def __init__(
        self,
        folder: Path,
        *,
        writer: str,
        disk: Disk = DISK,
        segment_bytes: int = SEGMENT_BYTES,
        background: bool = True,
    ) -> None:
        self.folder = folder
        self.writer = writer
        self._disk = disk
        self._segment_bytes = segment_bytes
        self._background = background
        self._series = series_of(writer, uuid4().hex[:8])
        self._seq = 0
        self._number = 0
        self._segment: _Segment | None = None
        self._unseen = 0
        self._closed = False
        self._appending = threading.Lock()
        self._upkeep: threading.Thread | None = None

    @classmethod
    def open(cls, folder: Path, *, writer: str) -> Self:
        """Costs nothing that grows: the segment is made by the first append."""
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder, writer=writer)

    def append(self, entries: Sequence[Entry]) -> None:
        """On the disk when it returns, in this order; if it raises, all of it can be tried again and is there once."""
        if not entries:
            return
        with self._appending:
            if self._closed:
                raise LedgerClosed(f"the ledger of {self.writer} is closed", hint="open it again to append")
            text = encoded(entries, self._seq + 1)
            self._current(entries[0].at).append(text)
            self._seq += len(entries)
            self._unseen += len(text)
            # What follows is no part of the promise: an error here must not make anybody write these entries again.
            self._rotate_if_full()
        if self._unseen >= _BETWEEN_LOOKS:
            self._unseen = 0
            self._keep_up_soon()

    def close(self) -> None:
        """End the segment, so that readers know that nothing is missing behind it."""
        with self._appending:
            if self._closed:
                return
            self._closed = True
            if self._segment:
                self._segment.end_or_warn()
        if self._upkeep:
            self._upkeep.join()
        if self._seq:
            self._keep_up(at_the_end=True)

    def settle(self, lost: Iterable[Unclean]) -> None:
        """What writers that are gone may have left out is in the ledger now: they count as ended."""
        end_lost(self.folder, lost, self._disk)

    def _current(self, at: int) -> "_Segment":
        if self._segment and self._segment.is_dirty:
            self._segment.abandon()
            self._segment = None
        if self._segment is None or self._segment.is_ended:
            self._number += 1
            name = segment_name(self._series, self._number)
            header = Header(FORMAT, "segment", stem_of(name), writer=self.writer, began=time_text(at))
            self._segment = _Segment(self._disk, self.folder / name, line_of(header))
        return self._segment

    def _rotate_if_full(self) -> None:
        segment = self._segment
        if segment and segment.size >= self._segment_bytes and segment.end_or_warn():
            self._unseen = _BETWEEN_LOOKS

    def _keep_up_soon(self) -> None:
        if not self._background:
            self._keep_up()
        elif self._upkeep is None or not self._upkeep.is_alive():
            self._upkeep = threading.Thread(target=self._keep_up, name="ledger upkeep", daemon=True)
            self._upkeep.start()

    def _keep_up(self, *, at_the_end: bool = False) -> None:
        try:
            keep_up(self.folder, disk=self._disk, at_the_end=at_the_end)
        except Exception as error:  # noqa: BLE001 what is appended is on the disk, and a job must not fail for the rest
            logger.warning("the ledger %s could not be tidied up, which is tried again: %s", self.folder, error)


class _Segment:
    """One file that grows by whole batches."""

    def __init__(self, disk: Disk, path: Path, header: bytes) -> None:
        self._disk = disk
        self._path = path
        self._header = header
        self._file: int | None = None
        self._records = 0
        self._reconciled = 0
        self.size = 0
        self.is_dirty = False
        self.is_ended = False

    def append(self, text: bytes) -> None:
        if self._file is None:
            self.is_dirty = True
            self._file = self._disk.create(self._path)
        self._write(text if self.size else self._header + text)
        self._records += text.count(b"\n")
        self._reconciled += text.count(RECONCILED)

    def abandon(self) -> None:
        """Cut off what could not be finished, and end here: a snapshot may have counted it already, so that whatever
        came to stand in its place would be passed over."""
        if self._file is not None:
            self._disk.truncate(self._file, self.size)
        if self.size:
            self._end()
        else:
            self._disk.unlink(self._path)
            self._close()

    def end_or_warn(self) -> bool:
        """Whether the mark is on the disk. Everything else is: without it the segment only seems to be in use."""
        if self.is_ended or self._file is None:
            return self.is_ended
        try:
            if self.is_dirty:
                self.abandon()
            else:
                self._end()
        except OSError as error:
            logger.warning("%s could not be ended: %s", self._path, error)
        return self.is_ended

    def _end(self) -> None:
        self._write(line_of(End("clean", records=self._records, reconciled=self._reconciled)))
        self._close()

    def _close(self) -> None:
        self.is_ended = True
        if self._file is not None:
            self._disk.close(self._file)

    def _write(self, text: bytes) -> None:
        assert self._file is not None
        self.is_dirty = True
        self._disk.write_all(self._file, text)
        self._disk.sync(self._file)
        if not self.size:
            self._disk.sync_folder(self._path.parent)
        self.is_dirty = False
        self.size += len(text)
