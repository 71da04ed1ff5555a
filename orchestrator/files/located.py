"""Where the files of a graph are on this machine, so that a result can be opened."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph_stores.protocol import Store

if TYPE_CHECKING:
    from orchestrator.files.roots import Root


@dataclass(frozen=True, slots=True)
class FilesHere:
    roots: Mapping[str, "Root"]

    @classmethod
    async def of(cls, store: Store) -> "FilesHere":
        # Slow to import, and needed only where there is a file to be shown.
        from orchestrator.files.roots import read_roots

        try:
            return cls(await read_roots(store))
        except (ValueError, TypeError, LookupError):  # a damaged record of a root is for `verify` to tell
            return cls({})

    def path_of(self, root: str | None, path: str | None) -> str | None:
        """The absolute path; None where the file is on another machine, or gone."""
        if root is None or path is None or root not in self.roots:
            return None
        place = self.roots[root].place_of(path)
        try:
            return str(place) if place.is_file() else None
        except OSError:  # a mount whose server is gone
            return None


def from_here(path: str, line: int | None, *, directory: Path) -> str:
    """`path:line`, which terminals and editors open; relative to the directory unless that is longer."""
    relative = os.path.relpath(path, directory)
    shown = relative if len(relative) <= len(path) else path
    return shown if line is None else f"{shown}:{line}"
