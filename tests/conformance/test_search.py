"""Search over a real graph with the default model: what is ready, one result per text, in one space."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graph_stores.model import Edge, Node, Vector, VectorSpace
from graph_stores.protocol import Store
from orchestrator.moves import new_node
from orchestrator.search import Found, Neighbour, SearchMisuse, search
from orchestrator.states import State
from pipelines.embedding import Embedded, Embedder, EmbedderChoice, Texts, open_embedder
from tests.conformance.examples import ref, write

ASKED = "how do I install it?"


@pytest.fixture(scope="module")
def embedder() -> Iterator[Embedder]:
    embedder = asyncio.run(open_embedder(EmbedderChoice()))
    assert embedder
    yield embedder
    asyncio.run(embedder.close())


@pytest.fixture(scope="module")
def question(embedder: Embedder) -> list[float]:
    async def embedded() -> list[float]:
        [answer] = await Texts(embedder).embed([ASKED])
        assert isinstance(answer, Embedded)
        return list(answer.vector)

    return asyncio.run(embedded())


@pytest.fixture
async def graph(store: Store, embedder: Embedder, question: list[float]) -> "Graph":
    await store.use_vector_space(space_of(embedder))
    return Graph(store, embedder, question)


def space_of(embedder: Embedder) -> VectorSpace:
    return VectorSpace(provider=embedder.provider, model=embedder.model, dimension=embedder.dimension)


class Graph:
    """Texts are put where the test wants them: so near to what is asked."""

    def __init__(self, store: Store, embedder: Embedder, question: Sequence[float]) -> None:
        self.store = store
        self.embedder = embedder
        self.question = question
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.vectors: list[Vector] = []

    def add(self, label: str, uuid: str, state: State = State.READY, **properties: Any) -> None:
        uuid = self.own(uuid)
        self.nodes.append(new_node(label=label, uuid=uuid, name=f"name of {uuid}", state=state, properties=properties))

    def own(self, uuid: str) -> str:
        """A server is shared with other tests: no uuid may be the same."""
        return f"{self.store.project}-{uuid}"

    def near(self, label: str, uuid: str, score: float, **properties: Any) -> None:
        self.add(label, uuid, **{"content": f"the content of {uuid}"} | properties)
        self.vectors.append(Vector(node=ref(self.own(uuid), label), values=at(self.question, score)))

    def link(self, kind: str, source: tuple[str, str], target: tuple[str, str], **properties: Any) -> None:
        ends = [ref(self.own(uuid), label) for label, uuid in (source, target)]
        self.edges.append(Edge(type=kind, source=ends[0], target=ends[1], properties=properties))

    async def write(self) -> None:
        await write(self.store, nodes=self.nodes, edges=self.edges, vectors=self.vectors)
        self.nodes, self.edges, self.vectors = [], [], []

    async def ask(self, text: str = ASKED, *, limit: int = 10, **options: Any) -> list[Found]:
        await self.write()
        return await search(self.store, self.embedder, text, limit=limit, **options)

    async def uuids(self, **options: Any) -> list[str]:
        return [each.uuid.removeprefix(f"{self.store.project}-") for each in await self.ask(**options)]


def at(question: Sequence[float], score: float) -> list[float]:
    """A vector whose cosine with the question is the score."""
    along = np.asarray(question) / np.linalg.norm(question)
    across = np.zeros(len(question))
    across[0] = 1.0
    across -= (across @ along) * along
    across /= np.linalg.norm(across)
    return [float(number) for number in score * along + np.sqrt(1 - score * score) * across]


async def test_what_means_the_same_is_found_first(graph: Graph) -> None:
    texts = {
        "install": "Installation: run pip install to set the package up on your computer.",
        "soup": "Boil the carrots for an hour and add salt to the soup.",
        "license": "This software comes without any warranty.",
    }
    answers = await Texts(graph.embedder).embed(list(texts.values()))
    for (uuid, text), answer in zip(texts.items(), answers, strict=True):
        assert isinstance(answer, Embedded)
        graph.add("TextSection", uuid, content=text)
        graph.vectors.append(Vector(node=ref(graph.own(uuid), "TextSection"), values=answer.vector))
    found = await graph.ask("how can I install this software package?")
    assert found[0].uuid == graph.own("install") and len(found) == 3
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert found[0].text == texts["install"]


async def test_results_say_what_they_are_and_where_they_stand(graph: Graph) -> None:
    graph.add("File", "file", root="docs", path="guide/setup.md")
    graph.add("Article", "article", title="Pump", url="https://wiki/Pump")
    graph.add("Article", "bare", title="Valve")
    graph.near("MarkdownSection", "markdown", 0.9, startLine=12, endLine=30)
    graph.near("TextSection", "text", 0.8, startLine=7, endLine=7)
    graph.near("Scope", "scope", 0.7, startLine=1, endLine=2)
    graph.near("Section", "section", 0.6)
    graph.near("Section", "another", 0.5)
    graph.near("TextSection", "nowhere", 0.4)
    graph.link("HAS_SECTION", ("File", "file"), ("MarkdownSection", "markdown"), index=0)
    graph.link("HAS_SECTION", ("File", "file"), ("TextSection", "text"), index=1)
    graph.link("DEFINED_IN", ("Scope", "scope"), ("File", "file"))
    graph.link("HAS_SECTION", ("Article", "article"), ("Section", "section"), section_index=0)
    graph.link("HAS_SECTION", ("Article", "bare"), ("Section", "another"), section_index=0)
    found = await graph.ask()
    assert [(each.label, each.source) for each in found] == [
        ("MarkdownSection", "docs/guide/setup.md:12-30"),
        ("TextSection", "docs/guide/setup.md:7"),
        ("Scope", "docs/guide/setup.md:1-2"),
        ("Section", "https://wiki/Pump"),
        ("Section", "Valve"),
        ("TextSection", None),
    ]
    assert [each.score for each in found] == pytest.approx([0.9, 0.8, 0.7, 0.6, 0.5, 0.4], abs=1e-3)
    document = found[0].document()
    assert document | {"score": 0} == {
        "uuid": graph.own("markdown"),
        "label": "MarkdownSection",
        "name": f"name of {graph.own('markdown')}",
        "score": 0,
        "source": "docs/guide/setup.md:12-30",
        "path": None,
        "line": 12,
        "text": "the content of markdown",
        "neighbours": [],
    }


async def test_only_what_is_ready_is_found_however_far_it_is(graph: Graph) -> None:
    for number in range(30):
        graph.near("TextSection", f"waiting{number}", 0.9, state=State.PARSED)
    graph.near("TextSection", "ready1", 0.5)
    graph.near("TextSection", "ready2", 0.4)
    assert await graph.uuids(limit=2) == ["ready1", "ready2"]
    assert await graph.uuids(limit=1) == ["ready1"]
    assert await graph.uuids(limit=5) == ["ready1", "ready2"]


async def test_a_piece_counts_for_its_text_once_and_shows_itself(graph: Graph) -> None:
    graph.near("TextSection", "whole", 0.5)
    for number, score in enumerate([0.6, 0.9, 0.8]):
        graph.near("Chunk", f"piece{number}", score, content=f"piece {number}")
        graph.link("HAS_CHUNK", ("TextSection", "whole"), ("Chunk", f"piece{number}"), index=number)
    graph.near("MarkdownSection", "other", 0.7)
    found = await graph.ask()
    assert [(each.uuid, each.label, each.text) for each in found] == [
        (graph.own("whole"), "TextSection", "piece 1"),
        (graph.own("other"), "MarkdownSection", "the content of other"),
    ]
    assert found[0].score == pytest.approx(0.9, abs=1e-3)


async def test_many_pieces_of_one_text_do_not_hide_the_others(graph: Graph) -> None:
    graph.near("TextSection", "whole", 0.5)
    for number in range(20):
        graph.near("Chunk", f"piece{number}", 0.9)
        graph.link("HAS_CHUNK", ("TextSection", "whole"), ("Chunk", f"piece{number}"), index=number)
    graph.near("TextSection", "other", 0.4)
    assert await graph.uuids(limit=2) == ["whole", "other"]


async def test_a_piece_of_a_text_that_waits_or_is_gone_is_not_found(graph: Graph) -> None:
    graph.near("TextSection", "waiting", 0.9, state=State.PARSED)
    graph.near("Chunk", "piece", 0.9)
    graph.link("HAS_CHUNK", ("TextSection", "waiting"), ("Chunk", "piece"), index=0)
    graph.near("Chunk", "orphan", 0.9)
    assert await graph.uuids() == []


async def test_labels_choose_among_texts_and_their_pieces(graph: Graph) -> None:
    graph.near("TextSection", "text", 0.5)
    graph.near("Chunk", "piece", 0.9, content="of the text")
    graph.link("HAS_CHUNK", ("TextSection", "text"), ("Chunk", "piece"), index=0)
    graph.near("Scope", "scope", 0.8)
    graph.near("MarkdownSection", "markdown", 0.7)
    assert await graph.uuids(labels=["TextSection"]) == ["text"]
    assert await graph.uuids(labels=["Scope", "MarkdownSection"]) == ["scope", "markdown"]
    assert [each.text for each in await graph.ask(labels=["TextSection"])] == ["of the text"]


async def test_nothing_below_the_least_score_is_found(graph: Graph) -> None:
    for number in range(20):
        graph.near("TextSection", f"t{number:02}", 0.95 - number / 20)
    assert await graph.uuids(min_score=0.775, limit=10) == ["t00", "t01", "t02", "t03"]
    assert await graph.uuids(min_score=0.99) == []


@pytest.mark.parametrize(
    ("label", "hint"),
    [
        ("Markdown", "did you mean --label MarkdownSection?"),
        ("scope", "did you mean --label Scope?"),
        ("Chunk", "leave --label out"),
        ("File", "leave --label out"),
    ],
)
async def test_a_label_without_vectors_is_refused_with_a_suggestion(graph: Graph, label: str, hint: str) -> None:
    with pytest.raises(SearchMisuse, match=label) as failure:
        await graph.ask(labels=[label])
    assert hint in failure.value.hint


async def test_a_graph_without_vectors_says_so(store: Store, embedder: Embedder) -> None:
    with pytest.raises(SearchMisuse, match="no vectors in this graph yet") as failure:
        await search(store, embedder, ASKED, limit=3)
    assert "graphmill ingest" in failure.value.hint


@pytest.mark.parametrize("change", [{"provider": "openai", "model": "small"}, {"dimension": 8}])
async def test_two_spaces_are_never_mixed(store: Store, embedder: Embedder, change: dict[str, Any]) -> None:
    await store.use_vector_space(replace(space_of(embedder), **change))
    with pytest.raises(SearchMisuse) as failure:
        await search(store, embedder, ASKED, limit=3)
    told = f"{failure.value.message} {failure.value.hint}"
    assert ("openai:small (256 numbers)" if "model" in change else "wordllama (8 numbers)") in told
    assert "wordllama (256 numbers)" in told
    assert "search with --embedder " in told and "graphmill ingest PATH --embedder wordllama" in told


async def test_neighbours_give_context_in_both_directions(graph: Graph) -> None:
    graph.add("File", "file", root="r", path="a.py")
    graph.add("Directory", "folder", path=".")
    graph.near("Scope", "scope", 0.9)
    graph.add("Scope", "caller")
    graph.add("Scope", "called")
    graph.link("DEFINED_IN", ("Scope", "scope"), ("File", "file"))
    graph.link("CONSUMES", ("Scope", "caller"), ("Scope", "scope"), count=1)
    graph.link("CONSUMES", ("Scope", "scope"), ("Scope", "called"), count=1)
    graph.link("CONSUMES", ("Scope", "scope"), ("Scope", "scope"), count=1)
    graph.link("IN_DIRECTORY", ("File", "file"), ("Directory", "folder"))

    def neighbour(uuid: str, label: str, relationship: str, forward: bool, hops: int) -> Neighbour:
        name = f"name of {graph.own(uuid)}"
        return Neighbour(
            uuid=graph.own(uuid), label=label, name=name, relationship=relationship, forward=forward, hops=hops
        )

    near = [
        neighbour("caller", "Scope", "CONSUMES", False, 1),
        neighbour("called", "Scope", "CONSUMES", True, 1),
        neighbour("file", "File", "DEFINED_IN", True, 1),
    ]
    assert [each.neighbours for each in await graph.ask()] == [[]]
    assert [each.neighbours for each in await graph.ask(hops=1)] == [near]
    [found] = await graph.ask(hops=2)
    assert found.neighbours == [*near, neighbour("folder", "Directory", "IN_DIRECTORY", True, 2)]
    assert found.document()["neighbours"][0]["relationship"] == "CONSUMES"


async def test_neighbours_are_bounded_and_of_every_kind(graph: Graph) -> None:
    graph.add("File", "file", root="r", path="a.py")
    graph.near("Scope", "scope", 0.9)
    graph.link("DEFINED_IN", ("Scope", "scope"), ("File", "file"))
    for number in range(30):
        graph.add("Scope", f"caller{number:02}")
        graph.link("CONSUMES", ("Scope", f"caller{number:02}"), ("Scope", "scope"), count=1)
    for hops in (1, 3):
        [found] = await graph.ask(hops=hops)
        assert len(found.neighbours) == 10
        assert [each.relationship for each in found.neighbours[:2]] == ["CONSUMES", "DEFINED_IN"]


@pytest.mark.parametrize(
    "label", ["File", "Directory", "MarkdownSection", "TextSection", "Scope", "Article", "Section", "Category"]
)
async def test_every_label_can_be_asked_for_its_neighbours(store: Store, label: str) -> None:
    table = await store.ask(f"neighbours-of-{label.lower()}", {"uuid": "nobody", "limit": 3})
    assert list(table.columns) == ["relationship", "forward", "label", "uuid", "name"]
    assert list(table.rows) == []
