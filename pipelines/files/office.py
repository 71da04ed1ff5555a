"""PDF by pages and Word documents by headings, with libraries that come as an extra.

Such files have no lines: the lines of a section are the number of its page, or those of its paragraphs.
"""

from collections.abc import Iterator
from io import BytesIO
from logging import CRITICAL, getLogger
from re import compile as pattern
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from pipelines.files.kinds import DOCX, PDF
from pipelines.files.model import CannotRead, Document, file_alias
from pipelines.files.reading import storable
from pipelines.files.text import Line, TextSections, bounded, plain_lines

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.table import Table

_LARGEST_INSIDE = 256 * 2**20
_HEADING = pattern(r"(?:title|heading \d)$")


def parse_pdf(path: str, data: bytes) -> Document:
    """Read a PDF page by page. Without any text it is left out: then its pages are pictures."""
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise _needs_extra("a PDF", error) from error
    getLogger("pypdf").setLevel(CRITICAL)  # it tells of every fault of a file that it gets over
    sections = TextSections()
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise CannotRead("an encrypted PDF: save a copy without a password")
        for number, page in enumerate(reader.pages, 1):
            text = storable(page.extract_text())
            sections.add(Line(line.text, number, line.opens) for line in plain_lines(text))
    except CannotRead:
        raise
    except Exception as error:
        raise CannotRead(f"a PDF that cannot be read: {_in_short(error)}") from error
    if not sections.parts:
        raise CannotRead("a PDF without text: its pages are pictures, or it has none")
    return Document(mime_type=PDF, parts=sections.parts, aliases=(file_alias(path),))


def parse_docx(path: str, data: bytes) -> Document:
    """Read a Word document by its headings, tables included."""
    try:
        import docx
    except ImportError as error:
        raise _needs_extra("a Word document", error) from error
    sections = TextSections()
    try:
        _check_unpacked(data)
        _read_paragraphs(docx.Document(BytesIO(data)), sections)
    except CannotRead:
        raise
    except Exception as error:
        raise CannotRead(f"a Word document that cannot be read: {_in_short(error)}") from error
    if not sections.parts:
        raise CannotRead("a Word document without text")
    return Document(mime_type=DOCX, parts=sections.parts, aliases=(file_alias(path),))


def _needs_extra(what: str, error: ImportError) -> CannotRead:
    return CannotRead(f"{what}, and {error.name} is not there to read it: pip install 'graphmill[office]'")


def _in_short(error: Exception) -> str:
    said = str(error).partition("\n")[0][:100]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _check_unpacked(data: bytes) -> None:
    """Refuse what is packed so tightly that it would fill the memory."""
    try:
        with ZipFile(BytesIO(data)) as packed:
            size = sum(each.file_size for each in packed.infolist())
    except BadZipFile as error:
        raise CannotRead("not a Word document, or an encrypted one") from error
    if size > _LARGEST_INSIDE:
        raise CannotRead(f"too large: {size // 2**20} MB unpacked, at most {_LARGEST_INSIDE // 2**20} MB are read")


def _read_paragraphs(document: "WordDocument", sections: TextSections) -> None:
    title, lines = "", list[Line]()
    for number, (text, heading) in enumerate(_blocks(document), 1):
        if heading and text.strip():
            sections.add(bounded(lines), title=title)
            title, lines = " ".join(text.split()), []
        lines += [Line(f"{text}\n", number, opens=True), Line("\n", number, opens=False)]
    sections.add(bounded(lines), title=title)


def _blocks(document: "WordDocument") -> Iterator[tuple[str, bool]]:
    """Each paragraph and each row of a table, and whether it is a heading."""
    from docx.text.paragraph import Paragraph

    for block in document.iter_inner_content():
        if isinstance(block, Paragraph):
            style = block.style.name if block.style else None
            yield storable(block.text), bool(style and _HEADING.match(style.lower()))
        else:
            yield from ((row, False) for row in _rows(block))


def _rows(table: "Table") -> Iterator[str]:
    for row in table.rows:
        # A merged cell is there once for each of the cells it was made of.
        cells = dict.fromkeys(" ".join(cell.text.split()) for cell in row.cells)
        yield storable(" \t".join(filter(None, cells)))
