"""Removes a source from the graph with all that only it supports. The files themselves are never touched."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from graph_stores.errors import GraphmillError
from graph_stores.model import Ref
from graph_stores.protocol import Store
from orchestrator.files.link import LinkFiles
from orchestrator.files.roots import KIND, TOP, Root, read_roots
from orchestrator.leases import is_gone, owner_name
from orchestrator.lifecycle import Lifecycle
from orchestrator.paging import paged
from orchestrator.runs.course import forget_runs
from orchestrator.tally import Tally

_PAGE = 2000


class NotInGraph(GraphmillError):
    code = "not_in_graph"
    exit_code = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """`whole` says that the root went with its last file; else the next ingest of it reads these files again."""

    root: str
    files: int
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgettable:
    """A root, or what is at `below` in it. `files` are uuids by path."""

    root: Root
    below: str
    files: dict[str, str]

    @property
    def is_whole(self) -> bool:
        return self.below == TOP


async def find(store: Store, what: str) -> Forgettable:
    """`what` is the name of a root, a path of the graph (root/path), or a path on this machine, there or not."""
    roots = await read_roots(store)
    root, below = _find(what, roots)
    files = await _files(store, root, below)
    if not files and below != TOP:
        raise NotInGraph(
            f"there is nothing of {what} in project {store.project}",
            hint="see where its files come from: graphmill query --name roots",
        )
    return Forgettable(root=root, below=below, files=files)


async def forget(store: Store, what: str) -> Forgotten:
    """Remove what `find` finds."""
    found = await find(store, what)
    root, files = found.root, dict(found.files)
    folders = await _folders(store, root, found.below)
    lifecycle = Lifecycle(store=store)
    if found.is_whole:
        await forget_runs(lifecycle, f"{KIND}:{root.name}", whole=True)
    await lifecycle.reclaim(is_gone)  # what a process that was killed had in hand
    linker = LinkFiles(lifecycle, owner_name(), Tally())
    try:
        await linker.delete(_refs(files), folders)
        # What a job added until the root's node was gone. After that no job adds more.
        if found.is_whole and root.name not in await read_roots(store):
            late, folders = await _files(store, root, TOP), await _folders(store, root, TOP)
            await linker.delete(_refs(late), folders)
            files |= late
    finally:
        await linker.close()
    return Forgotten(root=root.name, files=len(files), whole=found.is_whole)


def _refs(files: Mapping[str, str]) -> list[Ref]:
    return [Ref(label="File", uuid=uuid) for uuid in files.values()]


def _find(what: str, roots: dict[str, Root]) -> tuple[Root, str]:
    name, _, path = what.rstrip("/").partition("/")
    if what in roots:
        return roots[what], TOP
    if name in roots and path and not Path(what).exists():
        return roots[name], path
    place = Path(what).expanduser().absolute()
    for candidate in (place, place.resolve()):
        for root in roots.values():
            if candidate == root.location:
                return root, TOP
            if root.location in candidate.parents:
                return root, candidate.relative_to(root.location).as_posix()
    names = ", ".join(sorted(roots)) or "none yet"
    raise NotInGraph(f"{what} is in no root of the project", hint=f"its roots are: {names}")


async def _files(store: Store, root: Root, below: str) -> dict[str, str]:
    """The uuids by path."""
    files: dict[str, str] = {}
    async for rows in paged(store, "files", limit=_PAGE, root=root.name, since="", until=""):
        files |= {path: uuid for uuid, path, *_ in rows}
    return {path: uuid for path, uuid in files.items() if below in (TOP, path) or path.startswith(f"{below}/")}


async def _folders(store: Store, root: Root, below: str) -> list[Ref]:
    rows = (await store.ask("directories", {"root": root.name})).rows
    return [
        Ref(label="Directory", uuid=uuid)
        for uuid, path in rows
        if below == TOP or path == below or path.startswith(f"{below}/")
    ]
