"""One pass over a whole dump, from which an index is made; a pass that was killed goes on where all before it is kept.

Owns what is looked at in a pass: that the dump has an end, that every page can be read, what its pages are and, in a
pass of its own, which categories they are in.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from pipelines.wikipedia.dump_errors import damaged
from pipelines.wikipedia.dump_index import IndexWriter, Place, Stopped
from pipelines.wikipedia.dump_page import Entry, Kind, entry_of, namespace_of
from pipelines.wikipedia.dump_site import SiteInfo, site_of
from pipelines.wikipedia.dump_streams import (
    LONGEST_STREAM,
    BlockFile,
    Chunk,
    Layout,
    StreamTooLong,
    block_chunks,
    open_blocks,
    plain_chunks,
    stream_chunks,
)
from pipelines.wikipedia.dump_xml import PageSplitter, RawPage, Record, parse_page
from pipelines.wikipedia.model import CATEGORIES, Site
from pipelines.wikipedia.titles import normalise

CATEGORY_PREFIX = "Category:"
"""Before the name of a category where it stands among articles."""
_SMALLEST_PROGRESS = 0.005
_NOT_READ = re.compile(r"<!--.*?(?:-->|\Z)|<nowiki>.*?</nowiki>", re.DOTALL | re.IGNORECASE)
_LINK = re.compile(r"\[\[([^\[\]|{}<>\n:]+:[^\[\]|{}<>\n]+)(?:\|[^\]]*)?\]\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Who wants to know how far the work is, and whether it is still wanted."""

    stop: Event
    say: Callable[[str], None]
    progress: Callable[[Path, float], None]


Add = Callable[[IndexWriter, Place, Record, Site], None]


def add_page(writer: IndexWriter, place: Place, record: Record, site: Site) -> None:
    entry = entry_of(record, site)
    if entry is not None:
        writer.add(place, title=entry.title, page_id=entry.page_id, entry=entry)


def add_categories(writer: IndexWriter, place: Place, record: Record, site: Site) -> None:
    """Pages without a category are there too: a newer one may have left it."""
    entry = entry_of(record, site)
    if entry is None and namespace_of(record, site) == CATEGORIES:
        entry = _category(record, site)
    if entry is not None:
        page = writer.add(place, title=entry.title, page_id=entry.page_id, entry=entry)
        writer.add_members(page, categories_in(record.text or "", site))


def categories_in(text: str, site: Site) -> list[str]:
    """Those that the text itself names: what templates add is not known to a dump."""
    found = dict.fromkeys(
        title.title
        for link in _LINK.finditer(_NOT_READ.sub("", text))
        if not link[1].lstrip().startswith(":")
        if (title := normalise(link[1], site)) is not None and title.namespace == CATEGORIES and not title.interwiki
    )
    return list(found)


def _category(record: Record, site: Site) -> Entry | None:
    title = normalise(record.title, site)
    if title is None:
        return None
    return Entry(
        title=CATEGORY_PREFIX + title.title,
        page_id=record.page_id,
        revision_id=record.revision_id,
        timestamp=record.timestamp,
        kind=Kind.ARTICLE,
    )


def make_by_pass(dump: Path, writer: IndexWriter, add: Add, watch: Watch) -> None:
    """The index is complete when this returns."""
    if not dump.name.endswith(".bz2"):
        _Pass(dump, writer, add, watch, Layout.PLAIN).run()
        return
    try:
        _Pass(dump, writer, add, watch, Layout.STREAMS).run()
    except StreamTooLong:
        writer.start_over()
        _Pass(dump, writer, add, watch, Layout.BLOCKS).run()


class _Pass:
    def __init__(self, dump: Path, writer: IndexWriter, add: Add, watch: Watch, layout: Layout) -> None:
        self._dump = dump
        self._writer = writer
        self._add = add
        self._watch = watch
        self._layout = layout
        self._splitter = PageSplitter(dump)
        self._info: SiteInfo | None = None
        self._site: Site | None = None
        self._size = max(1, dump.stat().st_size)
        self._shown = -1.0

    def run(self) -> None:
        start = 0
        if "resume" in self._writer.facts:
            start = self._go_on(self._writer.facts["resume"], self._writer.facts["site"])
        consumed = start
        with self._chunks(start) as (chunks, blocks):
            for chunk in chunks:
                self._take(chunk)
                consumed = chunk.consumed
            self._splitter.finish(consumed)
            if self._info is None:
                self._learn()
            offsets = _packed(blocks.block_offsets()) if blocks else None
        self._writer.finish(**self._facts(), origin="pass", blocks=offsets)
        self._watch.progress(self._dump, 1.0)

    def _go_on(self, at: int, site: str) -> int:
        self._splitter.go_on(b"")
        self._info = SiteInfo.from_json(site)
        self._site = site_of([(self._dump, self._info)])
        return at

    def _take(self, chunk: Chunk) -> None:
        if self._watch.stop.is_set():
            raise Stopped
        for raw in self._splitter.feed(chunk):
            if self._site is None:
                self._learn()
            self._one(raw, chunk.consumed)
        self._mark(chunk)
        self._show(chunk.consumed / self._size)

    def _one(self, raw: RawPage, consumed: int) -> None:
        assert self._site is not None
        place = Place(stream=raw.stream, position=raw.position, length=len(raw.data))
        try:
            self._add(self._writer, place, parse_page(raw.data), self._site)
        except ValueError as error:
            at = {Layout.PLAIN: raw.position, Layout.STREAMS: raw.stream, Layout.BLOCKS: consumed}[self._layout]
            title = raw.data.partition(b"<title>")[2].partition(b"</title>")[0][:300].decode("utf-8", "replace")
            raise damaged(self._dump, at, f"the page {title!r} cannot be read ({error})") from error

    def _learn(self) -> None:
        self._info = SiteInfo.from_header(self._dump, self._splitter.header or b"")
        self._site = site_of([(self._dump, self._info)])

    def _mark(self, chunk: Chunk) -> None:
        if self._info is None or not self._writer.has_much:
            return
        if self._layout is Layout.PLAIN:
            self._writer.mark(**self._facts(), resume=self._splitter.reached)
        elif self._layout is Layout.STREAMS and not chunk.data and self._splitter.is_between_pages:
            self._writer.mark(**self._facts(), resume=chunk.stream)

    def _facts(self) -> dict[str, object]:
        assert self._info is not None
        return {"layout": str(self._layout), "site": self._info.to_json()}

    def _show(self, share: float) -> None:
        if share - self._shown >= _SMALLEST_PROGRESS:
            self._shown = share
            self._watch.progress(self._dump, min(share, 1.0))

    @contextmanager
    def _chunks(self, start: int) -> Iterator[tuple[Iterator[Chunk], BlockFile | None]]:
        if self._layout is Layout.BLOCKS:
            with closing(open_blocks(self._dump)) as blocks:
                yield block_chunks(self._dump, blocks), blocks
            return
        with self._dump.open("rb") as file:
            if self._layout is Layout.PLAIN:
                yield plain_chunks(file, start), None
            else:
                yield stream_chunks(self._dump, file, start, longest=LONGEST_STREAM), None


def _packed(offsets: dict[int, int]) -> bytes:
    from array import array

    return array("q", [number for pair in sorted(offsets.items()) for number in pair]).tobytes()


def unpacked(offsets: bytes) -> dict[int, int]:
    from array import array

    numbers = array("q", offsets)
    return dict(zip(numbers[::2], numbers[1::2], strict=True))
