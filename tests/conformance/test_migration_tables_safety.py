"""A graph in a file, migrated and worked on: all projects keep their vectors, and the old file comes back as it was."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graph_stores import open_store
from graph_stores.legacy import MigrationRefused
from orchestrator.migration.survey import Model
from orchestrator.verifying import Wanted, examine
from tests.conformance import old_tables
from tests.conformance.folders import LETTERS, Folder, Mill, quicken
from tests.conformance.test_migration_tables import BOTH, OldFile, old

__all__ = ["old"]
VOWELS = Model(provider="letters", model="vowels", assumed=True)


def write(old: OldFile, tmp_path: Path) -> None:
    """Texts of two projects and of none; one of them is out of date."""
    nodes: list[dict[str, Any]] = [
        {
            "label": "Invoice",
            "properties": {"uuid": f"{project or 'none'}-{number}", "content": f"the mill owes {number} sacks of grain"}
            | ({"projectId": project} if project else {})
            | {"embedding": [0.5] * 8, "embeddingsDirty": number == 3},
            "linked": True,
        }
        for project in ("a", "b", "")
        for number in range(4)
    ]
    (tmp_path / "nodes.json").write_text(json.dumps(nodes))
    command = [sys.executable, old_tables.__file__, old.engine, str(old.path), str(tmp_path / "nodes.json")]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.long
@BOTH
async def test_nodes_of_other_projects_keep_their_vectors_whatever_is_run(
    old: OldFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken(monkeypatch, tmp_path / "cache")
    write(old, tmp_path)
    before = old.path.read_bytes()
    async with old.migration(model=None) as migration:
        assert (await migration.plan()).would_keep == [(None, 9)]
    async with old.migration(model=VOWELS) as migration:
        planned = await migration.plan()
        applied = await migration.apply()
        assert planned.kept == applied.kept == 9
        assert applied.projects == {"a": 4, "b": 4, "default": 4}
        assert (await migration.validate()).problems == []
    for project in ("a", "b", "default"):
        store = await open_store(old.url, project=project)
        try:
            assert (await store.vector_space()) is not None, project
            verdict = await examine(store, Wanted(repair=True))
            assert (verdict.problems, verdict.repaired) == ([], [])
            await Mill(store=store, roots=[]).run(LETTERS)
            verdict = await examine(store, Wanted(repair=True))
            assert (verdict.problems, verdict.repaired) == ([], [])
            found = await store.search([0.5] * 8, limit=10, labels=["Invoice"])
            assert len({hit.node.uuid for hit in found}) == 4
        finally:
            await store.close()
    async with old.migration(model=VOWELS) as migration:
        await migration.rollback()
    assert old.path.read_bytes() == before


@pytest.mark.long
@BOTH
async def test_a_rollback_says_first_what_was_read_since_and_would_be_gone(
    old: OldFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken(monkeypatch, tmp_path / "cache")
    write(old, tmp_path)
    before = old.path.read_bytes()
    async with old.migration(model=VOWELS) as migration:
        await migration.apply()
    folder = Folder(tmp_path / "notes")
    folder.write("a.md", "# A\n\nabout a mill\n")
    store = await open_store(old.url, project="default")
    await Mill(store=store, roots=[folder]).run(LETTERS)
    await store.close()
    async with old.migration(model=VOWELS) as migration:
        with pytest.raises(MigrationRefused, match=r"File \(1\)") as refused:
            await migration.rollback()
        assert "--accept-losses" in refused.value.hint
        assert old.path.read_bytes() != before
        lost = (await migration.rollback(accept_losses=True)).lost
    assert lost == {"Directory": 1, "File": 1, "MarkdownSection": 1}
    assert old.path.read_bytes() == before
