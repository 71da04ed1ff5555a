"""The parse step for files: reads them in the pool, and turns what came of it into nodes and edges.

What an edit left alone keeps its node, its state and its vector. What it took away goes when the file is linked, so
that nothing that another file refers to vanishes before its reference does.

A file that this machine does not have is parsed from what its node brings with it, or left to a machine that has it. A
file whose root is missing, or has lost most of its files, is left until they are back: only a file that is gone from a
root that is there is gone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from graph_stores.model import Edge, Fence, Node, NodeRow, Ref, Transition, Unlink, Update, Value
from graph_stores.protocol import Store
from orchestrator.files.elsewhere import Fate, Places
from orchestrator.files.link import ref_of
from orchestrator.files.roots import Root
from orchestrator.lifecycle import Result
from orchestrator.moves import new_node
from orchestrator.removal import rows_of
from orchestrator.states import PARSE, State
from orchestrator.tally import Tally
from orchestrator.texts import parsed_again
from orchestrator.worker import Failure, Outcome
from pipelines.files.default_excludes import rule_for_secret
from pipelines.files.making import CannotOpen, Made, Task
from pipelines.files.manifest import Manifest, Piece, dump, load
from pipelines.files.model import Part
from pipelines.pool import Pool, ProcessDied, TookTooLong

# What is in memory at once, whatever the number of files.
_MOST_BYTES = 64 << 20
_HAVE_PARENTS = frozenset({"MarkdownSection", "Scope"})


class ParseFiles:
    stage = PARSE
    labels: Sequence[str] = ("File",)
    source = "root"
    limit = 128
    runners = 2
    needs: Sequence[str] | None = ("root", "path", "size", "_manifest", "_draft", "_runId")

    def __init__(
        self,
        store: Store,
        pool: Pool[Task, Made],
        tally: Tally,
        *,
        parsed: Callable[[], None] = lambda: None,
        places: Places | None = None,
        drop: Callable[[Sequence[Ref]], Awaitable[None]] | None = None,
    ) -> None:
        """`drop` deletes files with all that is in them."""
        self._store = store
        self._pool = pool
        self._tally = tally
        self._parsed = parsed
        self._places = places or Places(store)
        self._drop = drop
        self._in_hand = 0

    @property
    def is_busy(self) -> bool:
        return self._in_hand > 0

    @property
    def away(self) -> Sequence[str]:
        return [*self._places.away, *self._places.lost]

    async def is_ready(self) -> bool:
        await self._places.look()
        return True

    async def work(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        self._in_hand += 1
        try:
            return await self._outcomes(nodes)
        finally:
            self._in_hand -= 1

    async def _outcomes(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        taken = _within_memory(nodes)
        if any(_root_of(node) not in self._places.roots for node in taken):
            await self._places.look(at_once=True)
        taken = await self._without_forgotten(taken)
        absent = await asyncio.to_thread(self._absent, taken)
        packed = await self._contents(absent)
        left = [node for node in taken if node.uuid in absent - packed.keys()]
        self._places.leave(_root_of(node) for node in left if self._is_foreign(node))
        for name in {_root_of(node) for node in left if not self._is_foreign(node)}:
            self._places.lose(name)
        parsing = [self._outcome(node, packed.get(node.uuid)) for node in taken if node not in left]
        return [outcome for outcome in await asyncio.gather(*parsing) if outcome]

    async def _without_forgotten(self, nodes: list[NodeRow]) -> list[NodeRow]:
        """Files that a run read and whose root was forgotten since are deleted. Those of a migration are the user's."""
        known = {"", *self._places.roots}  # a file without a root is of no forgotten one
        forgotten = [
            node for node in nodes if _root_of(node) not in known and node.properties.get("_runId") is not None
        ]
        if not forgotten or self._drop is None:
            return nodes
        await self._drop([node.ref for node in forgotten])
        return [node for node in nodes if node not in forgotten]

    def fence(self) -> Fence | None:
        return None

    async def done(self, results: Sequence[Result]) -> None:
        self._tally.parsed += len(results)
        if results:
            self._parsed()

    async def undone(self) -> None: ...

    async def _contents(self, files: set[str]) -> dict[str, str]:
        """What the files have with them, by uuid."""
        if not files:
            return {}
        table = await self._store.ask("contents", {"uuids": sorted(files)})
        return {row[0]: row[1] for row in table.rows}

    def _is_foreign(self, node: NodeRow) -> bool:
        root = self._places.roots.get(_root_of(node))
        return root is not None and root.is_foreign

    def _absent(self, nodes: Sequence[NodeRow]) -> set[str]:
        """Those that are not there although that does not mean that they are gone, by uuid."""
        roots = {name: root for node in nodes if (root := self._places.roots.get(name := _root_of(node)))}
        lost = {name for name, root in roots.items() if root.is_lost}
        return {
            node.uuid
            for node in nodes
            if (root := roots.get(_root_of(node)))
            and (root.name in lost or (root.is_foreign and not root.place_of(node.properties["path"]).exists()))
        }

    async def _outcome(self, node: NodeRow, packed: str | None) -> Outcome | None:
        """None where the file cannot be read because its root, or most of it, vanished."""
        root = self._places.roots.get(_root_of(node))
        if root is None:
            return Failure(node=node, message=f"the project has no root {_root_of(node)!r}", permanent=True)
        path = node.properties["path"]
        task = Task(
            file=node.uuid,
            location=str(root.place_of(path)),
            path=path,
            packed=packed,
            allow_secrets=root.rules.allow_secrets,
            left_out=_why_secret(root, path),
        )
        try:
            made = await self._pool.run(task)
            if made.content_hash is None:
                fate = await self._places.fate_of(root, path)
                if fate is Fate.WAITS:
                    brought = (await self._contents({node.uuid})).get(node.uuid)
                    if brought is None:
                        return None
                    made = await self._pool.run(replace(task, packed=brought))
                if fate is Fate.THERE:
                    made = await self._pool.run(task)
                    if made.content_hash is None:
                        return Failure(node=node, message="it is in its folder, and is gone when it is to be read")
        except CannotOpen as error:
            if await self._vanished(root):
                return None
            return Failure(node=node, message=str(error), permanent=True)
        except (ProcessDied, TookTooLong) as error:
            return Failure(node=node, message=str(error))
        return await self._result(node, made)

    async def _vanished(self, root: Root) -> bool:
        if not await asyncio.to_thread(lambda: root.is_lost):
            return False
        self._places.lose(root.name)
        return True

    async def _result(self, node: NodeRow, made: Made) -> Result:
        linked, parsed = _remembered(node, "_manifest"), _remembered(node, "_draft")
        before = {piece.uuid: piece for piece in (*linked.pieces, *parsed.pieces)}
        pieces = made.manifest.pieces
        # Parsed again before it was linked: only the nodes themselves know what they hold.
        doubtful = [
            piece
            for piece in pieces
            if piece.uuid in before and (parsed.pieces or before[piece.uuid].text != piece.text)
        ]
        rows = {row.uuid: row for row in await rows_of(self._store, [ref_of(piece) for piece in doubtful])}
        lost = {piece.uuid for piece in doubtful if piece.uuid not in rows}
        kept = {
            piece.uuid: _Kept(before=before[piece.uuid], row=rows.get(piece.uuid))
            for piece in pieces
            if piece.uuid in before and piece.uuid not in lost
        }
        held = {piece.uuid for piece in (*linked.pieces, *pieces)}
        both = list(zip(made.parts, pieces, strict=True))
        return Result(
            node=node,
            properties=_properties(made) | {"_draft": dump(_draft(made.manifest, kept))},
            also=[move for piece in pieces if piece.uuid in kept and (move := kept[piece.uuid].move(piece))],
            deletions=[ref_of(piece) for piece in parsed.pieces if piece.uuid not in held],
            unlinks=[
                Unlink(source=ref_of(piece), type="HAS_PARENT")
                for piece in pieces
                if piece.uuid in kept and kept[piece.uuid].had_parent_other_than(piece.parent)
            ],
            nodes=[_node(part, piece) for part, piece in both if piece.uuid not in kept],
            updates=[
                Update(node=ref_of(piece), name=part.name, properties=_shown(part, piece))
                for part, piece in both
                if piece.uuid in kept and kept[piece.uuid].differs(piece)
            ],
            edges=_edges(node.ref, pieces, kept),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A part that the file had and still has. With the node's row nothing else needs to be believed."""

    before: Piece
    row: NodeRow | None

    def has_new_text(self, piece: Piece) -> bool:
        return self.row is not None and self.row.properties.get("_contentHash") != piece.text

    def is_fresh(self, piece: Piece) -> bool:
        return self.has_new_text(piece) or (self.row is not None and self.row.state == State.PARSED)

    def differs(self, piece: Piece) -> bool:
        return self.row is not None or self.before.shown != piece.shown

    def had_parent_other_than(self, parent: str | None) -> bool:
        return self.row is not None or self.before.parent not in (None, parent)

    def move(self, piece: Piece) -> Transition | None:
        """Back to parsed, where its text is new; a lease on it is taken away."""
        return parsed_again(self.row) if self.row is not None and self.has_new_text(piece) else None

    def has_edge(self, piece: Piece) -> bool:
        return self.row is None and self.before.index == piece.index

    def has_parent(self, piece: Piece) -> bool:
        return self.row is None and self.before.parent == piece.parent


def _within_memory(nodes: Sequence[NodeRow]) -> list[NodeRow]:
    taken: list[NodeRow] = []
    size = 0
    for node in nodes:
        size += node.properties.get("size") or 0
        if taken and size > _MOST_BYTES:
            break
        taken.append(node)
    return taken


def _root_of(node: NodeRow) -> str:
    return str(node.properties.get("root", ""))


def _why_secret(root: Root, path: str) -> str | None:
    """A file that an earlier version found waits to be parsed although its name is that of a secret."""
    rule = rule_for_secret(root.place_of(path)) if root.rules.default_excludes else None
    return str(rule) if rule else None


def _remembered(node: NodeRow, name: str) -> Manifest:
    text = node.properties.get(name)
    return load(text, node.uuid) if text else Manifest()


def _draft(manifest: Manifest, kept: Mapping[str, _Kept]) -> Manifest:
    if not kept:  # as they were made
        return manifest
    pieces = [
        replace(piece, fresh=piece.uuid not in kept or kept[piece.uuid].is_fresh(piece)) for piece in manifest.pieces
    ]
    return replace(manifest, pieces=pieces)


def _properties(made: Made) -> dict[str, Value]:
    return {
        "extension": made.extension,
        "language": made.language,
        "mimeType": made.mime_type,
        "size": made.size,
        "_contentHash": made.content_hash,
        "_modifiedAt": made.modified,
        "_content": None,  # it is in the parts now
    }


def _shown(part: Part, piece: Piece) -> dict[str, Value]:
    return {
        **part.properties,
        "content": part.content,
        "startLine": part.start_line,
        "endLine": part.end_line,
        "_contentHash": piece.text,
    }


def _node(part: Part, piece: Piece) -> Node:
    return new_node(
        label=part.label, uuid=piece.uuid, name=part.name, state=State.PARSED, properties=_shown(part, piece)
    )


def _edges(file: Ref, pieces: Sequence[Piece], kept: Mapping[str, _Kept]) -> list[Edge]:
    """Only those that are new or say something else than before."""
    uuids = {(piece.label, piece.key): piece.uuid for piece in pieces}
    edges: list[Edge] = []
    for piece in pieces:
        old = kept.get(piece.uuid)
        if piece.label == "Scope":
            if old is None:
                edges.append(Edge(type="DEFINED_IN", source=ref_of(piece), target=file))
        elif old is None or not old.has_edge(piece):
            edges.append(Edge(type="HAS_SECTION", source=file, target=ref_of(piece), properties={"index": piece.index}))
        if piece.parent is not None and piece.label in _HAVE_PARENTS and not (old and old.has_parent(piece)):
            parent = Ref(label=piece.label, uuid=uuids[piece.label, piece.parent])
            edges.append(Edge(type="HAS_PARENT", source=ref_of(piece), target=parent))
    return edges
