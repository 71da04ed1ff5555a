"""Files against the graph: what was added, edited or removed since they were read. Changes neither.

A file of the same size and time of change is taken for the same, unless it is to be read again.
"""

import asyncio
import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from graph_stores import path_of
from graph_stores.protocol import Store
from orchestrator.checking import Check, Example, Mend
from orchestrator.files.link import LinkFiles
from orchestrator.files.looks import looks_at
from orchestrator.files.roots import TOP, Root, RootMissing, read_roots
from orchestrator.files.scan import Known, Scanner, View, known_files, portions
from orchestrator.leases import owner_name
from orchestrator.lifecycle import Lifecycle
from orchestrator.read_command import ingest_command
from orchestrator.runs.sources import ALLOW, SourceLost
from orchestrator.states import WORKING, State
from orchestrator.tally import Tally
from pipelines.files.identity import directory_uuid, file_uuid
from pipelines.files.walk import Found

EMPTIED, GONE = "emptied-root", "gone-root"
_ABOUT = {
    "unread-file": "are in a folder of the project and not in the graph",
    "changed-file": "were changed since they were read",
    "gone-file": "are in the graph, and no longer in their folder or excluded now",
    EMPTIED: "are roots of which most files are gone or excluded now, or all",
    GONE: "are roots that are not where the graph says",
}


class FileDifferences:
    """One comparison for all its checks. `notes` say which roots cannot be seen from here."""

    def __init__(self, *, rehash: bool = False) -> None:
        self._rehash = rehash
        self._found: list[tuple[str, Example]] | None = None
        self._roots: dict[str, Root] = {}
        self.notes: list[str] = []

    @property
    def checks(self) -> Sequence[Check]:
        return [
            Check(name=name, about=about, hint=partial(self._advise, name), find=partial(self._of_kind, name=name))
            for name, about in _ABOUT.items()
        ]

    @property
    def menders(self) -> Mapping[str, Mend]:
        return dict.fromkeys(("unread-file", "changed-file", "gone-file"), self._mend)

    async def _mend(self, store: Store, _: Sequence[Example]) -> str:
        """What `ingest` would do first: what is new or changed waits to be read, what is gone goes."""
        lifecycle = Lifecycle(store=store)
        linker = LinkFiles(lifecycle, owner_name(), Tally())
        scanner = Scanner(lifecycle, linker, Tally(), own=path_of(store.url))
        try:
            for root in (await read_roots(store)).values():
                if root.exists:
                    with suppress(SourceLost):  # told by a check of its own
                        await scanner.scan(root, rehash=self._rehash)
        finally:
            await linker.close()
        self._found = None
        return "compared with their folders: new and changed ones wait to be read, gone ones are removed"

    async def _advise(self, check: str, _: Store, found: Sequence[Example]) -> str:
        roots = list({root.name: root for each in found if (root := self._roots.get(each.uuid))}.values())
        if check == EMPTIED:
            command = ingest_command(roots, ALLOW)
            return f"if their disk is not mounted, mount it; if the files are to be deleted: {command}"
        if check == GONE:
            return "; ".join(_moved(root.name, shlex.quote(root.name)) for root in roots)
        return f"read them: {ingest_command(roots)}, or graphmill verify --repair and then graphmill worker --drain"

    async def _of_kind(self, store: Store, name: str) -> AsyncIterator[Example]:
        if self._found is None:
            self.notes.clear()
            self._found = [each async for each in self._differences(store)]
        for kind, example in self._found:
            if kind == name:
                yield example

    async def _differences(self, store: Store) -> AsyncIterator[tuple[str, Example]]:
        for root in (await read_roots(store)).values():
            if root.is_away:
                self.notes.append(f"{root.name} is on {root.host} and cannot be compared from here")
                continue
            try:
                async for kind, example in self._of_root(store, root):
                    self._roots[example.uuid] = root
                    yield kind, example
            except RootMissing:
                example = _root_example(store, root, f"{root.name} at {root.location}")
                self._roots[example.uuid] = root
                yield GONE, example

    async def _of_root(self, store: Store, root: Root) -> AsyncIterator[tuple[str, Example]]:
        known = await known_files(store, root)
        view = View()
        async for portion in portions(root, own=path_of(store.url), explain=True):
            files = view.add(portion)
            for each in files:
                if each.path not in known:
                    uuid = file_uuid(store.project, root.name, each.path)
                    yield "unread-file", _example(uuid, root, each.path)
            doubtful = [each for each in files if each.path in known and self._is_doubtful(known[each.path], each)]
            async for looks in looks_at(root, doubtful):
                for look in looks:
                    before = known[look.found.path]
                    if not before.has(look.digest):
                        yield "changed-file", _example(before.ref.uuid, root, look.found.path)
        if refusal := await asyncio.to_thread(view.refusal, root, known):
            yield EMPTIED, _root_example(store, root, refusal.message)
            return
        for path in view.gone(known):
            yield "gone-file", _example(known[path].ref.uuid, root, path)

    def _is_doubtful(self, known: Known, found: Found) -> bool:
        if known.state == State.PENDING or known.state in WORKING:
            return False  # it will be read anyway
        return self._rehash or (known.size, known.modified) != (found.size, found.modified)


def _moved(name: str, word: str) -> str:
    return f"if {name} moved: graphmill ingest NEW-PLACE --as {word}; to remove it: graphmill forget {word}"


def _root_example(store: Store, root: Root, found: str) -> Example:
    return Example(label="Directory", uuid=directory_uuid(store.project, root.name, TOP), found=found)


def _example(uuid: str, root: Root, path: str) -> Example:
    return Example(label="File", uuid=uuid, found=f"{root.name}/{path}")
