"""The statements of `dump_index.sql`, by name."""

import re
from functools import cache
from pathlib import Path

_TEXT = Path(__file__).with_name("dump_index.sql")


@cache
def _parts() -> dict[str, str]:
    parts = re.split(r"^-- name: (\w+)$", _TEXT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@cache
def statements(name: str) -> tuple[str, ...]:
    lines = [line for line in _parts()[name].splitlines() if not line.startswith("--")]
    return tuple(filter(None, (each.strip() for each in "\n".join(lines).split(";"))))


@cache
def sql(name: str) -> str:
    [statement] = statements(name)
    return statement
