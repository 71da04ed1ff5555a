"""Workers of some stages: what they do, what they need, and when nothing is left for them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from graph_stores.model import Node
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.files.roots import Source
from orchestrator.job import Job, Plan
from orchestrator.lifecycle import Lifecycle
from orchestrator.stages import STAGES, does, is_over
from orchestrator.states import Stage
from pipelines.embedding import EmbedderChoice
from tests.conformance.examples import article, bring, claim, file, node, write
from tests.conformance.folders import WORD_LLAMA, Folder, opened, quicken
from tests.conformance.pictures import differences, picture
from tests.conformance.place import HERE_AND_ON_A_SERVER, Place
from tests.conformance.scripted_step import Scripted

NOTES = {"a.md": "# One\n\nThe stone turns.\n\n# Two\n\nSee [b](b.md).\n", "b.md": "# Three\n\nSails turn the shaft.\n"}
MISSING = EmbedderChoice(name="a model that this machine does not have")
# For which of them a node in the state, waiting or in hand, is still something to come.
AHEAD = {
    "File": [({"parse", "link"}), ({"link"}), set()],
    "Article": [({"parse", "link"}), ({"parse", "link"}), set()],
}


async def busy(store: Store) -> set[str]:
    """The stages that a worker of that one alone would not be done with."""
    return {name for name in STAGES[:-1] if not await is_over(store, {name})}


@HERE_AND_ON_A_SERVER
@pytest.mark.parametrize(("label", "new"), [("File", file), ("Article", article)])
async def test_a_worker_is_done_when_nothing_is_on_its_way_to_its_stages(
    store: Store, lifecycle: Lifecycle, label: str, new: Callable[[str], Node]
) -> None:
    await write(store, nodes=[new("a")])
    seen = []
    for stage in (states.PARSE, states.LINK):
        waiting = await busy(store)
        rows = await claim(lifecycle, stage, labels=[label])
        assert await busy(store) == waiting, "what is in hand may come back"
        await lifecycle.release(rows)
        await bring(lifecycle, label, stage)
        seen.append(waiting)
    assert [*seen, await busy(store)] == AHEAD[label]


@HERE_AND_ON_A_SERVER
async def test_what_is_not_read_yet_may_bring_something_for_everybody(store: Store, lifecycle: Lifecycle) -> None:
    assert await busy(store) == set()
    await write(store, nodes=[node("Partition", "p")])
    assert await busy(store) == {"read", "parse", "link"}
    await claim(lifecycle, labels=["Partition"])
    assert await busy(store) == {"read", "parse", "link"}


def test_a_step_is_of_the_stage_that_people_would_say() -> None:
    def of(stage: Stage, label: str) -> list[str]:
        return [name for name in STAGES if does({name}, Scripted(stage=stage, labels=[label]))]

    assert of(states.PARSE, "Partition") == ["read"]
    assert of(states.PARSE, "File") == ["parse"]
    assert of(states.LINK, "Article") == ["link"]
    assert of(states.EMBED, "Section") == ["embed"]
    assert of(states.LINK, "IngestionRun") == list(STAGES)


@HERE_AND_ON_A_SERVER
async def test_workers_of_one_stage_each_make_the_same_graph_as_one_of_all(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken(monkeypatch, tmp_path / "cache")
    store = await opened(place)
    folder = Folder(tmp_path / "notes")
    for path, text in NOTES.items():
        folder.write(path, text)
    sources = [Source(path=folder.place)]
    seen = []
    for plan in (
        Plan(sources=sources, stages=frozenset({"read", "parse"}), embedder=MISSING),
        Plan(stages=frozenset({"link"}), embedder=MISSING),
        Plan(stages=frozenset({"embed"}), embedder=WORD_LLAMA),
    ):
        report = await Job(store, plan).run()
        seen.append(dict(report.standing.labels["MarkdownSection"]))
    assert seen == [{"parsed": 3}, {"linked": 3}, {"ready": 3}]
    found = await picture(store)
    again = await Job(store, Plan(sources=sources, embedder=WORD_LLAMA)).run()
    assert (again.tally.unchanged, again.tally.parsed, again.tally.embedded) == (2, 0, 0)
    assert differences(await picture(store), found) == []
