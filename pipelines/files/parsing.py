"""Which reader a file gets, and what is done when that reader does not get on with it: it is plain text then.

Only a reason not to read a file at all leaves this module as an exception; no content can raise another.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import accumulate
from pathlib import PurePosixPath
from types import MappingProxyType

from pipelines.files import kinds, reading
from pipelines.files.kinds import Format
from pipelines.files.model import CannotRead, Document
from pipelines.files.secrets import find_secret, has_sign, refuse_secret
from pipelines.files.text import parse_text

Reader = Callable[[str, str], Document]

_SHEBANG = re.compile(r"#!\s*\S*?(?:env\s+(?:-\S+\s+)*)?([A-Za-z]+)[\d.]*(?:\s|$)")
# The extension that stands for what an interpreter reads.
_INTERPRETERS: Mapping[str, str] = MappingProxyType(
    {"python": ".py", "pypy": ".py", "node": ".js", "nodejs": ".js", "deno": ".ts", "bun": ".ts", "ruby": ".rb"}
)
# What a part of them is counted in.
_OFFICE: Mapping[Format | None, str] = MappingProxyType({Format.PDF: "page", Format.DOCX: "paragraph"})
SVG_REASON = "an image: SVG"
_HTML = re.compile(r"\s*(?:<!--[^<>]*-->\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE)


def parse(path: str, data: bytes, *, allow_secrets: bool = False) -> Document:
    """Read a file by its name and, where that tells nothing, by how it begins. Raises CannotRead and nothing else."""
    mime_type = kinds.mime_type(path)
    form = kinds.format_of(mime_type) or _format_of_bytes(data)
    if form in _OFFICE:
        document = _parse_office(form, path, data)
    else:
        text = _text(mime_type, data, allow_secrets=allow_secrets)
        document = _or_plain(_reader(form), path, text, mime_type) if form else _parse_text(path, text, mime_type)
    if not allow_secrets:
        _refuse_secret_in(document, unit=_OFFICE.get(form, "line"))
    return document


def check_readable(path: str, data: bytes, *, allow_secrets: bool = False) -> None:
    """Raise CannotRead where `parse` would. Only what is not in the file as it is read has to be parsed for it."""
    mime_type = kinds.mime_type(path)
    form = kinds.format_of(mime_type) or _format_of_bytes(data)
    if form in _OFFICE:
        parse(path, data, allow_secrets=allow_secrets)
        return
    text = _text(mime_type, data, allow_secrets=allow_secrets)
    if not allow_secrets and _may_hide_secret(form, mime_type, text):
        parse(path, data)


def _may_hide_secret(form: Format | None, mime_type: str, text: str) -> bool:
    """Whether a secret can be in what a text is read as that is not in the text itself."""
    if form in (Format.JSON, Format.JSON_LINES, Format.NOTEBOOK):
        return has_sign(text)
    return form is Format.HTML or (mime_type == kinds.UNKNOWN and bool(_HTML.match(text)))


def _refuse_secret_in(document: Document, *, unit: str) -> None:
    """Raise CannotRead for a secret in what the graph would hold. It may begin in one part and end in another."""
    pieces = [
        *((part.content, part.start_line) for part in document.parts),
        *((part.name, part.start_line) for part in document.parts),
        *((reference.shown, reference.line) for reference in document.references),
    ]
    if finding := find_secret("\n".join(text for text, _ in pieces)):
        ends = list(accumulate(text.count("\n") + 1 for text, _ in pieces))
        line = pieces[bisect_left(ends, finding.line)][1]
        raise CannotRead(replace(finding, line=line).reason(unit))


def _text(mime_type: str, data: bytes, *, allow_secrets: bool) -> str:
    if mime_type == kinds.SVG:
        raise CannotRead(SVG_REASON)
    text = reading.decode(data)
    if not allow_secrets:
        refuse_secret(text)
    return text


def _parse_office(form: Format | None, path: str, data: bytes) -> Document:
    from pipelines.files.office import parse_docx, parse_pdf

    return (parse_pdf if form is Format.PDF else parse_docx)(path, data)


def _parse_text(path: str, text: str, mime_type: str) -> Document:
    """A file without a format of its own: source code in a language that is known, or any text."""
    from pipelines.files.code.languages import language_of
    from pipelines.files.code.parse import parse_code

    hint = path if PurePosixPath(path).suffix else _hint(text)
    if hint and (language := language_of(hint)):
        return _or_plain(lambda path, text: parse_code(path, text, language), path, text, mime_type, language)
    if mime_type == kinds.UNKNOWN and _HTML.match(text):
        return _or_plain(_reader(Format.HTML), path, text, mime_type)
    return _plain(path, text, mime_type, None)


def _or_plain(reader: Reader, path: str, text: str, mime_type: str, language: str | None = None) -> Document:
    """What the reader makes of a text; the text itself where it fails, or finds nothing in what does say something."""
    try:
        document = reader(path, text)
    except Exception:  # noqa: BLE001 -- whatever a parser stumbles over, the text can be read as it stands
        return _plain(path, text, mime_type, language)
    return document if document.parts or not text.strip() else _plain(path, text, mime_type, language)


def _plain(path: str, text: str, mime_type: str, language: str | None) -> Document:
    known = kinds.TEXT if mime_type == kinds.UNKNOWN else mime_type
    return parse_text(path, text, mime_type=known, language=language)


def _reader(form: Format) -> Reader:
    match form:
        case Format.MARKDOWN:
            from pipelines.files.markdown import parse_markdown

            return parse_markdown
        case Format.HTML:
            from pipelines.files.html import parse_html

            return parse_html
        case Format.RESTRUCTURED:
            from pipelines.files.restructured import parse_restructured

            return parse_restructured
        case Format.NOTEBOOK:
            from pipelines.files.notebook import parse_notebook

            return parse_notebook
        case Format.TABLE:
            from pipelines.files.tabular import parse_table

            return parse_table
        case Format.JSON:
            from pipelines.files.structured import parse_json

            return parse_json
        case Format.JSON_LINES:
            from pipelines.files.structured import parse_json_lines

            return parse_json_lines
        case _:
            raise CannotRead(f"there is no reader of {form}")


def _format_of_bytes(data: bytes) -> Format | None:
    return Format.PDF if data.startswith(b"%PDF-") else None


def _hint(text: str) -> str | None:
    """A name that says what a script without one is written in."""
    found = _SHEBANG.match(text[:200])
    extension = _INTERPRETERS.get(found.group(1)) if found else None
    return extension and f"script{extension}"
