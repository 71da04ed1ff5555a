"""One dump file with its index: what is under a title, read from its place.

Makes the index where there is none, and another one where the one that came with the dump proves wrong. Used by one
thread at a time. Knows nothing of other files.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from pipelines.wikipedia.dump_errors import DumpDamaged, IndexWrong, damaged, unreadable
from pipelines.wikipedia.dump_index import (
    DumpIndex,
    IndexUnwritable,
    IndexWriter,
    Row,
    index_paths,
    only_one,
    writable_path,
)
from pipelines.wikipedia.dump_official import expected_index, make_from_official, official_index
from pipelines.wikipedia.dump_page import article_title
from pipelines.wikipedia.dump_pass import Watch, add_categories, add_page, make_by_pass, unpacked
from pipelines.wikipedia.dump_site import SiteInfo, site_of
from pipelines.wikipedia.dump_streams import BROKEN_BLOCK, BlockFile, Layout, broken_block, open_blocks, stream_chunks
from pipelines.wikipedia.dump_xml import CLOSES, OPENS, Record, parse_page

_PAGES, _CATEGORIES = "graphmill-index", "graphmill-categories"
_KEPT = 64 * 1024**2
_LONGEST = 1024**3

Spans = dict[int, tuple[int, int]]
"""Where each page begins and ends in its stream, by its id."""


class DumpFile:
    def __init__(self, path: Path, watch: Watch) -> None:
        self.path = path
        try:
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            raise unreadable(path, error) from error
        self._blocks: BlockFile | None = None
        self._streams: OrderedDict[int, tuple[bytes, Spans]] = OrderedDict()
        self._categories: DumpIndex | None = None
        try:
            self.index = self._indexed(_PAGES, watch, self._make_pages)
        except BaseException:
            self._file.close()
            raise
        self._know()

    def _know(self) -> None:
        self.info = SiteInfo.from_json(self.index.facts["site"])
        self.site = site_of([(self.path, self.info)])
        self._layout = Layout(self.index.facts["layout"])

    def records(self, rows: Iterable[Row]) -> Iterator[tuple[Row, Record]]:
        """In the order of their places, so that a stream is decompressed once. IndexWrong where one is not there."""
        for row in sorted(rows, key=lambda row: (row.place.stream, row.place.position or 0)):
            yield row, self._record(row)

    @property
    def has_categories(self) -> bool:
        return self._categories is not None or any(path.is_file() for path in index_paths(self.path, _CATEGORIES))

    def categories(self, watch: Watch) -> DumpIndex:
        """Which pages are in which category, of the whole dump: made when it is first asked for."""
        if self._categories is None:
            self._categories = self._indexed(_CATEGORIES, watch, self._make_categories)
        return self._categories

    def replace_index(self, watch: Watch, reason: IndexWrong) -> None:
        watch.say(f"the index that came with {self.path} is wrong: {reason}; reading the whole dump to make another")
        self.index.close()
        self._streams.clear()
        self.index = self._indexed(
            _PAGES, watch, self._make_by_pass, fits=lambda index: index.facts["origin"] == "pass"
        )
        self._know()

    def close(self) -> None:
        self._file.close()
        self.index.close()
        if self._blocks is not None:
            self._blocks.close()
        if self._categories is not None:
            self._categories.close()

    def _indexed(
        self,
        ending: str,
        watch: Watch,
        make: Callable[[IndexWriter, Watch], None],
        fits: Callable[[DumpIndex], bool] = lambda _: True,
    ) -> DumpIndex:
        paths = index_paths(self.path, ending)
        found = self._fitting(paths, fits)
        if found is not None:
            return found
        waits = f"another process is reading {self.path} to make its index: waiting for it"
        with only_one(self.path, watch.stop, lambda: watch.say(waits)):
            found = self._fitting(paths, fits)
            if found is not None:
                return found
            path = writable_path(paths)
            self._write(path, watch, make)
        made = self._fitting([path], fits)
        if made is None:
            raise damaged(self.path, 0, "it changed while it was read")
        return made

    def _fitting(self, paths: Iterable[Path], fits: Callable[[DumpIndex], bool]) -> DumpIndex | None:
        for path in paths:
            index = DumpIndex.open(path, self.path)
            if index is not None:
                if fits(index):
                    return index
                index.close()
        return None

    def _write(self, path: Path, watch: Watch, make: Callable[[IndexWriter, Watch], None]) -> None:
        writer: IndexWriter | None = None
        try:
            writer = IndexWriter(path, self.path)
            make(writer, watch)
        except sqlite3.Error as error:
            raise IndexUnwritable(f"the index {path} cannot be written: {error}", hint="make room for it") from error
        except OSError as error:
            raise unreadable(self.path, error) from error
        except DumpDamaged:
            if writer is not None:
                writer.discard()
            raise
        finally:
            if writer is not None:
                writer.close()

    def _make_pages(self, writer: IndexWriter, watch: Watch) -> None:
        official = official_index(self.path)
        if official is not None and "resume" not in writer.facts:
            try:
                make_from_official(self.path, official, writer, watch)
                return
            except IndexWrong as error:
                watch.say(
                    f"{official} is not the index of {self.path}: {error}; reading the whole dump to make another"
                )
                writer.start_over()
        elif official is None and (expected := expected_index(self.path)) is not None:
            watch.say(f"{expected.name} is not beside {self.path}: reading the whole dump once to make an index")
        self._make_by_pass(writer, watch)

    def _make_by_pass(self, writer: IndexWriter, watch: Watch) -> None:
        make_by_pass(self.path, writer, add_page, watch)

    def _make_categories(self, writer: IndexWriter, watch: Watch) -> None:
        make_by_pass(self.path, writer, add_categories, watch)

    def _record(self, row: Row) -> Record:
        data = self._bytes(row)
        try:
            record = parse_page(data)
        except ValueError as error:
            raise self._changed(row) from error
        if article_title(record.title, self.site) != row.title:
            raise self._changed(row)
        return record

    def _bytes(self, row: Row) -> bytes:
        stream, position, length = row.place.stream, row.place.position, row.place.length
        if position is None or length is None:
            return self._in_stream(row)
        if self._layout is Layout.PLAIN:
            self._file.seek(position)
            return self._file.read(length)
        if self._layout is Layout.BLOCKS:
            return self._in_blocks(position, length)
        data, _ = self._stream(stream)
        if position + length > len(data):
            return self._across_streams(stream, position, length)
        return data[position : position + length]

    def _in_stream(self, row: Row) -> bytes:
        """Of a stream of which only the index that came with the dump is known."""
        try:
            data, spans = self._stream(row.place.stream)
        except DumpDamaged as error:
            raise IndexWrong(str(error)) from error
        if row.page_id not in spans:
            raise IndexWrong(f"the page {row.title!r} is not in the stream at byte {row.place.stream:,}")
        begin, end = spans[row.page_id]
        return data[begin:end]

    def _stream(self, offset: int) -> tuple[bytes, Spans]:
        if offset in self._streams:
            self._streams.move_to_end(offset)
            return self._streams[offset]
        data = b"".join(self._pieces(offset))
        self._streams[offset] = data, _spans(data) if self.index.facts["origin"] == "official" else {}
        while len(self._streams) > 1 and sum(len(kept) for kept, _ in self._streams.values()) > _KEPT:
            self._streams.popitem(last=False)
        return self._streams[offset]

    def _pieces(self, offset: int) -> Iterator[bytes]:
        length = 0
        for chunk in stream_chunks(self.path, self._file, offset):
            if not chunk.data:
                return
            length += len(chunk.data)
            if length > _LONGEST:
                raise damaged(self.path, offset, f"more than {_LONGEST:,} bytes are compressed in one stream")
            yield chunk.data

    def _across_streams(self, stream: int, position: int, length: int) -> bytes:
        """Some compressors cut the text into streams wherever it is long enough."""
        data = bytearray()
        for chunk in stream_chunks(self.path, self._file, stream):
            data += chunk.data
            if len(data) >= position + length:
                break
        return bytes(data[position : position + length])

    def _in_blocks(self, position: int, length: int) -> bytes:
        try:
            if self._blocks is None:
                self._blocks = open_blocks(self.path)
                self._blocks.set_block_offsets(unpacked(self.index.facts["blocks"]))
            self._blocks.seek(position)
            return self._blocks.read(length)
        except BROKEN_BLOCK as error:
            raise broken_block(self.path, position, error) from error

    def _changed(self, row: Row) -> Exception:
        where = row.place.position if self._layout is Layout.PLAIN else row.place.stream
        if self.index.facts["origin"] == "official":
            return IndexWrong(f"what is at byte {where:,} is not the page {row.title!r}")
        return damaged(
            self.path, where or 0, f"the page {row.title!r} is not there, where it was when the index was made"
        )


def _spans(data: bytes) -> Spans:
    spans: Spans = {}
    begin = data.find(OPENS)
    while begin >= 0:
        end = data.find(CLOSES, begin)
        if end < 0:
            break
        end += len(CLOSES)
        # The first id in a page is its own.
        page_id = data[begin:end].partition(b"<id>")[2].partition(b"</id>")[0]
        if page_id.strip().isdigit():
            spans[int(page_id)] = begin, end
        begin = data.find(OPENS, end)
    return spans
