"""A wiki on this machine that a test can hold up, take away and bring back, and the expansions that read from it."""

import asyncio
import random
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from orchestrator.wikipedia.parse import ParseArticles
from pipelines.wikipedia.local_api import serve
from pipelines.wikipedia.local_wiki import LocalWiki

from .jobs import DEADLINE, Mill, Running

MILLS = Path(__file__).parents[2] / "pipelines/wikipedia/demo/mills.xml"


def grown_wiki(articles: int = 240, *, links: int = 12, seed: int = 1) -> LocalWiki:
    """As many short articles as fill several requests; from the first all others can be reached."""
    chance = random.Random(seed)
    titles = [f"Mill {number}" for number in range(articles)]
    wiki = LocalWiki(name="grownwiki")
    for number, title in enumerate(titles):
        nearby = titles[links * number + 1 : links * (number + 1) + 1]
        others = chance.sample(titles, 3)
        written = " ".join(f"[[{each}]]" for each in [*nearby, *others, f"Old {title.lower()}"])
        wiki.write(title, f"'''{title}''' is a mill.\n\n== Place ==\n\nNear {written}.\n\n[[Category:Mills]]")
        if number % 12 == 0:
            wiki.write(f"Old {title.lower()}", f"#REDIRECT [[{title}]]")
    return wiki


@dataclass(slots=True)
class Request:
    titles: int
    is_for_texts: bool
    answered: bool = False


@dataclass(slots=True)
class WikiServer:
    """Answers as many requests as it is let, and keeps every further one waiting."""

    wiki: LocalWiki
    requests: list[Request] = field(default_factory=list)
    holding: threading.Event = field(default_factory=threading.Event)
    refusal: Mapping[str, str] | None = None
    """While it is set, who asks for texts is told to come back, with these headers."""
    refused: int = 0
    url: str = ""
    _allowed: int | None = None
    _counts_texts_only: bool = False
    _gate: asyncio.Future[bool] | None = None
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _thread: threading.Thread | None = None
    _serving: AsyncExitStack | None = None
    _port: int = 0

    def __enter__(self) -> "WikiServer":
        self._thread = threading.Thread(target=self._loop.run_forever, name="wiki")
        self._thread.start()
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()
        self.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        assert self._thread
        self._thread.join()
        self._loop.close()

    def open(self) -> None:
        """At the same address as before."""
        self.url = self._wait(self._open())
        self._port = int(self.url.split(":")[2].split("/")[0])

    def close(self) -> None:
        """Nobody answers any more."""
        self._wait(self._close())

    def allow(self, requests: int | None, *, of_texts: bool = False) -> None:
        """From now on answer so many requests, what is kept waiting first. None lets everything pass.

        Where only those for texts are counted, all others pass.
        """

        async def change() -> None:
            self._allowed = requests
            self._counts_texts_only = of_texts
            self.holding.clear()
            self._let_go(answered=True)

        self._wait(change())

    def drop(self) -> None:
        """What is kept waiting belongs to a process that is dead: be done with it."""

        async def change() -> None:
            self._let_go(answered=False)

        self._wait(change())

    def _let_go(self, *, answered: bool) -> None:
        if gate := self._gate:
            self._gate = None
            gate.set_result(answered)

    async def _open(self) -> str:
        self._serving = AsyncExitStack()
        return await self._serving.enter_async_context(serve(self.wiki, self._port, interfere=self._interfere))

    async def _close(self) -> None:
        if self._serving:
            await self._serving.aclose()
            self._serving = None

    def _wait(self, work: object) -> str:
        future: Future[str] = asyncio.run_coroutine_threadsafe(work, self._loop)  # type: ignore[arg-type]
        return future.result(DEADLINE)

    async def _interfere(self, _: web.Request, asked: Mapping[str, str]) -> web.StreamResponse | None:
        wants_texts = "content" in asked.get("rvprop", "")
        request = Request(titles=asked.get("titles", "").count("|") + 1, is_for_texts=wants_texts)
        self.requests.append(request)
        is_counted = wants_texts or not self._counts_texts_only
        while is_counted and self._allowed is not None and self._allowed <= 0:
            self._gate = self._gate or asyncio.get_running_loop().create_future()
            self.holding.set()
            if not await asyncio.shield(self._gate):
                return web.Response(status=503)
        if is_counted and self._allowed is not None:
            self._allowed -= 1
        if self.refusal is not None and wants_texts:
            self.refused += 1
            return web.Response(status=429, headers=self.refusal)
        request.answered = True
        return None

    def handed_out(self, begun: int) -> int:
        """How many pages a process can have got and not put away, of those it asked for since then."""
        got = [each.titles for each in self.requests[begun:] if each.is_for_texts and each.answered]
        return sum(got[-ParseArticles.runners :])

    @property
    def redirects(self) -> int:
        pages = [self.wiki.page(title) for title in self.wiki.titles()]
        return sum(page is not None and page.redirect is not None for page in pages)

    def fetched_again(self) -> int:
        return sum(self.wiki.texts.values()) - len(self.wiki.texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """Expands from one wiki into the graph of a mill."""

    mill: Mill
    server: WikiServer

    def start(self, *arguments: str, embedder: str = "none") -> Running:
        return self.mill.start("expand", *arguments, "--api-url", self.server.url, "--embedder", embedder)

    def beside(self) -> "Expansion":
        return Expansion(mill=self.mill.beside(), server=self.server)
