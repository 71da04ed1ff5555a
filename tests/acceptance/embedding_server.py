"""An embedding endpoint on a real socket whose failures are written down beforehand. Runs in a thread of its own.

It answers as OpenAI's does. What it shall do otherwise is put into `script`, one entry for each request to come.
"""

import asyncio
import hashlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

DIMENSION = 8
PATIENCE = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """How one request is answered.

    `change` gets the list of vectors to be sent and returns another; `body` is sent as it is; `cut` breaks off in the
    middle; `until` keeps the request waiting for the event.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    change: Callable[[list[dict[str, Any]]], Any] | None = None
    cut: bool = False
    until: threading.Event | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    model: str
    texts: Sequence[str]
    authorization: str | None


@dataclass(slots=True, kw_only=True)
class EmbeddingServer:
    """`refuses` and `breaks_on`: a request with such a word in one of its texts gets 400 or 500."""

    dimension: int = DIMENSION
    script: deque[Scripted] = field(default_factory=deque)
    refuses: tuple[str, ...] = ()
    breaks_on: tuple[str, ...] = ()
    seen: list[Seen] = field(default_factory=list)
    most_at_once: int = 0
    url: str = ""
    _at_once: int = 0
    _arrivals: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _started: threading.Event = field(default_factory=threading.Event)
    _loop: asyncio.AbstractEventLoop | None = None
    _ending: asyncio.Event | None = None
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="embedding-server")
        self._thread.start()
        assert self._started.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop and self._ending and self._thread
        for scripted in self.script:
            if scripted.until:
                scripted.until.set()
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()

    @property
    def texts(self) -> list[str]:
        """Every text of every request, in their order."""
        return [text for seen in self.seen for text in seen.texts]

    def forget(self) -> None:
        """Begin to count anew."""
        self.seen.clear()
        while self._arrivals.acquire(blocking=False):
            pass

    async def arrival(self) -> None:
        """Wait until one more request is here."""
        assert await asyncio.to_thread(self._arrivals.acquire, timeout=PATIENCE)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        application = web.Application(client_max_size=64 * 1024**2)
        application.router.add_post("/v1/embeddings", self._embeddings)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
            self._started.set()
            await self._ending.wait()
        finally:
            await runner.cleanup()

    async def _embeddings(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        texts = asked["input"]
        self.seen.append(
            Seen(model=asked["model"], texts=tuple(texts), authorization=request.headers.get("Authorization"))
        )
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        self._arrivals.release()
        try:
            return await self._answer(request, texts, self.script.popleft() if self.script else Scripted())
        finally:
            self._at_once -= 1

    async def _answer(self, request: web.Request, texts: list[str], scripted: Scripted) -> web.StreamResponse:
        if scripted.until:
            await asyncio.to_thread(scripted.until.wait, PATIENCE)
        if scripted.cut:
            return await _broken_off(request)
        if scripted.body is not None:
            return web.Response(status=scripted.status, headers=scripted.headers, body=scripted.body)
        for status, words in ((400, self.refuses), (500, self.breaks_on)):
            if any(word in text for text in texts for word in words):
                return web.json_response({"error": {"message": f"status {status} for this input"}}, status=status)
        if scripted.status != 200:
            error = {"error": {"message": "as scripted"}}
            return web.json_response(error, status=scripted.status, headers=scripted.headers)
        data: Any = [
            {"object": "embedding", "index": index, "embedding": vector_of(text, self.dimension)}
            for index, text in enumerate(texts)
        ]
        return web.json_response({"data": scripted.change(data) if scripted.change else data})


def vector_of(text: str, dimension: int = DIMENSION) -> list[float]:
    """Always the same for the same text; small fractions, which single precision holds exactly."""
    digest = hashlib.shake_256(text.encode()).digest(dimension)
    return [(byte - 128) / 64 or 1.0 for byte in digest]


async def _broken_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(b'{"data": [{"index": 0, "embedding": [0.5, ')
    assert request.transport
    request.transport.close()
    return response
