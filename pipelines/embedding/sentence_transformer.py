"""Any model of the sentence-transformers library, by its name on the hub or by a folder on this machine.

The library is an extra, takes seconds to import, and is imported here only. Whether the hub may be asked is for the
library's own settings to say (HF_HUB_OFFLINE).
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_stores.errors import install_command
from pipelines.embedding.embedder import Appetite
from pipelines.embedding.errors import EmbedderMisuse, RequestFailed, TextRefused
from pipelines.embedding.splitting import CharacterSplitter, TokenSplitter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What one pass of the model takes; a call of embed() is several passes.
_PASS = 32
# Where a model does not say how much it reads, or counts it in a way that is not known here.
_READS_TOKENS = 512
_READS_CHARACTERS = 1_000


class SentenceTransformerEmbedder:
    provider = "sentence-transformers"
    appetite = Appetite(texts=8 * _PASS, characters=1_000_000, calls=2)

    def __init__(self, name: str, loaded: Any, executor: ThreadPoolExecutor) -> None:
        self.model = name
        self._loaded = loaded
        self._executor = executor
        self._splitter = _splitter(loaded)
        self.dimension = len(self._embed(["how many numbers"])[0])

    async def embed(self, texts: Sequence[str]) -> "list[NDArray[np.float32]]":
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._embed, texts)

    async def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._splitter.pieces, texts)

    async def close(self) -> None:
        await asyncio.to_thread(self._executor.shutdown, cancel_futures=True)

    def _embed(self, texts: Sequence[str]) -> "list[NDArray[np.float32]]":
        import numpy as np

        try:
            rows = self._loaded.encode(
                list(texts), batch_size=_PASS, show_progress_bar=False, convert_to_numpy=True, precision="float32"
            )
        except RuntimeError as error:  # out of memory, above all
            raise RequestFailed(f"{self.model} failed on {len(texts)} texts: {_first_line(error)}") from error
        except (ValueError, TypeError, LookupError) as error:
            raise TextRefused(f"{self.model} cannot read the text: {_first_line(error)}") from error
        return list(np.asarray(rows, dtype=np.float32))


async def open_sentence_transformer(name: str) -> SentenceTransformerEmbedder:
    name = _resolved(name)
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sentence-transformers")
    try:
        return await asyncio.get_running_loop().run_in_executor(executor, _load, name, executor)
    except BaseException:
        executor.shutdown(wait=False)
        raise


def _resolved(name: str) -> str:
    """The absolute path of a folder, so that it can be opened from anywhere again; the name of a model as it is."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not ((folder / "modules.json").is_file() or (folder / "config.json").is_file()):
            raise EmbedderMisuse(
                f"the folder {name} holds no model: it has neither modules.json nor config.json",
                hint="give the folder that SentenceTransformer.save() wrote, or a model's name on the hub",
            )
        return str(folder.resolve())
    if folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise EmbedderMisuse(f"there is no folder {name}", hint="give a model's folder or its name on the hub")
    return name


def _load(name: str, executor: ThreadPoolExecutor) -> SentenceTransformerEmbedder:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        is_missing = isinstance(error, ModuleNotFoundError) and error.name == "sentence_transformers"
        what = "is not installed" if is_missing else f"cannot be imported: {_first_line(error)}"
        raise EmbedderMisuse(f"sentence-transformers {what}", hint=install_command("sentence-transformers")) from error
    import_module(
        "transformers.utils.logging"
    ).disable_progress_bar()  # progress on a terminal is shown in one place only
    try:
        return SentenceTransformerEmbedder(name, SentenceTransformer(name), executor)
    except (OSError, ValueError, RuntimeError, LookupError, TypeError) as error:
        raise EmbedderMisuse(
            f"the model {name} cannot be loaded: {_first_line(error)}",
            hint="check the name, or that the folder is whole; without network give a folder, or a model loaded before",
        ) from error


def _splitter(loaded: Any) -> TokenSplitter | CharacterSplitter:
    backend = getattr(loaded.tokenizer, "backend_tokenizer", None)
    if backend is None:
        return CharacterSplitter(_READS_CHARACTERS)
    reads = int(loaded.max_seq_length or _READS_TOKENS)
    return TokenSplitter(backend, max(1, reads - backend.num_special_tokens_to_add(is_pair=False)))


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
