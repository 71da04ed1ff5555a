"""Plain text, cut into pieces on natural boundaries, and the pieces of every format that has no finer ones.

Where to cut is told by the text around a place and by nothing further away, so an edit changes the pieces it touches
and their neighbours: all others keep their text, and with it their vectors.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import accumulate, islice, pairwise
from re import compile as pattern
from typing import NamedTuple
from zlib import crc32

from pipelines.files.hyperlinks import Slugs
from pipelines.files.kinds import TEXT
from pipelines.files.model import Document, Part, file_alias
from pipelines.files.reading import lines_of

LABEL = "TextSection"
SHORTEST = 400
LONGEST = 1500
MOST_LINES = 200_000
"""Of data that is shown line by line, what is beyond is not read: it is there to be counted, and not to be found."""

_REACH = 500
_HELD = 50_000
_NAME = 60
_WORDS = pattern(r"\S{1,1000}\s*|\s+")


class Line(NamedTuple):
    """A line with its end, the number it has in the file, and whether a paragraph, row or item begins with it."""

    text: str
    number: int
    opens: bool


class TextSections:
    """The TextSections of one file in the making, with keys that are unique and change with title or text only."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._slugs = Slugs()
        self._repeats: dict[str, int] = {}

    def add(self, lines: Iterable[Line], *, title: str = "", names: Sequence[str] = ()) -> None:
        """Add a section in as many pieces as it takes; the first is the one that the names lead to."""
        slug = self._slugs.unique(title) if title else ""
        own = dict.fromkeys((slug, *names) if slug else names)
        for content, start, end in pieces(lines):
            digest = blake2b(content.encode(), digest_size=8).hexdigest()
            key = f"{slug}~{digest}" if slug and not own else slug or digest
            self.parts.append(
                Part(
                    label=LABEL,
                    key=self._once(key),
                    name=title or first_words(content),
                    content=content,
                    start_line=start,
                    end_line=end,
                    names=tuple(own),
                )
            )
            own = {}

    def _once(self, key: str) -> str:
        self._repeats[key] = repeats = self._repeats.get(key, 0) + 1
        return key if repeats == 1 else f"{key}~{repeats}"


def parse_text(path: str, text: str, *, mime_type: str = TEXT, language: str | None = None) -> Document:
    """Read any text as paragraphs."""
    sections = TextSections()
    sections.add(plain_lines(text))
    return Document(mime_type=mime_type, language=language, parts=sections.parts, aliases=(file_alias(path),))


def first_words(text: str, limit: int = _NAME) -> str:
    """What a text without a title is called: its beginning on one line."""
    words = " ".join(text[: limit * 4].split())
    return words if len(words) <= limit else words[:limit].rpartition(" ")[0] or words[:limit]


def plain_lines(text: str, numbers: Sequence[int] = ()) -> Iterator[Line]:
    """The lines of a text, where a paragraph begins after a blank line."""
    after_blank = True
    for place, line in enumerate(lines_of(text)):
        blank = not line.strip()
        yield Line(line, numbers[place] if numbers else place + 1, opens=after_blank and not blank)
        after_blank = blank


def bounded(lines: Iterable[Line], most: int = MOST_LINES) -> Iterator[Line]:
    """The first lines of data, and a last one that says if there are more."""
    for place, line in enumerate(lines):
        if place == most:
            yield Line("(what follows is not read)\n", line.number, opens=True)
            return
        yield line


def pieces(lines: Iterable[Line]) -> Iterator[tuple[str, int, int]]:
    """The text of each piece with its first and last line; blank lines around pieces belong to none."""
    for piece in _pieces(_in_short_lines(lines)):
        said = [place for place, line in enumerate(piece) if line.text.strip()]
        if said:
            content = "".join(line.text for line in piece[said[0] : said[-1] + 1]).rstrip()
            yield content, piece[said[0]].number, piece[said[-1]].number


def _pieces(lines: Iterator[Line]) -> Iterator[Sequence[Line]]:
    """The lines of each piece, found so many lines at a time that a long text does not fill the memory."""
    held: list[Line] = []
    while read := list(islice(lines, _HELD)):
        held += read
        cuts = list(_cuts(held))
        # What follows has a say in where the last ones end.
        done = cuts[:-3] if len(read) == _HELD else cuts
        yield from (held[start:end] for start, end in done)
        held = held[done[-1][1] if done else 0 :]
    yield from (held[start:end] for start, end in _cuts(held))


def _in_short_lines(lines: Iterable[Line]) -> Iterator[Line]:
    """A line that is longer than a piece may be is taken for several, broken between words where there are any."""
    for line in lines:
        if len(line.text) <= LONGEST:
            yield line
        else:
            words = _WORDS.findall(line.text)
            yield from (Line(word, line.number, opens=line.opens and not place) for place, word in enumerate(words))


def _cuts(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    places = [0, *accumulate(len(line.text) for line in lines)]
    ranks = [_rank(line) for line in lines]
    marks = [0, *_lowest_around(places, ranks), len(lines)] if places[-1] > LONGEST else [0, len(lines)]
    for start, end in pairwise(marks):
        yield from _in_bounds(start, end, places, ranks)


def _rank(line: Line) -> int:
    """How little a place to cut before this line is preferred: those where something begins first, then by chance."""
    return (not line.opens) << 32 | crc32(line.text.strip().encode())


def _lowest_around(places: Sequence[int], ranks: Sequence[int]) -> Iterator[int]:
    """The lines that rank lowest within reach on both sides; the ends of the text rank lower than any."""
    window: deque[int] = deque()
    ahead = 0
    last = places[-1]
    for line, place in enumerate(places[:-1]):
        while ahead < len(ranks) and places[ahead] <= place + _REACH:
            while window and ranks[window[-1]] > ranks[ahead]:
                window.pop()
            window.append(ahead)
            ahead += 1
        while places[window[0]] < place - _REACH:
            window.popleft()
        if window[0] == line and _REACH <= place <= last - _REACH:
            yield line


def _in_bounds(start: int, end: int, places: Sequence[int], ranks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """A stretch that is still too long is cut from its beginning on, at the lowest ranks that keep pieces in bounds."""
    while places[end] - places[start] > LONGEST:
        best = middle = start + 1
        while middle < end and places[middle] - places[start] <= LONGEST:
            if places[best] - places[start] < SHORTEST or ranks[middle] <= ranks[best]:
                best = middle
            middle += 1
        yield start, best
        start = best
    yield start, end
