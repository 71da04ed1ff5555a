"""What the log of an embedded engine holds is what comes back from it after a kill, edges included, both ways."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from graph_stores import open_store
from graph_stores.model import Batch, Edge, Ref, Vector, VectorSpace
from graph_stores.protocol import Store
from orchestrator.moves import new_node
from orchestrator.states import State

FORWARD = "MATCH (f:File)-[:HAS_SECTION]->(s:MarkdownSection) RETURN f.uuid, s.uuid ORDER BY f.uuid, s.uuid"
BACKWARD = "MATCH (s:MarkdownSection)<-[:HAS_SECTION]-(f:File) RETURN f.uuid, s.uuid ORDER BY f.uuid, s.uuid"
LINKS = "MATCH (s:MarkdownSection)-[:LINKS_TO]->(t:MarkdownSection) RETURN s.uuid, t.uuid ORDER BY s.uuid, t.uuid"


def file(uuid: str) -> Ref:
    return Ref(label="File", uuid=uuid)


def section(uuid: str) -> Ref:
    return Ref(label="MarkdownSection", uuid=uuid)


async def write(store: Store, uuid: str, sections: Sequence[str]) -> None:
    refs = [file(uuid), *map(section, sections)]
    nodes = [new_node(label=ref.label, uuid=ref.uuid, name=ref.uuid, state=State.PARSED) for ref in refs]
    has = [
        Edge(type="HAS_SECTION", source=refs[0], target=target, properties={"index": index})
        for index, target in enumerate(refs[1:])
    ]
    await store.commit(Batch(nodes=nodes, edges=has))


async def answers(store: Store) -> list[Sequence[Sequence[str]]]:
    return [(await store.query(text, {})).rows for text in (FORWARD, BACKWARD, LINKS)]


@pytest.mark.parametrize("engine", ["kuzu", "ladybug"], indirect=True)
@pytest.mark.parametrize("again", [False, True], ids=["gone", "again"])
async def test_removing_a_file_with_its_sections_costs_nobody_else_an_edge_after_a_kill(
    engine: str, again: bool, store: Store, tmp_path: Path
) -> None:
    await write(store, "a", ["a1", "a2"])
    await write(store, "b", ["b1", "b2"])
    await store.commit(Batch(edges=[Edge(type="LINKS_TO", source=section("a1"), target=section("b2"))]))
    await store.commit(Batch(edges=[Edge(type="LINKS_TO", source=section("a2"), target=section("a1"))]))
    await store.commit(Batch(deletions=[file("b"), section("b1"), section("b2")]))
    if again:
        await write(store, "b", ["b1", "b2"])
    before = await answers(store)
    assert before[0] == before[1] != []
    copy = await reopened(store, engine, tmp_path)
    try:
        assert await answers(copy) == before
    finally:
        await copy.close()


@pytest.mark.parametrize("engine", ["kuzu", "ladybug"], indirect=True)
@pytest.mark.parametrize("killed", [False, True], ids=["at once", "after a kill"])
async def test_vectors_of_another_length_take_the_place_of_the_former_ones(
    engine: str, killed: bool, store: Store, tmp_path: Path
) -> None:
    """With rows written after it, a change of the column itself would crash Kuzu in the next checkpoint."""
    await write(store, "a", ["a1", "a2"])
    await give_vectors(store, dimension=256)
    await store.query("CHECKPOINT", {}, write=True)
    if killed:
        await store.use_vector_space(VectorSpace(provider="test", model="m", dimension=384))
        store = await reopened(store, engine, tmp_path)
    await give_vectors(store, dimension=384)
    await write(store, "b", ["b1"])
    await store.close()
    again = await open_store(store.url, project=store.project)
    try:
        assert len(await again.search([1.0] * 384, limit=10)) == 2
    finally:
        await again.close()


async def give_vectors(store: Store, *, dimension: int) -> None:
    await store.use_vector_space(VectorSpace(provider="test", model="m", dimension=dimension))
    values = [float(number + 1) for number in range(dimension)]
    await store.commit(Batch(vectors=[Vector(node=section(each), values=values) for each in ("a1", "a2")]))


async def reopened(store: Store, engine: str, tmp_path: Path) -> Store:
    """As after a kill: the file and its log as they are on disk, without a last checkpoint."""
    place = Path(store.url.partition(":")[2])
    (tmp_path / "killed").mkdir()
    for each in (place, place.with_name(f"{place.name}.wal")):
        shutil.copy(each, tmp_path / "killed")
    return await open_store(f"{engine}:{tmp_path / 'killed' / place.name}", project=store.project)
