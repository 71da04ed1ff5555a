"""A change of the embedder that is interrupted or runs beside a worker: whatever is ready has a vector of one model."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graph_stores.model import VectorSpace
from graph_stores.protocol import Store
from orchestrator.checks import problems
from orchestrator.embed import EmbedTexts
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.search import search
from orchestrator.states import EMBED
from orchestrator.tally import Tally
from pipelines.embedding import Texts
from tests.conformance.folders import LETTERS, Folder, Letters, Mill, Model, Models, quicken
from tests.conformance.pictures import picture
from tests.conformance.place import HERE_AND_ON_A_SERVER
from tests.conformance.wrapped import wrapped

Change = Callable[[VectorSpace], Awaitable[None]]
LONG = "Where it begins, and begins again. " * 150


class Killed(Exception):
    pass


class MoreLetters(Letters):
    """The same model name with vectors of another length."""

    dimension = 9

    async def embed(self, texts: Sequence[str]) -> Any:
        return [np.append(row, np.float32(1)) for row in await super().embed(texts)]

    async def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        return [[text[:1000], text[1000:]] if len(text) > 1000 else [text] for text in texts]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Models:
    return quicken(monkeypatch, tmp_path / "cache")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "notes")
    folder.write("long.md", f"# Long\n\n{LONG}\n")
    folder.write("short.md", "# Short\n\nTurn the wheel.\n")
    return folder


@pytest.fixture
def mill(store: Store, folder: Folder) -> Mill:
    return Mill(store=store, roots=[folder])


async def assert_all_is_of(mill: Mill, model: Model) -> None:
    """No problem, all vectors of the model, and every text found with it."""
    assert await problems(mill.store) == []
    found = await picture(mill.store)
    vectors = [node for label in ("MarkdownSection", "Chunk") for node in found.of(label).values()]
    assert {(node["_state"], node["_embeddingModel"], len(node["embedding"])) for node in vectors} == {
        ("ready", model.model, model.dimension)
    }
    assert {each.name for each in await search(mill.store, model, "wheel", limit=9)} == {"Long", "Short"}


@HERE_AND_ON_A_SERVER
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_job_killed_at_a_change_of_model_leaves_nothing_ready_without_a_vector_of_the_graphs_model(
    mill: Mill, store: Store, quick: Models, moment: str
) -> None:
    """Chunks stayed ready with the old model's name and no vector, and files stayed ready over texts that wait."""
    await mill.run()
    assert len((await picture(store)).of("Chunk")) > 1

    async def killed(change: Change, space: VectorSpace) -> None:
        if moment == "after":
            await change(space)
        raise Killed

    mill.store, _ = wrapped(store, use_vector_space=killed)
    with pytest.raises(Killed):
        await mill.run(LETTERS)
    assert await problems(store) == []
    model = quick.letters if moment == "after" else quick.word_llama
    assert await search(store, model, "wheel", limit=9) == []
    mill.store = store
    await mill.run(LETTERS)
    await assert_all_is_of(mill, quick.letters)


@HERE_AND_ON_A_SERVER
async def test_chunks_of_a_text_in_error_do_not_outlive_the_model_that_made_them(
    mill: Mill, store: Store, folder: Folder, quick: Models
) -> None:
    await mill.run()
    quick.word_llama.refused = quick.letters.refused = "no word"
    folder.edit("long.md", "# Long\n", "# Long\n\nThere is no word for it.\n")
    for embedder in (None, LETTERS):
        report = await (mill.run(embedder) if embedder else mill.run())
        assert report.standing.labels["MarkdownSection"]["error"] == 1
        assert await problems(store) == []
    assert (await picture(store)).of("Chunk") == {}
    quick.letters.refused = None
    await Lifecycle(store=store).retry_errors()
    await mill.run(LETTERS)
    await assert_all_is_of(mill, quick.letters)


@HERE_AND_ON_A_SERVER
@pytest.mark.parametrize("end", ["comes to its end", "is killed then"])
@pytest.mark.parametrize("name", ["another name", "the same name"])
async def test_what_a_worker_embeds_until_the_model_is_changed_is_embedded_again(
    mill: Mill, store: Store, quick: Models, name: str, end: str
) -> None:
    """Such texts stayed ready without a vector; if both models had the same name, no later job found them."""
    if name == "the same name":
        await mill.run(LETTERS)
        former = Model(Letters())
        quick.letters._embedder, quick.letters.dimension = MoreLetters(), MoreLetters.dimension
    else:
        await mill.run()
        former = quick.word_llama

    async def worked_until(change: Change, space: VectorSpace) -> None:
        step, lifecycle = EmbedTexts(Texts(former), former, Tally()), Lifecycle(store=store)
        texts = await lifecycle.claim(EMBED, labels=step.labels, limit=9, owner="a worker", seconds=60.0)
        results = [each for each in await step.work(texts) if isinstance(each, Result)]
        assert len(results) == 2
        await lifecycle.complete(results)
        await change(space)
        if end == "is killed then":
            raise Killed

    mill.store, _ = wrapped(store, use_vector_space=worked_until)
    if end == "is killed then":
        with pytest.raises(Killed):
            await mill.run(LETTERS)
        mill.store = store
    await mill.run(LETTERS)
    await assert_all_is_of(mill, quick.letters)
