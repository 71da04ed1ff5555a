"""A wire between the driver and the server that a test can cut or freeze at a chosen moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum, auto

# The Bolt message COMMIT: a chunk of two bytes, a structure without fields, the end of the message.
COMMIT = bytes.fromhex("0002 b012 0000")


class Cut(Enum):
    BEFORE = auto()
    """The server never hears of the commit."""
    AFTER = auto()
    """The server has committed, and its answer is lost."""


@dataclass(slots=True, kw_only=True)
class Proxy:
    """`cuts` are for the coming commits, one each."""

    host: str
    port: int
    cuts: list[Cut] = field(default_factory=list)
    listening: int = 0
    commits: int = 0
    thawed: asyncio.Event = field(default_factory=asyncio.Event)
    wires: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def uri(self) -> str:
        return f"bolt://127.0.0.1:{self.listening}"

    def freeze(self) -> None:
        """From now on nothing comes through, and nobody is told."""
        self.thawed.clear()

    def thaw(self) -> None:
        self.thawed.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.wires.add(task)
        try:
            there_reader, there_writer = await asyncio.open_connection(self.host, self.port)
            try:
                await self._join(reader, writer, there_reader, there_writer)
            finally:
                there_writer.close()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self.wires.discard(task)

    async def _join(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        there_reader: asyncio.StreamReader,
        there_writer: asyncio.StreamWriter,
    ) -> None:
        answers = asyncio.create_task(self._copy(there_reader, writer))
        try:
            while data := await reader.read(1 << 16):
                await self.thawed.wait()
                self.commits += data.count(COMMIT)
                if COMMIT in data and self.cuts:
                    if self.cuts.pop(0) is Cut.AFTER:
                        answers.cancel()
                        await asyncio.gather(answers, return_exceptions=True)
                        there_writer.write(data)
                        assert await there_reader.read(1 << 16)
                    return
                there_writer.write(data)
                await there_writer.drain()
        finally:
            answers.cancel()
            await asyncio.gather(answers, return_exceptions=True)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            await self.thawed.wait()
            writer.write(data)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def proxy_to(uri: str) -> AsyncIterator[Proxy]:
    host, _, port = uri.rpartition("/")[2].partition(":")
    proxy = Proxy(host=host, port=int(port))
    proxy.thaw()
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.listening = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in list(proxy.wires):
            task.cancel()
        await asyncio.gather(*proxy.wires, return_exceptions=True)
        await server.wait_closed()
