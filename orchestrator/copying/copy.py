"""The copy itself: writes what the other process reads, goes on where an earlier one was killed, and compares both.

A note in the target says what is being copied into it, so that the same command knows its own work from somebody
else's. Whatever is there already is compared and only what differs is written: a page costs little the second time.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from graph_stores import is_embedded, path_of
from graph_stores.errors import GraphmillError, Misuse
from graph_stores.model import StateCount, VectorSpace
from graph_stores.pages import EdgePage, NodePage, Page
from graph_stores.protocol import Store
from orchestrator.copying.checksums import Checksums
from orchestrator.copying.idle import check_idle
from orchestrator.copying.keys import Keys
from orchestrator.copying.origin import Ending, Kind
from orchestrator.copying.reading import Origin, Source
from orchestrator.states import RECORDS
from orchestrator.workers import LABEL as WORKER

_NOTE = "copy"
_NAMED = 3


class TargetNotEmpty(Misuse):
    code = "target_not_empty"


class SameGraph(Misuse):
    code = "same_graph"


class CannotCarry(Misuse):
    code = "cannot_carry"


class CopyDiffers(GraphmillError):
    code = "copy_differs"


@dataclass(slots=True)
class Begun:
    """How far a copy is. `nodes` of `of_nodes` and `edges` were looked at, `written` ones were not there or other."""

    of_nodes: int = 0
    nodes: int = 0
    edges: int = 0
    written_nodes: int = 0
    written_edges: int = 0
    compared: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    origin: Origin
    target: str
    checksums: Checksums
    space: VectorSpace | None
    begun: Begun
    in_hand: int
    left: Mapping[str, int]
    """How many nodes were not copied, by label: they are in no project, or have no state in this one."""
    seconds: float

    @property
    def counts(self) -> tuple[int, int]:
        """How many nodes, as `status` counts them, and how many records of runs."""
        counts = {name: each.count for name, each in self.checksums.nodes.items()}
        records = sum(count for name, count in counts.items() if name in RECORDS)
        return sum(counts.values()) - records, records

    def document(self) -> dict[str, Any]:
        """The shape that `copy --json` promises."""
        space = self.space
        return {
            "from": self.origin.url,
            "to": self.target,
            "projectId": self.origin.project,
            "nodes": {name: each.document() for name, each in sorted(self.checksums.nodes.items())},
            "edges": {name: each.document() for name, each in sorted(self.checksums.edges.items())},
            "written": {"nodes": self.begun.written_nodes, "edges": self.begun.written_edges},
            "returned": self.in_hand,
            "left": dict(self.left),
            "vectors": {"provider": space.provider, "model": space.model, "dimension": space.dimension}
            if space
            else None,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    """What the target says of a copy into it; with `merge` it had held something before."""

    source: str
    finished: bool
    merge: bool = False

    @classmethod
    async def read(cls, target: Store) -> "_Note | None":
        text = await target.note(_NOTE)
        return cls(**json.loads(text)) if text else None

    async def leave(self, target: Store) -> None:
        await target.leave_note(_NOTE, json.dumps(asdict(self)))


@dataclass(slots=True, kw_only=True)
class Copy:
    """One run of the command. `begun` tells how far it is."""

    source: Source
    target: Store
    merge: bool = False
    begun: Begun = field(default_factory=Begun)
    say: Callable[[str], None] = lambda _: None

    async def run(self) -> Copied:
        started = time.monotonic()
        check_apart(self.origin.url, self.target.url)
        check_carried(self.source, self.target.url)
        await check_idle(self.target)
        note = await _Note.read(self.target)
        occupied = await _is_occupied(self.target)
        if occupied and not self.merge and not await self._goes_on(note):
            raise self._not_empty(note)
        only_compare = occupied and not self.merge and note is not None and note.finished
        space = await self._begin(occupied=occupied, write=not only_compare)
        with Keys.open() as keys:
            ending = await self._take(keys, occupied=occupied, write=not only_compare)
            differences = ending.checksums.differences(await self._found(keys if self.merge else None))
        if differences and only_compare:
            raise self._not_empty(note)
        if differences:
            raise self._differs(differences)
        await self._finish(space)
        seconds = time.monotonic() - started
        return Copied(
            origin=self.origin,
            target=self.target.url,
            checksums=ending.checksums,
            space=space,
            begun=self.begun,
            in_hand=ending.in_hand,
            left=self.source.beginning.brought.left,
            seconds=seconds,
        )

    @property
    def origin(self) -> Origin:
        return self.source.origin

    async def _goes_on(self, note: _Note | None) -> bool:
        """Whether what is there is the work of this command, and of nobody else since."""
        if note is None or note.source != _name(self.origin.url) or note.merge:
            return False
        return note.finished or not await _was_worked_on(self.target)

    async def _take(self, keys: Keys, *, occupied: bool, write: bool) -> Ending:
        async for kind, content in self.source.messages:
            match kind:
                case Kind.NODES:
                    if self.merge:
                        await asyncio.to_thread(keys.add, content)
                    if write:
                        await self._write_nodes(content, new=not occupied)
                    self.begun.nodes += len(content)
                case Kind.EDGES:
                    if self.merge:
                        await asyncio.to_thread(keys.add, content)
                    if write:
                        await self._write_edges(content, new=not occupied)
                    self.begun.edges += len(content)
                case Kind.END:
                    ending: Ending = content
                    return ending
        raise AssertionError("the messages end with the last of them, or with an error")

    async def _begin(self, *, occupied: bool, write: bool) -> VectorSpace | None:
        beginning = self.source.beginning
        self.begun.of_nodes = beginning.nodes
        there = await self.target.vector_space()
        if occupied and beginning.space and there not in (None, beginning.space):
            raise Misuse(
                f"the vectors in {self.target.url} are of another model than those in {self.origin.url}",
                hint="embed one of the graphs anew, or copy into a graph of its own",
            )
        if write:
            await self.target.adopt(beginning.brought)
            if beginning.space:
                await self.target.use_vector_space(beginning.space)
            await _Note(source=_name(self.origin.url), finished=False, merge=occupied and self.merge).leave(self.target)
        return beginning.space

    async def _write_nodes(self, page: NodePage, *, new: bool) -> None:
        if new:
            await self.target.restore_page(page)
            self.begun.written_nodes += len(page)
            return
        there = await self._contents_there(page)
        absent = page.only([uuid not in there for uuid in page.uuids])
        wanted = zip(page.uuids, page.contents(), strict=True)
        changed = page.only([there.get(uuid, content) != content for uuid, content in wanted])
        if len(absent):
            await self.target.restore_page(absent)
        if len(changed):
            await self.target.restore(changed.nodes())
        self.begun.written_nodes += len(absent) + len(changed)

    async def _contents_there(self, page: NodePage) -> dict[str, bytes]:
        found = NodePage.of(await self.target.exported(page.label, page.uuids))
        return {uuid: content for each in found for uuid, content in zip(each.uuids, each.contents(), strict=True)}

    async def _write_edges(self, page: EdgePage, *, new: bool) -> None:
        if new:
            await self.target.restore_page(page)
        else:
            await self.target.restore([], page.edges())
        self.begun.written_edges += len(page)

    async def _found(self, keys: Keys | None) -> Checksums:
        """What is in the target now; where it held more before, only of what was copied."""
        checksums = Checksums()
        async for nodes in self.target.node_pages():
            if nodes.label != WORKER:
                self._add(nodes, checksums, keys)
        async for edges in self.target.edge_pages():
            self._add(edges, checksums, keys)
        return checksums

    def _add(self, page: Page, checksums: Checksums, keys: Keys | None) -> None:
        brought = keys.known(page) if keys else page
        if len(brought):
            checksums.add(brought)
        self.begun.compared += len(page)

    async def _finish(self, space: VectorSpace | None) -> None:
        if space and self.target.capabilities.vector_index:
            self.say("building the vector index")
            await self.target.index_vectors()
        await check_idle(self.target)
        await _Note(source=_name(self.origin.url), finished=True).leave(self.target)

    def _not_empty(self, note: _Note | None) -> TargetNotEmpty:
        of = ""
        if note:
            since = ", and was worked on since" if note.finished else " that was not finished, and was worked on since"
            of = f": it is from a copy of {note.source}{'' if note.merge else since}"
        return TargetNotEmpty(
            f"project {self.target.project} in {self.target.url} is not empty{of}",
            hint="copy into another graph, or add --merge to copy over what is there",
        )

    def _differs(self, differences: Sequence[str]) -> CopyDiffers:
        return CopyDiffers(
            f"the copy in {self.target.url} is not the same as {self.origin.url}: it has {'; '.join(differences)}",
            hint="if the source was changed since the copy was begun, copy it into an empty graph",
        )


def check_apart(source: str, target: str) -> None:
    if _name(source) == _name(target):
        raise SameGraph(f"{source} and {target} are the same graph", hint="name two graphs: graphmill copy FROM TO")


def check_carried(source: Source, target: str) -> None:
    """Refuse what the target could not hold, before there is a target."""
    brought = source.beginning.brought
    found = [*brought.lost, *(brought.untyped if is_embedded(target) else ())]
    if found:
        more = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
        raise CannotCarry(
            f"{source.origin.url} cannot be copied to {target}: {'; '.join(found[:_NAMED])}{more}",
            hint="remove it or store it otherwise with graphmill query --write, and run the same command again",
        )


async def _is_occupied(store: Store) -> bool:
    return any(each.label != WORKER for each in await _counts(store))


async def _was_worked_on(store: Store) -> bool:
    """A copy brings no workers, so one that is known there came to it by itself."""
    return any(each.label == WORKER for each in await _counts(store))


async def _counts(store: Store) -> list[StateCount]:
    return [each for each in (await store.progress(finished=[], window=0.0)).counts if each.count]


def _name(url: str) -> str:
    """What a graph is called wherever one stands."""
    path = path_of(url)
    return f"{url.partition(':')[0]}:{path}" if path else url
