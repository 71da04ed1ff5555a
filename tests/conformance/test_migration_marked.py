"""Graphs with marks on their nodes, on a real server: every rule, every trap, and back again."""

from collections.abc import AsyncIterator
from random import Random
from typing import Any
from uuid import uuid4

import pytest

import cypher
from graph_stores.legacy import MigrationRefused
from orchestrator.migration.report import Verdict
from tests.conformance.legacy_rules import MODEL, OldNode, decide, hashed, random_node
from tests.conformance.old_graphs import OldGraph

TEXT = "def alpha(): return 1"
OURS: dict[str, Any] = {"embedding_provider": MODEL[0], "embedding_model": MODEL[1]}
VECTOR = [0.1, 0.2, 0.3]


@pytest.fixture
async def old(neo4j_server: Any) -> AsyncIterator[OldGraph]:
    graph = OldGraph(server=neo4j_server, project=f"old-{uuid4().hex[:12]}")
    yield graph
    graph.wipe()


def scope(uuid: str, **properties: Any) -> OldNode:
    return OldNode(
        labels=["Scope"], properties={"uuid": uuid, "name": "alpha", "content": TEXT, **properties}, linked=True
    )


def embedded(uuid: str, **properties: Any) -> OldNode:
    return scope(uuid, embedding_content=VECTOR, embedding_content_hash=hashed(TEXT), **OURS, **properties)


def node(label: str, uuid: str | None, *, chunks: int = 0, linked: bool = False, **properties: Any) -> OldNode:
    own = properties if uuid is None else {"uuid": uuid, **properties}
    return OldNode(labels=label.split(":"), properties=own, chunks=chunks, linked=linked)


GENERATIONS = [
    node("Scope", "g0", content=TEXT, embedding=VECTOR, embedding_hash=hashed(TEXT)),
    embedded("g1"),
    embedded("g1-edited", embeddingsDirty=True),
    scope("g1-absent"),
    scope("g1-schema", schemaDirty=True),
    node("File", "g1-file", state="relations", createdAt="2025-01-02T03:04:05+02:00", path="a.py"),
    node("File", "g1-error", state="error", errorType="relations", errorMessage="no", retryCount=2),
    node("File", "g1-odd", state="frobbing"),
    embedded("g2", _state="ready", embeddingsDirty=False, _stateChangedAt="2025-02-30T00:00:00Z"),
    node("Entity:Person", "g3", _name="Ann", _state="ready", _embeddedAt="2025-01-01T00:00:00Z", embeddingsDirty=True),
    node("File", "g3-file", _state="mentioned", _pending=True),
    node("Directory", "dir", path="src"),
    node("Scope", "chunked", content=TEXT, chunkCount=2, usesChunks=True, chunks=2, **OURS),
    node("Scope", "torn", content=TEXT, chunkCount=3, usesChunks=True, chunks=2, **OURS),
    node("CodeBlock", None, content=TEXT, linked=True),
]

EXPECTED = {
    "g0": ("6-stale-vector", "linked"),
    "g1": ("7-vectors-complete", "ready"),
    "g1-edited": ("5-embeddings-dirty", "linked"),
    "g1-absent": ("9-structure", "linked"),
    "g1-schema": ("2-schema-dirty", "pending"),
    "g1-file": ("4-state-word", "parsed"),
    "g1-error": ("3-error", "error"),
    "g1-odd": ("10-unknown-word", "pending"),
    "g2": ("7-vectors-complete", "ready"),
    "g3": ("5-leftover-flag", "ready"),
    "g3-file": ("1-placeholder", "pending"),
    "dir": ("8-nothing-to-embed", "skip"),
    "chunked": ("7-vectors-complete", "ready"),
    "torn": ("9-structure", "linked"),
}


async def test_every_generation_is_recognised_moved_and_put_back_to_the_byte(old: OldGraph) -> None:
    old.write(GENERATIONS)
    before = old.picture()
    async with old.migration() as migration:
        found = await migration.detect()
        assert found.verdict is Verdict.LEGACY
        assert {shape.generation for shape in found.shapes} >= {"G0", "G1", "G2", "G3", "unmarked"}
        planned = await migration.plan()
        assert old.picture() == before, "to look is not to change"
        applied = await migration.apply()
        assert [(each.rule, each.label, each.to, each.count) for each in applied.moved] == [
            (each.rule, each.label, each.to, each.count) for each in planned.moved
        ]
        assert applied.unknown == {"frobbing": 1}
        assert {key: value for key, value in old.decisions().items() if key in EXPECTED} == EXPECTED
        assert (await migration.apply()).total == 0
        assert (await migration.validate()).problems == []
        assert (await migration.detect()).verdict is Verdict.MIGRATED
        await migration.rollback()
    assert old.picture() == before


async def test_the_server_decides_as_the_table_does_whatever_marks_come_together(old: OldGraph) -> None:
    random = Random(20260101)
    nodes = [random_node(random, number) for number in range(1500)]
    old.write(nodes)
    before = old.picture()
    async with old.migration() as migration:
        await migration.apply()
        needs = old.needs(nodes)
        expected = {node.properties["uuid"]: decide(node, needs) for node in nodes}
        found = {
            uuid: (rule.partition("-")[0], state) for uuid, (rule, state) in old.decisions().items() if uuid in expected
        }
        assert found == expected
        assert {rule for rule, _ in expected.values()} == {str(number) for number in range(1, 11)}
        assert (await migration.validate()).problems == []
        await migration.rollback()
    assert old.picture() == before


async def test_details_survive(old: OldGraph) -> None:
    old.write(GENERATIONS)
    async with old.migration() as migration:
        await migration.apply()
        error, dated, chunked = old.node("g1-error"), old.node("g1-file"), old.node("chunked")
        assert (error["_errorType"], error["_retryCount"], error["_errorMessage"]) == ("link", 2, "no")
        assert dated["_detectedAt"].iso_format() == "2025-01-02T03:04:05.000000000+02:00"
        assert dated["createdAt"] == "2025-01-02T03:04:05+02:00", "a person's own property"
        assert chunked["embedding"] == pytest.approx(VECTOR)
        lacking = [row for row in old.nodes() if "uuid" in (row["_migratedAdded"] or [])]
        assert len(lacking) == 1
        await migration.rollback()
        await migration.apply()
        assert lacking[0]["uuid"] in {row["uuid"] for row in old.nodes()}, "the same every time"
        await migration.rollback()


async def test_finalize_removes_the_old_marks_and_the_way_back(old: OldGraph) -> None:
    old.write(GENERATIONS)
    async with old.migration() as migration:
        await migration.apply()
        await migration.finalize()
        left = {name for row in old.nodes() for name in row}
        assert not left & {
            "embeddingsDirty",
            "schemaDirty",
            "_pending",
            "_migratedBy",
            "_former__state",
            "stateUpdatedAt",
        }
        assert {"embedding_content", "createdAt"} <= left
        assert (await migration.detect()).verdict is Verdict.GRAPHMILL
        with pytest.raises(MigrationRefused, match="finalized"):
            await migration.rollback()


async def test_validate_sees_what_is_wrong(old: OldGraph) -> None:
    old.write(GENERATIONS)
    async with old.migration() as migration:
        await migration.apply()
        old.run("MATCH (n:Scope {uuid: 'g1', projectId: $project}) REMOVE n.embedding")
        old.run("MATCH (n:Scope {uuid: 'g2', projectId: $project}) SET n._state = 'done'")
        old.run("CREATE (:Scope {uuid: 'late', embeddingsDirty: true, projectId: $project})")
        found = {problem.problem for problem in (await migration.validate()).problems}
        assert {"in no legal state", "not migrated", "ready without a vector of the right length"} <= found
        await migration.rollback()


async def test_a_graph_of_somebody_else_is_told_and_left_alone(old: OldGraph) -> None:
    old.run("CREATE (:Person {age: 3, projectId: $project})")
    async with old.migration() as migration:
        found = await migration.detect()
        assert found.verdict is Verdict.FOREIGN
        assert "Person (age, projectId)" in found.advice
        assert "--mapping" in found.advice
        with pytest.raises(MigrationRefused):
            await migration.apply()


async def test_nothing_is_begun_while_a_job_is_at_work(old: OldGraph) -> None:
    old.write([embedded("g1")])
    old.run("CREATE (:Worker {uuid: 'w', name: 'w', _state: 'pending', heartbeat: datetime(), projectId: $project})")
    async with old.migration() as migration:
        with pytest.raises(MigrationRefused, match="at work"):
            await migration.apply()


async def test_two_nodes_of_one_id_become_two(old: OldGraph) -> None:
    nodes = [
        OldNode(labels=["Twin"], properties={"uuid": "same", "embeddingsDirty": True, "name": name}) for name in "ab"
    ]
    old.write(nodes)
    before = old.picture()
    async with old.migration() as migration:
        await migration.apply()
        assert len({row["uuid"] for row in old.nodes()}) == 2
        await migration.rollback()
    assert old.picture() == before


def test_the_rules_are_the_same_wherever_they_are_written() -> None:
    blocks = set()
    for name in ("plan", "apply", "look"):
        text = (cypher._ROOT / "neo4j" / "migration" / f"{name}.cypher").read_text()
        blocks.add(text.partition("// RULES")[2].partition("// END OF RULES")[0])
    assert len(blocks) == 1
    assert all(blocks)


async def test_a_private_database_gets_its_own_schema_back(private_neo4j: Any) -> None:
    old = OldGraph(server=private_neo4j, project=None)
    old.run("CREATE CONSTRAINT mine FOR (n:Scope) REQUIRE n.uuid IS UNIQUE")
    old.run("CREATE INDEX theirs FOR (n:Entity) ON (n.uuid)")
    old.write(GENERATIONS)
    before = (old.picture(), old.schema())
    async with old.migration() as migration:
        await migration.apply()
        assert old.schema() != before[1]
        await migration.rollback()
    assert (old.picture(), old.schema()) == before


@pytest.mark.soak
async def test_a_hundred_thousand_nodes_are_moved_and_put_back(old: OldGraph) -> None:
    old.run(
        "UNWIND range(1, 100000) AS i "
        "CREATE (:Scope {uuid: toString(i), content: 'text ' + i, embeddingsDirty: i % 2 = 0, projectId: $project})"
    )
    async with old.migration() as migration:
        assert (await migration.apply()).total == 100_000
        assert (await migration.validate()).problems == []
        assert (await migration.rollback()).total == 100_000
    assert not any("_state" in row for row in old.nodes())
