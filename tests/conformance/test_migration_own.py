"""What is somebody's own in a graph that is migrated, and what graphmill's: neither is taken for the other."""

import pytest

from graph_stores import open_store
from graph_stores.legacy import MigrationRefused
from orchestrator.checks import problems
from orchestrator.job import Job, Plan
from orchestrator.migration.afterwards import adopted_labels
from tests.conformance.folders import NONE
from tests.conformance.old_expansions import TYPES
from tests.conformance.place import HERE
from tests.conformance.test_migration_tables import OldFile, old

__all__ = ["old"]


@HERE
async def test_a_backup_of_what_was_never_replaced_brings_nothing_back(old: OldFile) -> None:
    """As after a kill just before the new graph took its place: the old one may have been written to since."""
    old.write(TYPES[0])
    before = old.path.read_bytes()
    backup = old.path.with_name(f"{old.path.name}.before-migration")
    backup.mkdir()
    (backup / old.path.name).write_bytes(b"older")
    async with old.migration() as migration:
        with pytest.raises(MigrationRefused):
            await migration.rollback()
    assert old.path.read_bytes() == before


@pytest.mark.long
@HERE
async def test_what_somebody_added_to_an_expansion_is_not_written_over(old: OldFile) -> None:
    old.write(TYPES[0])
    old.plainly(
        "ALTER TABLE Article ADD url STRING",
        "ALTER TABLE Article ADD NAME STRING",
        "ALTER TABLE Article ADD pageId STRING",
        "MATCH (a:Article) SET a.url = 'mine', a.NAME = 'own', a.pageId = 'Q77'",
    )
    async with old.migration() as migration:
        await migration.apply()
        assert (await migration.validate()).problems == []
    names = ("url", "NAME", "pageId")
    asked = f"MATCH (a:Article) RETURN DISTINCT {', '.join(f'a._former_{name}' for name in names)}"
    assert old.plainly(asked) == [[["mine", "own", "Q77"]]]


@HERE
async def test_tables_that_are_called_like_graphmills_own_are_refused(old: OldFile) -> None:
    old.write(TYPES[0])
    old.plainly("CREATE NODE TABLE File(path STRING PRIMARY KEY)", "CREATE NODE TABLE Worker(id INT64 PRIMARY KEY)")
    async with old.migration() as migration:
        with pytest.raises(MigrationRefused, match="File, Worker"):
            await migration.plan()


@HERE
async def test_tables_of_graphmills_own_labels_are_worked_on_like_others(old: OldFile) -> None:
    old.plainly(
        "CREATE NODE TABLE Scope(uuid STRING PRIMARY KEY, content STRING, embeddingsDirty BOOL)",
        "CREATE NODE TABLE Directory(uuid STRING PRIMARY KEY, path STRING)",
        "CREATE (:Scope {uuid: 'a', content: 'def mill(): grind()', embeddingsDirty: true})",
        "CREATE (:Directory {uuid: 'd', path: '/x'})",
    )
    async with old.migration() as migration:
        await migration.apply()
        assert (await migration.validate()).problems == []
    store = await open_store(old.url, project="default")
    assert await adopted_labels(store) == []
    await Job(store, Plan(embedder=NONE)).run()
    counts = {each.label: each.state for each in (await store.progress(finished=[], window=0.0)).counts}
    assert (counts["Scope"], "Directory" in counts) == ("skip", True)
    assert await problems(store) == [], "what no run has made is nobody's lone part"
    await store.close()
