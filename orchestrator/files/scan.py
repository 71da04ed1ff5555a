"""Compares a folder, or a stretch of it, with what the graph knows: new and changed files go to the parser, gone ones
are removed. Stops before it deletes anything if the root vanished or most of it is gone.

Reads no file whose size and time of change are as they were, unless it was changed while or after it was read last, or
the scan is told to distrust them.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path, PurePosixPath

from graph_stores.errors import TransitionConflict
from graph_stores.model import Batch, Edge, Node, Ref, Update, Value
from graph_stores.protocol import Store
from orchestrator.files.link import LinkFiles
from orchestrator.files.looks import UNREADABLE, Look, looks_at, looks_at_new
from orchestrator.files.roots import TOP, Root, RootForgotten
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import new_node, step_forward, transition
from orchestrator.paging import paged
from orchestrator.removal import rows_of
from orchestrator.runs.course import CANCELLED
from orchestrator.runs.sources import MassDeletion, is_mass_deletion, listed
from orchestrator.runs.steps import Reading
from orchestrator.states import ErrorType, State
from orchestrator.tally import Tally
from pipelines.files.identity import directory_uuid, file_uuid
from pipelines.files.secrets import is_about_secret
from pipelines.files.walk import WHOLE, Entry, Excluded, Found, LeftOut, Stretch, walk

_PAGE = 2000
_PORTION = 500
# To look at files that are as they were is cheaper than to write down that they were looked at.
_UNMARKED = 20_000
# Kept instead of a hash: the file is parsed again although its content is the same.
READ_AGAIN = "to be read again"
# Clocks of a machine, of its disk and of a store differ a little.
_SLACK = timedelta(seconds=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the graph has of a file."""

    ref: Ref
    state: str
    size: int | None
    modified: int | None
    hash: str | None
    error_type: str | None
    reason: str | None
    detected: datetime | None

    @property
    def was_cancelled(self) -> bool:
        return self.state == State.SKIP and self.reason == CANCELLED

    @property
    def has_secret(self) -> bool:
        """Whether it was not read because of a secret in it."""
        return self.state == State.SKIP and is_about_secret(self.reason)

    @property
    def was_gone(self) -> bool:
        """Whether it was gone already when it was to be parsed: nothing of it is left but its node."""
        return self.state == State.SKIP and self.hash is None and not self.was_cancelled

    def is_as_it_was(self, found: Found, distrusted: float, *, stores_content: bool) -> bool:
        if self.state == State.PENDING and not stores_content:
            return True  # it will be read anyway
        if self.state == State.ERROR and self.error_type == ErrorType.PARSE:
            return False
        return (self.size, self.modified) == (found.size, found.modified) and found.modified < distrusted

    def is_doubtful(self, found: Found, root: Root, distrusted: float) -> bool:
        """Whether a run compares its content."""
        if self.has_secret and root.rules.allow_secrets:
            return True
        return not self.is_as_it_was(found, distrusted, stores_content=root.stores_content)

    def has(self, digest: str) -> bool:
        """Whether this is the content that was looked at last; of a file that never could be read nothing is known."""
        never_read = self.hash is None and self.state == State.ERROR
        return digest == self.hash or (never_read and digest == UNREADABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """`busy` files changed while a worker had them in hand: they are to be looked at again."""

    left_out: Sequence[LeftOut]
    excluded: Sequence[Excluded]
    busy: Sequence[str]


@dataclass(slots=True)
class Changes:
    """The paths of the files that scans have found new, changed or gone, and of which the graph was told."""

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)


@dataclass(slots=True)
class View:
    """What a walk has seen of a root, or of a stretch of it."""

    seen: set[str] = field(default_factory=set)
    shapes: Counter[tuple[str, int]] = field(default_factory=Counter)
    """How many files of each name and size."""
    left_out: list[LeftOut] = field(default_factory=list)
    excluded: dict[str, Excluded] = field(default_factory=dict)
    """By path. Unless the walk explains, only what the default excludes leave out."""

    def add(self, portion: Sequence[Entry]) -> list[Found]:
        self.left_out += [each for each in portion if isinstance(each, LeftOut)]
        self.excluded |= {each.path: each for each in portion if isinstance(each, Excluded)}
        files = [each for each in portion if isinstance(each, Found)]
        self.seen |= {each.path for each in files}
        self.shapes.update(_shape(each.path, each.size) for each in files)
        return files

    def gone(self, known: Iterable[str]) -> list[str]:
        """Files that are no more. What is in a folder that cannot be looked into may still be."""
        closed = [each.path for each in self.left_out if each.folder]
        return sorted(
            path for path in known if path not in self.seen and not any(is_in(path, place) for place in closed)
        )

    def refusal(self, root: Root, known: Mapping[str, Known]) -> MassDeletion | None:
        """Why the gone files of a whole root must not be deleted without permission."""
        known = {path: each for path, each in known.items() if not each.was_gone}
        command = ("ingest", str(root.location))
        if self.gone(known) and root.is_empty:
            files = "the one file" if len(known) == 1 else f"the {len(known):,} files"
            return MassDeletion(
                f"{root.location} is empty, and the graph has {files} of {root.name} ({listed(sorted(known))}): is its"
                " disk mounted? Nothing was deleted",
                command=command,
            )
        lost = self._lost(known)
        if not is_mass_deletion(len(lost), len(known)):
            return None
        rules = {path: rule for path in lost if (rule := self.rule_of(path))}
        gone = [path for path in lost if path not in rules]
        told = f"{len(lost):,} of the {len(known):,} files of {root.name}"
        if gone and rules:
            told = f"{told} would go: {len(gone):,}"
        if gone:
            told = f"{told} are gone from {root.location} ({listed(gone)})"
        if gone and rules:
            told = f"{told} and {len(rules):,}"
        if rules:
            reasons = sorted({rule.reason for rule in rules.values()})
            told = f"{told} are excluded now ({listed(list(rules))}) by: {listed(reasons)}"
        instead = _instead(rules.values())
        return MassDeletion(f"{told}; nothing was deleted", command=command, instead=instead)

    def rule_of(self, path: str) -> Excluded | None:
        """The rule that leaves out a file, or a folder that it is in."""
        if not self.excluded:
            return None
        places = [path, *(str(folder) for folder in PurePosixPath(path).parents)]
        return next((self.excluded[place] for place in places if place in self.excluded), None)

    def _lost(self, known: Mapping[str, Known]) -> list[str]:
        """Those of the gone files that were not moved, as a file of the same name and size elsewhere shows."""
        gone = self.gone(known)
        # Files that stayed where they were are not what others were moved to.
        stayed = Counter(_shape(path, each.size) for path, each in known.items() if path in self.seen)
        moved = self.shapes - stayed
        lost = []
        for path in gone:
            shape = _shape(path, known[path].size)
            if moved[shape] > 0:
                moved[shape] -= 1
            else:
                lost.append(path)
        return lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """The files that are gone from a whole root, and why they must not be deleted without permission, if so."""

    gone: frozenset[str]
    refusal: MassDeletion | None


@dataclass(slots=True)
class _Scan:
    """One pass over one root."""

    lifecycle: Lifecycle
    root: Root
    rehash: bool
    tally: Tally
    known: dict[str, Known]
    directories: dict[str, str]
    reading: Reading | None
    run: str | None
    changes: Changes
    looked_at: int = 0
    view: View = field(default_factory=View)
    busy: list[str] = field(default_factory=list)

    async def take(self, portion: Sequence[Entry]) -> None:
        if self.reading:
            await self.reading.may_go_on()
        files = self.view.add(portion)
        self.looked_at += len(files)
        self.tally.read += len(files)
        if not self.reading or self.looked_at > self.reading.offset:  # else somebody has done so
            await self._compare([each for each in files if each.path in self.known])
        await self._add([each for each in files if each.path not in self.known])

    @property
    def marks(self) -> dict[str, Value]:
        return {"_runId": self.run} if self.run else {}

    @property
    def distrusted(self) -> float:
        return distrusted_since(self.reading.run.watermark_before if self.reading else None)

    async def _add(self, files: Sequence[Found]) -> None:
        last: list[Look] = []
        async for looks in looks_at_new(self.root, files):
            if last:
                await self._write(*self._new(last))
                self.changes.new += [each.found.path for each in last]
            last = looks
        nodes, edges = self._new(last)
        ahead = self.looked_at - self.reading.offset if self.reading else 0
        if self.reading and (ahead > _UNMARKED or (nodes and ahead > 0)):
            await self.reading.move_to(self.looked_at, nodes=nodes, edges=edges)
        elif nodes:
            await self._write(nodes, edges)
        self.changes.new += [each.found.path for each in last]

    async def _write(self, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        """RootForgotten where the root's node is gone or is that of another folder, as seen in the same commit."""
        store = self.lifecycle.store
        top = Ref(label="Directory", uuid=directory_uuid(store.project, self.root.name, TOP))
        while found := await rows_of(store, [top]):
            if found[0].properties.get("location") != str(self.root.location):
                break
            try:
                await store.commit(Batch(transitions=[step_forward(found[0], {})], nodes=nodes, edges=edges))
            except TransitionConflict:
                continue  # it is gone now, or was settled
            return
        raise RootForgotten.of(self.root.name)

    def _new(self, looks: Sequence[Look]) -> tuple[list[Node], list[Edge]]:
        project, name = self.lifecycle.store.project, self.root.name
        folders = {folder_of(each.found.path) for each in looks} - set(self.directories)
        self.directories |= {folder: directory_uuid(project, name, folder) for folder in folders}
        nodes = [new_directory(self.directories[folder], name, folder, self.marks) for folder in sorted(folders)]
        edges: list[Edge] = []
        for each in looks:
            node = _file(file_uuid(project, name, each.found.path), name, each, self.marks)
            nodes.append(node)
            folder = Ref(label="Directory", uuid=self.directories[folder_of(each.found.path)])
            edges.append(Edge(type="IN_DIRECTORY", source=node.ref, target=folder))
        return nodes, edges

    async def _compare(self, files: Sequence[Found]) -> None:
        await self._wake([self.known[each.path].ref for each in files if self.known[each.path].was_cancelled])
        doubtful = [
            each for each in files if self.rehash or self.known[each.path].is_doubtful(each, self.root, self.distrusted)
        ]
        self.tally.unchanged += len(files) - len(doubtful)
        async for looks in looks_at(self.root, doubtful):
            if any(look.digest == UNREADABLE for look in looks) and await asyncio.to_thread(lambda: self.root.is_lost):
                raise self.root.missing()
            await self._mark(looks)

    async def _mark(self, looks: Sequence[Look]) -> None:
        changed: dict[Ref, str] = {}
        properties: dict[Ref, Mapping[str, Value]] = {}
        touched: list[Update] = []
        for look in looks:
            known, found = self.known[look.found.path], look.found
            is_allowed_now = known.has_secret and self.root.rules.allow_secrets
            if is_allowed_now or not known.has(look.digest):
                changed[known.ref] = READ_AGAIN if is_allowed_now else look.digest
                properties[known.ref] = {**self.marks, **look.properties}
                continue
            self.tally.unchanged += 1
            if look.digest != UNREADABLE and (known.size, known.modified) != (found.size, found.modified):
                waiting = look.properties if known.state == State.PENDING else {}
                seen = {"_modifiedAt": found.modified, "size": found.size}
                touched.append(Update(node=known.ref, properties={**seen, **waiting}))
        await self.lifecycle.update(touched)
        busy = {ref.uuid for ref in await self.lifecycle.mark_changed(changed, properties)}
        paths = {self.known[each.found.path].ref.uuid: each.found.path for each in looks}
        self.busy += [path for uuid, path in paths.items() if uuid in busy]
        self.changes.changed += [paths[ref.uuid] for ref in changed if ref.uuid not in busy]

    async def _wake(self, cancelled: Sequence[Ref]) -> None:
        await self.lifecycle.move_what_is_still_so(
            [transition(ref, expected=State.SKIP, to=State.PENDING, properties=self.marks) for ref in cancelled]
        )

    def empty_folders(self, gone: Iterable[str]) -> list[Ref]:
        """Folders in which nothing is left once these files are gone."""
        left = {folder_of(path) for path in (self.view.seen | self.known.keys()).difference(gone)} | {TOP}
        return [
            Ref(label="Directory", uuid=uuid) for folder, uuid in sorted(self.directories.items()) if folder not in left
        ]


class Scanner:
    """`allow_deletes` says that the user wants to delete even most of a root."""

    def __init__(
        self, lifecycle: Lifecycle, linker: LinkFiles, tally: Tally, *, own: Path | None, allow_deletes: bool = False
    ) -> None:
        self._lifecycle = lifecycle
        self._linker = linker
        self._tally = tally
        self._own = own
        self._allow_deletes = allow_deletes
        self._deletable: set[str] = set()
        """Paths that were gone when the whole root was looked at, and may be deleted."""

    async def scan(
        self,
        root: Root,
        *,
        rehash: bool = False,
        tally: Tally | None = None,
        stretch: Stretch = WHOLE,
        reading: Reading | None = None,
        run: str | None = None,
        changes: Changes | None = None,
    ) -> Scanned:
        """`tally` counts what is looked at, where that is not to be counted for the job. `changes` is added to, also
        where the scan fails. `run` is the one to which a scan without `reading` adds files.

        RootMissing where the root is missing, or vanishes under the walk; MassDeletion where most of it is gone;
        RootForgotten where a file is new and the project does not have the root any more.
        """
        store = self._lifecycle.store
        changes = Changes() if changes is None else changes
        folders = (await store.ask("directories", {"root": root.name})).rows
        scan = _Scan(
            self._lifecycle,
            root,
            rehash,
            tally or self._tally,
            known=await known_files(store, root, stretch),
            directories={path: uuid for uuid, path in folders if path == TOP or stretch.has(f"{path}/")},
            reading=reading,
            run=reading.run.uuid if reading else run,
            changes=changes,
        )
        async for portion in portions(root, own=self._own, stretch=stretch):
            await scan.take(portion)
        if reading:
            reading.offset = scan.looked_at
        gone = await self._deletable_of(root, stretch, scan)
        empty = scan.empty_folders(gone)
        if gone or empty:
            await self._linker.delete([scan.known[path].ref for path in gone], empty)
            self._tally.deleted += len(gone)
            changes.gone += gone
        excluded = list(scan.view.excluded.values())
        return Scanned(left_out=scan.view.left_out, excluded=excluded, busy=scan.busy)

    async def _deletable_of(self, root: Root, stretch: Stretch, scan: _Scan) -> list[str]:
        """The gone files that may be deleted. MassDeletion where that is decided over the whole root and most is gone.

        Not by what the scan has seen: that was a stretch of the root, or may have vanished meanwhile.
        """
        gone = scan.view.gone(scan.known)
        if self._allow_deletes:
            return gone
        if not self._deletable.issuperset(gone):
            known = scan.known
            if stretch != WHOLE:
                known = await known_files(self._lifecycle.store, root)
                began = scan.reading.run.started_at if scan.reading else None
                if began:  # without what other stretches of the same run have added
                    known = {path: each for path, each in known.items() if not each.detected or each.detected < began}
            losses = await losses_of(root, known, own=self._own)
            if losses.refusal:
                raise losses.refusal
            self._deletable |= losses.gone
        return [path for path in gone if path in self._deletable]


async def losses_of(root: Root, known: Mapping[str, Known], *, own: Path | None) -> Losses:
    """Which of the known files are gone. RootMissing where the root is missing, or vanishes under the walk."""
    view = View()
    async for portion in portions(root, own=own, explain=True):
        view.add(portion)
    refusal = await asyncio.to_thread(view.refusal, root, known)
    return Losses(gone=frozenset(view.gone(known)), refusal=refusal)


def _instead(rules: Collection[Excluded]) -> str:
    """What to do to keep files that a rule would delete, or bring back those that are gone."""
    if any(rule.by_default for rule in rules):
        return "to keep them, add --no-default-excludes"
    return "to keep them, change the rule that leaves them out" if rules else "bring them back and run it again"


def _shape(path: str, size: int | None) -> tuple[str, int]:
    return path.rpartition("/")[2], size or 0


async def known_files(store: Store, root: Root, stretch: Stretch = WHOLE) -> dict[str, Known]:
    """What the graph has of the files of a root, by path."""
    known: dict[str, Known] = {}
    within = {"root": root.name, "since": stretch.since, "until": stretch.until}
    async for rows in paged(store, "files", limit=_PAGE, **within):
        for uuid, path, state, size, modified, digest, error_type, reason, detected in rows:
            known[path] = Known(
                ref=Ref(label="File", uuid=uuid),
                state=state,
                size=size,
                modified=modified,
                hash=digest,
                error_type=error_type,
                reason=reason,
                detected=detected,
            )
    return known


def folder_of(path: str) -> str:
    """The folder of a file in its root; the root itself is `.`"""
    return str(PurePosixPath(path).parent)


async def portions(
    root: Root, *, own: Path | None, stretch: Stretch = WHOLE, explain: bool = False
) -> AsyncIterator[Sequence[Entry]]:
    """What is in a root. RootMissing where it is missing, or is not the same folder at the end as at the beginning."""
    before = await asyncio.to_thread(lambda: root.identity)
    found = walk(root.location, root.rules, own=own, stretch=stretch, explain=explain)
    while portion := await asyncio.to_thread(_portion_of, found):
        for each in portion:
            if isinstance(each, LeftOut) and each.folder and not each.path:
                raise root.missing(each.reason.rpartition(": ")[2])
        yield portion
    if not await asyncio.to_thread(lambda: root.exists and root.identity == before):
        raise root.missing()


def _portion_of(found: Iterator[Entry]) -> list[Entry]:
    portion: list[Entry] = []
    try:
        portion.extend(islice(found, _PORTION))
    except OSError as error:
        portion.append(LeftOut(path="", reason=f"the root cannot be read: {error.strerror or error}", folder=True))
    return portion


def is_in(path: str, folder: str) -> bool:
    return folder in ("", TOP, path) or path.startswith(f"{folder}/")


def distrusted_since(watermark: datetime | None) -> float:
    """From this time of change on, in nanoseconds, a file may have been changed after the last run read it."""
    return (watermark - _SLACK).timestamp() * 1e9 if watermark else float("inf")


def new_directory(uuid: str, root: str, path: str, marks: Mapping[str, Value]) -> Node:
    name = PurePosixPath(path).name or root
    return new_node(
        label="Directory", uuid=uuid, name=name, state=State.PARSED, properties={"root": root, "path": path, **marks}
    )


def _file(uuid: str, root: str, look: Look, marks: Mapping[str, Value]) -> Node:
    path = PurePosixPath(look.found.path)
    properties = {"root": root, "path": str(path), "extension": path.suffix.lower(), **marks, **look.properties}
    return new_node(label="File", uuid=uuid, name=path.name, properties=properties)
