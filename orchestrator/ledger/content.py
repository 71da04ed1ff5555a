"""What is in a file of the ledger, open or compressed, and what of it is not as it was written.

A closed file is a series of gzip members that each end with a line: a flipped byte costs the rest of one member, and
the next one is found by how it begins.
"""

import mmap
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.ledger.disk import Disk
from orchestrator.ledger.lines import END, RECORD, End, end_of, is_whole

BLOCK = 1 << 20
_FED = 1 << 18
_SIP = 1 << 8
_GZIP = 16 + zlib.MAX_WBITS
_MEMBER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
# Text of this kind shrinks to a seventh at any level; the first is three times as fast as the usual one.
_LEVEL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Something that is not as it was written; `offset` counts bytes of the file's text."""

    file: str
    offset: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}, byte {self.offset:,}: {self.what}"

    def document(self) -> dict[str, object]:
        return {"file": self.file, "offset": self.offset, "what": self.what}


@dataclass(slots=True, kw_only=True)
class Content:
    """Reads one file once, from `start` on. What it learned stands in its fields when it has come to the end."""

    path: Path
    start: int = 0
    position: int = 0
    """Up to where it has been read, and needs not be read again."""
    end: End | None = None
    unfinished: bytes = b""
    """What follows the last newline: a line that was being written."""
    damage: list[Damage] = field(default_factory=list)

    def lines(self) -> Iterator[bytes]:
        """The records that are whole, without their newlines."""
        self.position = self.start
        offset = self.start
        trusted = True
        for block in self._whole_lines():
            for line in block:
                if line.startswith(RECORD) and is_whole(line):
                    yield line
                elif not self._is_mark(line):
                    self._found(offset, f"a record that is not as it was written: {_glimpse(line)}")
                    trusted = False
                offset += len(line) + 1
                if trusted:
                    self.position = offset
        # What is wrong in a file that still grows may be half on its way; what is closed stays as it is.
        if self.end:
            self.position = offset

    def _is_mark(self, line: bytes) -> bool:
        if line.startswith(END) and (end := end_of(line)):
            self.end = end
            return True
        return line.startswith(b'{"ledger":') and is_whole(line)

    def _whole_lines(self) -> Iterator[list[bytes]]:
        rest = b""
        for block in self._blocks():
            *lines, rest = (rest + block).split(b"\n")
            yield lines
        self.unfinished = rest

    def _blocks(self) -> Iterator[bytes]:
        if not is_compressed(self.path):
            with self.path.open("rb") as file:
                file.seek(self.start)
                while block := file.read(BLOCK):
                    yield block
            return
        skipped, is_open = 0, False
        for offset, text in members(self.path):
            if text is None:
                self._found(offset, "compressed text that is not as it was written")
                if is_open:
                    yield b"\n"
                continue
            left = text[max(0, self.start - skipped) :]
            skipped += len(text)
            if left:
                is_open = not left.endswith(b"\n")
                yield left

    def _found(self, offset: int, what: str) -> None:
        self.damage.append(Damage(file=self.path.name, offset=offset, what=what))


def is_compressed(path: Path) -> bool:
    """Also one that is not yet called as it will be."""
    return ".gz" in path.suffixes[-2:]


def members(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """The text of each member; after what could be read of a bad one None, with its place in the compressed file."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            yield 0, None
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            place = 0
            while 0 <= place < len(data):
                text, after = _member(data, place)
                yield place, text
                if after is None:
                    yield place, None
                    after = data.find(_MEMBER, place + 1)
                place = after


def first_line(path: Path) -> bytes:
    """Without its newline; empty if there is none."""
    if is_compressed(path):
        return next((text for _, text in members(path) if text), b"").partition(b"\n")[0]
    with path.open("rb") as file:
        line = file.readline(BLOCK)
    return line.removesuffix(b"\n") if line.endswith(b"\n") else b""


def last_lines(path: Path) -> list[bytes]:
    """Those at the very end, the last of them empty if the file ends with a newline."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - (_FED >> 4)))
        tail = file.read()
    if is_compressed(path):
        begins = tail.rfind(_MEMBER)
        tail, _ = _member(tail, begins) if begins >= 0 else (b"", None)
    return tail.split(b"\n")


class Closed:
    """A compressed file that is being written; a member ends where it is told to, which is after a line."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self._waiting: list[bytes] = []
        self._size = 0
        self.file = disk.create(path)

    def add(self, line: bytes) -> None:
        self._waiting.append(line)
        self._size += len(line)
        if self._size >= BLOCK:
            self.end_member()

    def end_member(self) -> None:
        if self._waiting:
            self._disk.write_all(self.file, compressed(b"".join(self._waiting)))
        self._waiting.clear()
        self._size = 0

    def finish(self) -> None:
        self.end_member()
        self._disk.sync(self.file)


def compressed(text: bytes) -> bytes:
    return zlib.compress(text, _LEVEL, _GZIP)


def _member(data: mmap.mmap | bytes, place: int) -> tuple[bytes, int | None]:
    """The text of the member that begins here, and where it ends; None where it does not."""
    reader = zlib.decompressobj(_GZIP)
    parts: list[bytes] = []
    begins = place
    while not reader.eof:
        fed = data[place : place + _FED]
        if not fed:
            return b"".join(parts), None
        try:
            parts.append(reader.decompress(fed))
        except zlib.error:
            return _salvaged(data, begins), None
        place += len(fed) - len(reader.unused_data)
    return b"".join(parts), place


def _salvaged(data: mmap.mmap | bytes, place: int) -> bytes:
    """What comes out of a broken member before it breaks; each line has a checksum of its own."""
    reader = zlib.decompressobj(-zlib.MAX_WBITS)
    parts: list[bytes] = []
    place += len(_MEMBER) + 2
    while not reader.eof and (fed := data[place : place + _SIP]):
        try:
            parts.append(reader.decompress(fed))
        except zlib.error:
            break
        place += _SIP
    return b"".join(parts)


def _glimpse(line: bytes) -> str:
    shown = line[:60].decode("utf-8", "replace")
    return f"{shown!r}…" if len(line) > len(shown) else repr(shown)
