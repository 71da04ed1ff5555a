"""Runs: every reading of a source is one, moves the watermark only where all of it was read, and is never stranded."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from graph_stores.errors import LeaseLost, Misuse, TransitionConflict
from graph_stores.model import Batch, Select, Value
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.checks import problems
from orchestrator.files.forget import forget
from orchestrator.job import Job, Plan
from orchestrator.leases import owner_name
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import transition
from orchestrator.runs.course import CANCELLED, begin, cancel, move_on, try_again
from orchestrator.runs.records import (
    PARTITION,
    RUN,
    Part,
    Partition,
    PartitionKind,
    Run,
    RunPlan,
    counts_of,
    find_run,
    read_partitions,
    read_runs,
)
from orchestrator.runs.steps import Reading
from orchestrator.states import State
from tests.conformance.folders import NONE, Folder, Mill, opened, quicken
from tests.conformance.pictures import picture
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER, Place
from tests.conformance.wrapped import Call, wrapped

PARTS = [Part(kind=PartitionKind.FOLDER, key=key) for key in ("one", "two")]
PLAN = RunPlan(source="files:notes", options={"a": 1}, parts=PARTS)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quicken(monkeypatch, tmp_path / "cache")


@pytest.fixture
async def store(place: Place) -> Store:
    return await opened(place)


@pytest.fixture
def notes(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "notes")
    for name in ("a", "b", "c"):
        folder.write(f"{name}/{name}.md", f"# {name}\n\nsee [others](../a/a.md)\n")
    folder.write("top.md", "# Top\n\n[b](b/b.md)\n")
    return folder


async def latest(store: Store) -> Run:
    return (await read_runs(store))[0]


async def started(store: Store, plan: RunPlan = PLAN) -> Run:
    return await begin(Lifecycle(store=store), plan, owner="a test", say=lambda _: None)


async def held(store: Store, *, seconds: float = 60) -> Reading:
    """A partition in somebody's hands."""
    lifecycle = Lifecycle(store=store)
    while not (rows := await lifecycle.claim(states.PARSE, labels=[PARTITION], limit=1, owner="me", seconds=seconds)):
        await asyncio.sleep(0.01)  # what was lost by somebody waits a moment
    (row,) = rows
    partition = Partition.from_row(row)
    return Reading(lifecycle, await find_run(store, partition.run), partition, row, partition.offset)


@HERE_AND_ON_A_SERVER
async def test_every_reading_is_a_run_and_each_node_says_which_one_found_it(store: Store, notes: Folder) -> None:
    mill = Mill(store=store, roots=[notes])
    await mill.run(NONE)
    first = await latest(store)
    assert (first.source, first.type, first.outcome) == ("files:notes", "full", "completed")
    assert {each.outcome for each in await read_partitions(store, first.uuid)} == {"completed"}
    assert sum(each.offset for each in await read_partitions(store, first.uuid)) == 4
    assert sum((await counts_of(store, first.uuid)).values()) == 4 + 4 + 3, "files, their sections, and folders"
    assert first.watermark_before is None and first.watermark_after == first.read_at

    notes.edit("b/b.md", "others", "the others")
    await mill.run(NONE)
    second = await latest(store)
    assert (second.type, second.outcome, second.watermark_before) == ("incremental", "completed", first.watermark_after)
    assert second.watermark_after and first.watermark_after and second.watermark_after > first.watermark_after
    assert await counts_of(store, second.uuid) == {"ready": 1}, "the file that changed"


@HERE
async def test_a_new_root_gets_into_the_graph_together_with_its_run(store: Store, notes: Folder) -> None:
    """A job killed in between would leave a root that no worker reads, and nothing would tell of it."""
    watched, told = wrapped(store)
    await Mill(store=watched, roots=[notes]).run(NONE)
    first = next(batch for batch in told.batches if any(node.label == "Directory" for node in batch.nodes))
    assert [node.label for node in first.nodes] == ["Directory", RUN, PARTITION]


@HERE
async def test_what_changes_in_the_middle_of_a_run_is_found_by_the_next(store: Store, notes: Folder) -> None:
    edited = False

    async def meanwhile(real: Any, batch: Batch) -> None:
        nonlocal edited
        await real(batch)
        if not edited and any(each.node.label == "File" and each.to == "parsed" for each in batch.transitions):
            edited = True
            notes.edit("top.md", "Top", "New")

    slow, _ = wrapped(store, commit=meanwhile)
    await Mill(store=slow, roots=[notes]).run(NONE)
    assert edited
    during = await latest(store)
    await Mill(store=store, roots=[notes]).run(NONE)
    assert "New" in (await picture(store)).of("MarkdownSection")
    assert (await latest(store)).watermark_before == during.watermark_after == during.read_at


@HERE
async def test_a_change_that_size_and_time_do_not_show_is_found_if_it_came_while_the_file_was_read(
    store: Store, notes: Folder
) -> None:
    mill = Mill(store=store, roots=[notes])
    await mill.run(NONE)
    status = notes.at("top.md").stat()
    run = await latest(store)
    assert run.read_at
    now = int(run.read_at.timestamp() * 1e9)
    import os

    os.utime(notes.at("top.md"), ns=(now, now))
    await mill.run(NONE)  # knows this time now
    text = notes.at("top.md").read_text(encoding="utf-8")
    notes.at("top.md").write_text(text.replace("Top", "Pot"), encoding="utf-8")
    os.utime(notes.at("top.md"), ns=(now, now))
    assert notes.at("top.md").stat().st_size == status.st_size
    await store.query(
        "MATCH (r:IngestionRun) SET r.watermarkAfter = $time", {"time": run.read_at}, write=True
    )  # as if it had been read then
    await mill.run(NONE)
    assert "Pot" in (await picture(store)).of("MarkdownSection")


@HERE_AND_ON_A_SERVER
async def test_of_two_that_read_one_partition_only_its_holder_moves_the_offset(store: Store) -> None:
    await started(store)
    zombie = await held(store, seconds=0.01)
    await zombie.move_to(500)
    lifecycle = Lifecycle(store=store)
    while not await lifecycle.reclaim():
        await asyncio.sleep(0.01)
    other = await held(store)
    while other.partition.key != zombie.partition.key:
        other = await held(store)
    assert other.offset == 500, "it goes on where the first one was"
    await other.move_to(1000)
    for offset in (600, 1500):
        with pytest.raises((TransitionConflict, LeaseLost)):
            await zombie.move_to(offset)
    found = {each.key: each.offset for each in await read_partitions(store, other.run.uuid)}
    assert found[other.partition.key] == 1000


@HERE_AND_ON_A_SERVER
async def test_the_same_wish_goes_on_with_the_run_that_was_not_finished(store: Store) -> None:
    run = await started(store)
    reading = await held(store)
    await reading.move_to(7)
    await reading.lifecycle.give_back([reading._node])
    again = await started(store)
    assert again.uuid == run.uuid
    assert {each.offset for each in await read_partitions(store, run.uuid)} == {0}, "it may have changed since"
    await store.commit(Batch(updates=[]))
    other = await started(store, RunPlan(source=PLAN.source, options={"a": 2}, parts=PARTS))
    assert other.uuid != run.uuid
    former = await find_run(store, run.uuid)
    assert (former.outcome, former.watermark_after) == ("cancelled", None)
    assert {each.outcome for each in await read_partitions(store, run.uuid)} == {"cancelled"}


@HERE_AND_ON_A_SERVER
async def test_who_slept_until_another_had_begun_the_run_does_not_begin_it_again(store: Store) -> None:
    async def moments() -> list[Value]:
        text = "MATCH (r:IngestionRun) WHERE r.projectId = $project RETURN r.readAt AS read"
        return [row[0] for row in (await store.query(text, {"project": store.project})).rows]

    slept: list[Value] = []

    async def sleep_through_the_hold(real: Call, batch: Batch) -> None:
        if not slept:
            assert batch.fence
            await store.let_go(batch.fence.name, token=batch.fence.token)
            await started(store)
            slept.append(await moments())
        await real(batch)

    sleeper, _ = wrapped(store, commit=sleep_through_the_hold)
    await started(sleeper)
    assert len(slept[0]) == 1
    assert await moments() == slept[0]


async def test_who_asks_while_another_reads_waits_and_looks_for_himself(store: Store) -> None:
    run = await started(store)
    reading = await held(store)
    said: list[str] = []
    heard = asyncio.Event()

    def say(line: str) -> None:
        said.append(line)
        heard.set()

    lifecycle = Lifecycle(store=store)
    waiting = asyncio.create_task(begin(lifecycle, PLAN, owner="another", say=say))
    await heard.wait()
    assert said == ["another job is reading files:notes; waiting for it"] and not waiting.done()
    await lifecycle.give_back([reading._node])
    assert (await waiting).uuid == run.uuid


@HERE_AND_ON_A_SERVER
async def test_a_run_whose_partition_fails_moves_no_watermark_and_can_be_tried_again(
    store: Store, notes: Folder, tmp_path: Path
) -> None:
    mill = Mill(store=store, roots=[notes])
    await mill.run(NONE)
    before = await latest(store)
    away = tmp_path / "away"

    async def vanishing(real: Any, question: str, parameters: Any = None) -> Any:
        # The partition was claimed, and its root is known no more.
        answer = await real(question, parameters)
        return type(answer)(columns=answer.columns, rows=[]) if question == "roots" and away.exists() else answer

    async def commit(real: Any, batch: Batch) -> None:
        await real(batch)
        if any(node.label == RUN for node in batch.nodes):
            away.touch()

    broken, _ = wrapped(store, ask=vanishing, commit=commit)
    report = await Mill(store=broken, roots=[notes]).run(NONE)
    failed = await latest(store)
    assert [run.outcome for run in report.runs] == ["failed"] and failed.watermark_after is None
    assert "has no root notes any more" in (failed.reason or "")
    with pytest.raises(Misuse, match="has no partition 'x'"):
        await try_again(Lifecycle(store=store), failed, ["x"])
    away.unlink()
    again = await try_again(Lifecycle(store=store), failed)
    assert {each.run for each in again} == {failed.uuid}
    await Job(store, Plan(embedder=NONE)).run()
    mended = await find_run(store, failed.uuid)
    assert (mended.outcome, mended.watermark_after) == ("completed", mended.read_at)
    assert mended.watermark_before == before.watermark_after
    assert await problems(store) == []


@HERE_AND_ON_A_SERVER
async def test_a_cancelled_run_begins_nothing_more_is_no_failure_and_the_next_one_reads_what_is_left(
    store: Store, notes: Folder
) -> None:
    lifecycle = Lifecycle(store=store)

    async def once_it_is_read(real: Any, batch: Batch) -> None:
        await real(batch)
        if any(node.label == "File" for node in batch.nodes) and (await latest(store)).is_open:
            await cancel(lifecycle, await latest(store))

    disturbed, _ = wrapped(store, commit=once_it_is_read)
    report = await Mill(store=disturbed, roots=[notes]).job(NONE, stages=0).run()
    assert not report.stopped and [run.outcome for run in report.runs] == ["cancelled"]
    cancelled = await latest(store)
    assert cancelled.watermark_after is None and not cancelled.is_open
    with pytest.raises(Misuse, match="is cancelled already"):
        await cancel(lifecycle, cancelled)
    left = [row for row in await store.nodes(Select(labels=["File"], limit=100)) if row.error_message == CANCELLED]
    assert left and {row.state for row in left} == {"skip"}
    assert report.standing.in_error == 0

    await Mill(store=store, roots=[notes]).run(NONE)
    assert (await latest(store)).type == "full", "no run of this source was ever completed"
    assert (await picture(store)).all_states == {"ready", "skip"}
    assert {row.state for row in await store.nodes(Select(labels=["File"], limit=100))} == {"ready"}


@HERE
async def test_what_is_found_at_the_moment_of_the_cancelling_is_not_read_either(store: Store, notes: Folder) -> None:
    """Whoever looks through the folder has seen that the run goes on, and writes down what it found after its end."""
    lifecycle = Lifecycle(store=store)

    async def just_before(real: Any, batch: Batch) -> None:
        if any(node.label == "File" for node in batch.nodes) and (await latest(store)).is_open:
            await cancel(lifecycle, await latest(store))
        await real(batch)

    disturbed, _ = wrapped(store, commit=just_before)
    await Mill(store=disturbed, roots=[notes]).job(NONE, stages=0).run()
    files = await store.nodes(Select(labels=["File"], limit=100))
    assert files and {(row.state, row.error_message) for row in files} == {("skip", CANCELLED)}


@HERE
async def test_a_run_that_is_moved_on_while_it_is_cancelled_is_cancelled_all_the_same(store: Store) -> None:
    run = await started(store)
    read = transition(run.ref, expected=State.PENDING, through=[State.PARSING], to=State.PARSED)
    await Lifecycle(store=store).transition([read])
    assert run.state is State.PENDING, "as whoever cancels it has seen it"
    await cancel(Lifecycle(store=store), run)
    assert (await latest(store)).outcome == "cancelled"


@HERE_AND_ON_A_SERVER
async def test_what_a_cancelled_run_left_is_read_when_the_run_is_tried_again(store: Store, notes: Folder) -> None:
    await Mill(store=store, roots=[notes]).job(NONE, stages=0).run()
    run = await latest(store)
    assert run.is_open and await cancel(Lifecycle(store=store), run) == 4
    cancelled = await find_run(store, run.uuid)
    assert await try_again(Lifecycle(store=store), cancelled) == [], "all of it was looked through already"
    await Job(store, Plan(embedder=NONE)).run()
    assert {row.state for row in await store.nodes(Select(labels=["File"], limit=100))} == {"ready"}
    assert (await find_run(store, run.uuid)).outcome == "completed"


@HERE_AND_ON_A_SERVER
async def test_a_source_that_is_forgotten_has_no_runs_also_if_its_last_process_was_killed(
    store: Store, notes: Folder
) -> None:
    mill = Mill(store=store, roots=[notes])
    await mill.job(NONE, stages=0).run()
    lifecycle = Lifecycle(store=store)
    gone = f"{owner_name().rsplit(':', 2)[0]}:0:gone"
    assert len(await lifecycle.claim(states.PARSE, labels=["File"], limit=2, owner=gone, seconds=600)) == 2
    forgotten = await forget(store, "notes")
    assert (forgotten.files, await read_runs(store)) == (4, [])
    assert not await store.nodes(Select(labels=[PARTITION, "File"], limit=1))
    await mill.run(NONE)
    assert [(run.type, run.outcome) for run in await read_runs(store)] == [("full", "completed")]


@HERE
async def test_where_one_process_owns_the_graph_a_worker_of_some_stages_ends_when_nothing_waits_for_them(
    store: Store, notes: Folder
) -> None:
    await Mill(store=store, roots=[notes]).job(NONE, stages=0).run()
    for stage in ("embed", "link"):
        await Job(store, Plan(embedder=NONE, stages=frozenset({stage}))).run()
    assert {row.state for row in await store.nodes(Select(labels=["File"], limit=100))} == {"pending"}
    await Job(store, Plan(embedder=NONE, stages=frozenset({"read", "parse"}))).run()
    assert {row.state for row in await store.nodes(Select(labels=["File"], limit=100))} == {"parsed"}


@HERE
async def test_a_run_of_which_only_a_part_is_tried_again_moves_no_watermark(store: Store) -> None:
    lifecycle = Lifecycle(store=store)
    run = await started(store)
    await cancel(lifecycle, run)
    run = await find_run(store, run.uuid)
    await try_again(lifecycle, run, ["one"])
    reading = await held(store)
    assert reading.partition.key == "one"
    ready = (State.PARSED, State.LINKING, State.LINKED, State.EMBEDDING, State.READY)
    await lifecycle.complete([Result(node=reading._node, path=ready)])
    assert await move_on(lifecycle, await find_run(store, run.uuid))
    ended = await find_run(store, run.uuid)
    assert (ended.outcome, ended.watermark_after) == ("cancelled", None)
    assert ended.reason == "one partition of it stayed cancelled"


@HERE_AND_ON_A_SERVER
async def test_many_that_finish_at_once_consolidate_once(
    store: Store, notes: Folder, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    consolidated: list[str] = []

    async def counted(self: object, run: Run) -> None:
        consolidated.append(run.uuid)
        await asyncio.sleep(0.05)

    monkeypatch.setattr("orchestrator.files.ingestion.Ingestion.consolidate", counted)
    handles = [store, await place.other_handle(), await place.other_handle()]
    plans = [Plan(embedder=NONE) for _ in handles[1:]]
    jobs = [Mill(store=store, roots=[notes]).job(NONE), *map(Job, handles[1:], plans)]
    await asyncio.gather(*(job.run() for job in jobs))
    run = await latest(store)
    assert run.outcome == "completed" and consolidated == [run.uuid]


@HERE_AND_ON_A_SERVER
async def test_a_run_can_be_named_by_the_beginning_of_its_id_if_that_is_enough(store: Store) -> None:
    run = await started(store)
    assert (await find_run(store, run.short)).uuid == run.uuid
    with pytest.raises(Misuse, match="no run has an id that begins with 'nothing'"):
        await find_run(store, "nothing")
    await started(store, RunPlan(source="files:other", options={}, parts=PARTS))
    with pytest.raises(Misuse, match="2 runs have an id that begins with ''"):
        await find_run(store, "")
    assert run.state is State.PENDING
