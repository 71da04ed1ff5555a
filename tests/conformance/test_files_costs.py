"""What a run costs, in what can be counted: statements, commits, models, processes. Seconds are a benchmark's."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from graph_stores.kuzu.session import Rows, Session
from graph_stores.protocol import Store
from orchestrator.files import ingestion
from orchestrator.job import Job, Plan
from orchestrator.runs.records import read_partitions, read_runs
from pipelines import pool
from pipelines.embedding import EmbedderChoice
from pipelines.files.walk import Rules, entries_in
from tests.conformance.folders import Folder, Mill, Models, opened, quicken
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER, Place
from tests.conformance.wrapped import wrapped

# A worker comes and goes; a run is begun, its one part read, the run moved on, and consolidated.
COMMITS_OF_A_RUN = 6
CLAIMS_OF_A_RUN = 2
DIFFERENT_STATEMENTS_OF_A_RUN = 50
DIFFERENT_STATEMENTS_OF_ONE_FILE = 110
WRITES_OF_ONE_FILE = 25
# Of one statement, in a run that is slower than another. A folder of 120 files has 30 folders.
MORE_LOOKS = 20


class Counted:
    """Every statement that reaches the engine while it listens.

    A run on a busy machine looks more often whether it is at its end, so that the sum of all statements says little.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        real = Session.run

        def run(session: Session, text: str, *arguments: Any, **options: Any) -> Rows:
            self.texts.append(text)
            return real(session, text, *arguments, **options)

        monkeypatch.setattr(Session, "run", run)

    @property
    def different(self) -> int:
        return len(set(self.texts))

    @property
    def commits(self) -> int:
        return sum(text == "COMMIT" for text in self.texts)

    @property
    def writes(self) -> int:
        return sum(text.startswith("LOAD FROM") and ":Worker" not in text for text in self.texts)


@pytest.fixture
def loaded() -> Counter[str]:
    """How often a job asked for a model."""
    return Counter()


@pytest.fixture(autouse=True)
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loaded: Counter[str]) -> Models:
    models = quicken(monkeypatch, tmp_path / "cache")

    async def open_embedder(choice: EmbedderChoice) -> Any:
        loaded[choice.name] += 1
        return models.word_llama

    monkeypatch.setattr("orchestrator.job.open_embedder", open_embedder)
    return models


@pytest.fixture
async def store(place: Place) -> Store:
    return await opened(place)


@pytest.fixture
def notes(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "notes")
    for number in range(40):
        text = f"# Note {number}\n\nsee [the next]({number + 1}.md)\n\n## More\n\nof it\n"
        folder.write(f"part-{number % 10}/{number}.md", text)
    return folder


@HERE_AND_ON_A_SERVER
async def test_a_run_without_changes_writes_only_its_own_records_and_loads_no_model(
    store: Store, notes: Folder, loaded: Counter[str]
) -> None:
    await Mill(store=store, roots=[notes]).run()
    assert loaded == {"wordllama": 1}
    watched, wrapper = wrapped(store)
    report = await Mill(store=watched, roots=[notes]).run()
    assert (report.tally.unchanged, report.tally.parsed, report.tally.embedded) == (40, 0, 0)
    assert loaded == {"wordllama": 1}
    assert (wrapper.changes, len(wrapper.batches)) == ([], COMMITS_OF_A_RUN)
    [run] = report.runs
    assert run.watermark_after == run.read_at, "and it is a run like any other"


@HERE
async def test_a_run_without_changes_asks_as_much_of_a_large_root_as_of_a_small_one(
    store: Store, notes: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill = Mill(store=store, roots=[notes])
    await mill.run()
    counted = Counted(monkeypatch)
    await mill.run()
    assert counted.different <= DIFFERENT_STATEMENTS_OF_A_RUN
    assert counted.commits == COMMITS_OF_A_RUN + CLAIMS_OF_A_RUN
    small = Counter(counted.texts)
    for number in range(40, 160):
        notes.write(f"part-{number % 40}/{number}.md", f"# Note {number}\n")
    await mill.run()
    counted.texts.clear()
    await mill.run()
    more = Counter(counted.texts) - small
    assert [text for text, times in more.items() if times > MORE_LOOKS] == [], "nothing for each file or folder"


@HERE
async def test_one_changed_file_costs_a_fixed_number_of_statements_and_one_load_of_the_model(
    store: Store, notes: Folder, monkeypatch: pytest.MonkeyPatch, loaded: Counter[str]
) -> None:
    mill = Mill(store=store, roots=[notes])
    await mill.run()
    counted = Counted(monkeypatch)
    notes.edit("part-3/3.md", "of it", "of that")
    report = await mill.run()
    assert (report.tally.parsed, report.tally.linked, report.tally.embedded) == (1, 1, 1)
    assert loaded == {"wordllama": 2}
    assert counted.different <= DIFFERENT_STATEMENTS_OF_ONE_FILE and counted.writes <= WRITES_OF_ONE_FILE


@HERE
async def test_processes_are_started_for_files_that_are_to_be_parsed_and_no_others(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingestion, "Pool", pool.Pool)
    folder = Folder(tmp_path / "notes")
    folder.write("a.md", "# A\n\ntext\n")
    started: list[object] = []
    real = pool._Member.started

    async def counted(command: tuple[str, ...]) -> Any:
        started.append(command)
        return await real(command)

    monkeypatch.setattr(pool._Member, "started", counted)
    mill = Mill(store=store, roots=[folder])
    await mill.run(workers=4)
    assert len(started) == 1, "one file needs one process, whatever it may have"
    await mill.run(workers=4, rehash=True)
    assert len(started) == 1


@HERE
async def test_a_small_root_is_one_part_and_a_large_one_several(
    store: Store, notes: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await Mill(store=store, roots=[notes]).run()
    assert [each.key for each in await read_partitions(store, (await read_runs(store))[0].uuid)] == ["notes"]
    monkeypatch.setattr(ingestion, "_WORTH_A_PART", 10)
    await Mill(store=store, roots=[notes]).run()
    parts = await read_partitions(store, (await read_runs(store))[0].uuid)
    assert len(parts) == 5 and sum(part.offset for part in parts) == 40
    assert entries_in(notes.place, Rules(), most=20) == 20
    assert entries_in(notes.place, Rules(), most=1000) == 50


@HERE
async def test_a_worker_without_work_loads_no_model_and_loads_it_for_what_another_left(
    store: Store, notes: Folder, loaded: Counter[str]
) -> None:
    await Mill(store=store, roots=[notes]).run()
    await Job(store, Plan()).run()
    assert loaded == {"wordllama": 1}
    notes.edit("part-3/3.md", "of it", "of that")
    await Mill(store=store, roots=[notes]).job(stages=2).run()
    assert loaded == {"wordllama": 1}
    assert (await Job(store, Plan()).run()).tally.embedded == 1
    assert loaded == {"wordllama": 2}
