"""Folders that vanish, are unmounted or lose most of their files: the run fails, nothing is deleted, and it heals."""

import asyncio
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_stores.errors import StoreClosed
from graph_stores.model import Batch, Ref, Select
from graph_stores.protocol import Store
from orchestrator import failed
from orchestrator.files import elsewhere, ingestion, scan
from orchestrator.files.elsewhere import FilesElsewhere
from orchestrator.files.forget import forget
from orchestrator.files.parse import ParseFiles
from orchestrator.files.roots import RootMissing, Source, resolve
from orchestrator.job import Job, Plan, Report
from orchestrator.lifecycle import Lifecycle
from orchestrator.runs.course import begin, try_again
from orchestrator.runs.records import PARTITION, Run, read_runs
from orchestrator.runs.sources import MassDeletion, is_mass_deletion
from orchestrator.stages import STAGES
from orchestrator.verifying import Wanted, examine
from pipelines.files import making
from pipelines.files.making import Made, Task
from pipelines.files.walk import walk
from tests.conformance.conftest import wipe
from tests.conformance.examples import eventually
from tests.conformance.expansions import bury
from tests.conformance.folders import NONE, Folder, Mill, quicken
from tests.conformance.pictures import Picture, differences, picture
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER
from tests.conformance.test_files_elsewhere import carry_off
from tests.conformance.wrapped import wrapped

FOLDERS = "abcdef"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quicken(monkeypatch, tmp_path / "cache")
    monkeypatch.setattr(scan, "_PORTION", 5)
    monkeypatch.setattr("graph_stores.kuzu.claims._LOOK_AGAIN", 0.1)


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each folder is a partition of its own."""
    monkeypatch.setattr(ingestion, "_WORTH_A_PART", 5)


@pytest.fixture
def notes(tmp_path: Path) -> Folder:
    """Thirty files in six folders, no two of a size."""
    folder = Folder(tmp_path / "notes")
    for number in range(30):
        folder.write(f"{FOLDERS[number % 6]}/{number:02}.md", f"# Page {number:02}\n\n{'word ' * number}\n")
    return folder


@pytest.fixture
def mill(store: Store, notes: Folder) -> Mill:
    return Mill(store=store, roots=[notes])


async def latest(store: Store) -> Run:
    return (await read_runs(store))[0]


async def drain(store: Store, *stages: str) -> Report:
    """What `worker --drain` does, in a process that knows nothing of the job before."""
    async with asyncio.timeout(60):
        return await Job(store, Plan(embedder=NONE, stages=frozenset(stages or STAGES))).run()


async def assert_equal_to_a_rebuild(mill: Mill) -> None:
    found = await picture(mill.store)
    await wipe(mill.store)
    await mill.run(NONE)
    assert differences(found, await picture(mill.store)) == []


def missing(found: Picture, before: Picture) -> list[str]:
    return [line for line in differences(found, before) if line.startswith("missing")]


async def killed(mill: Mill, when: Callable[[Batch], bool], *, stages: int = 3) -> None:
    """A job whose process dies at the first commit like that; nothing can be put right after it."""
    dead = False

    async def commit(real: Any, batch: Batch) -> None:
        nonlocal dead
        dead = dead or when(batch)
        if dead:
            raise StoreClosed("the process was killed")
        await real(batch)

    dying, _ = wrapped(mill.store, commit=commit)
    with suppress(StoreClosed):
        await Mill(store=dying, roots=mill.roots).job(NONE, stages=stages).run()
    assert dead
    await bury(mill.store)


def finds_the_last(batch: Batch) -> bool:
    return any(node.label == "File" and node.properties["path"].startswith("f/") for node in batch.nodes)


@HERE_AND_ON_A_SERVER
async def test_the_run_of_a_folder_that_was_moved_away_fails_and_is_finished_once_it_is_back(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path
) -> None:
    for path in (late := notes.paths)[1:]:
        notes.at(path).rename(tmp_path / path.replace("/", "-"))
    await mill.run(NONE)
    before = await latest(store)
    for path in late[1:]:
        (tmp_path / path.replace("/", "-")).rename(notes.at(path))
    await killed(mill, finds_the_last, stages=0)
    files = await store.nodes(Select(labels=["File"], limit=100))
    assert 1 < len(files) < 30, "some were found, and others never seen"

    away = notes.place.rename(tmp_path / "away")
    report = await drain(store)
    run = await latest(store)
    assert (run.outcome, run.watermark_before, run.watermark_after) == ("failed", before.watermark_after, None)
    assert f"the folder {notes.place} of notes cannot be read" in (run.reason or "")
    assert isinstance(report.lost, RootMissing) and report.standing.in_error == 0
    left = await store.nodes(Select(labels=["File"], states=["pending"], limit=100))
    assert len(left) == len(files) - 1 and {row.retry_count for row in left} == {0}

    again = await drain(store)
    assert isinstance(again.lost, RootMissing) and f"files of notes wait for {notes.place}" in again.lost.message
    left = await store.nodes(Select(labels=["File"], states=["pending"], limit=100))
    assert len(left) == len(files) - 1 and {row.retry_count for row in left} == {0}

    away.rename(notes.place)
    await try_again(Lifecycle(store=store), run)
    report = await drain(store)
    assert report.lost is None
    mended = await latest(store)
    assert (mended.uuid, mended.outcome, mended.watermark_after) == (run.uuid, "completed", run.read_at)
    await assert_equal_to_a_rebuild(mill)


@pytest.mark.long
@HERE
async def test_files_that_were_found_wait_for_their_folder_and_their_run_fails(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path
) -> None:
    """All of the folder was looked through, and nothing of it was parsed."""
    await mill.job(NONE, stages=0).run()
    away = notes.place.rename(tmp_path / "away")
    await drain(store)
    run = await latest(store)
    assert run.outcome == "failed"
    assert await failed.overview(store, failed.Filter(), limit=9) == ([], []), "a run is no node in error"
    assert run.reason == f"30 files of notes wait for {notes.place}, which is missing, empty or not mounted"
    away.rename(notes.place)
    await try_again(Lifecycle(store=store), run)
    await drain(store)
    assert (await latest(store)).outcome == "completed"
    await assert_equal_to_a_rebuild(mill)


@pytest.mark.long
@HERE
@pytest.mark.parametrize("leaves_empty", [False, True])
async def test_a_folder_that_vanishes_under_the_walk_deletes_nothing(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path, *, leaves_empty: bool
) -> None:
    await mill.run(NONE)
    before, watermark = await picture(store), (await latest(store)).watermark_after
    notes.write("a/new.md", "# New\n")

    async def commit(real: Any, batch: Batch) -> None:
        await real(batch)
        if any(node.label == "File" for node in batch.nodes) and notes.at("a").exists():
            notes.place.rename(tmp_path / "away")
            if leaves_empty:
                notes.place.mkdir()

    disturbed, _ = wrapped(store, commit=commit)
    report = await Mill(store=disturbed, roots=[notes]).run(NONE)
    run = await latest(store)
    assert (run.outcome, run.watermark_before, run.watermark_after) == ("failed", watermark, None)
    assert report.lost and f"{notes.place}" in report.lost.message
    assert missing(await picture(store), before) == []
    if leaves_empty:
        notes.place.rmdir()
    (tmp_path / "away").rename(notes.place)
    await mill.run(NONE)
    assert (await latest(store)).outcome == "completed"
    await assert_equal_to_a_rebuild(mill)


def take_away(notes: Folder, aside: Path, count: int = 20) -> Callable[[], None]:
    """Move some files out of the folder; returns what brings them back."""
    paths = notes.paths[:count]
    aside.mkdir()
    for path in paths:
        notes.at(path).rename(aside / path.replace("/", "-"))

    def bring_back() -> None:
        for path in paths:
            (aside / path.replace("/", "-")).rename(notes.at(path))

    return bring_back


async def waiting_files(store: Store) -> dict[str, int]:
    """The files that wait to be parsed, with their tries."""
    rows = await store.nodes(Select(labels=["File"], states=["pending"], limit=100))
    return {row.properties["path"]: row.retry_count for row in rows}


async def assert_refused(store: Store, report: Report, notes: Folder, count: int = 20) -> Run:
    run = await latest(store)
    gone = f"{count} of the 30 files of notes are gone from {notes.place} (a/00.md, a/06.md, a/12.md and "
    assert (run.outcome, run.watermark_after) == ("failed", None)
    assert isinstance(report.lost, MassDeletion) and report.lost.message.startswith(gone)
    assert report.lost.message in (run.reason or "")
    assert (report.standing.in_error, report.tally.deleted) == (0, 0)
    return run


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_files_that_vanish_after_they_were_found_wait_where_they_are_most_of_their_folder(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path
) -> None:
    await mill.job(NONE, stages=0).run()
    bring_back = take_away(notes, tmp_path / "aside")
    for _ in range(2):  # the run fails; and then there is no run any more
        run = await assert_refused(store, await drain(store), notes)
        waiting = await waiting_files(store)
        assert len(waiting) >= 20 and set(waiting.values()) == {0}
    assert len((await picture(store)).of("File")) == 30

    bring_back()
    await try_again(Lifecycle(store=store), run)
    assert (await drain(store)).lost is None
    mended = await latest(store)
    assert (mended.uuid, mended.outcome, mended.watermark_after) == (run.uuid, "completed", run.read_at)
    await assert_equal_to_a_rebuild(mill)


@HERE_AND_ON_A_SERVER
async def test_files_that_bring_their_content_do_not_wait_for_a_folder_that_is_mostly_gone(
    store: Store, notes: Folder, tmp_path: Path
) -> None:
    """They are claimed wherever they are: given back, they would be claimed again and again."""
    root = resolve(Source(path=notes.place, store_content=True), {})
    await Lifecycle(store=store).upsert([root.node(store.project)])
    await Mill(store=store, roots=[]).scan()
    assert set(await waiting_files(store)) == set(notes.paths)
    take_away(notes, tmp_path / "aside")
    assert (await drain(store)).lost is None
    assert len((await picture(store)).of("MarkdownSection")) == 30
    with pytest.raises(MassDeletion):
        await Mill(store=store, roots=[]).scan()


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_what_the_graph_has_of_files_that_vanish_while_they_are_parsed_is_kept(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ParseFiles, "limit", 3)
    monkeypatch.setattr(ParseFiles, "runners", 1)
    await mill.run(NONE)
    before, watermark = await picture(store), (await latest(store)).watermark_after
    for path in notes.paths:
        notes.edit(path, "# Page", "# New page")
    bring_back: Callable[[], None] | None = None

    async def commit(real: Any, batch: Batch) -> None:
        nonlocal bring_back
        await real(batch)
        if bring_back is None and any(each.node.label == "File" and each.to == "parsed" for each in batch.transitions):
            bring_back = take_away(notes, tmp_path / "aside", 25)

    disturbed, _ = wrapped(store, commit=commit)
    report = await Mill(store=disturbed, roots=[notes]).run(NONE)
    assert bring_back
    run = await assert_refused(store, report, notes, 25)
    assert run.watermark_before == watermark
    found = await picture(store)
    assert sorted(found.of("File")) == sorted(before.of("File"))
    assert {node["_state"] for node in found.of("File").values()} <= {"ready", "pending"}
    assert len(found.of("MarkdownSection")) == len(before.of("MarkdownSection"))

    bring_back()
    await mill.run(NONE)
    assert (await latest(store)).outcome == "completed"
    await assert_equal_to_a_rebuild(mill)


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_files_that_vanish_from_behind_a_walk_count_as_gone(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path
) -> None:
    """Of the files that vanish only five are still ahead of the walk: alone they could be deleted."""
    await mill.run(NONE)
    for path in notes.paths:
        notes.edit(path, "# Page", "# New page")
    changed = 0

    async def commit(real: Any, batch: Batch) -> None:
        nonlocal changed
        await real(batch)
        if any(each.node.label == "File" for each in batch.transitions):
            changed += 1
            if changed == 4:
                take_away(notes, tmp_path / "aside", 25)

    disturbed, _ = wrapped(store, commit=commit)
    await Mill(store=disturbed, roots=[notes]).job(NONE, stages=0).run()
    assert changed > 4 and len((await picture(store)).of("File")) == 30
    await assert_refused(store, await drain(store), notes, 25)


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_files_that_vanish_before_they_are_parsed_are_deleted_with_permission(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path
) -> None:
    await mill.run(NONE)
    for path in notes.paths:
        notes.edit(path, "# Page", "# New page")
    await mill.job(NONE, stages=0, allow_deletes=True).run()
    take_away(notes, tmp_path / "aside")
    report = await drain(store)
    assert (report.lost, (await latest(store)).outcome) == (None, "completed")
    assert len((await picture(store)).of("MarkdownSection")) == 10
    await mill.run(NONE)
    assert (await latest(store)).outcome == "completed", "what is left of the files is nothing to ask for"
    await assert_equal_to_a_rebuild(mill)


@pytest.mark.long
@HERE
async def test_files_that_were_refused_are_deleted_by_a_run_that_may(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path
) -> None:
    await mill.job(NONE, stages=0).run()
    take_away(notes, tmp_path / "aside")
    await assert_refused(store, await drain(store), notes)
    await assert_refused(store, await mill.run(NONE), notes)
    assert len((await picture(store)).of("File")) == 30
    report = await mill.run(NONE, allow_deletes=True)
    assert (report.lost, (await latest(store)).outcome) == (None, "completed")
    await mill.run(NONE)
    await assert_equal_to_a_rebuild(mill)


@pytest.mark.long
@HERE
async def test_a_folder_is_walked_once_for_all_the_files_that_are_gone_from_it(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ParseFiles, "limit", 1)
    walks = 0
    real = walk

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal walks
        walks += 1
        return real(*arguments, **options)

    await mill.job(NONE, stages=0).run()
    monkeypatch.setattr("orchestrator.files.scan.walk", counted)
    monkeypatch.setattr(elsewhere, "_LOOK", 3600.0)
    take_away(notes, tmp_path / "aside", 8)
    report = await drain(store)
    assert (report.lost, (await latest(store)).outcome, walks) == (None, "completed", 1)
    states = [row.state for row in await store.nodes(Select(labels=["File"], limit=100))]
    assert (states.count("skip"), states.count("ready")) == (8, 22)


@pytest.mark.long
@HERE
async def test_a_file_that_is_back_when_its_folder_is_looked_through_is_read(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    def make(task: Task) -> Made:
        """The first attempt at a file comes at a moment when the file is being replaced."""
        if task.path in taken:
            return making.make(task)
        taken.append(task.path)
        return making.make(replace(task, location=str(tmp_path / "nowhere")))

    monkeypatch.setattr(ingestion, "make", make)
    await mill.run(NONE)
    assert len(taken) == 30 and (await latest(store)).outcome == "completed"
    await assert_equal_to_a_rebuild(mill)


@pytest.mark.long
@HERE_AND_ON_A_SERVER
@pytest.mark.parametrize("stages", ["parse", "link", "parse,link", "read,parse,link"])
async def test_a_worker_of_some_stages_ends_where_files_wait_for_a_missing_folder(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path, stages: str
) -> None:
    await mill.job(NONE, stages=0).run()
    notes.place.rename(tmp_path / "away")
    report = await drain(store, *stages.split(","))
    assert isinstance(report.lost, RootMissing)
    assert report.lost.message.startswith(f"30 files of notes wait for {notes.place}, which is missing")
    assert set((await waiting_files(store)).values()) == {0} and report.standing.in_error == 0


@HERE_AND_ON_A_SERVER
async def test_a_worker_of_some_stages_ends_where_most_of_a_folder_is_gone(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path
) -> None:
    await mill.job(NONE, stages=0).run()
    take_away(notes, tmp_path / "aside")
    report = await drain(store, "parse")
    assert isinstance(report.lost, MassDeletion) and "20 of the 30 files of notes are gone" in report.lost.message


@HERE_AND_ON_A_SERVER
@pytest.mark.parametrize("stages", ["parse", "parse,link"])
async def test_a_worker_of_some_stages_ends_where_files_wait_for_another_machine(
    store: Store, notes: Folder, tmp_path: Path, stages: str
) -> None:
    """What it parses of another folder waits for stages that it leaves out, and that is nothing to wait for."""
    here = Folder(tmp_path / "here")
    here.write("page.md", "# Page\n\nA text.\n")
    await Mill(store=store, roots=[notes, here]).job(NONE, stages=0).run()
    await carry_off(store, notes)
    with pytest.raises(FilesElsewhere, match="30 files of notes are on mill-1"):
        await drain(store, *stages.split(","))
    assert set(await waiting_files(store)) == set(Folder(tmp_path / "away").paths)


@HERE_AND_ON_A_SERVER
async def test_a_worker_that_does_not_read_leaves_a_missing_folder_to_those_who_do(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path
) -> None:
    job = mill.job(NONE)
    await job._files.register()
    [plan] = await job._files.plans()
    await begin(Lifecycle(store=store), plan, owner="a test", say=lambda _: None)
    notes.place.rename(tmp_path / "away")
    report = await drain(store, "parse")
    assert isinstance(report.lost, RootMissing) and report.lost.message.startswith("1 part of notes waits for ")
    assert (await latest(store)).is_open


@HERE_AND_ON_A_SERVER
@pytest.mark.parametrize("left", [(), ("lost+found", "sub/sub")], ids=["nothing", "empty folders"])
async def test_an_empty_folder_deletes_nothing_however_small_it_was(
    store: Store, tmp_path: Path, left: tuple[str, ...]
) -> None:
    folder, other = Folder(tmp_path / "notes"), Folder(tmp_path / "other")
    folder.write("a.md", "# A\n\n[b](b.md)\n")
    folder.write("b.md", "# B\n")
    other.write("o.md", "# O\n")
    mill = Mill(store=store, roots=[folder, other])
    await mill.run(NONE)
    before = await picture(store)
    away = folder.place.rename(tmp_path / "unmounted")
    for path in ("", *left):
        (folder.place / path).mkdir(parents=True)
    report = await mill.run(NONE)
    assert {run.source: run.outcome for run in report.runs} == {"files:notes": "failed", "files:other": "completed"}
    assert isinstance(report.lost, MassDeletion) and "is its disk mounted?" in report.lost.message
    assert report.tally.deleted == 0 and differences(await picture(store), before) == []
    shutil.rmtree(folder.place)
    away.rename(folder.place)
    await mill.run(NONE)
    assert differences(await picture(store), before) == []

    folder.empty()
    report = await mill.run(NONE, allow_deletes=True)
    assert report.lost is None and report.tally.deleted == 2
    await assert_equal_to_a_rebuild(mill)


async def check_the_limit(mill: Mill, notes: Folder) -> None:
    await mill.run(NONE)
    watermark = (await latest(mill.store)).watermark_after
    for path in notes.paths[:20:2]:
        notes.delete(path)
    report = await mill.run(NONE)
    assert (report.lost, report.tally.deleted) == (None, 10), "ten are few, and a third of thirty"
    before = await picture(mill.store)
    for path in notes.paths[:11]:
        notes.delete(path)
    notes.write("f/new.md", "# New\n")
    report = await mill.run(NONE)
    run = await latest(mill.store)
    assert watermark and run.watermark_before and run.watermark_before > watermark
    assert (run.outcome, run.watermark_after, report.tally.deleted) == ("failed", None, 0)
    assert isinstance(report.lost, MassDeletion)
    assert report.lost.message.startswith(f"11 of the 20 files of notes are gone from {notes.place} (a/")
    assert report.lost.message.endswith(" and 8 more); nothing was deleted") and report.lost.message in run.reason  # type: ignore[operator]
    assert report.lost.hint == f"to delete them from the graph: graphmill ingest {notes.place} --allow-deletes"
    assert missing(await picture(mill.store), before) == []

    report = await mill.run(NONE, allow_deletes=True)
    assert (report.lost, report.tally.deleted, [run.outcome for run in report.runs]) == (None, 11, ["completed"])
    await assert_equal_to_a_rebuild(mill)


@HERE_AND_ON_A_SERVER
async def test_more_than_a_third_and_more_than_ten_files_are_deleted_only_with_permission(
    mill: Mill, notes: Folder
) -> None:
    await check_the_limit(mill, notes)


@pytest.mark.long
@HERE
@pytest.mark.usefixtures("in_parts")
async def test_files_are_counted_over_the_whole_folder_whatever_parts_it_is_read_in(mill: Mill, notes: Folder) -> None:
    await check_the_limit(mill, notes)


def test_the_limit_is_a_third_and_ten() -> None:
    assert not is_mass_deletion(10, 10)
    assert is_mass_deletion(11, 11)
    assert not is_mass_deletion(11, 33)
    assert is_mass_deletion(12, 33)


@pytest.mark.long
@HERE
@pytest.mark.parametrize("parts", [False, True])
async def test_files_that_moved_within_their_folder_are_not_gone(
    mill: Mill, notes: Folder, request: pytest.FixtureRequest, *, parts: bool
) -> None:
    if parts:
        request.getfixturevalue("in_parts")
    await mill.run(NONE)
    for folder in "abcd":
        notes.at(folder).rename(notes.at(f"moved-{folder}"))
    report = await mill.run(NONE)
    assert (report.lost, report.tally.deleted) == (None, 20)
    await assert_equal_to_a_rebuild(mill)


@HERE_AND_ON_A_SERVER
async def test_a_run_that_was_allowed_to_delete_is_so_for_whoever_finishes_it(
    mill: Mill, store: Store, notes: Folder
) -> None:
    await mill.run(NONE)
    for path in notes.paths[:25]:
        notes.delete(path)
    job = mill.job(NONE, allow_deletes=True)
    await job._files.register()
    [plan] = await job._files.plans()
    run = await begin(Lifecycle(store=store), plan, owner="a test", say=lambda _: None)
    report = await drain(store)
    assert (report.tally.deleted, (await latest(store)).uuid, (await latest(store)).outcome) == (
        25,
        run.uuid,
        "completed",
    )


@HERE
async def test_a_worker_stops_a_run_that_nobody_allowed_to_delete(mill: Mill, store: Store, notes: Folder) -> None:
    await mill.run(NONE)
    await killed(mill, lambda batch: any(each.node.label == PARTITION for each in batch.transitions))
    for path in notes.paths[:25]:
        notes.delete(path)
    before = await picture(store)
    report = await drain(store)
    assert isinstance(report.lost, MassDeletion) and report.tally.deleted == 0
    assert differences(await picture(store), before) == []


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_of_two_folders_the_one_that_is_there_is_finished(store: Store, notes: Folder, tmp_path: Path) -> None:
    other = Folder(tmp_path / "other")
    for number in range(3):
        other.write(f"{number}.md", f"# Other {number}\n")
    mill = Mill(store=store, roots=[notes, other])
    await killed(mill, lambda batch: any(each.node.label == PARTITION for each in batch.transitions))
    away = other.place.rename(tmp_path / "away")
    await drain(store)
    outcomes = {run.source: run.outcome for run in await read_runs(store)}
    assert outcomes == {"files:notes": "completed", "files:other": "failed"}
    away.rename(other.place)
    await mill.run(NONE)
    assert {run.outcome for run in (await read_runs(store))[:2]} == {"completed"}
    await assert_equal_to_a_rebuild(mill)


@pytest.mark.long
@HERE
async def test_a_repair_deletes_no_more_than_a_run_may(mill: Mill, store: Store, notes: Folder) -> None:
    await mill.run(NONE)
    for path in notes.paths[:25]:
        notes.delete(path)
    notes.write("f/new.md", "# New\n")
    verdict = await examine(store, Wanted(repair=True))
    assert [(each.check, each.count) for each in verdict.problems] == [("emptied-root", 1)]
    assert "25 of the 31 files of notes are gone" in verdict.problems[0].examples[0].found
    assert verdict.problems[0].hint.endswith(f": graphmill ingest {notes.place} --allow-deletes")
    assert [(each.check, each.count) for each in verdict.repaired or ()] == [("unread-file", 1)]
    assert len((await picture(store)).of("File")) == 31
    for path in notes.paths:
        notes.delete(path)
    notes.place.mkdir(exist_ok=True)
    verdict = await examine(store, Wanted(repair=True))
    assert [each.check for each in verdict.problems] == ["emptied-root"]
    assert len((await picture(store)).of("File")) == 31


@pytest.mark.long
@HERE
async def test_a_watch_says_what_is_gone_deletes_nothing_and_follows_the_folder_when_it_is_back(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path
) -> None:
    job = mill.job(NONE, watch=True)
    running = asyncio.create_task(job.run())

    async def files(count: int) -> bool:
        rows = await store.nodes(Select(labels=["File"], states=["ready"], limit=100))
        return len(rows) == count

    def told(words: str) -> Callable[[], Any]:
        async def is_told() -> bool:
            assert not running.done(), running
            return any(words in line for line in mill.said)

        return is_told

    await eventually(lambda: files(30))
    away = notes.place.rename(tmp_path / "away")
    await eventually(told("cannot be read: no such file or directory"))
    notes.place.mkdir()
    await eventually(told("is its disk mounted?"))
    notes.place.rmdir()
    away.rename(notes.place)
    notes.write("a/new.md", "# New\n")
    await eventually(lambda: files(31))
    for path in notes.paths[:25]:
        notes.at(path).unlink()
    await eventually(told("25 of the 31 files of notes are gone"))
    command = f"--store {store.url} --project {store.project} ingest {notes.place} --allow-deletes"
    assert mill.said[-1].endswith(f"waiting for them; to delete them from the graph: graphmill {command}")
    assert await files(31)
    notes.write("f/newer.md", "# Newer\n")
    await eventually(lambda: files(32))
    job.stop()
    await running
    assert job.tally.deleted == 0


@HERE_AND_ON_A_SERVER
async def test_a_watch_ends_following_a_root_that_was_forgotten(
    mill: Mill, store: Store, notes: Folder, tmp_path: Path
) -> None:
    other = Folder(tmp_path / "other")
    other.write("o.md", "# O\n")
    running = asyncio.create_task(Mill(store=store, roots=[notes, other], said=mill.said).run(NONE, watch=True))

    async def ready(count: int) -> bool:
        assert not running.done(), running
        return len(await store.nodes(Select(labels=["File"], states=["ready"], limit=100))) == count

    await eventually(lambda: ready(31))
    assert (await forget(store, "notes")).files == 30
    notes.write("a/new.md", "# New\n")
    other.write("p.md", "# P\n")
    await eventually(lambda: ready(2))
    assert (await forget(store, "other")).files == 2
    async with asyncio.timeout(60):
        report = await running
    told = [line for line in mill.said if "forgotten" in line]
    assert told == [
        f"{folder.place.name} was forgotten: {folder.place} is no longer followed" for folder in (notes, other)
    ]
    assert (report.stopped, report.lost, report.standing.total) == (False, None, 0)


@HERE_AND_ON_A_SERVER
@pytest.mark.parametrize("moment", ["found", "parsed"])
async def test_a_job_leaves_nothing_of_a_root_that_is_forgotten_meanwhile(
    store: Store, notes: Folder, moment: str
) -> None:
    is_forgotten = False

    async def commit(real: Any, batch: Batch) -> None:
        nonlocal is_forgotten
        labels = {node.label for node in batch.nodes}
        if ("File" if moment == "found" else "MarkdownSection") in labels and not is_forgotten:
            is_forgotten = True
            await forget(store, "notes")
        await real(batch)

    disturbed, _ = wrapped(store, commit=commit)
    async with asyncio.timeout(60):
        report = await Mill(store=disturbed, roots=[notes]).run(NONE)
    assert is_forgotten
    assert (report.stopped, report.lost, report.standing.total) == (False, None, 0)


@HERE_AND_ON_A_SERVER
async def test_files_of_a_root_that_is_not_in_the_project_are_dropped(mill: Mill, store: Store) -> None:
    """As a `forget` leaves them that was killed."""
    await mill.job(NONE, stages=0).run()
    [root] = (await store.ask("roots")).rows
    await store.commit(Batch(deletions=[Ref(label="Directory", uuid=root[0])]))
    await drain(store)
    assert await store.nodes(Select(labels=["File"], limit=100)) == []


@HERE_AND_ON_A_SERVER
async def test_a_watch_tells_and_counts_a_folder_that_is_renamed(
    mill: Mill, store: Store, notes: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mill.run(NONE)
    mill.said.clear()
    looked = asyncio.Event()
    real = scan.Scanner.scan

    async def scanning(scanner: Any, *arguments: Any, reading: Any = None, **options: Any) -> Any:
        scanned = await real(scanner, *arguments, reading=reading, **options)
        if reading is None:
            looked.set()
        return scanned

    monkeypatch.setattr(scan.Scanner, "scan", scanning)
    job = mill.job(NONE, watch=True)
    running = asyncio.create_task(job.run())

    async def told(words: str) -> bool:
        assert not running.done(), running
        return any(line.startswith(words) for line in mill.said)

    await eventually(lambda: told("watching"))
    async with asyncio.timeout(60):  # a folder that is renamed under a look is told in two parts
        await looked.wait()
    notes.at("a").rename(notes.at("moved"))
    await eventually(lambda: told("ready in"))
    notes.write("b/01.md", "# Another page\n")
    await eventually(lambda: told("changed: notes/b/01.md"))
    job.stop()
    report = await running
    moved = [line for line in mill.said if "a/" in line or "moved" in line]
    assert moved == [
        "new: notes/moved/00.md, notes/moved/06.md, notes/moved/12.md and 2 more; "
        "gone: notes/a/00.md, notes/a/06.md, notes/a/12.md and 2 more"
    ]
    tally = report.tally
    assert (tally.read - tally.unchanged, tally.unchanged, tally.deleted) == (6, 30, 5)
    files = await store.nodes(Select(labels=["File"], limit=100))
    assert {file.properties["_runId"] for file in files} == {run.uuid for run in await read_runs(store)}


@HERE
async def test_a_watch_tells_why_a_file_has_no_text(mill: Mill, notes: Folder) -> None:
    await mill.run(NONE)
    job = mill.job(NONE, watch=True)
    running = asyncio.create_task(job.run())

    async def told(words: str) -> bool:
        assert not running.done(), running
        return any(words in line for line in mill.said)

    await eventually(lambda: told("watching"))
    notes.write("a/key.md", "The key is " + "AKIA" + "1234567890ABCDEF.\n")
    await eventually(lambda: told("no text of notes/a/key.md: "))
    await eventually(lambda: told("ready in "))
    job.stop()
    await running


@HERE_AND_ON_A_SERVER
async def test_what_a_watch_reads_at_first_is_not_counted_as_unchanged(
    mill: Mill, notes: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is looked through twice at the same time."""
    looked = asyncio.Event()
    real = scan.Scanner.scan

    async def scanning(scanner: Any, *arguments: Any, reading: Any = None, **options: Any) -> Any:
        if reading:
            with suppress(TimeoutError):  # a second look at the start would come first
                async with asyncio.timeout(2):
                    await looked.wait()
        scanned = await real(scanner, *arguments, reading=reading, **options)
        looked.set()
        return scanned

    monkeypatch.setattr(scan.Scanner, "scan", scanning)
    job = mill.job(NONE, watch=True)
    running = asyncio.create_task(job.run())

    async def is_read() -> bool:
        return job.tally.linked == 30 and any(line.startswith("watching") for line in mill.said)

    await eventually(is_read)
    job.stop()
    tally = (await running).tally
    assert (tally.read, tally.unchanged) == (30, 0)
