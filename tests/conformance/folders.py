"""A real folder that is edited as people edit, and the mill that is run over it in this process."""

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from graph_stores.protocol import Store
from orchestrator.files.link import LinkFiles
from orchestrator.files.roots import Source, read_roots
from orchestrator.files.scan import Scanner
from orchestrator.job import Job, Plan, Report
from orchestrator.lifecycle import Lifecycle
from orchestrator.stages import READ
from orchestrator.states import STAGES
from orchestrator.tally import Tally
from pipelines.embedding import Appetite, Embedder, EmbedderChoice, TextRefused, open_embedder
from tests.conformance.place import Place

T = TypeVar("T")
R = TypeVar("R")

WORD_LLAMA = EmbedderChoice()
LETTERS = EmbedderChoice(name="letters")
NONE = EmbedderChoice(name="none")
# Long ago, and a second apart: no two edits ever have the same time, however quick the machine is.
_TICKS = count(1_600_000_000)


@dataclass(frozen=True, slots=True)
class Folder:
    place: Path

    def __post_init__(self) -> None:
        self.place.mkdir(parents=True, exist_ok=True)

    @property
    def paths(self) -> list[str]:
        return sorted(each.relative_to(self.place).as_posix() for each in self.place.rglob("*") if each.is_file())

    def at(self, path: str) -> Path:
        return self.place / path

    def write(self, path: str, content: str | bytes) -> None:
        place = self.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.touch(path)

    def edit(self, path: str, old: str, new: str) -> None:
        text = self.at(path).read_text(encoding="utf-8")
        assert old in text
        self.write(path, text.replace(old, new))

    def touch(self, path: str) -> None:
        now = next(_TICKS) * 10**9
        os.utime(self.at(path), ns=(now, now))

    def move(self, path: str, to: str) -> None:
        self.at(to).parent.mkdir(parents=True, exist_ok=True)
        self.at(path).rename(self.at(to))
        self._prune()

    def swap(self, path: str, other: str) -> None:
        aside = self.at(f"{path}.aside")
        self.at(path).rename(aside)
        self.at(other).rename(self.at(path))
        aside.rename(self.at(other))

    def delete(self, path: str) -> None:
        self.at(path).unlink()
        self._prune()

    def checkout(self, files: Mapping[str, str | bytes]) -> None:
        """Another branch: nothing but these files is left; those that were there already are not touched."""
        for path in set(self.paths) - set(files):
            self.delete(path)
        for path, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            if not self.at(path).is_file() or self.at(path).read_bytes() != data:
                self.write(path, data)

    def empty(self) -> None:
        for each in self.place.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()

    def _prune(self) -> None:
        """Git leaves no empty folder behind either."""
        for folder in sorted((each for each in self.place.rglob("*") if each.is_dir()), reverse=True):
            if not any(folder.iterdir()):
                folder.rmdir()


# One, because the grammars of source code are not made for several threads: in a pool each process has its own.
_PARSER = ThreadPoolExecutor(1, thread_name_prefix="parser")


class InProcess(Generic[T, R]):
    """Does what a pool does, without the second that it takes a process to start."""

    def __init__(self, work: Callable[[T], R], **_: object) -> None:
        self._work = work

    async def start(self) -> None: ...

    async def run(self, task: T) -> R:
        return await asyncio.get_running_loop().run_in_executor(_PARSER, self._work, task)

    async def close(self) -> None: ...


@cache
def _word_llama() -> Embedder:
    """Loaded once for all tests."""
    with ThreadPoolExecutor(1) as elsewhere:  # where no loop is running
        embedder = elsewhere.submit(asyncio.run, open_embedder(WORD_LLAMA)).result()
    assert embedder is not None
    return embedder


class Model:
    """The embedder of many jobs: none of them closes it, and it remembers what it was given."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.given: list[str] = []
        self.refused: str | None = None
        self.provider, self.model = embedder.provider, embedder.model
        self.dimension, self.appetite = embedder.dimension, embedder.appetite

    async def embed(self, texts: Sequence[str]) -> Any:
        if self.refused and any(self.refused in text for text in texts):
            raise TextRefused(f"there is {self.refused} in it")
        self.given += texts
        return await self._embedder.embed(texts)

    async def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        return await self._embedder.pieces(texts)

    async def close(self) -> None: ...


class Letters:
    """Another space, of eight numbers: how often some letters are in a text."""

    provider, model, dimension = "letters", "vowels", 8
    appetite = Appetite(texts=64, characters=10**6, calls=1)

    async def embed(self, texts: Sequence[str]) -> Any:
        import numpy as np

        return [np.array([1 + text.count(each) for each in "aeiouxyz"], dtype=np.float32) for text in texts]

    async def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        return [[text] for text in texts]

    async def close(self) -> None: ...


@dataclass(slots=True, kw_only=True)
class Mill:
    """Runs jobs on one store. Files are parsed in this process, and the embedder is the real one, loaded once."""

    store: Store
    roots: Sequence[Folder | Source]
    said: list[str] = field(default_factory=list)

    async def run(self, embedder: EmbedderChoice = WORD_LLAMA, **plan: Any) -> Report:
        return await self.job(embedder, **plan).run()

    async def scan(self) -> None:
        """Only look: what changed waits to be parsed, and what is gone is gone."""
        lifecycle = Lifecycle(store=self.store)
        linker = LinkFiles(lifecycle, "a test", Tally())
        for root in (await read_roots(self.store)).values():
            if root.exists:
                await Scanner(lifecycle, linker, Tally(), own=None).scan(root)
        await linker.close()

    def job(self, embedder: EmbedderChoice = WORD_LLAMA, *, stages: int = 3, **plan: Any) -> Job:
        """With fewer stages the job ends before the others have begun."""
        sources = [Source(path=each.place) if isinstance(each, Folder) else each for each in self.roots]
        names = frozenset({READ, *(stage.name for stage in STAGES[:stages])})
        wanted = Plan(sources=sources, embedder=embedder, stages=names, **plan)
        return Job(self.store, wanted, say=self.said.append)


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    word_llama: Model
    letters: Model


def quicken(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Models:
    """No process and no model is started for each job of a test; what a job remembers stays in the test's folder."""
    models = Models(word_llama=Model(_word_llama()), letters=Model(Letters()))
    by_choice = {WORD_LLAMA: models.word_llama, LETTERS: models.letters, NONE: None}

    async def opened(choice: EmbedderChoice) -> Embedder | None:
        return by_choice[choice]

    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr("orchestrator.job.open_embedder", opened)
    monkeypatch.setattr("orchestrator.files.ingestion.Pool", InProcess)
    # What is waited for in a large project would be most of the time of a small one.
    monkeypatch.setattr("orchestrator.job._SHORTEST_LOOK", 0.005)
    return models


async def opened(place: Place) -> Store:
    store = await place.open(create=True)
    await store.migrate()
    return store
