"""The bytes of a dump, uncompressed, each with the place where it can be found again.

Owns how files are decompressed: all streams of them, in bounded memory. Knows nothing of what the bytes say.
"""

import bz2
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Protocol

from pipelines.wikipedia.dump_errors import DumpDamaged, damaged, not_a_dump, truncated

_CHUNK = 1024 * 1024
_COMPRESSED = 256 * 1024
_END_OF_STREAM = 0x177245385090
LONGEST_STREAM = 16 * 1024**2
"""Longer streams are not decompressed as a whole for one page: their blocks are found instead."""
# What a broken block makes of the library: it has no exception of its own.
BROKEN_BLOCK = (RuntimeError, ValueError, OSError, OverflowError, MemoryError)


class Layout(StrEnum):
    """How a place in the file is found."""

    PLAIN = "plain"
    """By its byte."""
    STREAMS = "streams"
    """By the byte where its compressed stream begins, and from there."""
    BLOCKS = "blocks"
    """By its byte in all the uncompressed data, through the places of the compressed blocks."""


class StreamTooLong(Exception):
    """Places in this file must be found by its blocks."""


class BlockFile(Protocol):
    """What is used of indexed_bzip2. An offset of a block is that of its first bit, and where its data begins."""

    def read(self, size: int, /) -> bytes: ...
    def seek(self, position: int, /) -> int: ...
    def tell_compressed(self) -> int: ...
    def block_offsets(self) -> dict[int, int]: ...
    def set_block_offsets(self, offsets: dict[int, int], /) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """`position` counts from where the stream begins. A chunk without data says that a stream begins here."""

    stream: int
    position: int
    data: bytes
    consumed: int
    """How many bytes of the file have been read, for progress and for errors."""


def plain_chunks(file: BinaryIO, start: int = 0) -> Iterator[Chunk]:
    file.seek(start)
    while data := file.read(_CHUNK):
        yield Chunk(stream=0, position=start, data=data, consumed=start + len(data))
        start += len(data)


def stream_chunks(path: Path, file: BinaryIO, start: int = 0, *, longest: int | None = None) -> Iterator[Chunk]:
    """Of every stream from the start on. A decoder that ends with the first one would lose the rest silently."""
    file.seek(start)
    offset, waiting = start, file.read(_COMPRESSED)
    while waiting:
        decoder, position = bz2.BZ2Decompressor(), 0
        while not decoder.eof:
            if decoder.needs_input and not waiting:
                waiting = file.read(_COMPRESSED)
                if not waiting:
                    raise truncated(
                        path, file.tell(), f"the compressed stream that begins at byte {offset:,} has no end"
                    )
            data = _decompressed(path, decoder, waiting, offset, position, file.tell())
            waiting = b""
            if data:
                yield Chunk(stream=offset, position=position, data=data, consumed=file.tell())
            position += len(data)
            if longest is not None and position > longest:
                raise StreamTooLong
        waiting = decoder.unused_data
        offset = file.tell() - len(waiting)
        waiting = waiting or file.read(_COMPRESSED)
        yield Chunk(stream=offset, position=0, data=b"", consumed=offset)


def _decompressed(
    path: Path, decoder: bz2.BZ2Decompressor, data: bytes, stream: int, position: int, read: int
) -> bytes:
    try:
        return decoder.decompress(data, max_length=_CHUNK)
    except OSError as error:
        if stream == 0 and position == 0 and not data.startswith(b"BZh"):
            raise not_a_dump(path, "it is named .bz2, and is not compressed with bzip2") from error
        what = (
            "no bzip2 stream begins there"
            if position == 0 and not data.startswith(b"BZh")
            else f"the compressed stream cannot be decoded ({position:,} bytes of it can; byte {read:,} was read)"
        )
        raise damaged(path, stream, what) from error


def open_blocks(path: Path) -> BlockFile:
    import indexed_bzip2  # type: ignore[import-not-found]

    # One thread: the other core has parsing to do.
    opened: BlockFile = indexed_bzip2.open(str(path), parallelization=1)
    return opened


def block_chunks(path: Path, file: BlockFile) -> Iterator[Chunk]:
    size = path.stat().st_size
    position = consumed = 0
    while True:
        try:
            data = file.read(_CHUNK)
            consumed = min(size, file.tell_compressed() // 8)
        except BROKEN_BLOCK as error:
            raise broken_block(path, consumed, error) from error
        if not data:
            return
        yield Chunk(stream=0, position=position, data=data, consumed=consumed)
        position += len(data)


def broken_block(path: Path, near: int, error: BaseException) -> DumpDamaged:
    """Which of both it is shows a decoder that says it: the library only knows that a block is broken."""
    size = path.stat().st_size
    if _ends_early(path):
        return truncated(path, size, "the last compressed block has no end")
    return damaged(path, near, f"a compressed block about there cannot be decoded ({error})")


def _ends_early(path: Path) -> bool:
    # A whole file ends with the mark of a stream's end, its checksum and less than a byte of padding.
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 11))
        last = file.read()
    bits = int.from_bytes(last, "big")
    return not any(bits >> (32 + padding) & (1 << 48) - 1 == _END_OF_STREAM for padding in range(8))
