"""Compares a folder with what the graph knows of it: new and changed files go to the parser, gone ones are removed.

Reads no file whose size and time of change are as they were, unless it is told to distrust them.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath

from graph_stores.model import Edge, Node, Ref, Update
from orchestrator.files.link import LinkFiles
from orchestrator.files.roots import TOP, Root
from orchestrator.lifecycle import Lifecycle, new_node
from orchestrator.paging import paged
from orchestrator.states import ErrorType, State
from orchestrator.tally import Tally
from pipelines.files.identity import directory_uuid, file_uuid
from pipelines.files.making import hash_file
from pipelines.files.walk import Found, LeftOut, walk

_PAGE = 2000
_PORTION = 500
# What is kept instead of a hash of a file that cannot be read: it changes as soon as it can be.
_UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the graph has of a file."""

    ref: Ref
    state: str
    size: int | None
    modified: int | None
    hash: str | None
    error_type: str | None

    def is_as_it_was(self, found: Found) -> bool:
        if self.state == State.PENDING:
            return True  # it will be read anyway
        if self.state == State.ERROR and self.error_type == ErrorType.PARSE:
            return False
        return (self.size, self.modified) == (found.size, found.modified)

    def has(self, digest: str) -> bool:
        """Whether this is the content that was looked at last; of a file that never could be read nothing is known."""
        never_read = self.hash is None and self.state == State.ERROR
        return digest == self.hash or (never_read and digest == _UNREADABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """`busy` files changed while a worker had them in hand: they are to be looked at again."""

    left_out: Sequence[LeftOut]
    busy: Sequence[str]


@dataclass(slots=True)
class _Scan:
    """One pass over one root."""

    lifecycle: Lifecycle
    root: Root
    rehash: bool
    tally: Tally
    known: dict[str, Known]
    directories: dict[str, str]
    seen: set[str] = field(default_factory=set)
    left_out: list[LeftOut] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)

    async def take(self, portion: Sequence[Found | LeftOut]) -> None:
        self.left_out += [each for each in portion if isinstance(each, LeftOut)]
        files = [each for each in portion if isinstance(each, Found)]
        self.seen |= {each.path for each in files}
        self.tally.read += len(files)
        await self._add([each for each in files if each.path not in self.known])
        await self._compare([each for each in files if each.path in self.known])

    async def _add(self, files: Sequence[Found]) -> None:
        project, name = self.lifecycle.store.project, self.root.name
        folders = {folder_of(each.path) for each in files} - set(self.directories)
        self.directories |= {folder: directory_uuid(project, name, folder) for folder in folders}
        nodes = [_directory(self.directories[folder], name, folder) for folder in sorted(folders)]
        edges: list[Edge] = []
        for each in files:
            node = _file(file_uuid(project, name, each.path), name, each)
            nodes.append(node)
            folder = Ref(label="Directory", uuid=self.directories[folder_of(each.path)])
            edges.append(Edge(type="IN_DIRECTORY", source=node.ref, target=folder))
        if nodes:
            await self.lifecycle.upsert(nodes, edges)

    async def _compare(self, files: Sequence[Found]) -> None:
        doubtful = [each for each in files if self.rehash or not self.known[each.path].is_as_it_was(each)]
        self.tally.unchanged += len(files) - len(doubtful)
        if not doubtful:
            return
        hashes = await asyncio.to_thread(lambda: [_hash(self.root.place_of(each.path)) for each in doubtful])
        changed: dict[Ref, str] = {}
        touched: list[Update] = []
        for each, digest in zip(doubtful, hashes, strict=True):
            known = self.known[each.path]
            if not known.has(digest):
                changed[known.ref] = digest
                continue
            self.tally.unchanged += 1
            if digest != _UNREADABLE and (known.size, known.modified) != (each.size, each.modified):
                touched.append(Update(node=known.ref, properties={"_modifiedAt": each.modified, "size": each.size}))
        await self.lifecycle.update(touched)
        busy = {ref.uuid for ref in await self.lifecycle.mark_changed(changed)}
        self.busy += [each.path for each in doubtful if self.known[each.path].ref.uuid in busy]

    def gone(self) -> tuple[list[Ref], list[Ref]]:
        """Files that are no more, and folders in which nothing is left. What could not be looked into may still be."""
        closed = [each.path for each in self.left_out if each.folder]
        files = {
            path for path in self.known if path not in self.seen and not any(_is_in(path, place) for place in closed)
        }
        left = {folder_of(path) for path in (self.seen | self.known.keys()) - files} | {TOP}
        folders = [
            Ref(label="Directory", uuid=uuid) for folder, uuid in sorted(self.directories.items()) if folder not in left
        ]
        return [self.known[path].ref for path in sorted(files)], folders


class Scanner:
    def __init__(self, lifecycle: Lifecycle, linker: LinkFiles, tally: Tally, *, own: Path | None) -> None:
        self._lifecycle = lifecycle
        self._linker = linker
        self._tally = tally
        self._own = own

    async def scan(self, root: Root, *, rehash: bool = False, tally: Tally | None = None) -> Scanned:
        """`tally` counts what is looked at, where that is not to be counted for the job."""
        store = self._lifecycle.store
        scan = _Scan(
            self._lifecycle,
            root,
            rehash,
            tally or self._tally,
            known=await self._known(root),
            directories={path: uuid for uuid, path in (await store.ask("directories", {"root": root.name})).rows},
        )
        found = walk(root.location, root.rules, own=self._own)
        while portion := await asyncio.to_thread(_portion, found):
            await scan.take(portion)
        files, folders = scan.gone()
        if files or folders:
            await self._linker.delete(files, folders)
            self._tally.deleted += len(files)
        return Scanned(left_out=scan.left_out, busy=scan.busy)

    async def _known(self, root: Root) -> dict[str, Known]:
        known: dict[str, Known] = {}
        async for rows in paged(self._lifecycle.store, "files", limit=_PAGE, root=root.name):
            for uuid, path, state, size, modified, digest, error_type in rows:
                known[path] = Known(
                    ref=Ref(label="File", uuid=uuid),
                    state=state,
                    size=size,
                    modified=modified,
                    hash=digest,
                    error_type=error_type,
                )
        return known


def folder_of(path: str) -> str:
    """The folder of a file in its root; the root itself is `.`"""
    return str(PurePosixPath(path).parent)


def _portion(found: Iterator[Found | LeftOut]) -> list[Found | LeftOut]:
    """The next of them; of a root that vanishes under the walk nothing is taken for gone."""
    portion: list[Found | LeftOut] = []
    try:
        portion.extend(islice(found, _PORTION))
    except OSError as error:
        portion.append(LeftOut(path="", reason=f"the root cannot be read: {error.strerror or error}", folder=True))
    return portion


def _hash(place: Path) -> str:
    try:
        return hash_file(place)
    except OSError:
        return _UNREADABLE


def _is_in(path: str, folder: str) -> bool:
    return folder in ("", TOP, path) or path.startswith(f"{folder}/")


def _directory(uuid: str, root: str, path: str) -> Node:
    name = PurePosixPath(path).name or root
    return new_node(
        label="Directory", uuid=uuid, name=name, state=State.PARSED, properties={"root": root, "path": path}
    )


def _file(uuid: str, root: str, found: Found) -> Node:
    path = PurePosixPath(found.path)
    properties = {"root": root, "path": found.path, "extension": path.suffix.lower(), "size": found.size}
    return new_node(label="File", uuid=uuid, name=path.name, properties=properties)
