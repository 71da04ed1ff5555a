"""Expansions that are run in this process: over a real dump, with pages that are counted and stores that die."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from graph_stores.errors import StoreClosed
from graph_stores.protocol import Store
from orchestrator.job import Job, Plan, Report
from orchestrator.lifecycle import Lifecycle
from orchestrator.retries import RetryPolicy
from orchestrator.wikipedia.order import Order
from orchestrator.wikipedia.wikis import PageSource, SourceKind
from pipelines.embedding import EmbedderChoice
from pipelines.wikipedia.model import Pages, Reading
from tests.conformance.folders import NONE, InProcess, Models, quicken
from tests.conformance.pictures import Picture, picture
from tests.conformance.wikis import Wiki

AT_ONCE_AND_OFTEN = RetryPolicy(limit=9, losses=9, first_delay=0.0, longest_delay=0.0)


class CountedPages:
    """Real pages, and which titles were asked for."""

    def __init__(self, real: Pages, read: Counter[str], looked: Counter[str]) -> None:
        self._real = real
        self._read = read
        self._looked = looked
        self.site = real.site

    async def read(self, titles: Sequence[str]) -> Reading:
        self._read.update(titles)
        return await self._real.read(titles)

    async def look(self, titles: Sequence[str]) -> Reading:
        self._looked.update(titles)
        return await self._real.look(titles)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    models: Models
    read: Counter[str] = field(default_factory=Counter)
    looked: Counter[str] = field(default_factory=Counter)

    def clear(self) -> None:
        self.read.clear()
        self.looked.clear()
        self.models.word_llama.given.clear()


def quicken_expansions(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Counts:
    """No process and no model is started for each job of a test, and no time is spent on waiting for nothing."""
    counts = Counts(models=quicken(monkeypatch, cache))
    real_open = PageSource.open

    async def opened(*arguments: Any, **options: Any) -> Pages:
        return cast(Pages, CountedPages(await real_open(*arguments, **options), counts.read, counts.looked))

    monkeypatch.setattr(PageSource, "open", opened)
    monkeypatch.setattr("orchestrator.wikipedia.expansion.Pool", InProcess)
    monkeypatch.setattr("orchestrator.wikipedia.expansion._SHORTEST_LOOK", 0.005)
    monkeypatch.setattr("orchestrator.holding._LOOK", 0.02)
    return counts


@dataclass(slots=True, kw_only=True)
class Crawler:
    """Runs expansions on one store, from one dump that the wiki is written to."""

    store: Store
    dump: Path
    said: list[str] = field(default_factory=list)

    def publish(self, wiki: Wiki) -> None:
        wiki.save(self.dump)

    async def expand(
        self,
        seeds: Sequence[str] = (),
        *,
        depth: int = 0,
        budget: int | None = None,
        embedder: EmbedderChoice = NONE,
        allow_deletes: bool = False,
        **order: Any,
    ) -> Report:
        source = PageSource(kind=SourceKind.DUMP, location=(str(self.dump),))
        wanted = Order(source=source, titles=list(seeds), depth=depth, budget=budget, **order)
        plan = Plan(expansion=wanted, embedder=embedder, allow_deletes=allow_deletes)
        return await Job(self.store, plan, say=self.said.append).run()

    async def picture(self) -> Picture:
        return comparable(await picture(self.store))

    async def dying(self, calls: int, seeds: Sequence[str], **order: Any) -> bool:
        """An expansion whose process is gone after so many calls of the store; whether it was before the end."""
        mortal = Mortal(self.store, calls)
        with suppress(StoreClosed):
            await Crawler(store=cast(Store, mortal), dump=self.dump, said=self.said).expand(seeds, **order)
            return False
        return True


class Mortal:
    """A store whose every call fails from one on, as if its process had been killed: nothing can be put right."""

    def __init__(self, real: Store, calls: int) -> None:
        self._real = real
        self._left = calls

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if not callable(found):
            return found

        async def call(*arguments: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left < 0:
                raise StoreClosed("the process was killed")
            return await found(*arguments, **options)

        return call


async def bury(store: Store) -> None:
    """What others find out about a process that was killed, once it is known to be dead."""
    for name, _, token in (await store.ask("holders")).rows:
        await store.let_go(name, token=token)
    await Lifecycle(store=store, policy=AT_ONCE_AND_OFTEN).reclaim(lambda _: True)


def comparable(found: Picture) -> Picture:
    """Without what only says how the work went: which sections the last reading found new, and what was tried."""
    nodes = {key: dict(node) for key, node in found.nodes.items()}
    for node in nodes.values():
        if node["_state"] == "error":
            node.pop("_retryCount", None)
            node.pop("retry_count", None)
        if "_sections" in node:
            node["_sections"] = [key for key, _ in json.loads(node["_sections"])]
    return Picture(nodes=nodes, edges=found.edges, names=found.names)
