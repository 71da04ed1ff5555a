"""JSON and JSON lines: each item at the top as lines that a person can read, and small ones together in one piece."""

from collections.abc import Iterator, Mapping, Sequence
from json import JSONDecodeError, JSONDecoder
from re import compile as pattern
from typing import NamedTuple

from pipelines.files.kinds import JSON, JSON_LINES
from pipelines.files.model import Document, file_alias
from pipelines.files.reading import lines_of, storable
from pipelines.files.text import Line, TextSections, bounded

_LONGEST_WORD = 500
# A list of so many plain values is shown on one line.
_SHORT_LIST = 2_000
_ELEMENT = "-"
_DECODER = JSONDecoder(strict=False)
_SPACE = pattern(r"[ \t\r\n]*")


class Item(NamedTuple):
    """A member of an object, or an element of an array with its place as key; `start` is where its value begins."""

    key: str
    value: object
    start: int


def parse_json(path: str, text: str) -> Document:
    """Read by the keys of an object or the elements of an array; any other value is text, and not for this reader."""
    return _document(path, JSON, _render(text, items(text)))


def parse_json_lines(path: str, text: str) -> Document:
    """Read one value from each line. A line that is no JSON is shown as it stands."""
    return _document(path, JSON_LINES, _render_lines(lines_of(text)))


def items(text: str, start: int = 0) -> Iterator[Item]:
    """What is directly in the object or array that begins at a place, with where each value begins."""
    place = _skip(text, start)
    opening = text[place : place + 1]
    if opening not in {"{", "["}:
        raise JSONDecodeError("expected an object or an array", text, place)
    closing = "}" if opening == "{" else "]"
    place, number = _skip(text, place + 1), 0
    while text[place : place + 1] != closing:
        key = str(number)
        if opening == "{":
            name, place = _DECODER.raw_decode(text, place)
            key, place = str(name), _skip(text, _past(text, place, ":"))
        value, end = _DECODER.raw_decode(text, place)
        yield Item(key, value, place)
        place, number = _skip(text, end), number + 1
        if text[place : place + 1] != closing:
            place = _skip(text, _past(text, place, ","))
    if not start and _skip(text, place + 1) < len(text):
        raise JSONDecodeError("expected nothing more", text, place + 1)


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    assert found  # nothing at all matches too
    return found.end()


def _past(text: str, place: int, separator: str) -> int:
    place = _skip(text, place)
    if text[place : place + 1] != separator:
        raise JSONDecodeError(f"expected {separator!r}", text, place)
    return place + 1


def _document(path: str, mime_type: str, lines: Iterator[Line]) -> Document:
    sections = TextSections()
    sections.add(bounded(lines))
    return Document(mime_type=mime_type, parts=sections.parts, aliases=(file_alias(path),))


def _render(text: str, found: Iterator[Item]) -> Iterator[Line]:
    number, counted = 1, 0
    for item in found:
        number += text.count("\n", counted, item.start)
        counted = item.start
        yield from _item(item.key, item.value, number)


def _render_lines(lines: Sequence[str]) -> Iterator[Line]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                value = _DECODER.decode(line)
            except JSONDecodeError:
                yield Line(line, number, opens=True)
            else:
                yield from _item("", value, number)


def _item(key: str, value: object, number: int) -> Iterator[Line]:
    for place, said in enumerate(_said(key, value, "")):
        yield Line(f"{storable(said)}\n", number, opens=not place)
    yield Line("\n", number, opens=False)


def _said(key: str, value: object, indent: str) -> Iterator[str]:
    if isinstance(value, list) and (listed := _on_one_line(value)):
        yield f"{indent}{_lead(key)}{listed}"
    elif isinstance(value, Mapping | list):
        if key:
            yield f"{indent}{_lead(key).rstrip()}"
        within = f"{indent}  " if key else indent
        inside = value.items() if isinstance(value, Mapping) else [(_ELEMENT, each) for each in value]
        for name, each in inside:
            yield from _said(str(name), each, within)
    else:
        yield f"{indent}{_lead(key)}{_shown(value)}"


def _lead(key: str) -> str:
    return f"{key} " if key == _ELEMENT else f"{key}: " if key else ""


def _on_one_line(values: Sequence[object]) -> str | None:
    """Plain values with commas between; None if there is more than that in the list."""
    if len(values) > _SHORT_LIST or any(isinstance(value, Mapping | list) for value in values):
        return None
    listed = ", ".join(map(_shown, values))
    return listed if len(listed) <= _SHORT_LIST else None


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    shown = str(value)
    # A word of this length is a picture or a key, and no text that anybody looks for.
    if len(shown) > _LONGEST_WORD and not any(map(str.isspace, shown[:_LONGEST_WORD])):
        return f"{shown[:_LONGEST_WORD]} ({len(shown) - _LONGEST_WORD} more characters)"
    return shown
