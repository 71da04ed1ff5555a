"""The index that Wikimedia publishes with a multistream dump: `offset:page id:title` for every page.

It saves a pass over the dump. It is believed only as far as it was seen to be right: its beginning and its end are held
against the dump at once, and every other line when its page is read.
"""

import bz2
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from pipelines.wikipedia.dump_errors import DumpDamaged, IndexWrong
from pipelines.wikipedia.dump_index import IndexWriter, Place, Stopped
from pipelines.wikipedia.dump_page import article_title
from pipelines.wikipedia.dump_pass import Watch
from pipelines.wikipedia.dump_site import SiteInfo, site_of
from pipelines.wikipedia.dump_streams import Layout, stream_chunks
from pipelines.wikipedia.dump_xml import PageSplitter, parse_page
from pipelines.wikipedia.model import Site

_PART = re.compile(r"(?P<name>.*?)(?P<number>\d*)\.xml(?P<pages>-p\d+p\d+)?\.bz2")
_MULTISTREAM = re.compile(r"(?P<name>.*multistream)(?P<number>\d*)\.xml(?P<pages>-p\d+p\d+)?\.bz2")
_LONGEST_END = 1024 * 1024
"""After the last stream of pages there are only some bytes that close the XML."""
_LOOK_EVERY = 50_000


def expected_index(dump: Path) -> Path | None:
    """What the index of a multistream dump is called."""
    named = _MULTISTREAM.fullmatch(dump.name)
    return dump.with_name(_name(named) + ".bz2") if named else None


def official_index(dump: Path) -> Path | None:
    """The one that is there."""
    for pattern in (_MULTISTREAM, _PART):
        if named := pattern.fullmatch(dump.name):
            names = [_name(named), f"{dump.name.removesuffix('.xml.bz2')}-index.txt"]
            for name in (each + ending for each in names for ending in (".bz2", "")):
                if (path := dump.with_name(name)).is_file():
                    return path
    return None


def make_from_official(dump: Path, official: Path, writer: IndexWriter, watch: Watch) -> None:
    """The index is complete when this returns; IndexWrong where it does not fit the dump."""
    writer.start_over()
    info, first = _beginning(dump)
    site = site_of([(dump, info)])
    size = dump.stat().st_size
    last = (0, 0, "")
    for number, (offset, page_id, title) in enumerate(_lines(official)):
        if number % _LOOK_EVERY == 0:
            if watch.stop.is_set():
                raise Stopped
            watch.progress(dump, min(1.0, offset / size))
        if number == 0 and offset != first:
            raise IndexWrong(f"its first line says byte {offset:,}, and the first page is in the stream at {first:,}")
        if offset < last[0] or offset >= size:
            raise IndexWrong(f"it names byte {offset:,} of a file of {size:,} bytes, after {last[0]:,}")
        last = (offset, page_id, title)
        if _is_article(title, site):
            writer.add(Place(stream=offset), title=article_title(title, site), page_id=page_id, entry=None)
    _check_end(dump, *last)
    writer.finish(layout=str(Layout.STREAMS), site=info.to_json(), origin="official")
    watch.progress(dump, 1.0)


def _name(named: "re.Match[str]") -> str:
    return f"{named['name']}-index{named['number']}.txt{named['pages'] or ''}"


def _lines(official: Path) -> Iterator[tuple[int, int, str]]:
    try:
        with bz2.open(official, "rb") if official.name.endswith(".bz2") else official.open("rb") as lines:
            for line in lines:
                offset, page_id, title = line.decode("utf-8").rstrip("\n").split(":", 2)
                # Titles in it are escaped as they are in the XML.
                yield int(offset), int(page_id), unescape(title) if "&" in title else title
    except (OSError, EOFError, ValueError) as error:
        raise IndexWrong(f"it cannot be read to its end ({error})") from error


def _is_article(title: str, site: Site) -> bool:
    prefix, colon, _ = title.partition(":")
    return not colon or not site.namespaces.get(prefix.strip().lower())


def _beginning(dump: Path) -> tuple[SiteInfo, int]:
    """What the dump says of its wiki, and the stream that its first page is in."""
    splitter = PageSplitter(dump)
    with dump.open("rb") as file:
        for chunk in stream_chunks(dump, file):
            for page in splitter.feed(chunk):
                return SiteInfo.from_header(dump, splitter.header or b""), page.stream
    raise IndexWrong("there is no page in the dump")


def _check_end(dump: Path, offset: int, page_id: int, title: str) -> None:
    """The last page of the index must be the last of the dump, and the dump must end after it."""
    splitter = PageSplitter(dump)
    splitter.go_on(b"")
    last = (0, "")
    consumed = offset
    try:
        with dump.open("rb") as file:
            for chunk in stream_chunks(dump, file, offset):
                if not chunk.data and dump.stat().st_size - chunk.stream > _LONGEST_END:
                    raise IndexWrong(f"it ends with the stream at byte {offset:,}, and the dump does not")
                for page in splitter.feed(chunk):
                    record = parse_page(page.data)
                    last = (record.page_id, record.title)
                consumed = chunk.consumed
        splitter.finish(consumed)
    except (DumpDamaged, ValueError) as error:
        raise IndexWrong(f"the stream at byte {offset:,}, its last, cannot be read to the end ({error})") from error
    if last != (page_id, title):
        raise IndexWrong(f"it ends with the page {title!r} ({page_id}), and the dump with {last[1]!r} ({last[0]})")
