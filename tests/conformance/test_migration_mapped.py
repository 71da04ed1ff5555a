"""Tables of somebody's own: by a mapping they get states, and nothing that was in them is lost."""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from graph_stores import open_store
from graph_stores.legacy import MigrationRefused
from graph_stores.model import Select
from orchestrator.checks import problems
from orchestrator.migration.mapping import InvalidMapping, MappingFile, read_mapping_file
from orchestrator.migration.report import Verdict
from orchestrator.verifying import Wanted, examine
from tests.conformance import old_tables
from tests.conformance.legacy_rules import (
    DIMENSION,
    KEPT_OF_MODELS,
    VECTORS_OF_MODELS,
    decide,
    nodes_of_models,
    random_node,
)
from tests.conformance.place import HERE
from tests.conformance.test_migration_tables import BOTH, GIVEN, OldFile, old

__all__ = ["old"]
DOCS = Path(__file__).parents[2] / "docs" / "migrate.md"


def write(old: OldFile, *more: str) -> None:
    command = [sys.executable, old_tables.__file__, old.engine, str(old.path), *more]
    subprocess.run(command, check=True, capture_output=True)


def mapping(tmp_path: Path, *, but: str = "", plus: str = "") -> MappingFile:
    """That of the docs, which names the key of documents only, without the lines that begin so."""
    example = re.findall(r"^```toml\n(.*?)^```", DOCS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[0]
    lines = [line for line in example.splitlines() if not but or not line.startswith(but)]
    path = tmp_path / "mapping.toml"
    path.write_text("\n".join([*([plus] if plus else []), *lines]), encoding="utf-8")
    return read_mapping_file(path)


@BOTH
async def test_tables_get_states_by_a_mapping_and_keep_all_they_have(old: OldFile, tmp_path: Path) -> None:
    write(old)
    own = (
        "MATCH (d:Document) RETURN d.key, d.heading, d.body, d.vec, d.vec_model, d.status, d.needs_vector, d.created, "
        "d.tags ORDER BY d.key",
        "MATCH (p:Paragraph) RETURN p.pid, p.body, p.status, p.extra ORDER BY p.pid",
        "MATCH (p:Person) RETURN p.id, p.name, p.uuid",
        "MATCH (d:Document)-[r:HAS_PART]->(p:Paragraph) RETURN d.key, r.position, p.pid",
        "MATCH (a:Person)-[r:WROTE]->(d) RETURN a.id, r.at, d.body ORDER BY d.body",
        "MATCH (a:Document)-[r:LINKS_TO]->(b:Document) RETURN a.key, r.weight, b.key",
    )
    there = old.plainly(*own)
    before = old.path.read_bytes()
    async with old.migration(model=None, mapping=mapping(tmp_path)) as migration:
        found = await migration.detect()
        assert (found.verdict, found.left) == (Verdict.LEGACY, {"Person": 1})
        assert found.vectors == [{"provider": "openai", "model": "small", "dimension": 3, "count": 5}]
        planned = await migration.plan()
        assert (planned.unknown, planned.model) == ({"odd": 1}, "openai:small")
        assert old.path.read_bytes() == before
        assert (await migration.apply()).moved == planned.moved
        assert (await migration.validate()).problems == []
    after = old.plainly(
        *own,
        "MATCH (d:Document) RETURN d.uuid, d.name, d._state, d.embedding IS NOT NULL ORDER BY d.uuid",
        "MATCH (d:Document {key: 3}) RETURN d._former_uuid, d._former__state",
        "MATCH (p:Paragraph) RETURN p._former_name ORDER BY p.pid",
    )
    assert after == [
        *there,
        [
            ["0", "doc 0", "pending", False], ["1", "doc 1", "ready", True], ["2", "doc 2", "error", False],
            ["3", "doc 3", "pending", False], ["4", "doc 4", "linked", False],
        ],
        [[10, "their own"]],
        [[0], [1], [2]],
    ]  # fmt: skip
    store = await open_store(old.url, project="default")
    assert await problems(store) == []
    assert {row.name: row.state for row in await store.nodes(Select(labels=["Paragraph"]))} == {
        "0": "linked", "1": "pending", "2": "linked"
    }  # fmt: skip
    await store.close()
    async with old.migration() as migration:
        await migration.rollback()
    assert old.path.read_bytes() == before


@BOTH
async def test_the_models_that_rows_name_are_told_as_on_a_server(old: OldFile, tmp_path: Path) -> None:
    nodes = [{"label": node.label, "properties": node.properties, "linked": node.linked} for node in nodes_of_models()]
    (tmp_path / "nodes.json").write_text(json.dumps(nodes))
    write(old, str(tmp_path / "nodes.json"))
    async with old.migration(model=None) as migration:
        assert (await migration.detect()).vectors == VECTORS_OF_MODELS
        plan = await migration.plan()
        assert (plan.model, plan.kept, plan.would_keep) == KEPT_OF_MODELS


@pytest.mark.long
@HERE
async def test_damage_to_what_a_mapping_brought_is_found_and_its_vectors_are_made_anew(
    old: OldFile, tmp_path: Path
) -> None:
    write(old)
    async with old.migration(model=None, mapping=mapping(tmp_path)) as migration:
        await migration.apply()
    store = await open_store(old.url, project="default")
    only_the_graph = Wanted(files=False)
    assert (await examine(store, only_the_graph)).problems == []
    await store.close()
    own = (
        "MATCH (d:Document) RETURN d.key, d.heading, d.body, d.vec, d.created, d.tags, d._former_uuid ORDER BY d.key",
        "MATCH (p:Paragraph) RETURN p.pid, p.body, p.extra ORDER BY p.pid",
    )
    there = old.plainly(*own)
    old.plainly(
        "MATCH (d:Document {uuid: '1'}) SET d.embedding = NULL",
        "MATCH (d:Document {uuid: '0'}) SET d._state = 'bogus'",
        "MATCH (p:Paragraph {pid: 'p1'}) SET p._state = 'bogus'",
    )
    store = await open_store(old.url, project="default")
    found = (await examine(store, only_the_graph)).problems
    assert {(each.check, each.count) for each in found} == {("state", 2), ("adopted-vector", 1)}
    assert (await examine(store, replace(only_the_graph, repair=True))).problems == []
    rows = await store.nodes(Select(labels=["Document"], uuids=["0", "1"]))
    assert [row.state for row in rows] == ["linked", "linked"]
    await store.close()
    assert old.plainly(*own) == there, "what is theirs is as it was"


@pytest.mark.long
@HERE
async def test_finalizing_takes_the_old_marks_and_leaves_what_is_somebodys(old: OldFile, tmp_path: Path) -> None:
    write(old)
    async with old.migration(model=None, mapping=mapping(tmp_path)) as migration:
        await migration.apply()
    async with old.migration() as migration:  # without the mapping, which is not needed any more
        await migration.finalize()
        told = [(await migration.validate()).finalized, (await migration.apply()).finalized]
        assert all(told), "both say that it was finalized, and when"
        assert str(told[0]).startswith("20")
        with pytest.raises(MigrationRefused, match=str(told[0])[:10]):
            await migration.rollback()
    columns = {row[1] for row in old.plainly("CALL table_info('Document') RETURN *")[0]}
    assert columns.isdisjoint({"status", "needs_vector", "_migratedBy", "_former__state"})
    assert {"heading", "vec", "_former_uuid", "_state", "content"} <= columns


@pytest.mark.parametrize(
    ("but", "plus", "line", "about"),
    [
        ("labels", 'labels = ["Document", "Dokument"]', 1, "no table Dokument"),
        ("text", 'text = "bodi"', 1, "no table of Document, Paragraph has a column bodi"),
        ("id", 'id = "status"', 1, "'done' is there"),
        ("text", 'text = "vec"', 1, "Document.vec is of the type"),
        ("vector =", 'vector = "heading"', 1, "Document.heading is of the type STRING"),
    ],
)
@HERE
async def test_a_mapping_that_does_not_fit_is_refused_with_its_line(
    old: OldFile, tmp_path: Path, but: str, plus: str, line: int, about: str
) -> None:
    write(old)
    async with old.migration(mapping=mapping(tmp_path, but=but, plus=plus)) as migration:
        with pytest.raises(InvalidMapping) as refused:
            await migration.plan()
    assert f"line {line}:" in refused.value.message
    assert about in refused.value.message


@HERE
async def test_what_would_be_run_can_be_read(old: OldFile, tmp_path: Path) -> None:
    write(old)
    async with old.migration(mapping=mapping(tmp_path)) as migration:
        text = await migration.cypher()
    for part in ("MATCH (n:Document)", "CREATE NODE TABLE Document(`uuid` STRING", "COPY HAS_PART(`position`)"):
        assert part in text


@pytest.mark.long
@HERE
async def test_tables_are_decided_by_the_rules_of_a_server(old: OldFile, tmp_path: Path) -> None:
    random = Random(11)
    nodes = [random_node(random, number) for number in range(150)]
    for node in nodes:
        node.labels = node.labels[:1]
        for name in ("chunkCount", "usesChunks"):
            node.properties.pop(name, None)
        node.chunks = 0
    needs: dict[str, set[str]] = {"Scope": {"content"}, "MarkdownSection": {"content"}}
    for node in nodes:
        own = node.properties
        slots = {slot for slot in ("name", "content", "description") if own.get(f"embedding_{slot}")}
        needs[node.label] = needs.get(node.label, set()) | slots
    (tmp_path / "nodes.json").write_text(
        json.dumps([{"label": node.label, "properties": node.properties, "linked": node.linked} for node in nodes])
    )
    write(old, str(tmp_path / "nodes.json"))
    model = GIVEN.__class__(provider="openai", model="small")
    async with old.migration(model=model) as migration:
        outcome = await migration.apply()
        assert outcome.dimension == DIMENSION
        assert (await migration.validate()).problems == []
    found: dict[str, tuple[str, str]] = {}
    labels = sorted({node.label for node in nodes})
    for rows in old.plainly(*(f"MATCH (n:{label}) RETURN n.uuid, n._migratedBy, n._state" for label in labels)):
        found |= {uuid: (rule.partition("-")[0], state) for uuid, rule, state in rows}
    expected = {node.properties["uuid"]: decide(node, needs) for node in nodes}
    assert Counter(expected.values()) == Counter(found.values())
    assert found == expected
