"""A ledger as it stands: the newest good snapshot and what came after it, while others go on writing.

Costs what the snapshot and the rest cost, whatever lies before.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from graph_stores.errors import GraphmillError
from orchestrator.ledger import locks
from orchestrator.ledger.content import Content, Damage, first_line, last_lines
from orchestrator.ledger.files import File, Listing, list_files
from orchestrator.ledger.latest import Latest, Standing, decode_latest, encode_latest, latest_of, node_of
from orchestrator.ledger.lines import FORMAT, RECORD, Record, at_of, decode_record, end_of, header_of, is_whole
from orchestrator.ledger.record import time_of, time_text
from orchestrator.ledger.snapshot import Snapshot, newest_good

# A last line without its end is being written, unless that was long ago.
_BEING_WRITTEN = 60.0
_STEP_BACK = 1 << 18
_OUT_OF_ORDER = 10_000_000
# Times of files are those of this machine, times of changes those of the store.
_CLOCKS_DIFFER = 3600 * 1_000_000


class LedgerMissing(GraphmillError):
    code = "ledger_missing"


class LedgerNewer(GraphmillError):
    """Written by a graphmill that this one cannot read."""

    code = "ledger_newer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclean:
    """A segment whose writer is gone and did not end it: changes may be missing behind its last line."""

    file: str
    writer: str
    last: str = ""
    """The time of its last record, as far as that was read."""


class Reading:
    """Use it in a `with`, or close it: meanwhile no file is removed."""

    def __init__(self, folder: Path, is_gone: Callable[[str], bool]) -> None:
        self.folder = folder
        self.damage: list[Damage] = []
        self.unclean: list[Unclean] = []
        self.covered: dict[str, tuple[int, bool]] = {}
        self.tail = 0
        """How many records came after the snapshot."""
        self._is_gone = is_gone
        self._since: dict[str, Standing] = {}
        self._newest = ""
        self._held = ExitStack()

    @classmethod
    def open(cls, folder: Path, *, is_gone: Callable[[str], bool] | None = None) -> Self:
        if not folder.is_dir():
            raise LedgerMissing(
                f"there is no ledger at {folder}", hint="the next job makes it; or say where it is with --ledger DIR"
            )
        reading = cls(folder, is_gone or _is_gone)
        try:
            reading._held.enter_context(locks.reading(folder))
            reading._read()
        except BaseException:
            reading.close()
            raise
        return reading

    def close(self) -> None:
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def newest(self) -> int | None:
        """The time of the latest change, in microseconds since the epoch."""
        return time_of(self._newest) if self._newest else None

    @property
    def newest_text(self) -> str:
        return self._newest

    def latest(self, *, imported: bool = False, removed: bool = False) -> Iterator[Latest]:
        """Where every node stands, in the order of their ids; those of other ledgers, and those that are gone, only if
        asked for."""
        for line, standing in self._merged():
            each = standing or decode_latest(line)
            if (removed or each.state is not None) and (imported or not each.imported):
                yield each

    def counts(self, *, imported: bool = False) -> Mapping[tuple[str, str], int]:
        """How many nodes there are by label and state."""
        return Counter((each.label, each.state or "") for each in self.latest(imported=imported))

    def since(self, at: int) -> Iterator[Record]:
        """What happened from a time on, without reading much that is older."""
        wanted = time_text(at).encode()
        for file in self.listing.histories():
            if file.path.stat().st_mtime * 1e6 < at - _CLOCKS_DIFFER:
                continue
            start = 0 if file.is_closed else shortly_before(file.path, at)
            for line in opened(file, start).lines():
                if at_of(line) >= wanted:
                    yield decode_record(line)

    def lines(self, *, forget_before: str) -> Iterator[bytes]:
        """The lines of the next snapshot; what was removed before a time is not in it any more."""
        for line, standing in self._merged():
            if not standing and b'"state":' in line:
                yield line
                continue
            each = standing or decode_latest(line)
            if each.state is not None or each.at >= forget_before:
                yield encode_latest(each)

    def _merged(self) -> Iterator[tuple[bytes, Latest | None]]:
        """The snapshot's lines as they are, and what changed since in its place."""
        changed = sorted(self._since)
        place = 0
        for line in self.snapshot.lines() if self.snapshot else ():
            node = node_of(line)
            while place < len(changed) and changed[place] < node:
                yield b"", self._since[changed[place]].latest
                place += 1
            if place < len(changed) and changed[place] == node:
                yield b"", self._since[node].on(decode_latest(line))
                place += 1
            else:
                yield line, None
        for node in changed[place:]:
            yield b"", self._since[node].latest

    def _read(self) -> None:
        self.listing: Listing = list_files(self.folder)
        self.snapshot: Snapshot | None
        self.snapshot, damage = newest_good(self.listing)
        self.damage += damage
        self._newest = self.snapshot.end.newest if self.snapshot else ""
        for file in self.listing.histories():
            self._read_rest(file)

    def _read_rest(self, file: File) -> None:
        snapshot = self.snapshot
        start, ended = snapshot.covers(file.stem) if snapshot else (0, False)
        if ended or (snapshot and file.header and snapshot.has_whole(file)):
            self.covered[file.stem] = (start, True)
            return
        content = opened(file, start)
        since = self._since
        last = ""
        for line in content.lines():
            record = decode_record(line)
            self.tail += 1
            if standing := since.get(record.node):
                standing.take(record)
            else:
                since[record.node] = Standing(latest_of(record), record.before)
            last = record.at
            if last > self._newest:
                self._newest = last
        self.damage += content.damage
        self.covered[file.stem] = (content.position, content.end is not None)
        if not content.end:
            self._look_after(file, content, last)

    def _look_after(self, file: File, content: Content, last: str) -> None:
        """A file that was not ended: by whom, and whether they may still do so."""
        header = header_of(first_line(content.path))
        gone = bool(header and self._is_gone(header.writer))
        if header and gone:
            self.unclean.append(Unclean(file=file.name, writer=header.writer, last=last or header.began))
        if content.unfinished and (gone or _age(content.path) > _BEING_WRITTEN):
            size = len(content.unfinished)
            what = f"the last line is torn: {size:,} bytes without an end, of a change that nobody was told is kept"
            self.damage.append(Damage(file=file.name, offset=content.position, what=what))


def opened(file: File, start: int = 0) -> Content:
    """The content of a file, which may have been compressed since it was listed."""
    path = file.path
    if not path.exists() and not file.is_closed:
        path = path.with_name(f"{path.name}.gz")
    header = file.header or header_of(first_line(path))
    if header and header.ledger > FORMAT:
        raise LedgerNewer(
            f"{path} has format {header.ledger} of the ledger, this graphmill knows up to {FORMAT}",
            hint="upgrade graphmill: pip install --upgrade graphmill",
        )
    # Shorter than it was: what could not be made sure of was cut off, and all of it is read again.
    cut = not file.is_closed and path.stat().st_size < start
    return Content(path=path, start=0 if cut else start)


def shortly_before(path: Path, at: int) -> int:
    """Where a line begins behind which there is all that happened since; writers keep to the order by and large."""
    limit = time_text(at - _OUT_OF_ORDER).encode()
    step = _STEP_BACK
    with path.open("rb") as file:
        size = file.seek(0, 2)
        while step < size:
            file.seek(size - step)
            skipped, line = file.readline(), file.readline()
            if line.startswith(RECORD) and is_whole(line[:-1]) and at_of(line) < limit:
                return size - step + len(skipped)
            step *= 4
    return 0


def is_ended(file: File) -> bool:
    """Whether nothing will be added to it."""
    return file.is_closed or any(end_of(line) for line in last_lines(file.path)[-2:])


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _is_gone(writer: str) -> bool:
    from orchestrator.leases import is_gone

    return is_gone(writer)
