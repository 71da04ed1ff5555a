"""Markdown as CommonMark and GitHub say it: a section for each heading, with its exact text, and the links in it.

Only a heading that stands at the top makes a section; one in a quote or a list is text, and a name of the section it
is in. Of paragraphs that would take too long to read as they should be, only the plainest links are found.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pipelines.files import hyperlinks
from pipelines.files.kinds import MARKDOWN
from pipelines.files.model import Document, Part, Reference, file_alias
from pipelines.files.reading import lines_of
from pipelines.files.text import first_words

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LABEL = "MarkdownSection"
LARGEST = 2 * 2**20
"""More characters than this are read as plain text: no page that people write is as long."""

_LONGEST_PARAGRAPH = 20_000
_MOST_BRACKETS = 200
_FENCES = ("---", "+++")
_TITLE = re.compile(r"""title\s*[:=]\s*["']?(.*?)["']?\s*""", re.IGNORECASE)
_MARKUP = re.compile(r"[\\`*_\[\]<>&]")
_EXPLICIT_ID = re.compile(r"\{#([^\s{}]+)[^{}]*\}$")
_TAG = re.compile(r"<(a|img|h[1-6]|div|span|p|section)\b([^<>]*)>", re.IGNORECASE)
_ANY_TAG = re.compile(r"<[^<>]*>")
_ATTRIBUTE = re.compile(r"""\b(name|id|href|src)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)
_PLAIN_LINK = re.compile(r"\[[^\[\]\n]*\]\(([^()\s]+)\)")


class TooLong(Exception):
    """The text is longer than any that is read as Markdown."""


@dataclass(slots=True, kw_only=True)
class _Section:
    key: str
    title: str
    level: int
    start: int
    parent: str | None = None
    names: list[str] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)


def parse_markdown(path: str, text: str) -> Document:
    outline = Outline(path)
    lines = lines_of(text)
    matter = _front_matter(lines)
    title = _front_matter_title(lines[:matter]) or PurePosixPath(path).stem
    outline.add(lines, matter=matter, key="", title=title)
    return Document(
        mime_type=MARKDOWN, parts=outline.parts, aliases=(file_alias(path), hyperlinks.wiki_name(path)), references=()
    )


class Outline:
    """The sections of one file, read from one text or, as in a notebook, from several in a row."""

    def __init__(self, path: str) -> None:
        self.parts: list[Part] = []
        self._path = path
        self._stem = PurePosixPath(path).stem
        self._slugs = hyperlinks.Slugs()
        self._headings: list[_Section] = []

    def add(
        self,
        lines: Sequence[str],
        *,
        key: str,
        title: str = "",
        matter: int = 0,
        line_number: Callable[[int], int] = lambda line: line + 1,
    ) -> None:
        """Read a text. What comes before its first heading gets this key and title, in the section above it."""
        if sum(map(len, lines)) > LARGEST:
            raise TooLong
        above = self._headings[-1].key if self._headings else None
        reader = _Reader(self, _Section(key=key, title=title, level=0, start=0, parent=above), line_number)
        reader.read("".join(["\n"] * matter + list(lines[matter:])))
        ends = [section.start for section in reader.sections[1:]] + [len(lines)]
        for section, end in zip(reader.sections, ends, strict=True):
            self._finish(section, lines, end, line_number)

    def heading(self, title: str, level: int, start: int) -> _Section:
        while self._headings and self._headings[-1].level >= level:
            self._headings.pop()
        slug = self._slugs.unique(title)
        above = self._headings[-1].key if self._headings else None
        section = _Section(key=slug, title=title, level=level, start=start, parent=above, names=[slug])
        self._headings.append(section)
        return section

    def inner_heading(self, title: str) -> str:
        return self._slugs.unique(title)

    def link(self, href: str, line: int) -> Iterator[Reference]:
        if found := hyperlinks.link(self._path, href, line):
            yield found

    def wiki_links(self, text: str, line: int) -> list[Reference]:
        return hyperlinks.wiki_links(self._path, text, line)

    def _finish(self, section: _Section, lines: Sequence[str], end: int, line_number: Callable[[int], int]) -> None:
        said = [line for line in range(section.start, end) if lines[line].strip()]
        if not said:
            return
        content = "".join(lines[said[0] : said[-1] + 1]).rstrip("\r\n")
        self.parts.append(
            Part(
                label=LABEL,
                key=section.key,
                name=section.title or (self._stem if section.level else first_words(content)),
                content=content,
                start_line=line_number(said[0]),
                end_line=line_number(said[-1]),
                parent=section.parent,
                properties={"title": section.title, "level": section.level, "slug": section.key},
                names=tuple(dict.fromkeys(section.names)),
                references=tuple(section.references),
            )
        )


class _Reader:
    """Goes through the blocks of one text, and keeps the section that it is in."""

    def __init__(self, outline: Outline, first: _Section, line_number: Callable[[int], int]) -> None:
        self.sections = [first]
        self._outline = outline
        self._line_number = line_number
        self._waiting: list[str] = []
        self._line = 0

    def read(self, text: str) -> None:
        parser = _parser()
        env: dict[str, object] = {}
        tokens = parser.parse(text, env)
        heading: Token | None = None
        for token in tokens:
            if token.map:
                self._line = token.map[0]
            if token.type == "heading_open":
                heading = token
            elif token.type == "inline":
                children = _children(parser, token.content, env)
                if heading:
                    self._head(heading, token.content, children)
                    heading = None
                self._inline(token.content, children)
            elif token.type == "html_block":
                self._html(token.content, alone=not _ANY_TAG.sub("", token.content).strip())
        self.sections[-1].names += self._waiting

    def _head(self, heading: "Token", content: str, children: Sequence["Token"] | None) -> None:
        title = _plain(children) if children is not None else content.strip()
        explicit = _EXPLICIT_ID.search(title) if title.endswith("}") else None
        if explicit:
            title = title[: explicit.start()].rstrip()
        if heading.level:
            names = [self._outline.inner_heading(title)]
        else:
            self.sections.append(self._outline.heading(title, int(heading.tag[1]), self._line))
            names = [self.sections[-1].key]
        self.sections[-1].names += [*names, *([explicit.group(1)] if explicit else []), *self._waiting]
        self._waiting.clear()

    def _inline(self, content: str, children: Sequence["Token"] | None) -> None:
        if children is None:
            for found in _PLAIN_LINK.finditer(content):
                self._refer(found.group(1), self._line + content.count("\n", 0, found.start()))
            return
        if self._waiting and not _only_tags(children):
            self._settle()
        line, shown = self._line, ""
        for child in children:
            if child.type in {"softbreak", "hardbreak"}:
                line += 1
                shown += "\n"
            elif child.type == "link_open":
                self._refer(str(child.attrs["href"]), line)
            elif child.type == "image":
                self._refer(str(child.attrs["src"]), line)
            elif child.type == "html_inline":
                self._html(child.content, alone=_only_tags(children), line=line)
            elif child.type != "code_inline":
                shown += child.content
        if "[[" in shown:
            wiki = self._outline.wiki_links(shown, 0)
            self.sections[-1].references += [_at(each, self._line_number(self._line + each.line)) for each in wiki]

    def _html(self, content: str, *, alone: bool, line: int | None = None) -> None:
        """Names and links of raw tags. A name that stands alone before a heading is that heading's."""
        if not alone:
            self._settle()
        first = self._line if line is None else line
        content = _without_comments(content)
        for tag in _TAG.finditer(content):
            for attribute in _ATTRIBUTE.finditer(tag.group(2)):
                value = attribute.group(2).strip("\"'")
                if attribute.group(1).lower() in {"href", "src"}:
                    self._refer(value, first + content.count("\n", 0, tag.start()))
                elif value:
                    (self._waiting if alone else self.sections[-1].names).append(value)

    def _settle(self) -> None:
        self.sections[-1].names += self._waiting
        self._waiting.clear()

    def _refer(self, href: str, line: int) -> None:
        self.sections[-1].references += self._outline.link(href, self._line_number(line))


@cache
def _parser() -> "MarkdownIt":
    """Reads blocks only: of what is in them, most has neither a link nor a name and needs no reading."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.disable(["inline", "text_join"])
    # A link is kept as it is written, whatever it leads to: it is never shown in a page.
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return parser


def _children(parser: "MarkdownIt", content: str, env: dict[str, object]) -> Sequence["Token"] | None:
    """What a paragraph consists of; None if finding out would take too long."""
    from markdown_it.token import Token

    if not _MARKUP.search(content):
        return [Token("text", "", 0, content=content)]
    if len(content) > _LONGEST_PARAGRAPH or content.count("[") > _MOST_BRACKETS:
        return None
    return parser.inline.parse(content, parser, env, [])


def _without_comments(content: str) -> str:
    """Raw HTML with only the lines left of its comments."""
    before, *others = content.split("<!--")
    kept = (("\n" * each.partition("-->")[0].count("\n"), each.partition("-->")[2]) for each in others)
    return before + "".join(lines + after for lines, after in kept)


def _plain(children: Sequence["Token"]) -> str:
    shown = ("\n" if child.type in {"softbreak", "hardbreak"} else child.content for child in children if _shows(child))
    return " ".join("".join(shown).split("\n")).strip()


def _shows(child: "Token") -> bool:
    return child.type not in {"html_inline", "image"}


def _only_tags(children: Sequence["Token"]) -> bool:
    return all(child.type == "html_inline" or not child.content.strip() for child in children)


def _at(reference: Reference, line: int) -> Reference:
    return Reference(kind=reference.kind, wants=reference.wants, shown=reference.shown, line=line)


def _front_matter(lines: Sequence[str]) -> int:
    """How many lines at the top belong to the front matter, its fences included."""
    fence = lines[0].rstrip() if lines else ""
    if fence not in _FENCES:
        return 0
    closing = (line for line in range(1, len(lines)) if lines[line].rstrip() == fence)
    return next(closing, -1) + 1


def _front_matter_title(lines: Sequence[str]) -> str:
    titles = (_TITLE.fullmatch(line.strip()) for line in lines)
    return next((found.group(1) for found in titles if found and found.group(1)), "")
