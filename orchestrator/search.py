"""Finding texts by what they mean: the nearest that are ready, where they stand, and what is around them.

A hit on a piece of a long text counts for the text. Vectors of two models are never compared: a search with another
model than the graph's is refused. Reads only; what a text is and how it is made is known elsewhere.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from graph_stores.errors import Misuse
from graph_stores.model import Hit, NodeRow, Select, Value, VectorSpace
from graph_stores.protocol import Store
from orchestrator.files.located import FilesHere
from orchestrator.stages import TEXTS, adopted_labels
from orchestrator.states import State
from pipelines.embedding import Embedded, Embedder, Texts, name_of

_PIECE = "Chunk"
_MOST_NEIGHBOURS = 10
_SNIPPET = 240
_BEFORE = 60
_WORD = re.compile(r"\w+")


class SearchMisuse(Misuse):
    code = "search_misuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A node on the way from a result: `forward` where the relationship points away from it; `hops` steps away."""

    uuid: str
    label: str
    name: str
    relationship: str
    forward: bool
    hops: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """`source` is `root/path:first-last` of a file's text, and the address or title of an article.

    `path` is where that file is, if it is on this machine, and `line` where the text begins in it.
    """

    uuid: str
    label: str
    name: str
    score: float
    source: str | None
    text: str
    path: str | None = None
    line: int | None = None
    neighbours: Sequence[Neighbour] = ()

    def document(self) -> dict[str, Value]:
        return {
            "uuid": self.uuid,
            "label": self.label,
            "name": self.name,
            "score": self.score,
            "source": self.source,
            "path": self.path,
            "line": self.line,
            "text": self.text,
            "neighbours": [
                {
                    "uuid": each.uuid,
                    "label": each.label,
                    "name": each.name,
                    "relationship": each.relationship,
                    "forward": each.forward,
                    "hops": each.hops,
                }
                for each in self.neighbours
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    node: NodeRow
    score: float
    content: str


async def search(
    store: Store,
    embedder: Embedder,
    text: str,
    *,
    limit: int,
    labels: Sequence[str] = (),
    min_score: float | None = None,
    hops: int = 0,
) -> list[Found]:
    """The texts that are nearest to what is asked, best first."""
    adopted = await _adopted_here(store)
    _check_labels(labels, (*TEXTS, *adopted))
    space = await _checked(store, embedder)
    [answer] = await Texts(embedder).embed([text])
    if not isinstance(answer, Embedded):
        raise answer
    wanted = labels or (*TEXTS, *adopted)
    least = -1.0 if min_score is None else min_score
    matches = await _Nearest(store, answer.vector, space, wanted, least).best(limit)
    here, around = await FilesHere.of(store), _Around(store, hops, is_mixed=bool(adopted))
    return [await _found(store, match, text, around, here) for match in matches]


async def _adopted_here(store: Store) -> list[str]:
    """Labels that a migration brought into this project; other projects are none of its business."""
    adopted = await adopted_labels(store)
    here = (await store.progress(finished=[], window=0.0)).counts if adopted else []
    return [label for label in adopted if any(each.label == label for each in here)]


class _Nearest:
    """Looks further and further, because the nearest may be waiting for a new vector, or be pieces of one text."""

    def __init__(
        self, store: Store, vector: Sequence[float], space: VectorSpace, labels: Sequence[str], min_score: float
    ) -> None:
        self._store = store
        self._vector = vector
        self._made_by = (space.provider, space.model)
        self._wanted = frozenset(labels)
        self._asked = [*labels, _PIECE]
        self._min_score = min_score
        self._wholes: dict[str, NodeRow | None] = {}

    async def best(self, limit: int) -> list[_Match]:
        reach = 2 * limit
        while True:
            hits = await self._store.search(self._vector, limit=reach, labels=self._asked)
            matches = await self._matches(hits, limit)
            if len(matches) == limit or len(hits) < reach or hits[-1].score < self._min_score:
                return matches
            reach *= 4

    async def _matches(self, hits: Sequence[Hit], limit: int) -> list[_Match]:
        matches: dict[str, _Match] = {}
        for hit in hits:
            if hit.score < self._min_score or len(matches) == limit:
                break
            if not self._is_comparable(hit.node):
                continue
            node = await self._whole(hit.node) if hit.node.label == _PIECE else hit.node
            if node and node.uuid not in matches and node.state == State.READY and node.label in self._wanted:
                matches[node.uuid] = _Match(
                    node=node, score=hit.score, content=hit.node.properties.get("content") or ""
                )
        return list(matches.values())

    def _is_comparable(self, node: NodeRow) -> bool:
        """A vector that another model made, of a text that waits to be embedded anew, is nearest only by chance."""
        provider, model = (node.properties.get(f"_embedding{each}") for each in ("Provider", "Model"))
        return (provider or self._made_by[0], model or self._made_by[1]) == self._made_by

    async def _whole(self, piece: NodeRow) -> NodeRow | None:
        """The text that a piece is of; None where it went meanwhile."""
        if piece.uuid not in self._wholes:
            rows = (await self._store.ask("wholes", {"uuid": piece.uuid})).rows
            found = [
                node
                for label, uuid, _ in rows
                for node in await self._store.nodes(Select(labels=[label], uuids=[uuid], limit=1))
            ]
            self._wholes[piece.uuid] = found[0] if found else None
        return self._wholes[piece.uuid]


async def _found(store: Store, match: _Match, text: str, around: "_Around", here: FilesHere) -> Found:
    rows = (await store.ask("places", {"uuid": match.node.uuid})).rows
    root, path, title, url = rows[0] if rows else (None, None, None, None)
    return Found(
        uuid=match.node.uuid,
        label=match.node.label,
        name=match.node.name,
        score=match.score,
        source=_in_file(match.node, root, path) if path is not None else url or title,
        path=here.path_of(root, path),
        line=match.node.properties.get("startLine"),
        text=snippet(match.content, text),
        neighbours=await around.neighbours(match.node),
    )


def _in_file(node: NodeRow, root: str | None, path: str) -> str:
    first, last = node.properties.get("startLine"), node.properties.get("endLine")
    lines = "" if first is None else f":{first}" if last in (None, first) else f":{first}-{last}"
    return f"{root}/{path}{lines}"


@dataclass(frozen=True, slots=True)
class _Around:
    """What is connected with a result. `is_mixed` says that a migration brought labels and relationships of its own."""

    store: Store
    hops: int
    is_mixed: bool

    async def neighbours(self, node: NodeRow) -> list[Neighbour]:
        """Nearer ones first, and of each kind of relationship some before there are more of one."""
        found: dict[str, Neighbour] = {}
        edge = [(node.label, node.uuid)]
        for step in range(1, self.hops + 1):
            beyond: list[Neighbour] = []
            for label, uuid in edge:
                if len(found) >= _MOST_NEIGHBOURS:
                    return list(found.values())
                for each in await self._next(label, uuid, step):
                    if each.uuid not in found and each.uuid != node.uuid and len(found) < _MOST_NEIGHBOURS:
                        found[each.uuid] = each
                        beyond.append(each)
            edge = [(each.label, each.uuid) for each in beyond]
        return list(found.values())

    async def _next(self, label: str, uuid: str, hops: int) -> list[Neighbour]:
        question = "neighbours" if self.is_mixed else f"neighbours-of-{label.lower()}"
        # One more than are shown, because the node that was come from may be among them.
        table = await self.store.ask(question, {"uuid": uuid, "limit": _MOST_NEIGHBOURS + 1})
        kinds: dict[tuple[str, bool], list[Neighbour]] = {}
        for relationship, forward, other, to, name in table.rows:
            kinds.setdefault((relationship, forward), []).append(
                Neighbour(uuid=to, label=other, name=name or "", relationship=relationship, forward=forward, hops=hops)
            )
        ranked = [(rank, kind, each) for kind, some in kinds.items() for rank, each in enumerate(some)]
        return [each for _, _, each in sorted(ranked, key=lambda item: (item[0], item[1]))]


def snippet(content: str, asked: str) -> str:
    """The stretch of a text with the most words of what was asked, on one line."""
    if len(content) <= _SNIPPET:
        return " ".join(content.split())
    start = _best_start(content, {word.casefold() for word in _WORD.findall(asked)})
    end = start + _SNIPPET
    shown = content[start:end]
    if start and not content[start - 1].isspace():
        shown = shown.partition(" ")[2] or shown
    if end < len(content) and not content[end].isspace():
        shown = shown.rpartition(" ")[0] or shown
    shown = " ".join(shown.split())
    return f"{'… ' if start else ''}{shown}{' …' if end < len(content) else ''}"


def _best_start(content: str, words: set[str]) -> int:
    """Where a snippet begins that holds the most different words; the first such place."""
    places = [(match.start(), word) for match in _WORD.finditer(content) if (word := match.group().casefold()) in words]
    best, start, first = 0, 0, 0
    inside: dict[str, int] = {}
    for place, word in places:
        inside[word] = inside.get(word, 0) + 1
        while place - places[first][0] > _SNIPPET - _BEFORE:
            gone = places[first][1]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        if len(inside) > best:
            best, start = len(inside), places[first][0]
    return max(0, min(start - _BEFORE, len(content) - _SNIPPET)) if best else 0


def _check_labels(labels: Sequence[str], known: Sequence[str]) -> None:
    for label in labels:
        if label not in known:
            near = get_close_matches(label.lower(), [each.lower() for each in known], n=1, cutoff=0.5)
            meant = [each for each in known if each.lower() in near]
            raise SearchMisuse(
                f"{label[:60]!r} is no label of texts with vectors; those are {', '.join(known)}",
                hint=f"did you mean --label {meant[0]}?" if meant else "leave --label out to search all of them",
            )


async def _checked(store: Store, embedder: Embedder) -> VectorSpace:
    """The space of the graph's vectors, in which the embedder's must be too."""
    # Only for a hint, and slow to import.
    from orchestrator.read_command import read_command

    space = await store.vector_space()
    if space is None:
        raise SearchMisuse(
            "there are no vectors in this graph yet", hint=f"embed something first: {await read_command(store)}"
        )
    own = VectorSpace(provider=embedder.provider, model=embedder.model, dimension=embedder.dimension)
    if own != space:
        raise SearchMisuse(
            f"the vectors of this graph are of {_shown(space)} and cannot be compared with those of {_shown(own)}",
            hint=f"search with --embedder {_name(space)}, or embed the graph anew: "
            + await read_command(store, "--embedder", _name(own)),
        )
    return space


def _name(space: VectorSpace) -> str:
    return name_of(provider=space.provider, model=space.model)


def _shown(space: VectorSpace) -> str:
    return f"{_name(space)} ({space.dimension} numbers)"
