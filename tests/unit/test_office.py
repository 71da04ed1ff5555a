"""PDF and Word documents, made by the libraries themselves or by hand."""

import sys
from io import BytesIO

import docx
import pytest
from docx.document import Document as WordDocument
from pypdf import PdfReader, PdfWriter

from pipelines.files.model import CannotRead, Document
from pipelines.files.parsing import parse


def pdf(*pages: str) -> bytes:
    """A PDF as small as they come, with a line of text on each page."""
    count = len(pages)
    kids = " ".join(f"{3 + 2 * place} 0 R" for place in range(count))
    objects = ["<</Type/Catalog/Pages 2 0 R>>", f"<</Type/Pages/Kids[{kids}]/Count {count}>>"]
    font = "<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
    for place, text in enumerate(pages):
        drawn = f"BT /F 12 Tf 72 700 Td ({text}) Tj ET"
        objects += [
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources{font}/Contents {4 + 2 * place} 0 R>>",
            f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream",
        ]
    made, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj{text}endobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer<</Size {size}/Root 1 0 R>>\nstartxref\n{len(made)}\n%%EOF"
    )
    return made + end.encode()


def saved(document: WordDocument) -> bytes:
    made = BytesIO()
    document.save(made)
    return made.getvalue()


def word() -> bytes:
    document = docx.Document()
    document.add_paragraph("Before any heading.")
    document.add_heading("The mill", 1)
    document.add_paragraph("It turns.")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Stone", "12"
    document.add_heading("Water", 2)
    document.add_paragraph("It flows.")
    return saved(document)


def encrypted(password: str) -> bytes:
    made = BytesIO()
    with PdfWriter() as writer:
        writer.add_page(PdfReader(BytesIO(pdf("secret"))).pages[0])
        writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
        writer.write(made)
    return made.getvalue()


def told(document: Document) -> list[tuple[str, str, int, int]]:
    return [(part.name, part.content, part.start_line, part.end_line) for part in document.parts]


def test_the_lines_of_a_pdf_are_its_pages() -> None:
    made = parse("a.pdf", pdf("The first page", "The second"))
    assert told(made) == [("The first page", "The first page", 1, 1), ("The second", "The second", 2, 2)]
    assert made.mime_type == "application/pdf"


def test_a_pdf_is_known_by_how_it_begins() -> None:
    assert parse("paper", pdf("text")).mime_type == "application/pdf"


def test_an_encrypted_pdf_is_left_out_unless_anybody_may_open_it() -> None:
    with pytest.raises(CannotRead, match="an encrypted PDF"):
        parse("a.pdf", encrypted("secret"))
    assert told(parse("a.pdf", encrypted(""))) == [("secret", "secret", 1, 1)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "a PDF that cannot be read"),
        (b"%PDF-1.4 and nothing else", "a PDF that cannot be read"),
        (pdf("text")[:200], "a PDF that cannot be read"),
        (pdf(""), "a PDF without text"),
    ],
)
def test_a_pdf_that_says_nothing_is_left_out(data: bytes, reason: str) -> None:
    with pytest.raises(CannotRead, match=reason):
        parse("a.pdf", data)


def test_a_word_document_is_read_by_its_headings() -> None:
    assert told(parse("a.docx", word())) == [
        ("Before any heading.", "Before any heading.", 1, 1),
        ("The mill", "The mill\n\nIt turns.\n\nStone \t12", 2, 4),
        ("Water", "Water\n\nIt flows.", 5, 6),
    ]


@pytest.mark.parametrize("data", [b"", b"PK", b"\xd0\xcf\x11\xe0", word()[:500]])
def test_what_is_no_word_document_is_left_out(data: bytes) -> None:
    with pytest.raises(CannotRead, match="not a Word document, or an encrypted one"):
        parse("a.docx", data)


def test_a_word_document_that_says_nothing_is_left_out() -> None:
    with pytest.raises(CannotRead, match="without text"):
        parse("a.docx", saved(docx.Document()))


@pytest.mark.parametrize(("path", "library"), [("a.pdf", "pypdf"), ("a.docx", "docx")])
def test_without_the_library_it_says_what_to_install(path: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(CannotRead, match=rf"{library} is not there to read it: pip install 'graphmill\[office\]'"):
        parse(path, b"")
