"""Tables in text, CSV and TSV: each row as lines of `name: value`, and rows that belong together in one piece."""

import csv
from collections.abc import Iterator, Sequence

from pipelines.files.kinds import CSV, TSV, mime_type
from pipelines.files.model import Document, file_alias
from pipelines.files.reading import lines_of
from pipelines.files.text import Line, TextSections, bounded

_DELIMITERS = ",;\t|"
_LONGEST_NAME = 80


def parse_table(path: str, text: str) -> Document:
    """Read a table with the names that its first row gives to the columns, if it gives any."""
    kind = TSV if mime_type(path) == TSV else CSV
    lines = lines_of(text)
    sections = TextSections()
    sections.add(bounded(_rows(lines, "\t" if kind == TSV else _delimiter(lines[:20]))))
    return Document(mime_type=kind, parts=sections.parts, aliases=(file_alias(path),))


def _rows(lines: Sequence[str], delimiter: str) -> Iterator[Line]:
    reader = csv.reader(lines, delimiter=delimiter)
    header: list[str] = next(reader, [])
    names = _names(header)
    if names is None:
        names = [f"column {place + 1}" for place in range(len(header))]
        yield from _row(header, names, 1)
    before = reader.line_num
    for row in reader:
        yield from _row(row, names, before + 1)
        before = reader.line_num


def _row(row: Sequence[str], names: Sequence[str], number: int) -> Iterator[Line]:
    opens = True
    for place, value in enumerate(row):
        if said := value.strip():
            name = names[place] if place < len(names) else f"column {place + 1}"
            yield Line(f"{name}: {said}\n", number, opens=opens)
            opens = False
    yield Line("\n", number, opens=False)


def _names(header: Sequence[str]) -> list[str] | None:
    """The first row as the names of columns; None if it looks like any other row."""
    names = [" ".join(name.split())[:_LONGEST_NAME] for name in header]
    if not all(names) or len(set(names)) < len(names) or any(_is_number(name) for name in names):
        return None
    return names


def _is_number(value: str) -> bool:
    try:
        float(value.replace(",", "."))
    except ValueError:
        return False
    return True


def _delimiter(lines: Sequence[str]) -> str:
    """The one that occurs in the most of the first lines; of several, the one that occurs in them most evenly."""
    counts = {each: [line.count(each) for line in lines] for each in _DELIMITERS}
    return max(_DELIMITERS, key=lambda each: (sum(map(bool, counts[each])), -len(set(counts[each])), sum(counts[each])))
