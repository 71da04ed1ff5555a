"""Which texts are too odd to be read as code. They are to be read as plain text instead.

A grammar recovers from errors, but the time and memory for it may grow with the square of the text and worse. So a text
is looked at before it is parsed, while it is, and its tree before it is searched.
"""

from collections.abc import Callable
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_BYTES = 1_000_000
MOST_UNCLOSED = 500
MOST_NODES_WITH_ERRORS = 20_000
# A query takes time with the square of the children of one erroneous node: at this number 0.01 s.
MOST_CHILDREN_OF_ERROR = 3_000
# Of the processor. A megabyte of code takes 0.2 s; what takes this long would take hours.
SECONDS_TO_PARSE = 5.0

_BRACKETS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
_CHUNK = 1024


class TooOdd(Exception):
    """The text is not worth reading as code, and this is why."""


def check_text(source: bytes) -> None:
    if len(source) > MOST_BYTES:
        raise TooOdd(f"{len(source)} bytes, where {MOST_BYTES} are the most that is read as code")
    for opening, closing in _BRACKETS:
        unclosed = source.count(opening) - source.count(closing)
        if unclosed > MOST_UNCLOSED:
            raise TooOdd(f"{unclosed} brackets {opening.decode()} are not closed")
    # A "<" alone compares two things: there may be many, but not more than other signs.
    less = source.count(b"<")
    if less - source.count(b">") > max(MOST_UNCLOSED, len(source) // 50):
        raise TooOdd(f"{less} signs < where code has fewer")


class Reader:
    """Hands the source to a parser in small pieces, and pretends that it ends when that has taken too long."""

    def __init__(self, source: bytes, clock: Callable[[], float] = thread_time) -> None:
        self._source = source
        self._clock = clock
        self._until = clock() + SECONDS_TO_PARSE
        self._late = False

    def __call__(self, offset: int, _: object) -> bytes:
        self._late = self._late or self._clock() > self._until
        return b"" if self._late else self._source[offset : offset + _CHUNK]

    def check(self) -> None:
        if self._late:
            raise TooOdd(f"parsing {len(self._source)} bytes took more than {SECONDS_TO_PARSE:g} seconds")


def check_tree(root: "Node") -> None:
    """Refuses a tree that is mostly errors, or has more of them at once than can be searched."""
    if not root.has_error:
        return
    size = root.end_byte - root.start_byte
    wrong = seen = 0
    coming = [root]
    while coming:
        node = coming.pop()
        seen += 1
        if node.is_error and node.child_count > MOST_CHILDREN_OF_ERROR:
            raise TooOdd(f"{node.child_count} signs in a row make no sense")
        if node.is_error:
            wrong += _senseless(node)
        if wrong * 2 > size:
            raise TooOdd(f"most of it makes no sense: {wrong} of {size} bytes")
        if seen > MOST_NODES_WITH_ERRORS:
            raise TooOdd(f"more than {MOST_NODES_WITH_ERRORS} errors")
        coming += [child for child in node.children if child.has_error]


def _senseless(error: "Node") -> int:
    """The bytes of an error without the larger things in it, which were understood: whole functions, often."""
    understood = sum(child.end_byte - child.start_byte for child in error.children if child.child_count)
    return error.end_byte - error.start_byte - understood
