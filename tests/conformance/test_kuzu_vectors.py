"""Vectors of changing length in an embedded graph: whatever came before, the next checkpoint and opening succeed."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import cypher
from graph_stores.kuzu.store import EmbeddedStore
from graph_stores.model import Batch, Ref, Vector, VectorSpace
from graph_stores.protocol import Store
from orchestrator.moves import new_node
from orchestrator.states import State
from tests.conformance.kuzu_child import opened
from tests.conformance.model_changes import TEXT, Model, read_model
from tests.conformance.place import Place

EMBEDDED = pytest.mark.parametrize("engine", ["kuzu", "ladybug"], indirect=True)
OWN_TEXTS = ("MarkdownSection", "TextSection", "Scope", "Section", "Chunk")


async def give_texts(store: Store, space: VectorSpace, *uuids: str) -> None:
    nodes = [new_node(label=TEXT, uuid=uuid, name=uuid, state=State.PARSED) for uuid in uuids]
    vectors = [Vector(node=node.ref, values=[float(n + 1) for n in range(space.dimension)]) for node in nodes]
    await store.commit(Batch(nodes=nodes, vectors=vectors))


async def found(store: Store, dimension: int) -> list[str]:
    return sorted(hit.node.uuid for hit in await store.search([1.0] * dimension, limit=10))


@EMBEDDED
async def test_projects_of_one_graph_have_vectors_of_different_lengths(store: Store, place: Place) -> None:
    long, short = (VectorSpace(provider="test", model="m", dimension=dimension) for dimension in (256, 8))
    await store.use_vector_space(long)
    await give_texts(store, long, "long")
    other = await place.reopen(project=f"{place.project}-other")
    await other.use_vector_space(short)
    await give_texts(other, short, "short")
    assert await found(other, 8) == ["short"]
    assert await found(await place.reopen(), 256) == ["long"]


@pytest.mark.long
@EMBEDDED
@pytest.mark.parametrize("dimension", [8, 300], ids=["same length", "another length"])
async def test_a_graph_with_vectors_of_fixed_length_is_brought_along(
    dimension: int, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As earlier versions made them: with the next length the column would have been dropped."""
    old = VectorSpace(provider="test", model="old", dimension=8)
    every = cypher.migrations
    with monkeypatch.context() as older:
        older.setattr(cypher, "migrations", lambda dialect: every(dialect)[:6])
        store = await place.open(create=True)
        await store.migrate()
        for label in OWN_TEXTS:
            await store.query(f"ALTER TABLE {label} ADD embedding FLOAT[8]", {}, write=True)
    store = await place.reopen(create=True)
    await store.use_vector_space(old)
    await give_texts(store, old, "a", "b")
    await store.query("CREATE NODE TABLE `Of others`(`the id` INT64 PRIMARY KEY, words STRING[])", {}, write=True)
    await store.query("CREATE (:`Of others` {`the id`: 1, words: ['it', \"wasn't\"]})", {}, write=True)

    store = await place.reopen(create=True)
    await store.migrate()
    assert await found(store, 8) == ["a", "b"]
    new = VectorSpace(provider="test", model="new", dimension=dimension)
    await store.use_vector_space(new)
    assert await found(store, dimension) == []
    await give_texts(store, new, "c")
    store = await place.reopen()
    assert await found(store, dimension) == ["c"]
    assert len((await store.query(f"MATCH (n:{TEXT}) RETURN n", {})).rows) == 3
    others = await store.query("MATCH (n:`Of others`) RETURN n.`the id`, n.words", {})
    assert others.rows == [[1, ["it", "wasn't"]]]


@pytest.mark.long
@EMBEDDED
async def test_a_checkpoint_gives_no_text_the_vector_of_another(store: EmbeddedStore) -> None:
    """Kuzu's own checkpoint does, once vectors that are in the file were changed."""
    random, space = Random(2), VectorSpace(provider="test", model="m", dimension=8)
    await store.use_vector_space(space)
    expected: dict[str, list[float]] = {}
    for step in range(8):
        new = [f"{step}-{number}" for number in range(random.randint(1, 30))]
        changed = random.sample(sorted(expected), min(len(expected), 10))
        vectors = {uuid: [random.randint(1, 64) / 64 for _ in range(8)] for uuid in (*new, *changed)}
        nodes = [new_node(label=TEXT, uuid=uuid, name=uuid, state=State.PARSED) for uuid in new]
        given = [Vector(node=Ref(label=TEXT, uuid=uuid), values=values) for uuid, values in vectors.items()]
        await store.commit(Batch(nodes=nodes, vectors=given))
        expected |= vectors
        if step % 3:
            await store._write(lambda: store._engine.checkpoint(wait=True))
        assert (await read_model(store)).vectors == expected, step


async def change_models_and_kill(engine: str, path: Path, seed: int, kills: int) -> None:
    """After each kill the graph is the one after the last acknowledged step, or after one more."""
    random, acknowledged = Random(seed), 0
    await (await opened(engine, path)).close()
    for _ in range(kills):
        command = [sys.executable, "-m", "tests.conformance.model_changes", engine, str(path)]
        die = random.randint(1, 60)
        command += map(str, (seed, acknowledged, die))
        process = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=600)
        assert process.returncode == -signal.SIGKILL, (seed, acknowledged, die, process.stderr)
        acknowledged += len(process.stdout.split())
        store = await opened(engine, path)
        there = await read_model(store)
        if there.space:
            hits = await store.search([1.0] * there.space.dimension, limit=1000)
            assert {hit.node.uuid for hit in hits} == set(there.vectors)
        await store.close()
        if there != Model.after(seed, acknowledged):
            acknowledged += 1
            assert there == Model.after(seed, acknowledged), (seed, acknowledged, die)


@pytest.mark.long
@EMBEDDED
async def test_models_change_between_edits_and_kills(engine: str, tmp_path: Path) -> None:
    await change_models_and_kill(engine, tmp_path / "graph", seed=1, kills=5)


@EMBEDDED
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 12))
async def test_models_change_between_edits_and_kills_for_long(engine: str, seed: int, tmp_path: Path) -> None:
    await change_models_and_kill(engine, tmp_path / "graph", seed=seed, kills=30)
