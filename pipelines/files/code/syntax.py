"""What a grammar and its query find in a source text: definitions, names that are used, imported or made locally.

The only module that imports tree-sitter. It names what the queries in `queries/` name, and does not interpret it.
"""

import importlib
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pipelines.files.code.languages import LANGUAGES
from pipelines.files.code.limits import Reader, check_text, check_tree

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

_QUERIES = Path(__file__).parent / "queries"
# Patterns keep few matches open at once; in a text that is all errors they could keep many.
_OPEN_MATCHES = 4096
# From a depth of 32,768 on, queries take time with the square of the depth.
_DEEPEST = 5000
# A chain of calls holds a shorter one and so on: taken whole, their texts would grow with the square of its length.
LONGEST_NAME = 200
_TEXTS = frozenset({"comment", "doc"})


@dataclass(slots=True)
class Definition:
    """Bytes from `start` to `end` with what belongs to it (decorators); from `head` on it is the definition itself."""

    start: int
    end: int
    head: int
    body: int
    kind: str
    name: str
    name_at: int
    owner: str | None = None


class Mark(NamedTuple):
    """A name or an expression, where it stands. One that is too long for a name has no text."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class Syntax:
    """Everything in the order of the source but what a definition contains, which is found by its bytes."""

    definitions: list[Definition] = field(default_factory=list)
    marks: defaultdict[str, list[Mark]] = field(default_factory=lambda: defaultdict(list))
    imports: list["Node"] = field(default_factory=list)

    def of(self, role: str) -> list[Mark]:
        return self.marks[role]


def read_syntax(source: bytes, language: str) -> Syntax:
    """TooOdd is raised for what is not worth reading as code."""
    from tree_sitter import QueryCursor

    parser, query, kinds = _tools(language)
    check_text(source)
    reader = Reader(source)
    root = parser.parse(reader).root_node
    reader.check()
    check_tree(root)
    syntax = Syntax()
    by_name: dict[int, Definition] = {}
    cursor = QueryCursor(query, match_limit=_OPEN_MATCHES)
    cursor.set_max_start_depth(_DEEPEST)
    for pattern, found in cursor.matches(root):
        if kind := kinds.get(pattern):
            _define(by_name, source, found, *kind)
        elif "import" in found:
            syntax.imports += found["import"]
        elif "qualifier" in found:
            _note_qualified(syntax, source, found["qualifier"][0], found["use"][0])
        else:
            _note(syntax, source, found)
    _widen(source, by_name, syntax.marks.pop("wrapper", []), syntax.marks.pop("decorated", []))
    syntax.definitions = sorted(by_name.values(), key=lambda each: (each.start, -each.end))
    for marks in syntax.marks.values():
        marks.sort(key=lambda mark: mark.start)
    return syntax


def _note(syntax: Syntax, source: bytes, found: dict[str, list["Node"]]) -> None:
    for role, nodes in found.items():
        if role[0] != "_":
            marks = syntax.marks[role]
            for node in nodes:
                start, end = node.start_byte, node.end_byte
                whole = end - start <= LONGEST_NAME or role in _TEXTS
                marks.append(Mark(start, end, source[start:end].decode(errors="replace") if whole else ""))


def _note_qualified(syntax: Syntax, source: bytes, qualifier: "Node", name: "Node") -> None:
    """A call whose grammar keeps apart what is called and of what."""
    text = f"{text_of(qualifier, source)}.{text_of(name, source)}"
    syntax.marks["use"].append(Mark(qualifier.start_byte, name.end_byte, text))


def _define(
    by_name: dict[int, Definition], source: bytes, found: dict[str, list["Node"]], kind: str, name: str | None
) -> None:
    scope = found["scope"][0]
    named = found["name"][0] if "name" in found else None
    if named is not None:
        name = text_of(named, source)
    if not name:  # the parser put one in where it missed one
        return
    name_at = named.start_byte if named is not None else scope.start_byte
    start, end = scope.start_byte, scope.end_byte
    while source[end - 1] in b" \t\r\n" and end > start:  # a macro ends after its line break
        end -= 1
    body = found["body"][0].start_byte if "body" in found else end
    owner = text_of(found["owner"][0], source) if "owner" in found else None
    known = by_name.setdefault(name_at, Definition(start, end, start, body, kind, name, name_at, owner))
    known.body, known.owner = min(known.body, body), known.owner or owner


def _widen(source: bytes, by_name: dict[int, Definition], wrappers: list[Mark], decorated: list[Mark]) -> None:
    """To an export, a template, decorators: whatever holds one definition and, after it, nothing more."""
    definitions = sorted(by_name.values(), key=lambda each: (each.head, -each.end))
    heads = [each.head for each in definitions]
    silent = set(map(id, decorated))
    for wrapper in sorted((*wrappers, *decorated), key=lambda mark: -mark.start):
        place = bisect_left(heads, wrapper.start)
        if place == len(definitions) or (first := definitions[place]).end > wrapper.end:
            continue
        if not source[first.end : wrapper.end].strip(b" \t\r\n;"):
            first.start, first.end = wrapper.start, wrapper.end
            first.head = first.head if id(wrapper) in silent else wrapper.start


def text_of(node: "Node", source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode(errors="replace")


@cache
def _tools(language: str) -> tuple["Parser", "Query", dict[int, tuple[str, str | None]]]:
    """The parser and the query; and of each pattern that defines a scope its kind, and its name where it has none."""
    from tree_sitter import Language, Parser, Query

    known = LANGUAGES[language]
    module, function = known.grammar
    grammar = Language(getattr(importlib.import_module(module), function)())
    texts = [(_QUERIES / f"{name}.scm").read_text(encoding="utf-8") for name in known.queries]
    query = Query(grammar, "\n".join(texts))
    settings = [query.pattern_settings(pattern) for pattern in range(query.pattern_count)]
    kinds = {pattern: (kind, each.get("name")) for pattern, each in enumerate(settings) if (kind := each.get("kind"))}
    return Parser(grammar), query, kinds
