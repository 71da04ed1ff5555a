"""Which nodes the references of files mean: an index of every file of a project, and what a change of it touches.

Pure. The edges between files are a function of the manifests alone: the same in whatever order files arrive.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pipelines.files.manifest import Manifest, Piece
from pipelines.files.model import Reference, ReferenceKind

# A name that a module only passes on is followed through so many modules.
_LONGEST_CHAIN = 5
FILE = "File"
# A file that passes on everything of another says so under this name; code outside any scope goes by the other.
_EVERYTHING = "*"
_MODULE = "<module>"
_ENDS = {
    ReferenceKind.LINK: frozenset({FILE, "MarkdownSection"}),
    ReferenceKind.USE: frozenset({"Scope"}),
}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Spot:
    """A node that a reference starts or ends at."""

    label: str
    uuid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file of the index."""

    uuid: str
    root: str
    path: str
    manifest: Manifest
    names: Mapping[str, Piece] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", self.manifest.names)

    @property
    def spot(self) -> Spot:
        return Spot(label=FILE, uuid=self.uuid)

    @property
    def spots(self) -> Iterator[Spot]:
        """Every node of the file."""
        yield self.spot
        yield from (Spot(label=piece.label, uuid=piece.uuid) for piece in self.manifest.pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a node refers to: how often to each target, by relationship; and the links that lead nowhere, as written."""

    targets: Mapping[tuple[ReferenceKind, Spot], int]
    broken: tuple[str, ...]


NOTHING = Found(targets={}, broken=())


@dataclass(slots=True)
class Index:
    """Every file of a project by the names it goes by. Roots are apart: a name never means a file of another root."""

    _entries: dict[str, Entry] = field(default_factory=dict)
    _by_alias: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _wanting: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _forwarding: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    def __contains__(self, file: str) -> bool:
        return file in self._entries

    def __getitem__(self, file: str) -> Entry:
        return self._entries[file]

    def put(self, entry: Entry) -> None:
        self.remove(entry.uuid)
        self._entries[entry.uuid] = entry
        for table, names in self._tables(entry):
            for name in names:
                table.setdefault((entry.root, name), set()).add(entry.uuid)

    def remove(self, file: str) -> None:
        if entry := self._entries.pop(file, None):
            for table, names in self._tables(entry):
                for name in names:
                    table[entry.root, name].discard(file)

    def touched(self, entries: Iterable[Entry]) -> set[str]:
        """The files whose references may mean something else once these came, went or changed their names."""
        names = {(entry.root, alias) for entry in entries for alias in entry.manifest.aliases}
        news, through = names, set[str]()
        for _ in range(_LONGEST_CHAIN):
            passing = {file for name in news for file in self._forwarding.get(name, ())}
            through |= passing  # what such a file wants of itself may lead there too
            news = {
                (entry.root, alias) for entry in map(self._entries.__getitem__, passing) for alias in _aliases(entry)
            }
            news -= names
            names |= news
        return through | {file for name in names for file in self._wanting.get(name, ())}

    def found(self, file: str) -> dict[Spot, Found]:
        """What each node of the file refers to; a node that refers to nothing is left out."""
        entry = self._entries.get(file)
        if entry is None:
            return {}
        targets: dict[Spot, Counter[tuple[ReferenceKind, Spot]]] = {}
        broken: dict[Spot, dict[str, None]] = {}
        for piece, reference in _references(entry):
            source = _end(entry, piece, reference.kind)
            target = self._resolve(entry, reference)
            if target is not None and source is not None and target != source:
                targets.setdefault(source, Counter())[reference.kind, target] += 1
            elif target is None and source is not None and reference.kind is ReferenceKind.LINK:
                broken.setdefault(source, {})[reference.shown] = None
        return {
            spot: Found(targets=targets.get(spot, {}), broken=tuple(broken.get(spot, ())))
            for spot in (*targets, *(spot for spot in broken if spot not in targets))
        }

    def _resolve(self, entry: Entry, reference: Reference) -> Spot | None:
        for want in reference.wants:
            if meant := self._meant(entry, want):
                spot = _end(*meant, reference.kind)
                if spot is not None:
                    return spot
        return None

    def _meant(self, entry: Entry, want: str) -> tuple[Entry, Piece | None] | None:
        """What a want means, followed level by level through the modules that only pass a name on."""
        coming, seen = [(entry, want)], set()
        for _ in range(_LONGEST_CHAIN + 1):
            passed: list[tuple[Entry, str]] = []
            for source, each in coming:
                if (source.uuid, each) in seen:
                    continue
                seen.add((source.uuid, each))
                alias, _, local = each.partition("#")
                target = self._nearest(source, alias, local) if alias else source
                if target is not None and (not local or local in target.names):
                    return target, target.names[local] if local else None
                if target is not None:
                    passed += ((target, other) for other in _passed_on(target, local))
            coming = passed
        return None

    def _nearest(self, entry: Entry, alias: str, local: str) -> Entry | None:
        """The file of that name; of several (a package may be many files) one that has the local name, or passes it on.

        Of those it is the one whose folder is nearest, and none where that is undecided.
        """
        named = self._by_alias.get((entry.root, alias), set())
        if local and len(named) > 1:
            known = {file for file in named if local in self._entries[file].names}
            named = known or {file for file in named if _passed_on(self._entries[file], local)}
        if len(named) < 2:
            return next((self._entries[file] for file in named), None)
        near = sorted(((_shared(entry.path, self._entries[file].path), file) for file in named), reverse=True)
        return self._entries[near[0][1]] if near[0][0] > near[1][0] else None

    def _tables(self, entry: Entry) -> Iterator[tuple[dict[tuple[str, str], set[str]], set[str]]]:
        yield self._by_alias, set(entry.manifest.aliases)
        yield self._wanting, {alias for _, each in _references(entry) for alias in _named(each.wants)}
        yield self._forwarding, {alias for wants in entry.manifest.forwards.values() for alias in _named(wants)}


def _passed_on(entry: Entry, local: str) -> list[str]:
    """What a file passes on under a name: the name, the first step of a path, or everything of another file."""
    forwards = {} if local == _MODULE else entry.manifest.forwards
    head, dot, rest = local.partition(".")
    wants = list(forwards.get(local, ()))
    if dot:
        wants += (_step(want, rest) for want in forwards.get(head, ()))
    return wants + [f"{alias}#{local}" for alias in forwards.get(_EVERYTHING, ())]


def _step(want: str, rest: str) -> str:
    alias, _, local = want.partition("#")
    return f"{alias}#{rest}" if local in ("", _MODULE) else f"{alias}#{local}.{rest}"


def _aliases(entry: Entry) -> tuple[str, ...]:
    return entry.manifest.aliases


def _references(entry: Entry) -> Iterator[tuple[Piece | None, Reference]]:
    yield from ((None, reference) for reference in entry.manifest.references)
    for piece in entry.manifest.pieces:
        yield from ((piece, reference) for reference in piece.references)


def _end(entry: Entry, piece: Piece | None, kind: ReferenceKind) -> Spot | None:
    """The node at one end of a relationship: links join files and their sections, uses join scopes."""
    if piece is not None and piece.label in _ENDS[kind]:
        return Spot(label=piece.label, uuid=piece.uuid)
    return entry.spot if FILE in _ENDS[kind] else None


def _named(wants: Iterable[str]) -> Iterator[str]:
    return (alias for alias in (want.partition("#")[0] for want in wants) if alias)


def _shared(path: str, other: str) -> int:
    """How many folders two paths have in common from the root on."""
    shared = 0
    for one, two in zip(path.split("/")[:-1], other.split("/")[:-1], strict=False):
        if one != two:
            break
        shared += 1
    return shared
