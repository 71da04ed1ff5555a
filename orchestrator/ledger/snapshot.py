"""Snapshots: where every node stands, in the order of their ids, and nothing of how it got there.

A snapshot is good or it is not: its last line has the checksum of all the others.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from orchestrator.ledger.content import Closed, Damage, last_lines, members
from orchestrator.ledger.disk import Disk
from orchestrator.ledger.files import TEMPORARY, File, Listing, snapshot_name, stem_of
from orchestrator.ledger.lines import FORMAT, End, Header, end_of, header_of, line_of
from orchestrator.ledger.record import time_text

KEPT = 8
"""The newest and the seven before it."""
# What fits is kept from checking it to reading it.
_AT_HAND = 64 << 20


class BrokenSnapshot(Exception):
    def __init__(self, damage: Damage) -> None:
        super().__init__(str(damage))
        self.damage = damage


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One that was checked to be good."""

    file: File
    header: Header
    end: End
    texts: list[bytes] | None

    @classmethod
    def read(cls, file: File) -> "Snapshot":
        texts: list[bytes] | None = []
        before, checksum, size = b"", 0, 0
        first = b""
        for offset, text in members(file.path):
            if text is None:
                raise _broken(file, offset, "compressed text that is not as it was written")
            first = first or text
            checksum, size = crc32(before, checksum), size + len(before)
            if texts is not None:
                texts.append(before)
                texts = texts if size <= _AT_HAND else None
            before = text
        header, end = header_of(first.partition(b"\n")[0]), end_of(before.removesuffix(b"\n"))
        if not header or not end:
            raise _broken(file, size, "a snapshot that is not whole")
        if header.ledger > FORMAT:
            raise _broken(file, 0, f"a snapshot of format {header.ledger}; this graphmill knows {FORMAT}")
        if (end.content, end.checksum) != (size, f"{checksum:08x}"):
            raise _broken(file, size, "a snapshot whose checksum is that of another text")
        return cls(file=file, header=header, end=end, texts=texts)

    def lines(self) -> Iterator[bytes]:
        """A line for each node, without its newline."""
        rest = b""
        for text in self._texts():
            *lines, rest = (rest + text).split(b"\n")
            yield from (line for line in lines if line.startswith(b'{"node":'))

    def _texts(self) -> Iterable[bytes]:
        return self.texts if self.texts is not None else (text for _, text in members(self.file.path) if text)

    def covers(self, stem: str) -> tuple[int, bool]:
        """Up to where a file is in it, and whether that is all that there will ever be."""
        return self.header.covers.get(stem, (0, False))

    def is_of(self, listing: Listing) -> bool:
        """Whether it can be gone on from: one that is older than a compaction may have seen half of what that took."""
        return all(self.has_whole(file) or not self.has_some(file) for file in listing.compacted)

    def has_whole(self, file: File) -> bool:
        if self.covers(file.stem)[1]:
            return True
        return bool(file.header and all(self.covers(stem)[1] for stem in file.header.replaces))

    def has_some(self, file: File) -> bool:
        return bool(file.header and any(stem in self.header.covers for stem in file.header.replaces))


def newest_good(listing: Listing) -> tuple[Snapshot | None, list[Damage]]:
    """The snapshot to begin with, and what was wrong with newer ones."""
    damage = []
    for file in listing.snapshots:
        try:
            snapshot = Snapshot.read(file)
        except BrokenSnapshot as broken:
            damage.append(broken.damage)
            continue
        if snapshot.is_of(listing):
            return snapshot, damage
    return None, damage


def write_snapshot(
    disk: Disk,
    folder: Path,
    number: int,
    lines: Iterable[bytes],
    *,
    covers: Mapping[str, tuple[int, bool]],
    newest: str,
    now: int,
) -> int:
    """Beside the others, seen by anybody only when it is whole; returns how many nodes are in it."""
    name = snapshot_name(number)
    header = Header(FORMAT, "snapshot", stem_of(name), began=time_text(now), covers=dict(covers))
    beside = folder / f"{name}{TEMPORARY}"
    out = Closed(disk, beside)
    try:
        first = line_of(header)
        checksum, size, count = crc32(first), len(first), 0
        out.add(first)
        out.end_member()
        for line in lines:
            text = line + b"\n"
            checksum, size, count = crc32(text, checksum), size + len(text), count + 1
            out.add(text)
        out.end_member()
        out.add(line_of(End("snapshot", records=count, content=size, checksum=f"{checksum:08x}", newest=newest)))
        out.finish()
    finally:
        disk.close(out.file)
    disk.rename(beside, folder / name)
    disk.sync_folder(folder)
    return count


def size_of(file: File) -> int:
    """How much text is in it, as it says at its end; 0 for one that is not whole."""
    ends = [end for line in last_lines(file.path) if (end := end_of(line))]
    return ends[0].content if ends else 0


def _broken(file: File, offset: int, what: str) -> BrokenSnapshot:
    return BrokenSnapshot(Damage(file=file.name, offset=offset, what=what))
