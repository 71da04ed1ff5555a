"""The link step for files: resolves what they refer to, for themselves and for all who refer to them.

One worker of a project links at a time, under a hold that fences its commits: an edge depends on two files, and two
workers that each see half of a change could both be wrong. Nodes of files vanish only here.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graph_stores.errors import HoldLost, TransientStoreError, TransitionConflict
from graph_stores.model import Batch, Edge, Fence, NodeRow, Ref, Unlink, Update, Value
from orchestrator.holding import take
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import transition
from orchestrator.paging import paged
from orchestrator.removal import Removal, away, removal_of_texts, rows_of
from orchestrator.states import LINK, State
from orchestrator.tally import Tally
from orchestrator.worker import Failure, Outcome
from pipelines.files.links import Entry, Index
from pipelines.files.manifest import Manifest, Piece, dump, load
from pipelines.files.rewiring import Rewired, rewire

log = logging.getLogger("graphmill.files")

HOLD = "link-files"
_HOLD_SECONDS = 30.0
_PAGE = 500
# For how long the hold is kept without work: getting it again means to read every manifest again.
_PATIENCE = 3.0
# How often to look for work without being told of any.
_LOOK = 1.0
# For how long to wait for more of what is being parsed: each batch resolves again whatever waited for its names.
_GATHERING = 2.0
_DELETED_AT_ONCE = 200
_DAMAGED = "what was parsed of it cannot be read back: forget it, and ingest it again"


@dataclass(slots=True)
class _Holding:
    token: str
    index: Index | None = None
    used: float = 0.0


class LinkFiles:
    stage = LINK
    labels: Sequence[str] = ("File",)
    limit = 256
    runners = 1
    needs: Sequence[str] | None = ("root", "path", "_manifest", "_draft")

    def __init__(self, lifecycle: Lifecycle, owner: str, tally: Tally) -> None:
        self._lifecycle = lifecycle
        self._store = lifecycle.store
        self._owner = owner
        self._tally = tally
        self._holding: _Holding | None = None
        self._looked = 0.0
        self._expecting: float | None = None
        self._turn = asyncio.Lock()
        self._in_turn = False
        self.is_parsing: Callable[[], bool] = lambda: False
        """Whether this process is about to bring more."""

    async def is_ready(self) -> bool:
        if self._is_gathering():
            return False
        if self._holding is None and time.monotonic() < self._looked + _LOOK:
            return False
        self._looked = time.monotonic()
        return await self._take() is not None

    def expect(self) -> None:
        """There is something to link: look at once."""
        self._looked = 0.0
        self._expecting = self._expecting or time.monotonic()

    def _is_gathering(self) -> bool:
        if self._expecting is None or self._tally.parsed - self._tally.linked >= self.limit:
            return False
        return time.monotonic() < self._expecting + _GATHERING and self.is_parsing()

    async def work(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        """The turn lasts until what came of it is committed or not: nothing may be removed in between."""
        if not self._in_turn:  # it still is where the nodes of a batch are tried one by one
            await self._turn.acquire()
            self._in_turn = True
        try:
            holding = await self._take()
            if holding is None:
                self._end_turn()
                return ()
            return await self._results(await self._index(holding), nodes)
        except BaseException:
            await self.undone()
            raise

    def fence(self) -> Fence | None:
        # Without the hold nothing may be written: the empty token is nobody's.
        return Fence(name=HOLD, token=self._holding.token if self._holding else "")

    async def done(self, results: Sequence[Result]) -> None:
        self._end_turn()
        self._expecting = None
        self._tally.linked += len(results)
        self._settled()

    async def undone(self) -> None:
        if self._holding:
            self._holding.index = None
        self._settled()
        self._end_turn()

    def _end_turn(self) -> None:
        if self._in_turn:
            self._in_turn = False
            self._turn.release()

    async def delete(self, files: Sequence[Ref], others: Sequence[Ref] = ()) -> None:
        """Remove files with all that is in them, and nodes that go with them; waits until nobody else links."""
        while True:
            async with self._turn:
                holding = await self._take()
                if holding:
                    try:
                        await self._delete(holding, files, others)
                    except HoldLost:
                        self._holding = None
                    except TransitionConflict:
                        pass  # somebody had one of them in hand: look again what there is
                    else:
                        return
            await asyncio.sleep(_LOOK / 2)

    async def keep(self) -> None:
        """Renew the hold while it is used, and give it to others while it is not, until cancelled."""
        while True:
            await asyncio.sleep(_PATIENCE / 3)
            try:
                await self._renew()  # also in the middle of a long turn
                if not self._turn.locked():
                    async with self._turn:
                        await self._let_go_if_unused()
            except TransientStoreError:
                continue  # the fence tells, if it is lost

    async def close(self) -> None:
        if holding := self._holding:
            self._holding = None
            await self._store.let_go(HOLD, token=holding.token)

    def _settled(self) -> None:
        if self._holding:
            self._holding.used = time.monotonic()

    async def _let_go_if_unused(self) -> None:
        if self._holding and time.monotonic() > self._holding.used + _PATIENCE:
            await self.close()

    async def _renew(self) -> None:
        holding = self._holding
        if holding is None:
            return
        kept = await self._store.renew(HOLD, token=holding.token, seconds=_HOLD_SECONDS)
        if not kept and self._holding is holding:
            self._holding = None

    async def _take(self) -> _Holding | None:
        if self._holding is None:
            token = await take(self._store, HOLD, owner=self._owner, seconds=_HOLD_SECONDS)
            if token:
                self._holding = _Holding(token, used=time.monotonic())
        return self._holding

    async def _index(self, holding: _Holding) -> Index:
        if holding.index is None:
            index = Index()
            async for rows in paged(self._store, "manifests", limit=_PAGE):
                for uuid, root, path, _, manifest, _ in rows:
                    if manifest and (known := _loaded(manifest, uuid)):
                        index.put(Entry(uuid=uuid, root=root, path=path, manifest=known))
            holding.index = index
        return holding.index

    async def _results(self, index: Index, claimed: Sequence[NodeRow]) -> list[Outcome]:
        drafts = {
            node.uuid: _loaded(node.properties["_draft"], node.uuid) for node in claimed if "_draft" in node.properties
        }
        damaged = [node for node in claimed if node.uuid in drafts and drafts[node.uuid] is None]
        nodes = [node for node in claimed if node not in damaged]
        entries = {
            node.uuid: Entry(
                uuid=node.uuid,
                root=node.properties["root"],
                path=node.properties["path"],
                manifest=replace(draft, pieces=[replace(piece, fresh=False) for piece in draft.pieces]),
            )
            for node in nodes
            if (draft := drafts.get(node.uuid))
        }
        gone = {uuid: await self._gone(index, entry) for uuid, entry in entries.items()}
        rewired = rewire(index, entries)
        results = [
            _result(node, drafts.get(node.uuid), entries.get(node.uuid), gone.get(node.uuid, Removal()))
            for node in nodes
        ]
        if results:
            results[0] = _with(results[0], rewired)
        return [*results, *(Failure(node=node, message=_DAMAGED, permanent=True) for node in damaged)]

    async def _gone(self, index: Index, entry: Entry) -> Removal:
        """The parts that the file had and has no more, with their chunks."""
        if entry.uuid not in index:
            return Removal()
        left = {piece.uuid for piece in entry.manifest.pieces}
        gone = [piece for piece in index[entry.uuid].manifest.pieces if piece.uuid not in left]
        return await removal_of_texts(self._store, [ref_of(piece) for piece in gone])

    async def _parts(self, file: NodeRow) -> list[Ref]:
        """Everything that was ever made of a file and is still there: as it was linked, and as it was parsed since."""
        texts = [text for name in ("_manifest", "_draft") if (text := file.properties.get(name))]
        manifests = [_loaded(text, file.uuid) for text in texts]
        if None in manifests:
            return [
                Ref(label=label, uuid=uuid)
                for label, uuid in (await self._store.ask("parts", {"file": file.uuid})).rows
            ]
        pieces = {piece.uuid: piece for manifest in manifests if manifest for piece in manifest.pieces}
        return [ref_of(piece) for piece in pieces.values()]

    async def _delete(self, holding: _Holding, files: Sequence[Ref], others: Sequence[Ref]) -> None:
        index = await self._index(holding)
        for start in range(0, max(1, len(files)), _DELETED_AT_ONCE):
            some = files[start : start + _DELETED_AT_ONCE]
            rows = await rows_of(self._store, some)
            parts = await removal_of_texts(self._store, [part for row in rows for part in await self._parts(row)])
            holding.used = time.monotonic()
            rewired = rewire(index, {file.uuid: None for file in some})
            unlinks, updates, edges = _changes(rewired)
            try:
                await self._store.commit(
                    Batch(
                        transitions=[*map(away, rows), *parts.moves],
                        deletions=[*some, *parts.refs, *(others if start == 0 else ())],
                        unlinks=unlinks,
                        updates=updates,
                        edges=edges,
                        fence=Fence(name=HOLD, token=holding.token),
                    )
                )
            except BaseException:
                holding.index = None
                raise


def _loaded(text: str, file: str) -> Manifest | None:
    """What is stored, unless it cannot be read: one file's damage must not keep all others from being linked."""
    try:
        return load(text, file)
    except (ValueError, TypeError):
        log.warning("what is remembered of file %s cannot be read; forget it and read it again", file)
        return None


def _result(node: NodeRow, draft: Manifest | None, entry: Entry | None, gone: Removal) -> Result:
    if draft is None or entry is None:  # linked before, and sent back by hand: there is nothing new in it
        return Result(node=node)
    skip: dict[str, Value] = {"_errorMessage": draft.skip} if draft.skip else {}
    return Result(
        node=node,
        path=_path(draft),
        properties={"_manifest": dump(entry.manifest), "_draft": None, **skip},
        also=[
            transition(
                ref_of(piece),
                expected=State.PARSED,
                through=(State.LINKING,),
                to=State.LINKED,
            )
            for piece in draft.pieces
            if piece.fresh
        ]
        + list(gone.moves),
        deletions=gone.refs,
    )


def _path(draft: Manifest) -> tuple[State, ...]:
    """A file with nothing in it has nothing to wait for."""
    if draft.skip:
        return (State.LINKED, State.SKIP)
    return (State.LINKED,) if draft.pieces else (State.LINKED, State.EMBEDDING, State.READY)


def _with(result: Result, rewired: Sequence[Rewired]) -> Result:
    unlinks, updates, edges = _changes(rewired)
    return replace(result, unlinks=unlinks, updates=updates, edges=edges)


def _changes(rewired: Sequence[Rewired]) -> tuple[list[Unlink], list[Update], list[Edge]]:
    refs = {each.spot: Ref(label=each.spot.label, uuid=each.spot.uuid) for each in rewired}
    return (
        [Unlink(source=refs[each.spot], type=kind.value) for each in rewired for kind in each.cut],
        [
            Update(node=refs[each.spot], properties={"brokenLinks": list(each.after.broken) or None})
            for each in rewired
            if each.before.broken != each.after.broken
        ],
        [
            Edge(
                type=kind.value,
                source=refs[each.spot],
                target=Ref(label=target.label, uuid=target.uuid),
                properties={"count": count},
            )
            for each in rewired
            for (kind, target), count in each.new.items()
        ],
    )


def ref_of(piece: Piece) -> Ref:
    return Ref(label=piece.label, uuid=piece.uuid)
