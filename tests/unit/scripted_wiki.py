"""The local wiki, with faults that happen to the next requests in the order in which they are written down."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from pipelines.wikipedia.api import ApiPages, open_api
from pipelines.wikipedia.asking import Patience
from pipelines.wikipedia.local_api import LocalWiki, serve


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Instead of an answer: another one, half of one, a broken connection, or nothing until the test is over."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut: bool = False
    reset: bool = False
    silent: bool = False


def error(code: str, **headers: str) -> Fault:
    """As MediaWiki says it: with status 200."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault(body=b'{"error":{"code":"%s","info":"said so"}}' % code.encode(), headers=named)


def busy(retry_after: str | None = None, status: int = 503) -> Fault:
    return Fault(status=status, headers={} if retry_after is None else {"Retry-After": retry_after}, body=b"<html>busy")


class WantedTime:
    """A clock that only goes on when somebody waits."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now
        self.naps: list[float] = []

    def clock(self) -> float:
        return self.now

    async def nap(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


class ScriptedWiki:
    def __init__(self, wiki: LocalWiki, cache: Path) -> None:
        self.wiki = wiki
        self.url = ""
        self.faults: deque[Fault | None] = deque()
        self.asked: list[Mapping[str, str]] = []
        self.methods: list[str] = []
        self.agents: list[str] = []
        self.time = WantedTime()
        self.said: list[str] = []
        self.over = asyncio.Event()
        self._cache = cache

    async def interfere(self, request: web.Request, parameters: Mapping[str, str]) -> web.StreamResponse | None:
        self.asked.append(parameters)
        self.methods.append(request.method)
        self.agents.append(request.headers.get("User-Agent", ""))
        fault = self.faults.popleft() if self.faults else None
        if fault is None:
            return None
        if fault.silent:
            await self.over.wait()
        if fault.reset:
            assert request.transport is not None
            request.transport.abort()
        if fault.cut:
            return await self._cut(request)
        return web.Response(status=fault.status, headers=fault.headers, body=fault.body)

    async def _cut(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "5000", "Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b'{"batchcomplete":true,"query":')
        assert request.transport is not None
        request.transport.close()
        return response

    @asynccontextmanager
    async def pages(self, **options: Any) -> AsyncIterator[ApiPages]:
        """The client, with what it did to open forgotten."""
        options = {"contact": None, "patience": Patience(first_pause=5.0)} | options
        pages = await open_api(
            self.url, say=self.said.append, cache=self._cache, clock=self.time.clock, nap=self.time.nap, **options
        )
        self.asked.clear()
        self.methods.clear()
        self.wiki.requests = 0
        try:
            yield pages
        finally:
            await pages.close()


@asynccontextmanager
async def scripted(wiki: LocalWiki, cache: Path) -> AsyncIterator[ScriptedWiki]:
    script = ScriptedWiki(wiki, cache)
    async with serve(wiki, interfere=script.interfere) as script.url:
        try:
            yield script
        finally:
            script.over.set()
