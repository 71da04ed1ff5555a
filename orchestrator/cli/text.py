"""How a value is written: as JSON for programs, as one safe line for a terminal."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from graph_stores.model import Value

# Whatever could move the cursor, change colours or turn the direction of writing: graph content is not trusted with it.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NEWLINES = re.compile(r"[\r\n]+")
_NOT_SHOWN = ("uuid", "projectId", "embedding")


def dumps(document: object, *, indent: int | None = 2) -> str:
    return json.dumps(_plain(document), ensure_ascii=False, indent=indent, allow_nan=False)


def printable(text: str, *, keep_lines: bool = False) -> str:
    """The text with its control characters made visible, on one line unless told otherwise."""
    if keep_lines:
        return "\n".join(printable(line) for line in text.splitlines())
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", _NEWLINES.sub("↵", text).replace("\t", " "))


def shown(value: Value) -> str:
    """A value of a query's answer as people read it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return printable(value)
        case datetime():
            return value.isoformat(sep=" ", timespec="seconds").replace("+00:00", "Z")
        case Mapping():
            return _shown_mapping(value)
        case Sequence() if not isinstance(value, bytes):
            return f"[{', '.join(shown(item) for item in value)}]"
        case _:
            return printable(str(_plain(value)))


def cell(value: Value) -> str | int | float | bool | None:
    """A value in a CSV cell: what is not a single value is written as JSON."""
    plain = _plain(value)
    if isinstance(plain, bool | dict | list):
        return dumps(plain, indent=None)
    return plain  # type: ignore[no-any-return]  # what _plain leaves is text, a number or None


def pace(rate: float, things: str = "nodes") -> str:
    """So many a second, or a minute where that is easier to read."""
    return f"{rate:,.1f} {things}/s" if rate >= 1 else f"{rate * 60:.0f} {things}/min"


def duration(seconds: float) -> str:
    """A length of time as a person would say it."""
    minutes, hours, days = seconds / 60, seconds / 3600, seconds / 86400
    if minutes < 1:
        return f"{max(1, round(seconds))} s"
    if hours < 1:
        return f"{round(minutes)} min"
    return f"{hours:.1f} h" if days < 1 else f"{days:.1f} days"


def _shown_mapping(value: Mapping[str, Value]) -> str:
    """A node as (Label name), an edge as [TYPE …], anything else as {key: value}."""
    label, kind = value.get("_label"), value.get("_type")
    own = {key: item for key, item in value.items() if not key.startswith("_") and item is not None}
    if label:
        return f"({f'{printable(str(label))} {_name_of(own)}'.strip()})"
    if kind:
        return f"[{printable(' '.join([str(kind), _pairs(own)]).strip())}]"
    return f"{{{_pairs(value)}}}"


def _name_of(own: Mapping[str, Value]) -> str:
    name = own.get("name") or _pairs({key: item for key, item in own.items() if key not in _NOT_SHOWN})
    return printable(str(name or own.get("uuid", "")))


def _pairs(mapping: Mapping[str, Value]) -> str:
    return ", ".join(f"{printable(str(key))}: {shown(item)}" for key, item in mapping.items())


def _plain(value: Value) -> Any:  # Any: JSON
    """The value in the types that JSON has; times are ISO 8601, and what is not a number is null."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return _duration(value)
        case bytes() | bytearray():
            return value.hex()
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case Sequence() | set() | frozenset():
            return [_plain(item) for item in value]
        case _:
            return str(value)


def _duration(value: timedelta) -> str:
    sign = "-" if value < timedelta() else ""
    return f"{sign}PT{abs(value).total_seconds():.6f}".rstrip("0").rstrip(".") + "S"
