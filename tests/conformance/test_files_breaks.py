"""Jobs on files that are disturbed: two of them meet, the store is away, something stored is damaged, a process dies.

After each the graph is the one of an undisturbed job.
"""

import asyncio
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from graph_stores.errors import HoldLost, MissingNode, StoreUnavailable
from graph_stores.model import Batch, Ref, Update
from graph_stores.protocol import Store
from orchestrator import states, worker
from orchestrator.embed import EmbedTexts
from orchestrator.files import link
from orchestrator.files.forget import forget
from orchestrator.files.link import HOLD, LinkFiles
from orchestrator.files.parse import ParseFiles
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.tally import Tally
from pipelines.embedding import Texts
from pipelines.files.making import make
from pipelines.pool import Pool
from tests.conformance.conftest import wipe
from tests.conformance.deadly import EXIT, make_or_die
from tests.conformance.examples import AT_ONCE, HOUR
from tests.conformance.folders import Folder, InProcess, Mill, Models, quicken
from tests.conformance.pictures import differences, picture
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER
from tests.conformance.wrapped import wrapped

LONG = "A long story about mills and rivers and what they grind. " * 120


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Models:
    return quicken(monkeypatch, tmp_path / "cache")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "notes")
    folder.write("a.md", "# A\n\nSee [b](b.md#more).\n")
    folder.write("b.md", f"# B\n\nShort.\n\n## More\n\n{LONG}\n")
    folder.write("c.py", "def f():\n    return 1\n")
    return folder


@pytest.fixture
def mill(store: Store, folder: Folder) -> Mill:
    return Mill(store=store, roots=[folder])


async def assert_equal_to_a_rebuild(mill: Mill, store: Store) -> None:
    found = await picture(store)
    await wipe(store)
    mill.store = store
    await mill.run()
    assert differences(found, await picture(store)) == []


async def parsed_but_not_committed(lifecycle: Lifecycle) -> list[Result]:
    """What a worker has in its hands just before it commits."""
    step = ParseFiles(lifecycle.store, InProcess(make), Tally())  # type: ignore[arg-type]
    nodes = await lifecycle.claim(states.PARSE, labels=["File"], limit=10, owner="parser", seconds=HOUR)
    return [outcome for outcome in await step.work(nodes) if isinstance(outcome, Result)]


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_a_file_that_is_parsed_while_it_is_deleted_leaves_nothing_behind(
    mill: Mill, store: Store, folder: Folder
) -> None:
    await mill.run()
    folder.write("d.md", "# D\n")
    await mill.scan()
    lifecycle = Lifecycle(store=store)
    results = await parsed_but_not_committed(lifecycle)
    assert [result.node.name for result in results] == ["d.md"]

    async def parsed_first(real: Any, batch: Batch) -> None:
        if batch.deletions and results:
            await lifecycle.complete([results.pop()])
        await real(batch)

    disturbed, _ = wrapped(store, commit=parsed_first)
    folder.delete("d.md")
    mill.store = disturbed
    await mill.scan()
    assert results == []
    assert (await picture(store)).states("File") == {"a.md": "ready", "b.md": "ready", "c.py": "ready"}
    await assert_equal_to_a_rebuild(mill, store)


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_a_text_that_is_embedded_while_it_is_deleted_leaves_no_chunk_behind(
    mill: Mill, store: Store, folder: Folder, quick: Models
) -> None:
    await mill.run()
    folder.edit("b.md", "Short.", "Longer now. " + LONG)
    await mill.job(stages=2).run()
    lifecycle = Lifecycle(store=store)
    nodes = await lifecycle.claim(states.EMBED, labels=["MarkdownSection"], limit=10, owner="embedder", seconds=HOUR)
    outcomes = await EmbedTexts(Texts(quick.word_llama), quick.word_llama, Tally()).work(nodes)
    results = [outcome for outcome in outcomes if isinstance(outcome, Result)]
    assert [len(result.nodes) > 1 for result in results] == [True]
    folder.write("b.md", f"## More\n\n{LONG}\n")

    async def embedded_first(real: Any, batch: Batch) -> None:
        if batch.deletions and results:
            await lifecycle.complete([results.pop()])
        await real(batch)

    mill.store, _ = wrapped(store, commit=embedded_first)
    await mill.run()
    assert results == []
    await assert_equal_to_a_rebuild(mill, store)


@HERE
async def test_a_text_that_is_embedded_while_its_new_version_is_parsed_gets_the_vector_of_the_new_one(
    mill: Mill, store: Store, folder: Folder, quick: Models
) -> None:
    await mill.job(stages=2).run()
    lifecycle = Lifecycle(store=store)
    nodes = await lifecycle.claim(states.EMBED, labels=["MarkdownSection"], limit=10, owner="embedder", seconds=HOUR)
    outcomes = await EmbedTexts(Texts(quick.word_llama), quick.word_llama, Tally()).work(nodes)
    late = [outcome for outcome in outcomes if isinstance(outcome, Result)]
    folder.edit("b.md", "Short.", "Other.")

    async def embedded_first(real: Any, batch: Batch) -> None:
        if late and any(update.node.label == "MarkdownSection" for update in batch.updates):
            results, late[:] = late[:], []
            await lifecycle.complete(results)
        await real(batch)

    mill.store, _ = wrapped(store, commit=embedded_first)
    await mill.run()
    assert late == []
    await assert_equal_to_a_rebuild(mill, store)


def link_token(batch: Batch) -> str | None:
    """What a commit of links rests on; other commits have holds of their own, or none."""
    return batch.fence.token if batch.fence and batch.fence.name == HOLD else None


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_links_are_made_again_by_whoever_lost_the_right_to_make_them(mill: Mill, store: Store) -> None:
    taken: list[str] = []

    async def robbed(real: Any, batch: Batch) -> None:
        if (token := link_token(batch)) and not taken:
            await store.let_go(HOLD, token=token)
            other = await store.hold(HOLD, owner="another", seconds=HOUR)
            assert other
            taken.append(other)
            asyncio.get_running_loop().call_later(0.05, given_back.set)
        await real(batch)

    async def give_back() -> None:
        await given_back.wait()
        await store.let_go(HOLD, token=taken[0])

    given_back = asyncio.Event()
    giving = asyncio.create_task(give_back())
    mill.store, _ = wrapped(store, commit=robbed)
    await mill.run()
    await giving
    await assert_equal_to_a_rebuild(mill, store)


@HERE
async def test_the_right_to_link_is_not_given_up_while_a_commit_rests_on_it(
    mill: Mill, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_PATIENCE", 0.003)

    refused: list[HoldLost] = []

    async def slow(real: Any, batch: Batch) -> None:
        if link_token(batch):
            await asyncio.sleep(0.05)
        try:
            await real(batch)
        except HoldLost as error:
            refused.append(error)
            raise

    mill.store, _ = wrapped(store, commit=slow)
    assert (await mill.run()).tally.linked == 3
    assert refused == []


@pytest.mark.long
@HERE
async def test_nothing_is_deleted_on_the_strength_of_links_that_are_not_committed(
    mill: Mill, store: Store, folder: Folder
) -> None:
    await mill.run()
    watched, calls = wrapped(store)
    lifecycle = Lifecycle(store=watched)
    folder.edit("a.md", "See", "Look at")
    await mill.job(stages=1).run()
    linker = LinkFiles(lifecycle, "linker", Tally())
    nodes = await lifecycle.claim(states.LINK, labels=["File"], limit=10, owner="linker", seconds=HOUR)
    results = [outcome for outcome in await linker.work(nodes) if isinstance(outcome, Result)]
    found = await picture(store)
    [gone] = [Ref(label=key[0], uuid=key[1]) for key in found.nodes if found.names[key] == "b.md"]
    folder.delete("b.md")
    deleting = asyncio.create_task(linker.delete([gone]))
    for _ in range(20):
        await asyncio.sleep(0)
    await lifecycle.complete(results, fence=linker.fence())
    assert not any(batch.deletions for batch in calls.batches)
    await linker.done(results)
    await deleting
    await linker.close()
    await mill.run()
    await assert_equal_to_a_rebuild(mill, store)


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_what_cannot_be_read_back_is_the_error_of_its_own_file_and_forgetting_it_helps(
    mill: Mill, store: Store, folder: Folder
) -> None:
    await mill.run()
    await damage(store, "b.md", "_manifest")
    folder.edit("a.md", "See", "Look at")
    folder.edit("b.md", "Short.", "Shorter.")
    await mill.run()
    found = await picture(store)
    assert found.states("File") == {"a.md": "ready", "b.md": "error", "c.py": "ready"}
    assert found.of("File")["b.md"]["_errorType"] == "parse"
    await forget(store, "notes/b.md")
    await mill.run()
    await assert_equal_to_a_rebuild(mill, store)


@HERE
async def test_a_draft_that_cannot_be_read_back_is_an_error_of_linking(
    mill: Mill, store: Store, folder: Folder
) -> None:
    await mill.job(stages=1).run()
    await damage(store, "b.md", "_draft")
    await mill.run()
    found = await picture(store)
    assert found.states("File") == {"a.md": "ready", "b.md": "error", "c.py": "ready"}
    assert found.of("File")["b.md"]["_errorType"] == "link"


@HERE
async def test_the_links_of_a_batch_are_whole_although_one_of_its_files_cannot_be_read_back(
    mill: Mill, store: Store, folder: Folder
) -> None:
    """In the order of their claims, a file that cannot be linked stands between two that refer to each other."""
    for name in "pqrstu":
        folder.write(f"{name}.md", "".join(f"# {name}{other}\n\n[link]({other}.md)\n\n" for other in "pqrstu"))
    await mill.job(stages=1).run()
    await damage(store, "r.md", "_draft")
    await mill.run()
    links = (await picture(store)).links("LINKS_TO")
    whole = set("pqstu")
    assert {name for name, _ in links if name[0] in whole} == {f"{one}{other}" for one in whole for other in whole}


@pytest.mark.long
@HERE
async def test_what_the_store_refused_of_a_file_is_written_when_it_is_linked_again(
    mill: Mill, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.job.Lifecycle", partial(Lifecycle, policy=AT_ONCE))
    refusals = iter([MissingNode("not there"), MissingNode("not there either")])

    async def refusing(real: Any, batch: Batch) -> None:
        if link_token(batch) and (error := next(refusals, None)):
            raise error
        await real(batch)

    mill.store, _ = wrapped(store, commit=refusing)
    await mill.run()
    await Lifecycle(store=store).retry_errors()
    mill.store = store
    await mill.run()
    await assert_equal_to_a_rebuild(mill, store)


async def damage(store: Store, path: str, name: str) -> None:
    found = await picture(store)
    [key] = [key for key in found.nodes if found.names[key] == path]
    await store.commit(Batch(updates=[Update(node=Ref(label=key[0], uuid=key[1]), properties={name: "{not json"})]))


@HERE
async def test_a_file_that_kills_its_process_is_in_error_and_the_others_are_ready(
    mill: Mill, store: Store, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.files.ingestion.Pool", Pool)
    monkeypatch.setattr("orchestrator.files.ingestion.make", make_or_die)
    monkeypatch.setattr("orchestrator.job.Lifecycle", partial(Lifecycle, policy=AT_ONCE))
    folder.write("deadly.md", "# Deadly\n")
    await mill.run()
    found = await picture(store)
    assert found.states("File") == {"a.md": "ready", "b.md": "ready", "c.py": "ready", "deadly.md": "error"}
    deadly = found.of("File")["deadly.md"]
    assert (deadly["_errorClass"], deadly["_retryCount"]) == ("transient", AT_ONCE.limit)
    assert f"exit code {EXIT}" in deadly["_errorMessage"]


@HERE_AND_ON_A_SERVER
async def test_a_job_that_is_stopped_leaves_nothing_in_hand_and_the_next_goes_on_from_there(
    mill: Mill, store: Store, folder: Folder
) -> None:
    for number in range(20):
        folder.write(f"{number}.md", f"# Page {number}\n\n[next]({number + 1}.md)\n")

    async def stopping(real: Any, batch: Batch) -> None:
        await real(batch)
        if link_token(batch):
            job.stop()

    mill.store, _ = wrapped(store, commit=stopping)
    job = mill.job()
    report = await job.run()
    assert report.stopped
    assert report.standing.in_flight == 0
    mill.store = store
    assert not (await mill.run()).stopped
    await assert_equal_to_a_rebuild(mill, store)


@pytest.mark.long
@HERE
async def test_a_job_lives_through_outages_of_the_store_in_every_call(
    mill: Mill, store: Store, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_FIRST_WAIT", 0.005)
    calls: Counter[str] = Counter()

    async def away_at_first(name: str, real: Any, *arguments: Any, **options: Any) -> Any:
        calls[name] += 1
        if calls[name] <= 2:
            raise StoreUnavailable("away")
        return await real(*arguments, **options)

    async def asked(real: Any, question: str, *parameters: Any) -> Any:
        alone = question in {"roots", "pace"}  # before the work begins, and after it has ended
        return await (real(question, *parameters) if alone else away_at_first(question, real, question, *parameters))

    verbs = {name: partial(away_at_first, name) for name in ("claim", "nodes", "hold", "renew", "heartbeat")}
    mill.store, _ = wrapped(store, ask=asked, **verbs)
    report = await mill.run()
    assert set(report.standing.states) == {"ready"}
    mill.store = store
    await assert_equal_to_a_rebuild(mill, store)
