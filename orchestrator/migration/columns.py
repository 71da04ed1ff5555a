"""What the columns of an older table are called in the new graph: nothing that is somebody's own is written over."""

import re
from collections.abc import Mapping

# What an expansion has by itself; anything else in its tables is somebody's own.
_OF_AN_EXPANSION = {
    "Article": (
        "title", "category", "word_count", "expansion_state", "expansion_depth", "claimed_at", "processed_at",
        "retry_count",
    ),
    "Section": ("section_id", "title", "content", "level", "word_count"),
    "Category": ("name", "article_count"),
    "Chunk": ("chunk_id", "content", "article_title", "section_index", "chunk_index"),
}  # fmt: skip
# What a column must be to be what a mapping says, and how that is called.
_TEXT = (re.compile("STRING"), "a column of texts (STRING)")
_MAPPED = {
    "text": _TEXT,
    "state": _TEXT,
    "provider": _TEXT,
    "model": _TEXT,
    "vector_hash": _TEXT,
    "error_type": _TEXT,
    "error_message": _TEXT,
    "vector": (re.compile(r"(FLOAT|DOUBLE)\[\d*\]"), "a column of vectors (FLOAT[n] or DOUBLE[n])"),
    "retries": (re.compile(r"U?INT\d+"), "a column of whole numbers"),
}
_WHOLE_NUMBERS = ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32")
# What graphmill writes into every node, or into every article.
OF_EVERY_NODE = ("name", "projectId", "content")
_OF_AN_ARTICLE = ("url", "lang", "wiki", "title")


def not_as_expected(key: str, kind: str) -> str | None:
    """What was expected, where a mapping names a column of another type."""
    pattern, expected = _MAPPED.get(key, (None, ""))
    return expected if pattern and not pattern.fullmatch(kind) else None


def is_of_an_expansion(label: str, name: str) -> bool:
    return name in _OF_AN_EXPANSION[label]


def fits(kind: str, wanted: str, name: str) -> bool:
    """Whether it can go into a column that graphmill has under the same name."""
    if name.startswith("_") or name in ("uuid", *OF_EVERY_NODE):
        return False
    return _holds(wanted, kind)


def former(name: str) -> str:
    return f"_former_{name}"


def called_in_an_expansion(label: str, there: Mapping[str, str], schema: Mapping[str, str]) -> dict[str, str]:
    """Without the vector. The engines take names that differ in capitals for one."""
    taken = {name.lower() for name in schema}
    return {
        name: name if _stays(label, name, kind, schema, name.lower() in taken) else former(name)
        for name, kind in there.items()
        if name != "embedding"
    }


def _stays(label: str, name: str, kind: str, schema: Mapping[str, str], is_taken: bool) -> bool:
    if name not in schema:
        return not is_taken
    if is_of_an_expansion(label, name):
        return _holds(schema[name], kind)
    return name not in _OF_AN_ARTICLE and fits(kind, schema[name], name)


def _holds(wanted: str, kind: str) -> bool:
    return kind == wanted or (kind in _WHOLE_NUMBERS and wanted == "INT64")
