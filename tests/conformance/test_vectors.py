"""Vectors: one space per project, exact or by index, always of finite numbers and the right length."""

import math
from collections.abc import Sequence
from operator import mul
from random import Random

import pytest

from graph_stores.errors import GraphmillError, InvalidVector, LeaseLost, MissingNode
from graph_stores.model import Hit, Vector, VectorSpace
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.states import State
from tests.conformance.examples import bring, claim_one, file, node, picture, ref, section, states_of, write
from tests.conformance.place import Place

SPACE = VectorSpace(provider="test", model="eight", dimension=8)
OTHER_SPACE = VectorSpace(provider="test", model="four", dimension=4)


def axis(number: int, dimension: int = 8) -> list[float]:
    return [float(place == number) for place in range(dimension)]


def vector(uuid: str, values: Sequence[float], label: str = "Section") -> Vector:
    return Vector(node=ref(uuid, label), values=values)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(map(mul, one, other)) / math.hypot(*one) / math.hypot(*other)


def scores(hits: Sequence[Hit]) -> list[float]:
    return [hit.score for hit in hits]


async def embed(lifecycle: Lifecycle, vectors: Sequence[Vector]) -> None:
    """Nodes with these vectors, made ready in the ordinary way."""
    nodes = [node(each.node.label, each.node.uuid, state=State.PARSED) for each in vectors]
    await write(lifecycle.store, nodes=nodes)
    for label in sorted({each.node.label for each in vectors}):
        await bring(lifecycle, label, states.LINK, states.EMBED, vectors=vectors)


async def best(store: Store, values: Sequence[float], limit: int = 3, **options: Sequence[str]) -> list[str]:
    return [hit.node.uuid for hit in await store.search(values, limit=limit, **options)]


@pytest.fixture
async def spacious(store: Store, lifecycle: Lifecycle) -> Lifecycle:
    await store.use_vector_space(SPACE)
    return lifecycle


async def test_a_graph_has_no_vector_space_until_one_is_declared(store: Store) -> None:
    assert await store.vector_space() is None
    await store.use_vector_space(SPACE)
    assert await store.vector_space() == SPACE


async def test_a_vector_space_survives_close_and_open(spacious: Lifecycle, place: Place) -> None:
    await embed(spacious, [vector("a", axis(0))])
    reopened = await place.reopen()
    assert await reopened.vector_space() == SPACE
    assert await best(reopened, axis(0)) == ["a"]


async def test_vectors_need_a_space(store: Store) -> None:
    await write(store, nodes=[section("a")])
    with pytest.raises(GraphmillError):
        await write(store, vectors=[vector("a", axis(0))])
    assert await store.search(axis(0), limit=1) == []


async def test_the_space_of_one_project_is_not_that_of_another(spacious: Lifecycle, place: Place) -> None:
    theirs = await place.reopen(project=f"{place.project}-other")
    await write(theirs, nodes=[section("a")])
    with pytest.raises(GraphmillError):
        await write(theirs, vectors=[vector("a", axis(0))])


async def test_search_gives_the_nearest_first_with_the_cosine_as_score(spacious: Lifecycle) -> None:
    stored = {"same": axis(0), "near": [2.0, 1.0, *[0.0] * 6], "far": axis(1), "against": [-3.0, *[0.0] * 7]}
    await embed(spacious, [vector(uuid, values) for uuid, values in stored.items()])
    hits = await spacious.store.search(axis(0), limit=10)
    assert [hit.node.uuid for hit in hits] == ["same", "near", "far", "against"]
    assert scores(hits) == pytest.approx([cosine(axis(0), values) for values in stored.values()], abs=1e-4)
    assert (hits[0].node.state, hits[0].node.name) == ("ready", "name of same")
    assert await best(spacious.store, axis(0), limit=2) == ["same", "near"]


async def test_the_index_finds_what_the_exact_search_found(spacious: Lifecycle) -> None:
    random = Random(1)
    stored = {f"s{number:03}": [random.gauss(0, 1) for _ in range(8)] for number in range(300)}
    await embed(spacious, [vector(uuid, values) for uuid, values in stored.items()])
    questions = [[random.gauss(0, 1) for _ in range(8)] for _ in range(10)]
    for indexed in (False, True):
        if indexed:
            await spacious.store.index_vectors()
        for question in questions:
            nearest = sorted(stored, key=lambda uuid: -cosine(question, stored[uuid]))[:5]
            hits = await spacious.store.search(question, limit=5)
            assert [hit.node.uuid for hit in hits] == nearest
            assert scores(hits) == pytest.approx([cosine(question, stored[uuid]) for uuid in nearest], abs=1e-4)


async def test_vectors_change_and_nodes_come_and_go_after_indexing(spacious: Lifecycle) -> None:
    store = spacious.store
    await embed(spacious, [vector("a", axis(0)), vector("b", axis(1)), vector("c", axis(2))])
    await store.index_vectors()
    await write(store, vectors=[vector("a", axis(5))])
    await embed(spacious, [vector("d", axis(0))])
    await spacious.delete([ref("b", "Section")])
    assert await best(store, axis(5), limit=1) == ["a"]
    assert await best(store, axis(0), limit=1) == ["d"]
    assert "b" not in await best(store, axis(1), limit=10)
    await store.index_vectors()
    await store.index_vectors()
    assert await best(store, axis(5), limit=1) == ["a"]
    assert await best(store, axis(0), limit=1) == ["d"]


async def test_an_index_survives_close_and_open(spacious: Lifecycle, place: Place) -> None:
    await embed(spacious, [vector(f"s{number}", axis(number)) for number in range(8)])
    await spacious.store.index_vectors()
    reopened = await place.reopen()
    assert await best(reopened, axis(3), limit=1) == ["s3"]
    await write(reopened, vectors=[vector("s3", axis(4)), vector("s4", axis(3))])
    assert await best(reopened, axis(3), limit=1) == ["s4"]


@pytest.mark.parametrize("indexed", [False, True])
async def test_search_can_be_kept_to_labels(spacious: Lifecycle, indexed: bool) -> None:
    labels = ["Section", "Scope", "Chunk", "TextSection", "MarkdownSection"]
    await embed(spacious, [vector(label, [1.0, place / 10, *[0.0] * 6], label) for place, label in enumerate(labels)])
    if indexed:
        await spacious.store.index_vectors()
    assert await best(spacious.store, axis(0), limit=9) == labels
    assert await best(spacious.store, axis(0), limit=9, labels=["Chunk", "Scope"]) == ["Scope", "Chunk"]
    assert await best(spacious.store, axis(0), limit=1, labels=["TextSection"]) == ["TextSection"]


async def test_search_in_a_graph_without_vectors_finds_nothing(spacious: Lifecycle) -> None:
    await write(spacious.store, nodes=[section("a")])
    assert await spacious.store.search(axis(0), limit=5) == []
    await spacious.store.index_vectors()
    assert await spacious.store.search(axis(0), limit=5) == []


@pytest.mark.parametrize(
    "values", [axis(0, 7), axis(0, 9), [], [0.0] * 8, [math.nan] * 8, [*axis(0, 7), math.inf]], ids=str
)
async def test_a_vector_that_does_not_fit_is_refused_with_the_whole_batch_and_never_searched_for(
    spacious: Lifecycle, values: list[float]
) -> None:
    store = spacious.store
    await write(store, nodes=[section("a"), section("b")])
    before = await picture(store)
    with pytest.raises(InvalidVector):
        await write(store, nodes=[section("c")], vectors=[vector("a", axis(0)), vector("b", values)])
    assert await picture(store) == before
    with pytest.raises(InvalidVector):
        await store.search(values, limit=1)


async def test_a_vector_of_a_node_that_is_not_there_is_refused_with_the_whole_batch(spacious: Lifecycle) -> None:
    await write(spacious.store, nodes=[section("a")])
    before = await picture(spacious.store)
    with pytest.raises(MissingNode, match="nobody"):
        await write(spacious.store, vectors=[vector("a", axis(0)), vector("nobody", axis(0))])
    assert await picture(spacious.store) == before


async def test_the_last_vector_given_for_a_node_counts(spacious: Lifecycle) -> None:
    await embed(spacious, [vector("a", axis(0)), vector("b", axis(3))])
    await write(spacious.store, vectors=[vector("a", axis(1)), vector("a", axis(2))])
    assert await best(spacious.store, axis(2), limit=1) == ["a"]


async def test_a_vector_can_be_taken_away_and_given_again(spacious: Lifecycle) -> None:
    store = spacious.store
    await embed(spacious, [vector("a", axis(0)), vector("b", axis(0)), vector("c", axis(1), "Chunk")])
    await write(store, vectors=[Vector(node=ref("a", "Section"), values=None), vector("b", axis(1))])
    await write(store, vectors=[Vector(node=ref("a", "Section"), values=None)])
    assert sorted(await best(store, axis(1))) == ["b", "c"]
    assert "embedding" not in (await picture(store))[0]["Section", "a"]
    assert await states_of(store) == {"a": "ready", "b": "ready", "c": "ready"}
    await write(store, vectors=[vector("a", axis(0))])
    assert (await best(store, axis(0)))[0] == "a"


async def test_of_giving_and_taking_away_the_last_counts(spacious: Lifecycle) -> None:
    store = spacious.store
    await embed(spacious, [vector("a", axis(0)), vector("b", axis(0))])
    gone = {uuid: Vector(node=ref(uuid, "Section"), values=None) for uuid in "ab"}
    await write(store, vectors=[gone["a"], vector("a", axis(1)), vector("b", axis(1)), gone["b"]])
    assert await best(store, axis(1)) == ["a"]


async def test_taking_away_a_vector_needs_no_space_but_the_node(store: Store) -> None:
    await write(store, nodes=[section("a"), file("f")])
    before = await picture(store)
    await write(store, vectors=[Vector(node=ref("a", "Section"), values=None), Vector(node=ref("f"), values=None)])
    with pytest.raises(MissingNode):
        await write(store, vectors=[Vector(node=ref("nobody", "Section"), values=None)])
    assert await picture(store) == before


async def test_a_vector_that_is_taken_away_is_no_longer_in_the_index(spacious: Lifecycle) -> None:
    store = spacious.store
    await embed(spacious, [vector("a", axis(0)), vector("b", axis(1))])
    await store.index_vectors()
    await write(store, vectors=[Vector(node=ref("a", "Section"), values=None)])
    assert await best(store, axis(0)) == ["b"]


async def test_a_node_is_ready_only_together_with_its_vector(spacious: Lifecycle) -> None:
    await write(spacious.store, nodes=[section("a")])
    await bring(spacious, "Section", states.LINK)
    row = await claim_one(spacious, states.EMBED, labels=["Section"])
    with pytest.raises(InvalidVector):
        await spacious.complete([Result(node=row, vectors=[vector("a", axis(0, 5))])])
    assert await states_of(spacious.store) == {"a": "embedding"}
    await spacious.release([row])
    with pytest.raises(LeaseLost):
        await spacious.complete([Result(node=row, vectors=[vector("a", axis(0))])])
    assert await spacious.store.search(axis(0), limit=1) == []


async def test_the_export_holds_the_vectors(spacious: Lifecycle) -> None:
    await embed(spacious, [vector("a", [0.5, -0.25, *[0.0] * 6])])
    nodes, _ = await picture(spacious.store)
    assert list(nodes["Section", "a"]["embedding"]) == [0.5, -0.25, *[0.0] * 6]


async def test_rows_do_not_carry_the_vector(spacious: Lifecycle) -> None:
    await embed(spacious, [vector("a", axis(0))])
    [hit] = await spacious.store.search(axis(0), limit=1)
    assert "embedding" not in hit.node.properties


async def test_declaring_the_same_space_again_keeps_the_vectors(spacious: Lifecycle) -> None:
    await embed(spacious, [vector("a", axis(0))])
    await spacious.store.index_vectors()
    await spacious.store.use_vector_space(SPACE)
    assert await best(spacious.store, axis(0)) == ["a"]


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize(
    "space",
    [OTHER_SPACE, VectorSpace(provider="test", model="another eight", dimension=8)],
    ids=["of another length", "of another model"],
)
async def test_a_new_space_starts_without_the_vectors_of_the_former_one(
    spacious: Lifecycle, space: VectorSpace, indexed: bool
) -> None:
    store = spacious.store
    await embed(spacious, [vector("a", axis(0)), vector("b", axis(1))])
    if indexed:
        await store.index_vectors()
    await store.use_vector_space(space)
    assert await store.vector_space() == space
    assert await store.search(axis(0, space.dimension), limit=5) == []
    assert all("embedding" not in properties for properties in (await picture(store))[0].values())
    await write(store, vectors=[vector("b", axis(0, space.dimension))])
    assert await best(store, axis(0, space.dimension)) == ["b"]
    await store.index_vectors()
    assert await best(store, axis(0, space.dimension)) == ["b"]


@pytest.mark.parametrize("indexed", [False, True])
async def test_two_projects_in_one_graph_never_see_each_others_vectors(
    spacious: Lifecycle, place: Place, indexed: bool
) -> None:
    await embed(spacious, [vector(f"mine{number}", axis(0)) for number in range(20)])
    if indexed:
        await spacious.store.index_vectors()
    theirs = await place.reopen(project=f"{place.project}-other")
    assert await theirs.vector_space() is None
    await theirs.use_vector_space(SPACE)
    await embed(Lifecycle(store=theirs), [vector("theirs", [0.5, 0.5, *[0.0] * 6])])
    if indexed:
        await theirs.index_vectors()
    assert await best(theirs, axis(0), limit=5) == ["theirs"]
    mine = await place.reopen()
    assert set(await best(mine, axis(0), limit=30)) == {f"mine{number}" for number in range(20)}
