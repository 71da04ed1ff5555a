"""Notebooks of Jupyter: the text of their cells, and not what running them printed or drew.

A cell of Markdown is read as Markdown; headings go on from cell to cell. A cell of code is a Scope of the kind `cell`.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from pipelines.files.hyperlinks import wiki_name
from pipelines.files.kinds import NOTEBOOK
from pipelines.files.markdown import Outline
from pipelines.files.model import Document, Part, file_alias
from pipelines.files.reading import lines_of, storable
from pipelines.files.structured import Item, items, parse_json
from pipelines.files.text import TextSections, first_words, plain_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """`numbers` are the lines of the file that the lines of the source stand in."""

    kind: str
    key: str
    source: str
    numbers: Sequence[int]


def parse_notebook(path: str, text: str) -> Document:
    notebook = {item.key: item for item in items(text)}
    if "cells" not in notebook:
        return parse_json(path, text)
    language = _language(notebook.get("metadata"))
    cells = _cells(text, notebook["cells"].start)
    return Document(
        mime_type=NOTEBOOK,
        language=language,
        parts=_parts(path, cells, language),
        aliases=(file_alias(path), wiki_name(path)),
    )


def _parts(path: str, cells: Sequence[_Cell], language: str) -> list[Part]:
    parts: list[Part] = []
    outline, others = Outline(path), TextSections()
    for cell in cells:
        match cell.kind:
            case "markdown" | "heading":
                outline.add(lines_of(cell.source), key=cell.key, line_number=cell.numbers.__getitem__)
            case "code":
                parts += _code(cell, language)
            case _:
                others.add(plain_lines(cell.source, cell.numbers))
        for builder in (outline, others):
            parts += builder.parts
            builder.parts.clear()
    return parts


def _code(cell: _Cell, language: str) -> list[Part]:
    content = cell.source.rstrip()
    if not content:
        return []
    said = first_words(content)
    return [
        Part(
            label="Scope",
            key=cell.key,
            name=said,
            content=content,
            start_line=cell.numbers[0],
            end_line=cell.numbers[len(lines_of(content)) - 1],
            properties={"kind": "cell", "signature": said, "docstring": None, "language": language},
        )
    ]


def _language(metadata: Item | None) -> str:
    said = metadata.value if metadata else None
    if isinstance(said, Mapping):
        for place, name in (("language_info", "name"), ("kernelspec", "language")):
            about = said.get(place)
            if isinstance(about, Mapping) and isinstance(about.get(name), str):
                return storable(about[name]).lower()
    return "python"


def _cells(text: str, start: int) -> list[_Cell]:
    breaks = [found.start() for found in re.finditer("\n", text)]
    keys: set[str] = set()
    cells = []
    for item in items(text, start):
        cell = {member.key: member for member in items(text, item.start)}
        if "source" in cell:
            key = _unique(_key(cell, item), keys)
            source, numbers = _source(text, cell["source"], lambda place: bisect_left(breaks, place) + 1)
            kind = str(cell["cell_type"].value) if "cell_type" in cell else ""
            cells.append(_Cell(kind=kind, key=key, source=source, numbers=numbers))
    return cells


def _key(cell: Mapping[str, Item], item: Item) -> str:
    """The name that newer notebooks give to a cell, which it keeps wherever it goes; else its place."""
    name = cell["id"].value if "id" in cell else None
    return f"cell {storable(name) if isinstance(name, str) and name else int(item.key) + 1}"


def _unique(key: str, keys: set[str]) -> str:
    found, repeats = key, 1
    while found in keys:
        repeats += 1
        found = f"{key}~{repeats}"
    keys.add(found)
    return found


def _source(text: str, source: Item, line_at: Callable[[int], int]) -> tuple[str, list[int]]:
    """The source of a cell, which is a list of lines or one string, and the line of the file for each of its lines."""
    written = list(items(text, source.start)) if isinstance(source.value, list) else [source]
    pieces = [storable(str(each.value)) for each in written]
    starts = [0, *accumulate(map(len, pieces))]
    lines = lines_of("".join(pieces))
    places = [0, *accumulate(map(len, lines))]
    return "".join(pieces), [line_at(written[_piece_at(starts, place, written)].start) for place in places[:-1]]


def _piece_at(starts: Sequence[int], place: int, written: Sequence[Item]) -> int:
    return min(bisect_right(starts, place), len(written)) - 1
