"""The pages of a project's wikis, opened when they are first needed, and the dumps that turned out to be missing.

Articles of a wiki whose dump is missing are not claimed: they wait without costing a try, and do not keep the articles
of other wikis waiting. Its runs fail. If a worker on another machine may have the dump, they are left to that worker.
"""

import asyncio
import shlex
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from socket import gethostname

from graph_stores.errors import GraphmillError, Misuse
from graph_stores.protocol import Store
from orchestrator.runs.sources import SourceLost
from orchestrator.runs.steps import CannotGoOn
from orchestrator.wikipedia.outages import OUTAGE_PAUSE
from orchestrator.wikipedia.wikis import Crawl, PageSource, read_wikis
from orchestrator.worker import Pause
from orchestrator.workers import read_workers
from pipelines.wikipedia.dump import DumpMissing
from pipelines.wikipedia.dump_errors import DumpUnreadable
from pipelines.wikipedia.model import ContactMissing, Pages, WikiUnavailable


class DumpLost(SourceLost):
    code = "dump_missing"


class PageSources:
    """`nap` is how a wiki that does not answer is waited for."""

    def __init__(self, store: Store, say: Callable[[str], None], nap: Callable[[float], Awaitable[None]]) -> None:
        self.contact: str | None = None
        """Who asks a wiki that was not told when it was expanded from."""
        self.lost: dict[str, DumpLost] = {}
        """The wikis whose dump could not be opened, by name."""
        self._store = store
        self._say = say
        self._nap = nap
        self._pages: dict[str, Pages] = {}
        self._look_at = 0.0
        self._opening = asyncio.Lock()

    async def open(self, source: PageSource) -> Pages:
        """The pages of a source that the user named; they are those of its wiki from now on."""
        try:
            pages = await source.open(self._say, self._nap, self._store)
        except WikiUnavailable as error:
            raise WikiUnavailable(error.message, hint="give the command again when it answers") from error
        await self.drop(pages.site.wiki)
        self._pages[pages.site.wiki] = pages
        return pages

    async def of(self, wiki: str) -> Pages:
        """The pages of a wiki that the project knows. DumpLost where its dump is missing."""
        async with self._opening:
            if wiki not in self._pages:
                self._pages[wiki] = await self._opened(wiki)
                self.lost.pop(wiki, None)
        return self._pages[wiki]

    async def look(self) -> None:
        """Try now and then to open the dumps that are missing: nothing else does, as their articles are not claimed."""
        if not self.lost or time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + OUTAGE_PAUSE
        for wiki in list(self.lost):
            try:
                await self.of(wiki)
            except (DumpLost, Pause):
                continue
            except Misuse:  # it was forgotten, or is read from elsewhere now
                self.lost.pop(wiki, None)

    async def for_step(self, wiki: str) -> Pages | None:
        """The same for a step of a worker; None where the dump is missing, so that the nodes are given back."""
        try:
            return await self.of(wiki)
        except DumpLost:
            self._look_at = time.monotonic() + OUTAGE_PAUSE
            return None

    async def drop(self, wiki: str) -> None:
        """Open it anew when it is needed next: what is open can no longer be read."""
        if pages := self._pages.pop(wiki, None):
            await pages.close()

    async def close(self) -> None:
        for pages in self._pages.values():
            await pages.close()

    async def _opened(self, wiki: str) -> Pages:
        known = (await read_wikis(self._store)).get(wiki)
        if known is None:
            raise Misuse(f"the project knows no wiki {wiki!r}", hint="expand from it first: graphmill expand")
        source = replace(known.source, contact=known.source.contact or self.contact)
        try:
            return await source.open(self._say, self._nap, self._store)
        except ContactMissing as error:
            hint = (
                "graphmill worker --drain --contact you@example.org (your address or your page); to embed what is "
                "there and read nothing: graphmill worker --drain --stages embed"
            )
            raise CannotGoOn(error.message, hint=hint) from error
        except (DumpMissing, DumpUnreadable) as error:
            if await self._may_be_elsewhere():
                raise Pause(f"{error.message} on {gethostname()}", seconds=OUTAGE_PAUSE) from error
            self.lost[wiki] = dump_lost(wiki, error, known.crawls)
            raise self.lost[wiki] from error
        except WikiUnavailable as error:
            raise Pause(error.message, seconds=error.retry_after or OUTAGE_PAUSE) from error

    async def _may_be_elsewhere(self) -> bool:
        workers = [each.known for each in await read_workers(self._store) if not each.is_gone]
        return any(each.host != gethostname() for each in workers)


def dump_lost(wiki: str, error: GraphmillError, crawls: Sequence[Crawl]) -> DumpLost:
    asked = next(iter(crawls), Crawl()).words
    return DumpLost(
        f"the dump of {wiki} cannot be read: {error.message}",
        hint=f"bring it back, or if it moved: graphmill {shlex.join(asked)} --dump NEW-PLACE",
    )
