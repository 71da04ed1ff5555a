"""The parse step for files: reads them in the pool, and turns what came of it into nodes and edges.

What an edit left alone keeps its node, its state and its vector. What it took away goes when the file is linked, so
that nothing that another file refers to vanishes before its reference does.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from graph_stores.model import Edge, Fence, Node, NodeRow, Ref, Transition, Unlink, Update, Value
from graph_stores.protocol import Store
from orchestrator.files.roots import Root, read_roots
from orchestrator.lifecycle import Result, new_node
from orchestrator.removal import rows_of
from orchestrator.states import PARSE, State
from orchestrator.tally import Tally
from orchestrator.texts import parsed_again
from orchestrator.worker import Failure, Outcome
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
    limit = 128
    runners = 2

    def __init__(
        self, store: Store, pool: Pool[Task, Made], tally: Tally, *, parsed: Callable[[], None] = lambda: None
    ) -> None:
        self._store = store
        self._pool = pool
        self._tally = tally
        self._parsed = parsed
        self._roots: dict[str, Root] = {}

    async def is_ready(self) -> bool:
        return True

    async def work(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        taken = _within_memory(nodes)
        if any(node.properties.get("root") not in self._roots for node in taken):
            self._roots = await read_roots(self._store)
        return await asyncio.gather(*(self._outcome(node) for node in taken))

    def fence(self) -> Fence | None:
        return None

    async def done(self, results: Sequence[Result]) -> None:
        self._tally.parsed += len(results)
        if results:
            self._parsed()

    async def undone(self) -> None: ...

    async def _outcome(self, node: NodeRow) -> Outcome:
        root = self._roots.get(node.properties.get("root", ""))
        if root is None:
            return Failure(
                node=node, message=f"the project has no root {node.properties.get('root')!r}", permanent=True
            )
        if not root.location.exists():
            return Failure(
                node=node, message=f"its root is gone: {root.location}; retry it once it is back", permanent=True
            )
        path = node.properties["path"]
        try:
            made = await self._pool.run(Task(file=node.uuid, location=str(root.place_of(path)), path=path))
        except CannotOpen as error:
            return Failure(node=node, message=str(error), permanent=True)
        except (ProcessDied, TookTooLong) as error:
            return Failure(node=node, message=str(error))
        return await self._result(node, made)

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


def _remembered(node: NodeRow, name: str) -> Manifest:
    text = node.properties.get(name)
    return load(text, node.uuid) if text else Manifest()


def _draft(manifest: Manifest, kept: Mapping[str, _Kept]) -> Manifest:
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


def ref_of(piece: Piece) -> Ref:
    return Ref(label=piece.label, uuid=piece.uuid)
