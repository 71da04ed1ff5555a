"""A wiki that remembers when it was asked and how much at a time, on a real socket."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass(slots=True)
class Wiki:
    """Answers after a while, and remembers when it was asked and how much at a time."""

    url: str = ""
    arrivals: list[float] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    latency: float = 0.02
    before_answer: Callable[[str, int], Awaitable[web.Response | None]] | None = None

    async def answer(self, request: web.Request) -> web.Response:
        self.arrivals.append(time.monotonic())
        number = len(self.arrivals)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.latency)
            special = await self.before_answer(request.query["by"], number) if self.before_answer else None
            return special or web.json_response({"answer": number})
        finally:
            self.in_flight -= 1

    def most_in_any(self, window: float) -> int:
        return max(sum(first <= other < first + window for other in self.arrivals) for first in self.arrivals)


@asynccontextmanager
async def serving() -> AsyncIterator[Wiki]:
    wiki = Wiki()
    application = web.Application()
    application.router.add_get("/api.php", wiki.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        wiki.url = f"http://127.0.0.1:{runner.addresses[0][1]}/api.php"
        yield wiki
    finally:
        await runner.cleanup()
