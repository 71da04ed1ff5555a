"""The files of a ledger: how they are called, which there are, and which of them count."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.ledger.content import first_line
from orchestrator.ledger.lines import Header, header_of

PLAIN = ".jsonl"
CLOSED = ".jsonl.gz"
TEMPORARY = ".tmp"
_SNAPSHOT = re.compile(r"snapshot\.(\d+)")
_COMPACTED = re.compile(r"compacted\.(\d+)\.\w+")
_SEGMENT = re.compile(r"(.+\.\w+)\.(\d+)")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 80
_IMPORT = "import"


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file that counts. `series` is shared by the segments of one writer, whose `number`s tell their order."""

    path: Path
    stem: str
    series: str
    number: int
    header: Header | None = None

    @property
    def is_closed(self) -> bool:
        return self.path.name.endswith(CLOSED)

    @property
    def name(self) -> str:
        return self.path.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What is in a folder at one moment. `leftovers` are replaced by others, and gone when somebody has swept."""

    segments: Sequence[File]
    compacted: Sequence[File]
    snapshots: Sequence[File]
    leftovers: Sequence[Path]

    def histories(self) -> Iterator[File]:
        yield from self.compacted
        yield from self.segments

    def next_snapshot(self) -> int:
        return max((each.number for each in self.snapshots), default=0) + 1

    def next_compacted(self) -> int:
        return max((each.number for each in self.compacted), default=0) + 1


def list_files(folder: Path) -> Listing:
    """The newest snapshot comes first; of a segment that is there twice, the closed one counts."""
    paths = {path.name: path for path in folder.iterdir()}
    leftovers = [path for name, path in paths.items() if name.endswith(TEMPORARY)]
    leftovers += [path for name, path in paths.items() if name.endswith(PLAIN) and f"{name}.gz" in paths]
    counting = [path for path in paths.values() if path not in leftovers and path.name.endswith((PLAIN, CLOSED))]
    files = {file.stem: file for file in map(_file, counting) if file}
    compacted = {stem: file for stem, file in files.items() if _COMPACTED.fullmatch(stem)}
    replaced = _replaced(compacted)
    leftovers += [files[stem].path for stem in replaced if stem in files]
    kept = [file for stem, file in sorted(files.items()) if stem not in replaced]
    return Listing(
        segments=[file for file in kept if file.stem not in compacted and not _SNAPSHOT.fullmatch(file.stem)],
        compacted=[file for file in kept if file.stem in compacted],
        snapshots=sorted((file for file in kept if _SNAPSHOT.fullmatch(file.stem)), key=lambda file: -file.number),
        leftovers=leftovers,
    )


def segment_name(series: str, number: int) -> str:
    return f"{series}.{number:06d}{PLAIN}"


def snapshot_name(number: int) -> str:
    return f"snapshot.{number:08d}{CLOSED}"


def compacted_name(number: int, token: str) -> str:
    return f"compacted.{number:08d}.{token}{CLOSED}"


def series_of(writer: str, token: str) -> str:
    """The token keeps apart what a writer's name does not: no name is ever used for two files."""
    return f"{_UNSAFE.sub('-', writer).strip('-')[:_LONGEST] or 'writer'}.{token}"


def import_stem(digest: str) -> str:
    """What another ledger became is named by what that held: nobody takes it in twice."""
    return f"{_IMPORT}.{digest}.000001"


def is_import(stem: str) -> bool:
    return stem.startswith(f"{_IMPORT}.")


def stem_of(name: str) -> str:
    return name.removesuffix(".gz").removesuffix(PLAIN)


def _file(path: Path) -> File | None:
    stem = stem_of(path.name)
    if found := _SNAPSHOT.fullmatch(stem):
        return File(path=path, stem=stem, series="snapshot", number=int(found[1]))
    if found := _COMPACTED.fullmatch(stem):
        return File(path=path, stem=stem, series=stem, number=int(found[1]), header=header_of(first_line(path)))
    if found := _SEGMENT.fullmatch(stem):
        return File(path=path, stem=stem, series=found[1], number=int(found[2]))
    return None


def _replaced(compacted: Mapping[str, File]) -> set[str]:
    return {stem for file in compacted.values() if file.header for stem in (*file.header.replaces, *file.header.hides)}


def dropped_before(files: Iterable[File]) -> str:
    """Up to when compaction has dropped changes, but for the latest of each node; empty where it has dropped none."""
    return max((file.header.dropped_before for file in files if file.header), default="")
