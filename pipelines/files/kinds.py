"""What a file is, told from its name alone: its media type, and the format it is read as.

The tables are our own, because the system's list of types differs from machine to machine.
"""

from collections.abc import Mapping
from enum import StrEnum
from mimetypes import MimeTypes
from pathlib import PurePosixPath
from types import MappingProxyType

UNKNOWN = "application/octet-stream"
TEXT = "text/plain"
MARKDOWN = "text/markdown"
HTML = "text/html"
RESTRUCTURED = "text/x-rst"
NOTEBOOK = "application/x-ipynb+json"
CSV = "text/csv"
TSV = "text/tab-separated-values"
JSON = "application/json"
JSON_LINES = "application/x-ndjson"
PDF = "application/pdf"
SVG = "image/svg+xml"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


class Format(StrEnum):
    """How the inside of a file is read. Source code is asked about elsewhere, and anything else is plain text."""

    MARKDOWN = "markdown"
    HTML = "html"
    RESTRUCTURED = "restructured"
    NOTEBOOK = "notebook"
    TABLE = "table"
    JSON = "json"
    JSON_LINES = "json lines"
    PDF = "pdf"
    DOCX = "docx"


_FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        MARKDOWN: Format.MARKDOWN,
        HTML: Format.HTML,
        "application/xhtml+xml": Format.HTML,
        RESTRUCTURED: Format.RESTRUCTURED,
        NOTEBOOK: Format.NOTEBOOK,
        CSV: Format.TABLE,
        TSV: Format.TABLE,
        JSON: Format.JSON,
        "application/geo+json": Format.JSON,
        "application/ld+json": Format.JSON,
        JSON_LINES: Format.JSON_LINES,
        PDF: Format.PDF,
        DOCX: Format.DOCX,
    }
)

_TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".md": MARKDOWN,
        ".markdown": MARKDOWN,
        ".mdown": MARKDOWN,
        ".mdwn": MARKDOWN,
        ".mkd": MARKDOWN,
        ".mkdn": MARKDOWN,
        ".mdx": MARKDOWN,
        ".qmd": MARKDOWN,
        ".rmd": MARKDOWN,
        ".html": HTML,
        ".htm": HTML,
        ".xhtml": "application/xhtml+xml",
        ".rst": RESTRUCTURED,
        ".rest": RESTRUCTURED,
        ".ipynb": NOTEBOOK,
        ".csv": CSV,
        ".tsv": TSV,
        ".tab": TSV,
        ".json": JSON,
        ".geojson": "application/geo+json",
        ".jsonld": "application/ld+json",
        ".jsonl": JSON_LINES,
        ".ndjson": JSON_LINES,
        ".pdf": PDF,
        ".docx": DOCX,
        ".txt": TEXT,
        ".text": TEXT,
        ".log": TEXT,
        ".ini": TEXT,
        ".cfg": TEXT,
        ".conf": TEXT,
        ".toml": "application/toml",
        ".yaml": "application/yaml",
        ".yml": "application/yaml",
        ".xml": "application/xml",
        ".svg": SVG,
        ".css": "text/css",
        ".py": "text/x-python",
        ".pyi": "text/x-python",
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".cjs": "text/javascript",
        ".jsx": "text/javascript",
        ".ts": "text/x-typescript",
        ".mts": "text/x-typescript",
        ".cts": "text/x-typescript",
        ".tsx": "text/x-typescript",
        ".go": "text/x-go",
        ".rs": "text/x-rust",
        ".java": "text/x-java",
        ".c": "text/x-c",
        ".h": "text/x-c",
        ".cc": "text/x-c++",
        ".cpp": "text/x-c++",
        ".cxx": "text/x-c++",
        ".hh": "text/x-c++",
        ".hpp": "text/x-c++",
        ".hxx": "text/x-c++",
        ".cs": "text/x-csharp",
        ".rb": "text/x-ruby",
        ".sh": "application/x-sh",
        ".sql": "application/sql",
        ".tex": "application/x-tex",
    }
)

_OTHERS = MimeTypes(filenames=())


def mime_type(path: str) -> str:
    """The media type that a path's extension stands for; UNKNOWN where it stands for none."""
    extension = PurePosixPath(path).suffix.lower()
    return _TYPES.get(extension) or _OTHERS.types_map[True].get(extension) or UNKNOWN


def format_of(mime_type: str) -> Format | None:
    """The format that has a reader of its own, if the media type is one."""
    return _FORMATS.get(mime_type)
