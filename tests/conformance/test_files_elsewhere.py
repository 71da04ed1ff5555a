"""Files that another machine has: they wait for it and cost nothing, or bring their content and are parsed anywhere."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from graph_stores.model import NodeRow, Select, Table, Value
from graph_stores.protocol import Store
from orchestrator.files.elsewhere import HINT, Places, left_elsewhere, stranded
from orchestrator.files.parse import ParseFiles
from orchestrator.files.roots import Root, Source, read_roots, resolve, this_host
from orchestrator.lifecycle import Lifecycle
from orchestrator.states import PARSE, State
from orchestrator.tally import Tally
from orchestrator.worker import Worker
from orchestrator.workers import registered
from pipelines.files.content import LARGEST_PACKED
from pipelines.files.making import Made, Task, make
from tests.conformance.conftest import wipe
from tests.conformance.examples import HOUR, article, eventually, file, node, read, write
from tests.conformance.folders import Folder, InProcess, Mill, Models, quicken
from tests.conformance.pictures import differences, picture
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER, IN_EVERY_FORM
from tests.conformance.wrapped import wrapped

GUIDE = "# Guide\n\nWhere it begins.\n\n## Install\n\nPut it there.\n\n## Use\n\nTurn the wheel.\n"
NOTES = "# Notes\n\nSee [how](guide.md#install) and [all](guide.md), and ![it](img/wheel.png).\n"
CODE = "def grind(grain):\n    return mill(grain)\n\n\ndef mill(grain):\n    return grain\n"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Models:
    return quicken(monkeypatch, tmp_path / "cache")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "notes")
    folder.write("guide.md", GUIDE)
    folder.write("notes.md", NOTES)
    folder.write("src/mill.py", CODE)
    folder.write("img/wheel.png", b"\x89PNG\0\0")
    folder.write("empty.txt", b"")
    return folder


async def discover(store: Store, folder: Folder, **source: Value) -> Root:
    """What the machine that has the folder tells the graph, before anything is parsed."""
    root = resolve(Source(path=folder.place, **source), await read_roots(store))
    await Lifecycle(store=store).upsert([root.node(store.project)])
    await Mill(store=store, roots=[]).scan()
    return root


async def leave(store: Store, root: str) -> None:
    """From now on the root is another machine's."""
    await store.query(
        "MATCH (d:Directory) WHERE d.projectId = $project AND d.root = $root AND d.path = '.' SET d.host = 'mill-1'",
        {"project": store.project, "root": root},
        write=True,
    )


async def carry_off(store: Store, folder: Folder) -> None:
    """The folder is on another machine from now on, and not here."""
    await leave(store, folder.place.name)
    folder.place.rename(folder.place.with_name("away"))


async def files_of(store: Store, root: str) -> list[NodeRow]:
    return [row for row in await store.nodes(Select(labels=["File"])) if row.properties.get("root") == root]


async def states_in(store: Store, root: str) -> dict[str, str]:
    return {row.properties["path"]: row.state for row in await files_of(store, root)}


async def stored(store: Store) -> list[str]:
    """The names of the files that have their content with them."""
    uuids = [row.uuid for row in await store.nodes(Select(labels=["File"]))]
    having = {row[0] for row in (await store.ask("contents", {"uuids": uuids})).rows}
    return sorted([row.name for row in await store.nodes(Select(labels=["File"])) if row.uuid in having])


@asynccontextmanager
async def parsing(store: Store, said: list[str] | None = None) -> AsyncIterator[Worker]:
    places = Places(store, (said if said is not None else []).append)
    step = ParseFiles(store, InProcess(make), Tally(), places=places)  # type: ignore[arg-type]
    worker = Worker(Lifecycle(store=store), [step], lease_seconds=HOUR, grace=0.0)
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await running


@IN_EVERY_FORM
async def test_a_claim_leaves_what_only_another_machine_can_read(store: Store, lifecycle: Lifecycle) -> None:
    away = [file(f"a{number}", root="away") for number in range(5)]
    packed = file("b-packed", root="away", _content="{}")
    await write(store, nodes=away)
    await write(store, nodes=[packed, file("c-here", root="here"), file("d-of-no-root")])
    await write(store, nodes=[node("Partition", "e-part", root="away"), node("Partition", "f-part", root="here")])

    async def claimed(*roots: str) -> set[str]:
        labels = ("File", "Partition")
        rows = await lifecycle.claim(PARSE, labels=labels, limit=4, owner="w", seconds=HOUR, away=roots)
        assert all("_content" not in row.properties for row in rows)
        return {row.uuid for row in rows}

    assert await claimed("away", "another") == {"b-packed", "c-here", "d-of-no-root", "f-part"}
    assert await claimed("away") == set()
    assert {(await read(store, each.uuid)).state for each in away} == {"pending"}


@IN_EVERY_FORM
async def test_a_claim_finds_what_waits_behind_many_that_it_leaves(
    store: Store, lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where those that it leaves could be claimed again before it has passed over all of them."""
    monkeypatch.setattr("graph_stores.kuzu.claims._LOOK_AGAIN", 1e-9)
    monkeypatch.setattr("graph_stores.kuzu.claims._ASKED_AT_ONCE", 7)
    await write(store, nodes=[file(f"a{number:02}", root="away") for number in range(30)])
    await write(store, nodes=[file(f"b{number}", root="here") for number in range(5)])
    claimed = []
    for _ in range(3):
        rows = await lifecycle.claim(PARSE, labels=["File"], limit=3, owner="w", seconds=HOUR, away=["away"])
        claimed.append([row.uuid for row in rows])
    assert claimed == [["b0", "b1", "b2"], ["b3", "b4"], []]


@IN_EVERY_FORM
async def test_a_claim_leaves_articles_of_a_wiki_that_cannot_be_read(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[article(name, wiki=name[0]) for name in ("a1", "a2", "b1", "b2")])
    rows = await lifecycle.claim(PARSE, labels=["Article"], limit=3, owner="w", seconds=HOUR, away=["a"], source="wiki")
    assert {row.uuid for row in rows} == {"b1", "b2"}


@HERE_AND_ON_A_SERVER
async def test_stored_content_makes_the_same_graph_where_the_files_are_not(store: Store, folder: Folder) -> None:
    mill = Mill(store=store, roots=[folder])
    await mill.run()
    expected = await picture(store)
    await wipe(store)
    await discover(store, folder, store_content=True)
    assert await stored(store) == sorted(Path(path).name for path in folder.paths)
    await carry_off(store, folder)
    await Mill(store=store, roots=[]).run()
    found = differences(await picture(store), expected)
    assert [line for line in found if not line.startswith("Directory '.'")] == []
    assert await stored(store) == []


@HERE_AND_ON_A_SERVER
async def test_files_elsewhere_wait_without_a_try_while_others_are_parsed(store: Store, tmp_path: Path) -> None:
    many, few = Folder(tmp_path / "many"), Folder(tmp_path / "few")
    for number in range(ParseFiles.limit + 1):  # a claim could be full of them
        many.write(f"{number}.txt", "grain")
    few.write("here.txt", "flour")
    await discover(store, many)
    await carry_off(store, many)
    await discover(store, few)
    said: list[str] = []

    async def is_parsed() -> bool:
        return await states_in(store, "few") == {"here.txt": "parsed"}

    async with parsing(store, said) as worker:
        await eventually(is_parsed)
        await eventually(lambda: _idle(worker))
    waiting = await files_of(store, "many")
    assert {(row.state, row.retry_count, row.lease, row.not_before) for row in waiting} == {("pending", 0, None, None)}
    assert said == [f"129 files of many are on mill-1 in {many.place}, which {this_host()} cannot read: {HINT}"]


@HERE
async def test_no_runner_claims_before_the_first_look_at_the_roots_has_ended(store: Store, folder: Folder) -> None:
    """A second runner claimed files that only another machine has, and the message counted the few that it left."""
    await discover(store, folder)
    await carry_off(store, folder)
    asked, answer = asyncio.Event(), asyncio.Event()

    async def slowly(ask: Callable[..., Awaitable[Table]], question: str, *arguments: Value) -> Table:
        asked.set()
        await answer.wait()
        return await ask(question, *arguments)

    slow, _ = wrapped(store, ask=slowly)
    said: list[str] = []
    step = ParseFiles(slow, InProcess(make), Tally(), places=Places(slow, said.append))  # type: ignore[arg-type]
    async with asyncio.TaskGroup() as runners:
        runners.create_task(step.is_ready())
        await asked.wait()
        second = runners.create_task(step.is_ready())
        await asyncio.sleep(0)
        assert not second.done()
        answer.set()
    assert step.away == ["notes"]
    assert said == [f"5 files of notes are on mill-1 in {folder.place}, which {this_host()} cannot read: {HINT}"]


async def _idle(worker: Worker) -> bool:
    return worker.is_idle


@HERE
async def test_that_a_file_is_not_where_another_machine_has_it_does_not_mean_that_it_is_gone(
    store: Store, folder: Folder
) -> None:
    await discover(store, folder)
    await leave(store, "notes")
    folder.delete("guide.md")

    async def others_are_parsed() -> bool:
        states = await states_in(store, "notes")
        return [states.pop("guide.md"), *set(states.values())] == ["pending", "parsed"]

    async with parsing(store):
        await eventually(others_are_parsed)
    assert (await files_of(store, "notes"))[0].retry_count == 0


@pytest.mark.long
@HERE_AND_ON_A_SERVER
@pytest.mark.parametrize("leaves_empty", [False, True])
async def test_files_wait_without_a_try_while_their_root_is_missing_or_not_mounted(
    store: Store, folder: Folder, tmp_path: Path, *, leaves_empty: bool
) -> None:
    await discover(store, folder)
    away = folder.place.rename(tmp_path / "away")
    if leaves_empty:
        folder.place.mkdir()
    said: list[str] = []

    async def is_told() -> bool:
        return bool(said)

    async with parsing(store, said) as worker:
        await eventually(is_told)
        await eventually(lambda: _idle(worker))
    waiting = await files_of(store, "notes")
    assert {(row.state, row.retry_count, row.lease, row.not_before) for row in waiting} == {("pending", 0, None, None)}
    assert said == [f"5 files of notes wait for {folder.place}, which is missing, empty or not mounted"]

    if leaves_empty:
        folder.place.rmdir()
    away.rename(folder.place)

    async def all_parsed() -> bool:
        return set((await states_in(store, "notes")).values()) == {"parsed"}

    async with parsing(store):
        await eventually(all_parsed)


@HERE
async def test_a_root_that_vanishes_while_its_files_are_read_costs_them_nothing(
    store: Store, folder: Folder, tmp_path: Path
) -> None:
    await discover(store, folder)

    class Vanishing(InProcess[Task, Made]):
        async def run(self, task: Task) -> Made:
            if folder.place.exists():
                folder.place.rename(tmp_path / "away")
            return await super().run(task)

    lifecycle = Lifecycle(store=store)
    step = ParseFiles(store, Vanishing(make), Tally())  # type: ignore[arg-type]
    nodes = await lifecycle.claim(PARSE, labels=["File"], limit=10, owner="parser", seconds=HOUR)
    assert len(nodes) == 5
    assert await step.work(nodes) == []
    assert step.away == ["notes"]


@HERE
async def test_a_file_that_is_gone_from_a_root_that_is_there_is_gone(store: Store, folder: Folder) -> None:
    await discover(store, folder)
    folder.delete("guide.md")

    async def all_parsed() -> bool:
        return set((await states_in(store, "notes")).values()) == {"parsed"}

    async with parsing(store):
        await eventually(all_parsed)


@HERE
async def test_a_root_of_this_machine_that_is_gone_is_parsed_from_what_was_stored(store: Store, folder: Folder) -> None:
    await discover(store, folder, store_content=True)
    shutil.rmtree(folder.place)

    async def all_parsed() -> bool:
        return set((await states_in(store, "notes")).values()) == {"parsed"}

    async with parsing(store):
        await eventually(all_parsed)


@HERE_AND_ON_A_SERVER
async def test_what_changes_while_it_waits_is_stored_anew(store: Store, folder: Folder) -> None:
    await discover(store, folder, store_content=True)
    folder.edit("guide.md", "Put it there.", "Put it here.")
    await discover(store, folder)  # that content is stored is remembered
    await carry_off(store, folder)
    await Mill(store=store, roots=[]).run()
    assert (await picture(store)).of("MarkdownSection")["Install"]["content"] == "## Install\n\nPut it here."


@HERE_AND_ON_A_SERVER
async def test_what_changes_after_it_was_parsed_is_stored_in_the_commit_that_says_so(
    store: Store, folder: Folder
) -> None:
    mill = Mill(store=store, roots=[Source(path=folder.place, store_content=True)])
    await mill.run()
    assert await stored(store) == []
    folder.edit("guide.md", "Put it there.", "Put it here.")
    folder.touch("notes.md")
    await discover(store, folder)
    assert await stored(store) == ["guide.md"]
    assert (await states_in(store, "notes"))["guide.md"] == "pending"
    await carry_off(store, folder)
    await Mill(store=store, roots=[]).run()
    found = await picture(store)
    assert found.of("MarkdownSection")["Install"]["content"] == "## Install\n\nPut it here."
    assert await stored(store) == []


@HERE
async def test_what_waits_already_is_stored_when_that_is_asked_for(store: Store, folder: Folder) -> None:
    await discover(store, folder)
    assert await stored(store) == []
    await discover(store, folder, store_content=True)
    assert len(await stored(store)) == len(folder.paths)
    folder.write("new.md", "# New")
    await discover(store, folder, store_content=False)
    assert "new.md" not in await stored(store)


@HERE
async def test_a_file_that_is_too_large_to_be_stored_waits_for_its_machine(store: Store, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "data")
    folder.write("large.txt", b"word " * (LARGEST_PACKED // 5 + 1))
    folder.write("small.txt", "word")
    await discover(store, folder, store_content=True)
    assert await stored(store) == ["small.txt"]
    await carry_off(store, folder)
    [left] = await left_elsewhere(store)
    assert str(left) == f"1 file of data is on mill-1 in {folder.place}, which {this_host()} cannot read"


@HERE_AND_ON_A_SERVER
async def test_only_what_nobody_at_work_can_read_is_a_reason_to_give_up(store: Store, folder: Folder) -> None:
    await discover(store, folder)
    assert await stranded(store) is None
    await carry_off(store, folder)
    error = await stranded(store)
    assert error is not None
    assert (error.code, error.hint) == ("files_elsewhere", HINT)
    assert error.message == f"5 files of notes are on mill-1 in {folder.place}, which {this_host()} cannot read"
    await write(store, nodes=[file("another", root="here")])
    assert await stranded(store) is None
    await write(store, nodes=[node("Worker", "w", host="mill-1", stages=["parse"])])
    assert await left_elsewhere(store) == []


@HERE_AND_ON_A_SERVER
async def test_a_part_of_a_root_that_is_elsewhere_is_left_to_its_machine(store: Store, folder: Folder) -> None:
    root = await discover(store, folder)
    await wipe_files(store)
    await write(store, nodes=[node("Partition", "p", state=State.PENDING, root=root.name)])
    await carry_off(store, folder)
    [left] = await left_elsewhere(store)
    assert (left.files, left.parts) == (0, 1)
    assert str(left).startswith("1 part of notes is on mill-1 in ")
    assert await stranded(store) is not None


async def wipe_files(store: Store) -> None:
    await Lifecycle(store=store).delete([row.ref for row in await store.nodes(Select(labels=["File"]))])


@HERE
async def test_a_worker_of_the_same_machine_does_not_count_as_one_of_another(store: Store, folder: Folder) -> None:
    await discover(store, folder)
    await carry_off(store, folder)
    worker = Worker(Lifecycle(store=store), [])
    async with registered(worker, stages=["parse"]):
        assert await stranded(store) is not None
