"""The default embedder: WordLlama's static vectors, which are in its wheel. Works offline and needs no key.

Loads with the library's own loader; tokenizes and pools here, because the library pads each batch to its longest text
and works on the padding too: without it the same vectors cost less, and a text is tokenized once for its length and
its vector.
"""

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.embedding.embedder import Appetite
from pipelines.embedding.splitting import TokenSplitter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODEL = "l2_supercat_256"
_READS = 512
# What pieces() has tokenized is kept for embed(), which comes next; this many are enough for any batch.
_REMEMBERED = 4096


class WordLlamaEmbedder:
    provider = "wordllama"
    model = MODEL
    appetite = Appetite(texts=256, characters=1_000_000, calls=2)

    def __init__(self, loaded: Any, executor: ThreadPoolExecutor) -> None:
        self._table: NDArray[np.float32] = loaded.embedding
        self._splitter = TokenSplitter(loaded.tokenizer, _READS)
        self._executor = executor
        self._tokens: dict[str, list[int]] = {}
        self.dimension = int(self._table.shape[1])

    async def embed(self, texts: Sequence[str]) -> "list[NDArray[np.float32]]":
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._embed, texts)

    async def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._pieces, texts)

    async def close(self) -> None:
        await asyncio.to_thread(self._executor.shutdown, cancel_futures=True)

    def _pieces(self, texts: Sequence[str]) -> list[list[str]]:
        if len(self._tokens) > _REMEMBERED:
            self._tokens.clear()
        # A token is at least one byte, and one more stands for the beginning.
        unsure = [text for text in texts if len(text.encode()) >= _READS]
        cut: dict[str, list[str]] = {}
        for text, encoding in zip(unsure, self._splitter.encode(unsure), strict=True):
            if len(encoding.ids) > _READS:
                cut[text] = self._splitter.cut(text)
            else:
                self._tokens[text] = encoding.ids
        return [cut.get(text) or [text] for text in texts]

    def _embed(self, texts: Sequence[str]) -> "list[NDArray[np.float32]]":
        import numpy as np

        unknown = [text for text in texts if text not in self._tokens]
        fresh = {text: encoding.ids for text, encoding in zip(unknown, self._splitter.encode(unknown), strict=True)}
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for place, text in enumerate(texts):
            if tokens := fresh.get(text) or self._tokens.pop(text, None):
                np.mean(self._table[tokens], axis=0, out=rows[place])
        return list(rows)


async def open_word_llama() -> WordLlamaEmbedder:
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="wordllama")
    try:
        loaded = await asyncio.get_running_loop().run_in_executor(executor, _load)
        return WordLlamaEmbedder(loaded, executor)
    except BaseException:
        executor.shutdown(wait=False)
        raise


def _load() -> Any:
    # The library configures logging for the whole process when it is imported, unless somebody has.
    quiet = logging.NullHandler()
    logging.getLogger().addHandler(quiet)
    try:
        import wordllama
    finally:
        logging.getLogger().removeHandler(quiet)
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
