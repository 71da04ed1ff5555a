"""Dumps for tests, written as Wikimedia writes them."""

import bz2
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

NAMESPACES = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    2: "User",
    4: "Wikipedia",
    6: "File",
    10: "Template",
    14: "Category",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpPage:
    title: str
    text: str | None
    page_id: int
    revision_id: int
    namespace: int | None = 0
    timestamp: str = "2024-05-06T07:08:09Z"
    model: str | None = "wikitext"
    redirect: str | None = None
    older: Sequence[tuple[int, str]] = ()
    """Revisions before it, each with its text."""

    def xml(self) -> bytes:
        lines = ["  <page>", f"    <title>{escape(self.title)}</title>"]
        if self.namespace is not None:
            lines.append(f"    <ns>{self.namespace}</ns>")
        lines.append(f"    <id>{self.page_id}</id>")
        if self.redirect is not None:
            lines.append(f"    <redirect title={quoteattr(self.redirect)} />" if self.redirect else "    <redirect />")
        # The newest is not always the last.
        lines += [self._revision(self.revision_id, self.text, self.timestamp)]
        lines += [self._revision(number, text, "2001-01-01T00:00:00Z") for number, text in self.older]
        return "\n".join([*lines, "  </page>\n"]).encode()

    def _revision(self, number: int, text: str | None, timestamp: str) -> str:
        model = f"<model>{self.model}</model><format>text/x-wiki</format>" if self.model else ""
        held = '<text deleted="deleted" />' if text is None else f'<text xml:space="preserve">{escape(text)}</text>'
        return (
            f"    <revision><id>{number}</id><parentid>1</parentid><timestamp>{timestamp}</timestamp>"
            f"<contributor><username>Somebody</username><id>77</id></contributor>{model}{held}</revision>"
        )


def article(number: int, title: str, text: str, *, revision: int | None = None) -> DumpPage:
    return DumpPage(title=title, text=text, page_id=number, revision_id=revision or 1000 + number)


def numbered(count: int, *, words: int = 20) -> list[DumpPage]:
    return [article(n, f"Article {n}", f"Number {n}. " + f"word{n} " * words) for n in range(1, count + 1)]


def header(*, wiki: str | None = "testwiki", lang: str = "en", version: str = "0.11", base: str | None = None) -> bytes:
    names = "\n".join(
        f'      <namespace key="{key}" case="first-letter">{name}</namespace>' for key, name in NAMESPACES.items()
    )
    told = f"    <dbname>{wiki}</dbname>\n" if wiki else ""
    address = base or "https://test.example.org/wiki/Main_Page"
    return (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-{version}/" version="{version}" xml:lang="{lang}">\n'
        f"  <siteinfo>\n    <sitename>Test</sitename>\n{told}    <base>{address}</base>\n"
        f"    <case>first-letter</case>\n    <namespaces>\n{names}\n    </namespaces>\n  </siteinfo>\n"
    ).encode()


FOOTER = b"</mediawiki>\n"


def xml(pages: Sequence[DumpPage], beginning: bytes | None = None) -> bytes:
    return (beginning or header()) + b"".join(page.xml() for page in pages) + FOOTER


def write_xml(path: Path, pages: Sequence[DumpPage], beginning: bytes | None = None) -> Path:
    path.write_bytes(xml(pages, beginning))
    return path


def write_bz2(path: Path, pages: Sequence[DumpPage], beginning: bytes | None = None) -> Path:
    path.write_bytes(bz2.compress(xml(pages, beginning)))
    return path


def write_cut(path: Path, pages: Sequence[DumpPage], every: int) -> Path:
    """As parallel compressors do it: a new stream wherever the text is long enough, also within a page."""
    data = xml(pages)
    path.write_bytes(b"".join(bz2.compress(data[at : at + every]) for at in range(0, len(data), every)))
    return path


def write_multistream(
    path: Path, pages: Sequence[DumpPage], *, per_stream: int = 100, index: Path | None, beginning: bytes | None = None
) -> list[int]:
    """The header, each hundred pages and the end are streams of their own. Gives the offsets of those with pages."""
    data, offsets, lines = bz2.compress(beginning or header()), [], []
    for at in range(0, len(pages), per_stream):
        some = pages[at : at + per_stream]
        offsets.append(len(data))
        lines += [f"{len(data)}:{page.page_id}:{escape(page.title)}\n" for page in some]
        data += bz2.compress(b"".join(page.xml() for page in some))
    path.write_bytes(data + bz2.compress(FOOTER))
    if index is not None:
        text = "".join(lines).encode()
        index.write_bytes(bz2.compress(text) if index.name.endswith(".bz2") else text)
    return offsets
