"""Texts to vectors with the real weights of the default model: remembered, shared, cut, and never asked for twice."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.embedding import (
    Appetite,
    Embedded,
    Embedder,
    EmbedderChoice,
    EmbedderError,
    EmbedderMisuse,
    Texts,
    VectorCache,
    WrongVector,
    name_of,
    open_embedder,
    text_hash,
    too_short,
)
from pipelines.embedding.vectors import Recent, mean, row

ROOT = Path(__file__).parents[2]
LONG = "\n\n".join(
    f"Paragraph {number} tells of graphs, nodes and edges, and of what they mean." for number in range(90)
)


@pytest.fixture(scope="module")
def wordllama() -> Iterator[Embedder]:
    embedder = asyncio.run(open_embedder(EmbedderChoice()))
    assert embedder
    yield embedder
    asyncio.run(embedder.close())


@pytest.fixture
async def cache(tmp_path: Path) -> AsyncIterator[VectorCache]:
    cache = await VectorCache.open(tmp_path / "vectors.sqlite3")
    yield cache
    await cache.close()


class Watched:
    """A real embedder that tells what it was given."""

    def __init__(self, embedder: Embedder, **appetite: int) -> None:
        self.provider, self.model, self.dimension = embedder.provider, embedder.model, embedder.dimension
        self.appetite = Appetite(**{"texts": 256, "characters": 1_000_000, "calls": 2} | appetite)
        self.batches: list[list[str]] = []
        self.cuts: list[str] = []
        self._embedder = embedder

    async def embed(self, texts: Sequence[str]) -> Sequence[Any]:
        self.batches.append(list(texts))
        return await self._embedder.embed(texts)

    async def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        self.cuts += texts
        return await self._embedder.pieces(texts)

    async def close(self) -> None: ...


def vector(answer: Embedded | EmbedderError) -> list[float]:
    assert isinstance(answer, Embedded), answer
    return list(answer.vector)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return float(np.dot(one, other) / np.linalg.norm(one) / np.linalg.norm(other))


async def test_the_vectors_are_those_that_the_library_makes(wordllama: Embedder) -> None:
    import wordllama as library

    texts = ["a", "Graphs of nodes and edges.", "def f(x):\n    return x", "水とグラフ", "x " * 400]
    direct = library.WordLlama.load(cache_dir=Path(library.__file__).parent, disable_download=True).embed(texts)
    answers = await Texts(wordllama).embed(texts)
    assert np.allclose([vector(answer) for answer in answers], direct, atol=1e-6)


async def test_texts_that_mean_the_same_are_nearer(wordllama: Embedder) -> None:
    cat, feline, database = map(
        vector,
        await Texts(wordllama).embed(["the cat sleeps", "a kitten is asleep", "commit the database transaction"]),
    )
    assert cosine(cat, feline) > cosine(cat, database)


async def test_identical_texts_are_embedded_once(wordllama: Embedder) -> None:
    watched = Watched(wordllama)
    texts = Texts(watched)
    answers = await texts.embed(["same", "other", "same"])
    again = await texts.embed(["same"])
    assert sorted(text for batch in watched.batches for text in batch) == ["other", "same"]
    assert texts.embedded == 2
    assert answers[0] == answers[2] and not answers[0].cached  # type: ignore[union-attr]
    assert again[0] == Embedded(vector=vector(answers[0]), cached=True)


async def test_identical_texts_of_concurrent_calls_are_embedded_once(wordllama: Embedder) -> None:
    watched = Watched(wordllama, texts=2)
    texts = Texts(watched)
    asked = [f"text {number}" for number in range(10)]
    answers = await asyncio.gather(*(texts.embed(asked[start:] + asked[:start]) for start in range(10)))
    assert texts.embedded == 10
    assert sorted(text for batch in watched.batches for text in batch) == asked
    for start, answer in enumerate(answers):
        assert list(map(vector, answer)) == list(map(vector, answers[0][start:] + answers[0][:start]))


async def test_a_text_that_another_call_finished_meanwhile_is_not_embedded_again(wordllama: Embedder) -> None:
    class Slow(Watched):
        async def pieces(self, texts: Sequence[str]) -> list[list[str]]:
            cut = await super().pieces(texts)
            if len(self.cuts) > 1:
                cutting.set()
                await finished.wait()
            return cut

    cutting, finished = asyncio.Event(), asyncio.Event()
    slow = Slow(wordllama)
    texts = Texts(slow)
    slow.cuts.append("as if it were the second call")
    second = asyncio.create_task(texts.embed(["shared"]))
    await cutting.wait()
    slow.cuts.clear()
    first = await texts.embed(["shared"])
    finished.set()
    assert vector((await second)[0]) == vector(first[0])
    assert slow.batches == [["shared"]] and texts.embedded == 1


async def test_a_file_of_vectors_saves_the_model_the_work(wordllama: Embedder, cache: VectorCache) -> None:
    asked = ["one", "two", LONG]
    first = Texts(wordllama, cache)
    before = await first.embed(asked)
    watched = Watched(wordllama)
    second = Texts(watched, cache)
    after = await second.embed([*asked, "three"])
    assert list(map(vector, after[:3])) == list(map(vector, before))
    assert [answer.cached for answer in after] == [True, True, True, False]  # type: ignore[union-attr]
    assert [answer.pieces for answer in after[:3]] == [answer.pieces for answer in before]  # type: ignore[union-attr]
    assert watched.batches == [["three"]] and second.embedded == 1


async def test_a_vector_in_the_file_that_cannot_be_one_is_made_again(wordllama: Embedder, cache: VectorCache) -> None:
    texts = Texts(wordllama, cache)
    await cache.put_many(texts._space, {text_hash("one"): b"\xff" * 4 * wordllama.dimension})
    [answer] = await texts.embed(["one"])
    assert texts.embedded == 1 and np.isfinite(vector(answer)).all()


async def test_a_job_that_broke_off_finds_what_it_had_made(wordllama: Embedder, cache: VectorCache) -> None:
    class Broken(Watched):
        async def embed(self, texts: Sequence[str]) -> Sequence[Any]:
            if len(self.batches) == 3:
                raise MemoryError
            return await super().embed(texts)

    asked = [f"text {number}" for number in range(10)]
    with pytest.raises(MemoryError):
        await Texts(Broken(wordllama, texts=2, calls=1), cache).embed(asked)
    texts = Texts(wordllama, cache)
    await texts.embed(asked)
    assert texts.embedded == 4, "two batches were not made, the other three are in the file"


async def test_batches_hold_texts_of_like_length_within_their_bounds(wordllama: Embedder) -> None:
    watched = Watched(wordllama, texts=3, characters=50, calls=1)
    await Texts(watched).embed(["x" * length for length in (5, 60, 20, 6, 30, 7, 21, 8)])
    assert [[len(text) for text in batch] for batch in watched.batches] == [[60], [30], [21, 20, 8], [7, 6, 5]]


async def test_a_long_text_becomes_pieces_and_their_mean(wordllama: Embedder) -> None:
    [whole, answer] = await Texts(wordllama).embed(["short", LONG])
    assert isinstance(whole, Embedded) and whole.pieces == ()
    assert isinstance(answer, Embedded) and len(answer.pieces) > 1
    assert "".join("".join(piece.text for piece in answer.pieces).split()) == "".join(LONG.split())
    assert np.linalg.norm(answer.vector) == pytest.approx(1.0, abs=1e-5)
    middle = np.mean([piece.vector for piece in answer.pieces], axis=0)
    assert cosine(answer.vector, middle.tolist()) == pytest.approx(1.0, abs=1e-5)
    assert [piece.text.startswith("Paragraph") for piece in answer.pieces] == [True] * len(answer.pieces)


async def test_a_piece_that_comes_twice_is_kept_twice_and_embedded_once(wordllama: Embedder) -> None:
    paragraph = "graph " * 500
    texts = Texts(wordllama)
    [answer] = await texts.embed([f"{paragraph}\n\n{paragraph}\n\n{paragraph}"])
    assert isinstance(answer, Embedded)
    assert len(answer.pieces) == 3 and len({piece.text for piece in answer.pieces}) == 1
    assert texts.embedded == 1


async def test_a_piece_that_is_a_text_elsewhere_is_embedded_once(wordllama: Embedder) -> None:
    texts = Texts(wordllama)
    [answer] = await texts.embed([LONG])
    assert isinstance(answer, Embedded)
    before = texts.embedded
    [again] = await texts.embed([answer.pieces[0].text])
    assert texts.embedded == before and vector(again) == answer.pieces[0].vector


async def test_a_text_that_has_no_vector_is_wrong_alone(wordllama: Embedder) -> None:
    empty, right = await Texts(wordllama).embed(["", "a word"])
    assert isinstance(empty, WrongVector) and "is zero" in empty.message
    assert isinstance(right, Embedded)


async def test_nothing_is_asked_for_nothing(wordllama: Embedder) -> None:
    watched = Watched(wordllama)
    assert await Texts(watched).embed([]) == []
    assert watched.batches == [] and watched.cuts == []


async def test_a_known_text_is_not_cut_again(wordllama: Embedder) -> None:
    watched = Watched(wordllama)
    texts = Texts(watched)
    await texts.embed(["a text"])
    await texts.embed(["a text", "another"])
    assert watched.cuts == ["a text", "another"]


# How long a random text takes depends on the machine; that it ends well does not.
@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=3000), max_size=4))
def test_any_text_has_a_vector_or_a_reason_and_loses_nothing(wordllama: Embedder, given_texts: list[str]) -> None:
    async def run() -> list[Embedded | EmbedderError]:
        return await Texts(wordllama).embed(given_texts)

    for text, answer in zip(given_texts, asyncio.run(run()), strict=True):
        if isinstance(answer, Embedded):
            assert len(answer.vector) == wordllama.dimension and np.isfinite(answer.vector).all()
            if answer.pieces:
                assert "".join("".join(piece.text for piece in answer.pieces).split()) == "".join(text.split())
        else:
            assert not text.strip() and isinstance(answer, WrongVector)


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="aé水👩\u200d \n.", min_size=300, max_size=4000))
def test_no_piece_is_longer_than_the_model_reads(wordllama: Embedder, text: str) -> None:
    [pieces] = asyncio.run(wordllama.pieces([text]))
    encode = wordllama._splitter.encode  # type: ignore[attr-defined]
    assert len(pieces) == 1 or max(len(encoding.ids) for encoding in encode(pieces)) <= 512
    assert len(encode([text])[0].ids) <= 512 or len(pieces) > 1 or len(text.strip()) < len(text)


async def test_half_a_character_is_embedded_as_a_whole_one(wordllama: Embedder) -> None:
    broken, mended = await Texts(wordllama).embed(["half \ud83d of it", "half ? of it"])
    assert vector(broken) == vector(mended)
    assert text_hash("half \ud83d of it") == text_hash("half ? of it")


def test_the_hash_is_of_every_character() -> None:
    assert len({text_hash(text) for text in ["a", "A", "a ", " a", "a\n", "á", "a\u0301"]}) == 7


@pytest.mark.parametrize(
    "text", ["", " \n\t", "---", "***", "| --- | --- |", "}", "<br/>", "&nbsp;", "<p></p>", "…", "```", "🎉", "___"]
)
def test_a_text_without_letters_or_digits_is_too_short(text: str) -> None:
    assert too_short(text)


@pytest.mark.parametrize(
    "text", ["a", "1", "水", "# Install", "é", "<b>x</b>", "a < b", "x > y", "}\nend", "if (a<b && c>d)"]
)
def test_a_text_with_a_letter_or_digit_is_not(text: str) -> None:
    assert not too_short(text)


def test_looking_for_markup_takes_no_longer_than_the_text() -> None:
    """These take minutes where each beginning of a tag is followed to the end of the text."""
    assert too_short("<" * 1_000_000)
    assert too_short("&" * 1_000_000)
    assert too_short("<!--" * 250_000)


def test_vectors_in_memory_are_bounded() -> None:
    recent = Recent(4 * 4 * 3)
    for number in range(3):
        recent.put(str(number), row([1.0] * 4))
    recent.get("0")
    recent.put("3", row([1.0] * 4))
    recent.put("3", row([2.0] * 4))
    assert [each for each in "0123" if recent.get(each) is not None] == ["0", "2", "3"]


def test_pieces_that_point_in_opposite_directions_have_no_mean() -> None:
    assert isinstance(mean([row([1.0, 0.0]), row([-1.0, 0.0])]), WrongVector)


async def test_none_is_no_embedder() -> None:
    assert await open_embedder(EmbedderChoice(name="none")) is None


@pytest.mark.parametrize(
    ("name", "told", "hint"),
    [
        ("wordlama", "no embedder 'wordlama'", "did you mean wordllama?"),
        ("OpenAI:x", "no embedder 'OpenAI:x'", "did you mean openai:<model>?"),
        ("sentence_transformers:x", "no embedder", "did you mean sentence-transformers:<model or folder>?"),
        ("", "no embedder ''", "take wordllama"),
        ("zzz", "no embedder 'zzz'", "take wordllama"),
        ("openai", "names no model", "write it as openai:<model>"),
        ("openai:", "names no model", "write it as openai:<model>"),
        ("sentence-transformers", "names no model", "write it as sentence-transformers:<model or folder>"),
        ("wordllama:big", "takes no model", "write it as wordllama"),
        ("none:", "takes no model", "write it as none"),
    ],
)
async def test_a_wrong_name_is_refused_with_a_suggestion(name: str, told: str, hint: str) -> None:
    with pytest.raises(EmbedderMisuse) as failure:
        await open_embedder(EmbedderChoice(name=name))
    assert told in failure.value.message and hint in failure.value.hint


@pytest.mark.parametrize(
    ("provider", "model", "name"),
    [
        ("wordllama", "l2_supercat_256", "wordllama"),
        ("openai", "a/b:c", "openai:a/b:c"),
        ("sentence-transformers", "/models/x", "sentence-transformers:/models/x"),
    ],
)
def test_a_space_names_the_embedder_that_made_it(provider: str, model: str, name: str) -> None:
    assert name_of(provider=provider, model=model) == name


def test_importing_the_package_loads_no_model_and_opening_one_leaves_logging_alone() -> None:
    program = (
        "import sys, asyncio, logging\n"
        "from pipelines.embedding import EmbedderChoice, open_embedder\n"
        "print([name for name in ('numpy', 'wordllama', 'aiohttp', 'torch', 'tokenizers') if name in sys.modules])\n"
        "embedder = asyncio.run(open_embedder(EmbedderChoice()))\n"
        "asyncio.run(embedder.close())\n"
        "print(logging.getLogger().handlers, logging.getLogger().level == logging.WARNING, 'torch' in sys.modules)\n"
    )
    told = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n[] True False\n"
    assert told.stderr == ""


def test_a_choice_does_not_show_its_key() -> None:
    assert "secret" not in repr(EmbedderChoice(name="openai:x", key="secret"))
