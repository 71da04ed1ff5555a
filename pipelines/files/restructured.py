"""reStructuredText: a section for each title with its exact text, and what Sphinx and docutils take for links.

The text is only parsed. Nothing is inserted from other files, fetched, substituted or run: no page can make this read
more than the page itself, or grow it without bounds.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from posixpath import dirname
from typing import TYPE_CHECKING

from pipelines.files import hyperlinks
from pipelines.files.kinds import RESTRUCTURED
from pipelines.files.model import Document, Reference, ReferenceKind, file_alias
from pipelines.files.reading import lines_of
from pipelines.files.text import TextSections, plain_lines

if TYPE_CHECKING:
    from docutils import nodes

LARGEST = 2**19
"""Longer texts are read as plain text: docutils takes seconds for one of this length."""

MOST_WORK = 4 * 10**7
"""So often may docutils look at a character: from every mark that opens something, it looks to the paragraph's end."""

_MARKS = "`*|"
_ROLE = re.compile(r":(doc|ref|numref|download):`([^`]+)`")
_TARGET = re.compile(r"<([^<>]+)>\s*$")
_TOCTREE = re.compile(r"[ \t]*\.\. toctree::")
_LINE_BREAKS = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]")
_DOCUMENTS = (".rst", ".md", ".txt", ".ipynb")


class TooMuchWork(Exception):
    """The text would take longer to parse than any that people write."""


@dataclass(slots=True, kw_only=True)
class _Section:
    start: int
    title: str = ""
    names: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)


def parse_restructured(path: str, text: str) -> Document:
    lines = lines_of(text)
    if len(text) > LARGEST or _work(lines) > MOST_WORK:
        raise TooMuchWork
    tree = _tree(path, lines)
    sections = [_Section(start=0), *_sections(tree, lines)]
    ends = [section.start for section in sections[1:]] + [len(lines)]
    made = TextSections()
    for section, end in zip(sections, ends, strict=True):
        numbers = range(section.start + 1, end + 1)
        made.add(
            plain_lines("".join(lines[section.start : end]), numbers),
            title=section.title,
            names=[*section.names, *section.labels],
        )
    labels = (f"ref:{name}" for section in sections for name in section.labels)
    return Document(
        mime_type=RESTRUCTURED,
        parts=made.parts,
        aliases=tuple(dict.fromkeys((file_alias(path), *labels))),
        references=tuple(sorted({*_links(path, tree), *_roles(path, text), *_toctrees(path, lines)}, key=_order)),
    )


def _work(lines: Sequence[str]) -> int:
    work = length = marks = 0
    for line in (*lines, ""):
        if line.strip():
            length += len(line)
            marks += sum(map(line.count, _MARKS))
        else:
            work += length * marks
            length = marks = 0
    return work


def _order(reference: Reference) -> tuple[int, str, tuple[str, ...]]:
    return reference.line, reference.shown, reference.wants


def _tree(path: str, lines: Sequence[str]) -> "nodes.document":
    from io import StringIO

    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.utils import new_document

    parser = Parser()
    settings = get_default_settings(parser)
    settings.file_insertion_enabled = settings.raw_enabled = False
    settings.report_level = settings.halt_level = 5  # that is never: a fault in a page is not ours to report
    settings.warning_stream = StringIO()
    settings.syntax_highlight = "none"
    document = new_document(path, settings)
    # In lines as we count them: docutils also breaks lines at form feeds and the like.
    parser.parse("\n".join(_LINE_BREAKS.sub(" ", line.rstrip("\r\n")) for line in lines), document)
    return document


def _sections(tree: "nodes.document", lines: Sequence[str]) -> Iterator[_Section]:
    """Each title, with the labels that stand right before it and thereby name it."""
    from docutils import nodes

    labels: list[str] = []
    for node in tree.findall():
        if isinstance(node, nodes.section) and isinstance(node[0], nodes.title) and node.line is not None:
            said = node[0].astext()
            names = list(filter(None, [nodes.make_id(said)]))
            yield _Section(start=_start(node.line, lines), title=said, names=names, labels=labels)
        if isinstance(node, nodes.target) and not node.get("refuri"):
            labels += node["names"]
        elif not isinstance(node, nodes.section):
            labels = []


def _start(underline: int, lines: Sequence[str]) -> int:
    """The first line of a title, which may have a line above as well as below; docutils tells where the latter is."""
    title = max(underline - 2, 0)
    overlined = title > 0 and lines[title - 1].strip() and lines[title - 1].rstrip() == lines[underline - 1].rstrip()
    return title - 1 if overlined else title


def _links(path: str, tree: "nodes.document") -> Iterator[Reference]:
    from docutils import nodes

    targets = {
        name: target["refuri"]
        for target in tree.findall(nodes.target)
        for name in target["names"]
        if target.get("refuri")
    }
    for node in tree.findall():
        line = _line(node)
        found = None
        if isinstance(node, nodes.image):
            found = hyperlinks.link(path, node["uri"], line)
        elif isinstance(node, nodes.reference):
            name = node.get("refname", "")
            uri = node.get("refuri") or targets.get(name)
            if uri:
                found = hyperlinks.link(path, uri, line)
            elif name:
                wants = tuple(dict.fromkeys((f"#{nodes.make_id(name)}", f"#{name}")))
                found = Reference(kind=ReferenceKind.LINK, wants=wants, shown=f"{node.astext()}_", line=line)
        if found:
            yield found


def _line(node: "nodes.Node") -> int:
    while node.line is None and node.parent is not None:
        node = node.parent
    return node.line or 1


def _roles(path: str, text: str) -> Iterator[Reference]:
    line, counted = 1, 0
    for found in _ROLE.finditer(text):
        line += text.count("\n", counted, found.start())
        counted = found.start()
        role, inside = found.groups()
        explicit = _TARGET.search(inside)
        target = (explicit.group(1) if explicit else inside).strip()
        if role == "download":
            wants = tuple(file_alias(each) for each in _places(path, target))
        elif role == "doc":
            wants = _document_wants(path, target)
        else:
            label = " ".join(target.lower().split())
            wants = (f"ref:{label}#{label}",)
        yield Reference(kind=ReferenceKind.LINK, wants=wants, shown=found.group(), line=line)


def _toctrees(path: str, lines: Sequence[str]) -> Iterator[Reference]:
    """The pages that a table of contents lists, each on a line that is indented deeper than the table."""
    depth: int | None = None
    for number, line in enumerate(lines, 1):
        said = line.strip()
        indent = len(line) - len(line.lstrip())
        if _TOCTREE.match(line):
            depth = indent
        elif said and depth is not None and indent <= depth:
            depth = None
        elif said and depth is not None and not said.startswith(":") and said != "self" and "*" not in said:
            explicit = _TARGET.search(said)
            target = explicit.group(1).strip() if explicit else said
            if "://" not in target:
                wants = _document_wants(path, target)
                yield Reference(kind=ReferenceKind.LINK, wants=wants, shown=said, line=number)


def _document_wants(path: str, target: str) -> tuple[str, ...]:
    return tuple(
        file_alias(f"{place}{extension}") for place in _places(path, target) for extension in ("", *_DOCUMENTS)
    )


def _places(path: str, target: str) -> list[str]:
    """Where a target may be. From `/`, that is from the top of the pages, which may be any folder above this one."""
    if not target.startswith("/"):
        place = hyperlinks.resolved(path, target)
        return [place] if place else []
    steps = list(filter(None, dirname(path).split("/")))
    tops = ["/".join(steps[:depth]) for depth in range(len(steps), -1, -1)]
    return [f"{top}{target}".lstrip("/") for top in tops]
