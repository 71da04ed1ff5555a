"""SQL that lives in a file of its own, by name: each part begins with a line `-- name: …`."""

import re
from functools import cache
from pathlib import Path


class Statements:
    def __init__(self, file: Path) -> None:
        self._file = file
        # Read once, when first needed.
        self._parts = cache(self._read)
        self.several = cache(self._several)

    def one(self, name: str) -> str:
        [statement] = self.several(name)
        return statement

    def _several(self, name: str) -> tuple[str, ...]:
        lines = [line for line in self._parts()[name].splitlines() if not line.startswith("--")]
        return tuple(filter(None, (each.strip() for each in "\n".join(lines).split(";"))))

    def _read(self) -> dict[str, str]:
        parts = re.split(r"^-- name: (\w+)$", self._file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        return dict(zip(parts[1::2], parts[2::2], strict=True))
