"""What a change of some files does to the edges of all: which nodes refer to something else than before.

Changes an index and returns the difference. Pure otherwise: it knows no store.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pipelines.files.links import NOTHING, Entry, Found, Index, Spot
from pipelines.files.model import ReferenceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewired:
    """A node that refers to something else than before."""

    spot: Spot
    before: Found
    after: Found

    @property
    def cut(self) -> list[ReferenceKind]:
        """The relationships of which the node had one that it has no more, or with another count."""
        gone = {kind for (kind, _), _ in self.before.targets.items() - self.after.targets.items()}
        return sorted(gone)

    @property
    def new(self) -> dict[tuple[ReferenceKind, Spot], int]:
        """What is to be written once the cut ones are gone."""
        cut = self.cut
        return {
            key: count
            for key, count in self.after.targets.items()
            if key[0] in cut or self.before.targets.get(key) != count
        }


def rewire(index: Index, files: Mapping[str, Entry | None]) -> list[Rewired]:
    """Put files into the index, or take those without an entry out of it; returns who refers elsewhere now."""
    old = [index[file] for file in files if file in index]
    touched = index.touched([*old, *filter(None, files.values())]) | set(files)
    before = {file: index.found(file) for file in touched}
    for file, entry in files.items():
        if entry is None:
            index.remove(file)
        else:
            index.put(entry)
    gone = _spots(old) - _spots(entry for entry in files.values() if entry)
    return [
        Rewired(spot=spot, before=was.get(spot, NOTHING), after=now.get(spot, NOTHING))
        for file, was in sorted(before.items())
        for now in [index.found(file)]
        for spot in sorted({*was, *now})
        if spot not in gone and was.get(spot, NOTHING) != now.get(spot, NOTHING)
    ]


def _spots(entries: Iterable[Entry]) -> set[Spot]:
    return {spot for entry in entries for spot in entry.spots}
