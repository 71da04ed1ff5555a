"""Graphs with marks on their nodes, on a real server: every rule, every trap, and back again."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from graph_stores import Credentials, open_store
from graph_stores.legacy import MigrationRefused
from graph_stores.model import VectorSpace
from orchestrator.embed import send_back_what_another_model_made
from orchestrator.lifecycle import Lifecycle
from orchestrator.migration.report import Verdict
from orchestrator.migration.survey import Scope
from tests.conformance.examples import AT_ONCE
from tests.conformance.legacy_rules import (
    KEPT_OF_MODELS,
    MODEL,
    VECTORS_OF_MODELS,
    OldNode,
    decide,
    hashed,
    nodes_of_models,
    random_node,
)
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
    node("File", "g3-word", _state="entities", createdAt=datetime(2025, 1, 2, 3, tzinfo=UTC), rawContentHash="raw"),
    node("File:WebPage", "two-labels", state="discovered", stateUpdatedAt=datetime(2025, 1, 2, 3), hash="hash"),
    scope("leftovers", _wasCreated=True, _wasUpdated=False, _previousState="linked", _action="x", entitiesDirty=True),
    scope("hashed", contentHash="content", parsedContentHash="parsed", createdAt="yesterday"),
    scope("parsed-hash", parsedContentHash="parsed", createdAt=1735786800000),
    embedded("entities-dirty", _state="ready", _embeddedAt="2025-01-01T00:00:00Z", embeddingsDirty=True),
    scope("another-text", embedding_content=VECTOR, embedding_content_hash=hashed("an older text"), **OURS),
    node("DataSection", "unflagged", content=TEXT),
    node("DataSection", "named", name="a name", content=TEXT, embedding_name=VECTOR, embedding_content=VECTOR, **OURS),
    node("DataSection", "nameless", content=TEXT, embedding_content=VECTOR, **OURS),
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
    "g3-word": ("4-state-word", "linked"),
    "two-labels": ("4-state-word", "pending"),
    "leftovers": ("9-structure", "linked"),
    "hashed": ("9-structure", "linked"),
    "entities-dirty": ("5-leftover-flag", "ready"),
    "another-text": ("6-stale-vector", "linked"),
    "unflagged": ("9-no-structure", "pending"),
    "named": ("7-vectors-complete", "ready"),
    "nameless": ("7-vectors-complete", "ready"),
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


async def test_the_models_that_nodes_name_are_told(old: OldGraph) -> None:
    old.write(nodes_of_models())
    async with old.migration(configured=None) as migration:
        assert (await migration.detect()).vectors == VECTORS_OF_MODELS
        plan = await migration.plan()
        assert (plan.model, plan.kept, plan.would_keep) == KEPT_OF_MODELS


async def test_details_survive(old: OldGraph) -> None:
    old.write(GENERATIONS)
    async with old.migration() as migration:
        await migration.apply()
        found = {row["uuid"]: row for row in old.nodes()}
        error, dated, chunked = found["g1-error"], found["g1-file"], found["chunked"]
        assert (error["_errorType"], error["_retryCount"], error["_errorMessage"]) == ("link", 2, "no")
        assert dated["_detectedAt"].iso_format() == "2025-01-02T03:04:05.000000000+02:00"
        assert dated["createdAt"] == "2025-01-02T03:04:05+02:00", "a person's own property"
        assert chunked["embedding"] == pytest.approx(VECTOR)
        moments = {
            uuid: found[uuid]["_detectedAt"].iso_format()[:13] for uuid in ("g3-word", "two-labels", "parsed-hash")
        }
        assert set(moments.values()) == {"2025-01-02T03"}, "a DateTime, one without a zone, milliseconds"
        now = datetime.now(UTC)
        for uuid in ("hashed", "dir"):
            assert abs(found[uuid]["_detectedAt"].to_native() - now).total_seconds() < 600, "no time that is one"
        hashes = {
            uuid: found[uuid]["_contentHash"] for uuid in ("g3-word", "two-labels", "hashed", "parsed-hash", "dir")
        }
        assert hashes == {
            "g3-word": "raw", "two-labels": "hash", "hashed": "content", "parsed-hash": "parsed", "dir": None
        }  # fmt: skip
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
            "_wasCreated",
            "_wasUpdated",
            "_previousState",
            "_action",
            "entitiesDirty",
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


async def test_each_rule_is_reconciled_with_what_it_moved_of_one_project_and_of_all(old: OldGraph) -> None:
    other = OldGraph(server=old.server, project=f"{old.project}-other")
    old.write(GENERATIONS)
    other.write([embedded("elsewhere"), scope("nowhere", schemaDirty=True)])
    try:
        for graph in (old, other, old):
            async with graph.migration() as migration:
                await migration.apply()
                assert (await migration.validate()).problems == []
        async with old.migration() as migration:
            await migration.rollback()
            await migration.apply()
            assert (await migration.validate()).problems == [], "what went back does not count twice"
            old.run("MATCH (n:Scope {uuid: 'g1', projectId: $project}) SET n._migratedBy = '9-structure'")
            found = {
                (each.problem.partition(" moved")[0], each.label, each.count)
                for each in (await migration.validate()).problems
            }
            assert found == {("rule 7-vectors-complete", "Scope", 1), ("rule 9-structure", "Scope", 1)}
        everywhere = {"scope": Scope(project=None, home="home")}
        async with other.migration() as migration, old.migration(**everywhere) as whole:
            assert (await migration.validate()).problems == []
            assert found <= {
                (each.problem.partition(" moved")[0], each.label, each.count)
                for each in (await whole.validate()).problems
            }
            await migration.rollback()
    finally:
        other.wipe()


async def test_what_is_printed_can_be_run_by_hand(old: OldGraph) -> None:
    old.write(GENERATIONS)
    before = old.picture()
    async with old.migration() as migration:
        printed = await migration.cypher()
        planned = {(each.rule, each.label, each.to): each.count for each in (await migration.plan()).moved}
    settings, *statements = printed.split("\n\n// ")
    values = [re.fullmatch(r":param (\w+) => (.*);", line) for line in settings.splitlines()]
    parameters = {match[1]: old.run(f"RETURN {match[2]} AS value")[0]["value"] for match in values if match}
    assert len(parameters) == len(settings.splitlines())
    answers = {}
    for statement in statements:
        name, _, text = statement.partition("\n")
        assert "%" not in text
        answers[name] = old.run(text.removesuffix(";"), **parameters)
        if name == "apply":
            # Without an id that could be its uuid a node is left for `look` to name.
            moved = {(row["rule"], row["label"], row["to"]): row["count"] for row in answers["apply"]}
            assert sum(moved.values()) == sum(planned.values()) - len(
                [row for row in answers["look"] if row["lacksId"]]
            )
            assert moved.items() >= {key: count for key, count in planned.items() if key[1] == "File"}.items()
    assert list(answers) == ["plan", "look", "apply", "rollback"]
    assert old.picture() == before


async def test_a_change_of_the_model_reaches_labels_that_are_not_graphmills_own(old: OldGraph) -> None:
    old.write([node("CodeBlock", "block", content=TEXT, embedding=VECTOR, embedding_hash=hashed(TEXT), **OURS)])
    async with old.migration() as migration:
        await migration.apply()
    assert old.decisions()["block"] == ("7-vectors-complete", "ready")
    credentials = Credentials(user=old.server.user, password=old.server.password)
    store = await open_store(old.server.uri, project=str(old.project), credentials=credentials)
    try:
        lifecycle = Lifecycle(store=store, policy=AT_ONCE, random=Random(7))
        space = VectorSpace(provider="openai", model="large", dimension=2)
        assert await send_back_what_another_model_made(lifecycle, space) == 1
        await store.use_vector_space(space)
        block = old.node("block")
        assert (block["_state"], block["embedding"]) == ("linked", None)
        old.run("DROP INDEX graphmill_CodeBlock_claim")
        assert "graphmill_CodeBlock_claim" in (await store.schema()).missing
        assert (await store.migrate()).missing == ()
    finally:
        await store.close()


async def test_what_was_made_since_stays_and_is_told_by_the_rollback(old: OldGraph) -> None:
    old.write(GENERATIONS)
    async with old.migration() as migration:
        await migration.apply()
        old.run("CREATE (:File {uuid: 'new', name: 'new', _state: 'ready', _depth: 0, projectId: $project})")
        old.run("MATCH (m:GraphmillMeta {key: 'migration'}) SET m.graphmill = false")
        assert (await migration.rollback()).left == {"File": 1}
    assert old.node("new")["_state"] == "ready"


async def test_a_private_database_gets_its_own_schema_back(private_neo4j: Any) -> None:
    old = OldGraph(server=private_neo4j, project=None)
    old.run("CREATE CONSTRAINT mine FOR (n:Scope) REQUIRE n.uuid IS UNIQUE")
    old.run("CREATE INDEX theirs FOR (n:Entity) ON (n.uuid)")
    old.write(GENERATIONS)
    before = (old.picture(), old.schema())
    async with old.migration() as migration:
        await migration.apply()
        assert old.schema() != before[1]
        assert (await migration.validate()).problems == []
        old.run("MATCH (n:Scope {uuid: 'g1'}) SET n._migratedBy = '9-structure'")
        assert len((await migration.validate()).problems) == 2
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
