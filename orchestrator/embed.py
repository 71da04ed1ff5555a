"""The embed step: texts that are linked get their vectors and are ready.

Owns what becomes of a text that is too short, too long, refused, or was embedded by another model.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeGuard

from graph_stores.model import Edge, Fence, Node, NodeRow, Ref, Select, Value, Vector, VectorSpace
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import new_node, transition
from orchestrator.paging import paged
from orchestrator.stages import TEXTS
from orchestrator.states import EMBED, State
from orchestrator.tally import Tally
from orchestrator.worker import Failure, Outcome, Pause
from pipelines.embedding import (
    Embedded,
    Embedder,
    EmbedderError,
    EmbedderUnavailable,
    RequestFailed,
    Texts,
    text_hash,
    too_short,
)
from pipelines.files.identity import chunk_uuid

# Why a text is in skip.
TOO_SHORT = "there is nothing in it but signs"
NO_EMBEDDER = "embedding is switched off (--embedder none)"
_OF_A_VECTOR = ("_embeddingProvider", "_embeddingModel", "_embeddingHash", "_chunks")
_PAUSE = 5.0
_MOST_AT_ONCE = 1024
_REQUESTS_AT_ONCE = 4
_PAGE = 1000
# How often to look for texts that another process has linked, while there was none yet.
_LOOK = 1.0


class EmbedTexts:
    stage = EMBED
    labels: Sequence[str] = TEXTS
    runners = 2
    needs: Sequence[str] | None = ("content", "_embeddingHash", "_chunks")

    def __init__(self, texts: Texts, embedder: Embedder, tally: Tally) -> None:
        # A few requests' worth: what one worker has in hand and waits for, another cannot send.
        self.limit = min(_MOST_AT_ONCE, _REQUESTS_AT_ONCE * embedder.appetite.texts)
        self._texts = texts
        self._marks: dict[str, Value] = {"_embeddingProvider": embedder.provider, "_embeddingModel": embedder.model}
        self._tally = tally
        self._cautious = False
        self._cached: set[str] = set()
        """Nodes in hand whose vector came from the cache."""

    async def is_ready(self) -> bool:
        return True

    async def work(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        empty = {node.uuid for node in nodes if too_short(_text(node))}
        wanted = [node for node in nodes if node.uuid not in empty]
        if self._cautious:
            # The embedder broke on everything: whether that was the fault of a text is seen with one text alone.
            wanted = wanted[:1]
        answers = await self._texts.embed([_text(node) for node in wanted])
        away = [each for each in answers if _is_away(each, alone=len(answers) == 1)]
        if away and len(away) == len(answers):
            self._cautious = isinstance(away[0], RequestFailed)
            raise Pause(f"the embedder does not answer: {away[0].message}", seconds=away[0].retry_after or _PAUSE)
        self._cautious = False
        return [
            *(
                self._outcome(node, answer)
                for node, answer in zip(wanted, answers, strict=True)
                if type(answer) is not EmbedderUnavailable
            ),
            *(left_out(node, TOO_SHORT) for node in nodes if node.uuid in empty),
        ]

    def fence(self) -> Fence | None:
        return None

    async def done(self, results: Sequence[Result]) -> None:
        self._tally.embedded += sum(any(each.values for each in result.vectors) for result in results)
        done = {result.node.uuid for result in results}
        self._tally.cached += len(self._cached & done)
        self._cached -= done

    async def undone(self) -> None: ...

    def _outcome(self, node: NodeRow, answer: Embedded | EmbedderError) -> Outcome:
        if isinstance(answer, EmbedderError):
            return Failure(node=node, message=answer.message, permanent=not answer.transient)
        if answer.cached:
            self._cached.add(node.uuid)
        chunks = [_chunk(node, index, piece.text, self._marks) for index, piece in enumerate(answer.pieces)]
        return Result(
            node=node,
            properties=self._marks | {"_embeddingHash": text_hash(_text(node)), "_chunks": len(chunks) or None},
            deletions=chunks_of(node)[len(chunks) :],
            nodes=chunks,
            edges=[
                Edge(type="HAS_CHUNK", source=node.ref, target=chunk.ref, properties={"index": index})
                for index, chunk in enumerate(chunks)
            ],
            vectors=[
                Vector(node=node.ref, values=answer.vector),
                *(
                    Vector(node=chunk.ref, values=piece.vector)
                    for chunk, piece in zip(chunks, answer.pieces, strict=True)
                ),
            ],
        )


class EmbedLater:
    """Embedding in a graph whose space is known already: the model is loaded when the first text waits for it."""

    stage = EMBED
    labels: Sequence[str] = TEXTS
    runners = EmbedTexts.runners
    needs = EmbedTexts.needs

    def __init__(self, store: Store, tally: Tally, load: Callable[[], Awaitable[EmbedTexts | None]]) -> None:
        self._store = store
        self._tally = tally
        self._load = load
        self._step: EmbedTexts | None = None
        self._turn = asyncio.Lock()
        self._seen = -1
        self._look_at = 0.0
        self.limit = _MOST_AT_ONCE

    async def is_ready(self) -> bool:
        async with self._turn:
            if self._step is None and await self._is_anything_waiting() and (step := await self._load()):
                self._step, self.limit = step, step.limit
        return self._step is not None

    async def work(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        return await self._step.work(nodes) if self._step else ()

    def fence(self) -> Fence | None:
        return None

    async def done(self, results: Sequence[Result]) -> None:
        if self._step:
            await self._step.done(results)

    async def undone(self) -> None: ...

    async def _is_anything_waiting(self) -> bool:
        """Looks when this process has linked something, and now and then for what others have."""
        if self._seen == self._tally.linked and time.monotonic() < self._look_at:
            return False
        self._seen, self._look_at = self._tally.linked, time.monotonic() + _LOOK
        return bool(await self._store.nodes(Select(labels=self.labels, states=[EMBED.waiting.value], limit=1)))


class SkipTexts:
    """The step that takes the place of embedding where there is no embedder."""

    stage = EMBED
    labels: Sequence[str] = TEXTS
    limit = 2000
    runners = 1
    needs: Sequence[str] | None = ("_embeddingHash", "_chunks")

    async def is_ready(self) -> bool:
        return True

    async def work(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        return [left_out(node, NO_EMBEDDER) for node in nodes]

    def fence(self) -> Fence | None:
        return None

    async def done(self, results: Sequence[Result]) -> None: ...

    async def undone(self) -> None: ...


def left_out(node: NodeRow, reason: str) -> Result:
    """To skip; the vector of a text that it had before goes with that text."""
    had_vector = "_embeddingHash" in node.properties
    return Result(
        node=node,
        path=(State.LINKED, State.SKIP),
        properties={"_errorMessage": reason, **dict.fromkeys(_OF_A_VECTOR)},
        deletions=chunks_of(node),
        vectors=[Vector(node=node.ref, values=None)] if had_vector else [],
    )


def chunks_of(row: NodeRow) -> list[Ref]:
    """The pieces of a text that was longer than the model reads."""
    count = row.properties.get("_chunks") or 0
    return [Ref(label="Chunk", uuid=chunk_uuid(row.uuid, index)) for index in range(count)]


async def send_back_what_another_model_made(
    lifecycle: Lifecycle, space: VectorSpace, *, all_of_them: bool = False
) -> int:
    """Texts with a vector of another space, or left out while there was no embedder, wait for this one's.

    One model may make vectors of different lengths, which the nodes do not tell: then it is all of them.
    """
    parameters = {**_not_of(space, all_of_them=all_of_them), "unembedded": NO_EMBEDDER}
    return await _send_back(lifecycle, "other-vectors", parameters)


async def send_back_what_was_embedded_meanwhile(lifecycle: Lifecycle, space: VectorSpace) -> int:
    """To call after a change of the space: what other workers embedded until then has lost its vectors."""
    return await _send_back(lifecycle, "lost-vectors", {"provider": space.provider, "model": space.model})


async def remove_chunks_of_another_model(
    lifecycle: Lifecycle, space: VectorSpace, *, all_of_them: bool = False
) -> None:
    """Chunks are never claimed, so they cannot wait for a vector: the embed step makes new ones with their text."""
    parameters = _not_of(space, all_of_them=all_of_them)
    async for rows in paged(lifecycle.store, "other-chunks", limit=_PAGE, **parameters):
        await lifecycle.delete([Ref(label="Chunk", uuid=uuid) for (uuid,) in rows])


def _not_of(space: VectorSpace, *, all_of_them: bool) -> dict[str, Value]:
    return {"provider": "" if all_of_them else space.provider, "model": space.model}


async def _send_back(lifecycle: Lifecycle, question: str, parameters: Mapping[str, Value]) -> int:
    moved = 0
    while rows := (await lifecycle.store.ask(question, {**parameters, "limit": _PAGE})).rows:
        moves = [
            transition(Ref(label=label, uuid=uuid), expected=State(state), to=State.LINKED)
            for label, uuid, state in rows
        ]
        moved += len(moves) - len(await lifecycle.move_what_is_still_so(moves))
    return moved


async def is_other_space(store: Store, space: VectorSpace) -> VectorSpace | None:
    """The space of the graph's vectors, where it is another one."""
    found = await store.vector_space()
    return found if found and found != space else None


def _is_away(answer: Embedded | EmbedderError, *, alone: bool) -> TypeGuard[EmbedderUnavailable]:
    return isinstance(answer, EmbedderUnavailable) and not (alone and isinstance(answer, RequestFailed))


def _text(node: NodeRow) -> str:
    return node.properties.get("content") or ""


def _chunk(node: NodeRow, index: int, text: str, marks: Mapping[str, Value]) -> Node:
    return new_node(
        label="Chunk",
        uuid=chunk_uuid(node.uuid, index),
        name=f"{node.name} ({index + 1})",
        state=State.READY,
        properties={"content": text, **marks, "_embeddingHash": text_hash(text)},
    )
