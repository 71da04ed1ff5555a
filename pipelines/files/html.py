"""HTML as a person sees it: a section for each heading, without scripts, styles and navigation.

Links count wherever they are, also in navigation. Elements nested deeper than libxml2 reads make it no HTML at all.
"""

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from pipelines.files import hyperlinks
from pipelines.files.kinds import HTML
from pipelines.files.model import Document, Reference, file_alias
from pipelines.files.text import Line, TextSections

_UNSEEN = frozenset(
    {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "nav", "head", "button", "select"}
)
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_INLINE = frozenset(
    {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img"}
    | {"ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time"}
    | {"tt", "u", "var", "wbr"}
)
_CELLS = frozenset({"td", "th"})
_PARAGRAPHS = frozenset({"p", "pre", "ul", "ol", "dl", "table", "blockquote", "section", "article", "figure", "div"})


class NotHtml(Exception):
    """Nothing, or not all of it, could be read as HTML."""


@dataclass(slots=True)
class _Section:
    title: str = ""
    names: list[str] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)


def parse_html(path: str, text: str) -> Document:
    page = _Page(path)
    page.read(_tree(text))
    sections = TextSections()
    for place, section in enumerate(page.sections):
        title = section.title or (page.title if not place else "")
        sections.add(section.lines, title=title, names=section.names)
    return Document(
        mime_type=HTML, parts=sections.parts, aliases=(file_alias(path),), references=tuple(page.references)
    )


def _tree(text: str) -> Any:  # lxml has no types
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, huge_tree=True)
    tree = etree.fromstring(text.encode(), parser)
    if tree is None or any(error.level == etree.ErrorLevels.FATAL for error in parser.error_log):
        raise NotHtml
    return tree


class _Page:
    """Goes through a tree and keeps the section and the line that it is in."""

    def __init__(self, path: str) -> None:
        self.title = PurePosixPath(path).stem
        self.sections = [_Section()]
        self.references: list[Reference] = []
        self._path = path
        self._said: list[str] = []
        self._line = 1
        self._opens = True
        self._waiting: list[str] = []
        self._unseen = self._as_written = 0
        self._heading = False

    def read(self, tree: Any) -> None:
        from lxml import etree

        self.title = " ".join((tree.findtext(".//title") or "").split()) or self.title
        # Without recursion: pages are nested deeper than Python's stack.
        for event, element in etree.iterwalk(tree, events=("start", "end")):
            if event == "start":
                self._begin(element)
                self._say(element.text, element)
            else:
                self._end(element)
                self._say(element.tail, element)
        self._break()
        self.sections[-1].names += self._waiting

    def _begin(self, element: Any) -> None:
        tag = element.tag
        self._unseen += tag in _UNSEEN
        if tag not in _INLINE and tag not in _CELLS:
            self._break(paragraph=tag in _PARAGRAPHS)
        self._as_written += tag == "pre"
        if tag in _HEADINGS and not self._unseen:
            self._heading = True
            self.sections.append(_Section(names=self._waiting))
            self._waiting = []
        self._waiting += filter(None, [element.get("id"), element.get("name") if tag == "a" else None])
        href = element.get("href") if tag in {"a", "area"} else element.get("src") if tag == "img" else None
        if href and (found := hyperlinks.link(self._path, href, element.sourceline or self._line)):
            self.references.append(found)
        if tag == "img" and element.get("alt"):
            self._say(element.get("alt"), element)

    def _end(self, element: Any) -> None:
        tag = element.tag
        if tag in _HEADINGS and self._heading and not self._unseen:
            said = [line.text for line in self.sections[-1].lines] + self._said
            self.sections[-1].title = " ".join("".join(said).split())
            self._heading = False
        if tag in _CELLS:
            self._say(" ", element)
        elif tag not in _INLINE:
            self._break(paragraph=tag in _PARAGRAPHS or tag in _HEADINGS)
        self._unseen -= tag in _UNSEEN
        self._as_written -= tag == "pre"

    def _say(self, text: str | None, element: Any) -> None:
        if not text or self._unseen:
            return
        if not self._said:
            self._line = max(self._line, element.sourceline or 1)
        if self._as_written:
            for piece in text.splitlines(keepends=True):
                self._said.append(piece)
                if piece.endswith(("\n", "\r")):
                    self._break()
        else:
            self._said.append(text)
        if self._waiting and text.strip():
            self.sections[-1].names += self._waiting
            self._waiting = []

    def _break(self, *, paragraph: bool = False) -> None:
        """End the line, unless nothing was said in it. In `pre`, lines and the spaces in them are as written."""
        whole = "".join(self._said)
        self._said.clear()
        said = whole.rstrip() if self._as_written else " ".join(whole.split())
        if said or (self._as_written and whole):
            self.sections[-1].lines.append(Line(f"{said}\n", self._line, opens=self._opens))
            self._opens = False
        if paragraph and not self._opens:
            self.sections[-1].lines.append(Line("\n", self._line, opens=False))
            self._opens = True
