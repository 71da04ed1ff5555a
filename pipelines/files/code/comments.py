"""The comment that stands right before a definition, as part of it and as its documentation."""

import re
from collections.abc import Sequence

from pipelines.files.code.syntax import Mark

_OPENING = re.compile(r"^\s*(?:/\*+!?|//+!?|#+!?|=begin\b|\*+(?!/))[ \t]?")
_CLOSING = re.compile(r"\s*(?:\*+/|=end)\s*$")


class Comments:
    """Those of a file, and attributes, which belong to a definition but say nothing of it in words.

    One that has been taken as part of a definition is not part of another.
    """

    def __init__(self, source: bytes, comments: Sequence[Mark], attributes: Sequence[Mark]) -> None:
        self._source = source
        silent = [Mark(mark.start, mark.end, "") for mark in attributes]
        self._by_end = {self._end(mark): mark for mark in (*comments, *silent) if self._begins_its_line(mark.start)}

    def before(self, start: int) -> tuple[int, str | None]:
        """Where the definition starts with its comments, and what they say."""
        taken: list[Mark] = []
        if self._by_end and self._begins_its_line(start):
            while mark := self._by_end.pop(self._end_above(start), None):
                taken.append(mark)
                start = mark.start
        return start, _said([mark.text for mark in reversed(taken)]) or None

    def _begins_its_line(self, start: int) -> bool:
        return not self._source[self._source.rfind(b"\n", 0, start) + 1 : start].strip()

    def _end(self, mark: Mark) -> int:
        """Where its text ends: some grammars take the line break for a part of the comment, and some a space."""
        text = self._source[mark.start : mark.end]
        return mark.start + len(text.rstrip())

    def _end_above(self, start: int) -> int:
        """Where the text ends that is on the line above."""
        above = self._source.rfind(b"\n", 0, start)
        if above < 0:
            return -1
        begin = self._source.rfind(b"\n", 0, above) + 1
        return begin + len(self._source[begin:above].rstrip())


def _said(texts: Sequence[str]) -> str:
    lines = [line for text in texts for line in _CLOSING.sub("", text.rstrip()).splitlines()]
    return "\n".join(_OPENING.sub("", line).rstrip() for line in lines).strip()
