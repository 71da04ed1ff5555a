"""Signs of wikitext, one for each kind of break that lines are later made from, and text that is no markup.

Owns the characters that stand for them while a page is read. No page has them: Unicode sets them aside for inside use,
and a page that holds them all the same loses them here.
"""

import re

SECTION = "\ufdd0"
CELL = "\ufdd1"
CELL_END = "\ufdd2"
CELL_ALONE = "\ufdd3"
"""A cell whose end is not marked."""
ROW = "\ufdd4"
"""A new line, unless it is within a cell."""
ITEM = "\ufdd5"
GAP = "\ufdd6"
"""Where something was left out."""

_SHIFT = 0xF0000
_SIGNS = "'[]{}|<>_!*#:;=-~&()"
_TO_LITERAL = {ord(sign): _SHIFT + ord(sign) for sign in _SIGNS}
_FROM_LITERAL = {_SHIFT + ord(sign): sign for sign in _SIGNS} | {
    ord(mark): None for mark in (CELL, CELL_END, CELL_ALONE, ROW, ITEM, GAP)
}
_LITERAL = re.compile("[\U000f0000-\U000f00ff\ufdd0-\ufdef]")
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\U000f0000-\U000f00ff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def names(words: str) -> frozenset[str]:
    return frozenset(words.split())


def fit(text: str) -> str:
    """Without what no page may hold, and with one kind of line end."""
    if not _UNFIT.search(text):
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNFIT.sub("", _SURROGATE.sub("\ufffd", text))


def literal(text: str) -> str:
    """Text whose signs mean nothing, however they look."""
    return text.translate(_TO_LITERAL)


def readable(text: str) -> str:
    """With literal signs as they look, and no mark."""
    return text.translate(_FROM_LITERAL) if _LITERAL.search(text) else text
