"""Pages in the XML of a dump: split out by their bytes, and read one by one.

Text in XML is escaped, so that `<page>` and `</page>` are never part of it. Knows no titles and no wiki.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lxml import etree  # type: ignore[import-untyped]

from graph_stores.errors import Misuse
from pipelines.wikipedia.dump_errors import not_a_dump, truncated
from pipelines.wikipedia.dump_streams import Chunk

OPENS, CLOSES = b"<page>", b"</page>"
_END = b"</mediawiki>"
_LONGEST_PAGE = 512 * 1024**2
_LONGEST_GAP = 4 * 1024**2
_LONG_AGO = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class RawPage:
    """The bytes of a page, and where they begin. They may go on in the streams that follow."""

    stream: int
    position: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a dump says of a page, in its newest revision. `text` is None where it was deleted or left out."""

    title: str
    namespace: int | None
    page_id: int
    revision_id: int
    timestamp: str
    text: str | None
    wikitext: bool
    redirect: str | None
    """The target as the dump gives it; empty where it only says that there is one."""


class PageSplitter:
    """Takes the chunks of a dump in their order and gives its pages."""

    def __init__(self, path: Path) -> None:
        self.header: bytes | None = None
        """What stands before the first page, once that has come."""
        self._path = path
        self._buffer = bytearray()
        self._marks: list[tuple[int, int, int]] = []
        self._scanned = 0
        self._inside = False

    @property
    def is_between_pages(self) -> bool:
        return not self._inside and not self._buffer.strip()

    @property
    def reached(self) -> int:
        """The position of what has not been given yet."""
        return self._mark_at(0)[2]

    def go_on(self, header: bytes) -> None:
        """What follows is not the beginning of the file: this was."""
        self.header = header

    def feed(self, chunk: Chunk) -> Iterator[RawPage]:
        self._marks.append((len(self._buffer), chunk.stream, chunk.position))
        self._buffer += chunk.data
        begin = 0
        while True:
            if not self._inside:
                at = self._find(OPENS)
                if at < 0:
                    break
                if self.header is None:
                    self.header = bytes(self._buffer[begin:at])
                begin, self._inside, self._scanned = at, True, at
            at = self._find(CLOSES)
            if at < 0:
                break
            end = at + len(CLOSES)
            _, stream, position = self._mark_at(begin)
            yield RawPage(stream=stream, position=position, data=bytes(self._buffer[begin:end]))
            begin, self._inside, self._scanned = end, False, end
        self._forget(begin)

    def finish(self, consumed: int) -> None:
        """The file has ended: has the dump, too? One without pages has its header here."""
        if self._inside:
            raise truncated(self._path, consumed, f"the page {self._title_inside()!r} has no end")
        if self.header is None:
            self.header = bytes(self._buffer)
            if b"<mediawiki" not in self.header:
                raise not_a_dump(self._path, f"it begins with {_shown(self.header)}")
        if _END not in self._buffer:
            raise truncated(self._path, consumed, f"pages may follow, since there is no {_END.decode()}")

    def _find(self, tag: bytes) -> int:
        at = self._buffer.find(tag, self._scanned)
        if at < 0:
            # The tag may be cut in two between this chunk and the next.
            self._scanned = max(self._scanned, len(self._buffer) - len(tag) + 1)
        return at

    def _mark_at(self, offset: int) -> tuple[int, int, int]:
        at, stream, position = self._marks[bisect_right(self._marks, offset, key=lambda mark: mark[0]) - 1]
        return offset, stream, position + offset - at

    def _forget(self, count: int) -> None:
        if not self._inside and len(self._buffer) - count > _LONGEST_GAP:
            if self.header is None:
                raise not_a_dump(self._path, f"there is no page in its first {_LONGEST_GAP:,} bytes")
            count = len(self._buffer) - 1024
        if self._inside and len(self._buffer) - count > _LONGEST_PAGE:
            raise Misuse(
                f"the page {self._title_inside(count)!r} in {self._path} is longer than {_LONGEST_PAGE // 1024**2} MiB",
                hint="give a dump with the current revisions only (pages-articles), not one with the whole history",
            )
        if self.header is None and not self._inside and not _may_be_dump(self._buffer):
            raise not_a_dump(self._path, f"it begins with {_shown(bytes(self._buffer))}")
        first = self._mark_at(count)
        self._marks = [
            (0, *first[1:]),
            *((at - count, stream, position) for at, stream, position in self._marks if at > count),
        ]
        del self._buffer[:count]
        self._scanned = max(0, self._scanned - count)

    def _title_inside(self, begin: int = 0) -> str:
        title = bytes(self._buffer[begin : begin + 4096]).partition(b"<title>")[2].partition(b"</title>")[0]
        return title[:300].decode("utf-8", "replace")


def _may_be_dump(beginning: bytearray) -> bool:
    return len(beginning) < 4096 or b"<mediawiki" in beginning


def _shown(data: bytes) -> str:
    return repr(data[:40].decode("utf-8", "replace")) if data else "nothing: it is empty"


@cache
def _parser() -> etree.XMLParser:
    return etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True)


def parse_xml(data: bytes) -> "etree._Element":
    """ValueError where it is not XML."""
    try:
        return etree.fromstring(data, _parser())
    except etree.XMLSyntaxError as error:
        raise ValueError(str(error)) from error


def parse_page(data: bytes) -> Record:
    """ValueError where it cannot be a page of a dump."""
    page = parse_xml(data)
    revisions = page.findall("revision")
    if not revisions:
        raise ValueError("a page without a revision")
    revision = max(revisions, key=lambda each: (_number(each, "id"), each.findtext("timestamp") or ""))
    redirect = page.find("redirect")
    namespace = page.findtext("ns")
    return Record(
        title=page.findtext("title") or "",
        namespace=int(namespace) if namespace else None,
        page_id=_number(page, "id"),
        revision_id=_number(revision, "id"),
        timestamp=revision.findtext("timestamp") or _LONG_AGO,
        text=_text(revision.find("text")),
        wikitext=(revision.findtext("model") or "wikitext") == "wikitext",
        redirect=None if redirect is None else redirect.get("title", ""),
    )


def _number(element: "etree._Element", name: str) -> int:
    return int(element.findtext(name) or 0)


def _text(element: "etree._Element | None") -> str | None:
    if element is None or element.get("deleted") is not None:
        return None
    if element.text is None:
        # A dump of stubs says how long the text is, and leaves it out.
        return None if int(element.get("bytes", 0)) else ""
    text: str = element.text
    return text
