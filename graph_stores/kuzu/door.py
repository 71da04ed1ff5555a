"""The owner's side of the socket: answers for its graph to other processes of the same user.

Runs on a thread and an event loop of its own, so that neither waits for the other. Guests read on threads of their own
and can take none from the owner; what they change goes the owner's way, so that its frontier hears of it. Whatever a
guest sends, or does not send, costs the owner a bounded time and memory, and ends with its connection.
"""

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_stores.errors import GraphmillError, Misuse, StoreUnavailable, TransientStoreError
from graph_stores.kuzu import wire
from graph_stores.kuzu.codec import Malformed
from graph_stores.kuzu.engine import GUEST_QUERIES
from graph_stores.kuzu.gate import StoppedForWriter
from graph_stores.kuzu.ownership import Ownership
from graph_stores.kuzu.place import is_same_user, listen

if TYPE_CHECKING:
    from graph_stores.kuzu.store import EmbeddedStore

log = logging.getLogger("graphmill.store")

_READS_AT_ONCE = 4
_GUESTS_AT_ONCE = 64
_PROJECTS_KEPT = 64
# For a guest to send its request, and to take each part of its answer.
PATIENCE = 10.0
# What an answer may take of the owner's memory, and how often a query that was in its way is started again.
_LARGEST_TABLE = 64 << 20
_TRIES = 3
_FAREWELL = 1.0
_LATER = 1.0
_AGAIN = 0.05


class Door:
    def __init__(
        self,
        store: "EmbeddedStore",
        ownership: Ownership,
        listener: socket.socket,
        give_way: Callable[[], None] | None,
    ) -> None:
        self._store = store
        self._ownership = ownership
        self._listener = listener
        self._place: Path | None = None
        self._give_way = give_way
        self._owner_loop = asyncio.get_running_loop()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="graphmill-door", daemon=True)
        self._reading = ThreadPoolExecutor(_READS_AT_ONCE, thread_name_prefix="graphmill-guest")
        self._querying = ThreadPoolExecutor(GUEST_QUERIES, thread_name_prefix="graphmill-guest-query")
        self._queries: EmbeddedStore | None = None
        self._views: dict[str, EmbeddedStore] = {}
        self._guests: set[asyncio.Task[Any]] = set()
        self._changing: set[asyncio.Task[Any]] = set()
        self._closing = False

    @classmethod
    async def open(
        cls, store: "EmbeddedStore", ownership: Ownership, *, give_way: Callable[[], None] | None = None
    ) -> "Door | None":
        """Answer from now on. Where there is no place for a socket the owner works on, only nobody can ask it."""
        try:
            listener, place = listen(ownership.path)
        except OSError as error:
            log.info("nobody can ask for %s while this runs: %s", ownership.path, error)
            ownership.announce(None, answers=False)
            return None
        door = cls(store, ownership, listener, give_way)
        door._thread.start()
        door._loop.call_soon_threadsafe(door._open)
        ownership.announce(place)
        door._place = place
        return door

    async def close(self) -> None:
        """Send the guests to the file that is about to be free; what they change is finished first."""
        self._ownership.announce(None)
        if self._place:
            with suppress(OSError):
                self._place.unlink()
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._see_off(), self._loop))
        # The loop goes on until then: it interrupts what still runs, and hears of its end.
        for executor in (self._reading, self._querying):
            await asyncio.to_thread(executor.shutdown)
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)
        self._loop.close()

    def _open(self) -> None:
        if not self._closing:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """Not left to asyncio's server: one that closes forgets who it has accepted just then, and lets it wait."""
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError as error:
            log.warning("nobody can ask for %s for now: %s", self._ownership.path, error)
            self._loop.remove_reader(self._listener)
            self._loop.call_later(_LATER, self._open)
            return
        guest = self._loop.create_task(self._meet(connection))
        self._guests.add(guest)
        guest.add_done_callback(self._guests.discard)
        guest.add_done_callback(lambda _: connection.close())

    async def _see_off(self) -> None:
        self._closing = True
        self._loop.remove_reader(self._listener)
        self._listener.close()
        told: set[asyncio.Task[Any]] = set()
        while self._guests:
            for guest in self._guests - self._changing - told:
                guest.cancel()
                told.add(guest)
            await asyncio.wait(self._guests, timeout=_AGAIN, return_when=asyncio.FIRST_COMPLETED)
        while rest := asyncio.all_tasks() - {_this_task()}:
            await asyncio.wait(rest)
        await asyncio.sleep(0)  # the transports close in the next round

    async def _meet(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=connection)
        # What is drained is then with the kernel, and outlives the transport.
        writer.transport.set_write_buffer_limits(high=0)
        try:
            await self._converse(reader, writer)
        except asyncio.CancelledError:
            await _turn_away(reader, writer, wire.closing())
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            log.info("a guest of %s left, or stood still: %s", self._ownership.path, error)
        except Exception:
            log.exception("a guest of %s could not be answered", self._ownership.path)
        finally:
            # Not waited for: what a stuck guest does not take is thrown away.
            writer.transport.abort()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not is_same_user(writer.get_extra_info("socket")):
            log.warning("a process of another user tried to reach %s through its socket", self._ownership.path)
            return
        try:
            if len(self._guests) > _GUESTS_AT_ONCE:
                raise StoreUnavailable(f"{_GUESTS_AT_ONCE} processes are asking at once", hint="ask again a bit later")
            await _send(writer, wire.welcome())
            request = await self._request(reader)
            result = await self._while_there(reader, request)
        except GraphmillError as error:
            await _turn_away(reader, writer, wire.failed(error))
        except wire.Closing:
            await _turn_away(reader, writer, wire.closing())
        else:
            await self._send_answer(writer, request, result)

    async def _request(self, reader: asyncio.StreamReader) -> wire.Request:
        try:
            async with asyncio.timeout(PATIENCE):
                return wire.understood(await wire.read_frame(reader, wire.LARGEST_REQUEST))
        except Malformed as error:
            raise Misuse(f"the owner of the graph could not read the request: {error}") from error

    async def _while_there(self, reader: asyncio.StreamReader, request: wire.Request) -> Any:
        """The answer, unless the guest leaves before; then a read is stopped, and a change is finished all the same."""
        if request.changes:
            return await self._changed(request)
        work = asyncio.create_task(self._answer(request))
        leaves = asyncio.create_task(_end_of(reader))
        try:
            await asyncio.wait({work, leaves}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ConnectionResetError("it did not wait for the answer")
            return work.result()
        finally:
            work.cancel()
            leaves.cancel()
            await asyncio.wait([leaves])

    async def _changed(self, request: wire.Request) -> Any:
        guest = _this_task()
        self._changing.add(guest)
        try:
            return await self._answer(request)
        finally:
            self._changing.discard(guest)

    async def _answer(self, request: wire.Request) -> Any:
        if self._closing:
            raise wire.Closing
        if request.call == wire.GIVE_WAY:
            if self._give_way:
                self._owner_loop.call_soon_threadsafe(self._give_way)
            return None
        try:
            return await self._asked(request)
        except GraphmillError:
            raise
        except Exception as error:
            log.exception("a guest of %s could not be answered", self._ownership.path)
            raise TransientStoreError(f"the owner of the graph failed: {type(error).__name__}: {error}") from error

    async def _asked(self, request: wire.Request) -> Any:
        if request.call == "query" and not request.changes:
            return await self._query(request)
        # A person's write may touch any project, so it goes where the owner's frontier hears of it.
        if request.changes and (request.project == self._store.project or request.call == "query"):
            return await self._of_owner(getattr(self._store, request.call)(**request.arguments))
        return await getattr(await self._view(request.project), request.call)(**request.arguments)

    async def _query(self, request: wire.Request) -> Any:
        if self._queries is None:
            self._queries = await self._store.view(
                self._store.project, reading=self._querying, largest_answer=_LARGEST_TABLE
            )
        for _ in range(_TRIES):
            with suppress(StoppedForWriter):
                return await self._queries.query(**request.arguments)
        return await self._queries.query(**request.arguments)

    async def _of_owner(self, work: Coroutine[Any, Any, Any]) -> Any:
        """On the owner's own loop, to which its queue of commits belongs."""
        try:
            asked: Future[Any] = asyncio.run_coroutine_threadsafe(work, self._owner_loop)
        except RuntimeError as error:
            work.close()
            raise TransientStoreError(f"the owner of {self._ownership.path} is ending", hint="ask again") from error
        return await asyncio.wrap_future(asked)

    async def _view(self, project: str) -> "EmbeddedStore":
        if known := self._views.get(project):
            return known
        view = await self._store.view(project, reading=self._reading)
        while len(self._views) >= _PROJECTS_KEPT:
            del self._views[next(iter(self._views))]
        return self._views.setdefault(project, view)

    async def _send_answer(self, writer: asyncio.StreamWriter, request: wire.Request, result: Any) -> None:
        try:
            for frame in wire.answered(request.call, result):
                await _send(writer, frame)
        except TypeError as error:
            await _send(writer, wire.failed(Misuse(str(error), hint="return it as text")))


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task
    return task


async def _end_of(reader: asyncio.StreamReader) -> None:
    """Returns when the guest has left, or says more than it was asked for."""
    with suppress(OSError):
        await reader.read(1)


async def _turn_away(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, frame: bytes) -> None:
    """Say a last word to one who may still be talking, and so would not hear it if the connection just ended."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_FAREWELL):
            writer.write(frame)
            await writer.drain()
            writer.write_eof()
            while await reader.read(1 << 16):
                pass


async def _send(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(frame)
    async with asyncio.timeout(PATIENCE):
        await writer.drain()
