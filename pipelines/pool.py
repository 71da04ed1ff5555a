"""A pool of processes for work that keeps a core busy or may bring its process down: parsing, above all.

Each process has its own line to the pool and one task at a time, so that one that dies takes only its task with it.
The pool tries no task twice: whether another try is worth it is for the caller to know.

The processes are started anew (never forked) by a command of their own and not by `multiprocessing`, which would import
the main module again in each of them. One is started when it is first needed.
"""

import asyncio
import pickle
import signal
import socket
import subprocess
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from graph_stores.errors import GraphmillError, Misuse
from pipelines.pool_process import DONE, FAILED, LENGTH, UNSENDABLE

T = TypeVar("T")
R = TypeVar("R")

READ_AHEAD = 1 << 20
SECONDS_TO_START = 120.0
SECONDS_TO_END = 10.0  # of a process whose line is closed: an interpreter closes its files before it exits


class ProcessDied(GraphmillError):
    """The process ended in the middle of its task: killed, out of memory, or brought down by a library."""

    code = "process_died"
    transient = True

    @classmethod
    def of(cls, code: int) -> "ProcessDied":
        how = f"by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"with exit code {code}"
        return cls(
            f"the process that worked on it ended {how} before there was a result",
            hint="look for a lack of memory (it kills with signal 9), or leave out what the process worked on",
        )


class TookTooLong(GraphmillError):
    """The task was not done in time, and its process was killed."""

    code = "took_too_long"
    transient = True

    @classmethod
    def of(cls, seconds: float) -> "TookTooLong":
        return cls(
            f"it was not done after {seconds:g} seconds, the most that one task may take",
            hint="leave it out, or try again when the machine is less busy",
        )


class Unsendable(GraphmillError):
    """A task, a result or an error that cannot go from one process to another."""

    code = "unsendable"


class PoolClosed(GraphmillError):
    code = "pool_closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """A process and the line to it. Its first word is that it is ready."""

    process: subprocess.Popen[bytes]
    reader: StreamReader
    writer: StreamWriter

    @classmethod
    async def started(cls, command: tuple[str, ...]) -> "_Member":
        ours, theirs = socket.socketpair()
        with theirs, ExitStack() as undo:
            undo.callback(ours.close)
            # In a session of its own: a Ctrl-C in the terminal is for the parent alone.
            process = subprocess.Popen(  # noqa: ASYNC220 - does not wait for what it starts
                command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, start_new_session=True
            )
            undo.callback(process.wait)
            undo.callback(process.kill)
            reader, writer = await asyncio.open_connection(sock=ours, limit=READ_AHEAD)
            undo.pop_all()
        return cls(process=process, reader=reader, writer=writer)

    async def tell(self, body: bytes) -> None:
        with suppress(ConnectionError):  # what became of the process is learnt by listening
            self.writer.write(LENGTH.pack(len(body)))
            self.writer.write(body)
            await self.writer.drain()

    async def hear(self) -> tuple[bytes, bytes]:
        """The kind and the body of the next word. EOFError if the process is gone."""
        try:
            head = await self.reader.readexactly(1 + LENGTH.size)
            (length,) = LENGTH.unpack(head[1:])
            return head[:1], await self.reader.readexactly(length)
        except ConnectionError as error:
            raise EOFError from error

    async def end(self, patience: float) -> int:
        """How the process ended: by itself, if it does in time."""
        self.writer.transport.abort()  # and no close, which would first wait for a stuck process to take what was sent
        with suppress(ConnectionError):
            await self.writer.wait_closed()
        return await asyncio.to_thread(self._reaped, patience)

    def _reaped(self, patience: float) -> int:
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(patience)
        self.process.kill()
        return self.process.wait()


@dataclass(slots=True, kw_only=True)
class _Seat:
    """The place of one process in the pool: empty until it is first needed, and again when its process is gone."""

    member: _Member | None = None


class Pool(Generic[T, R]):
    """At most `processes` at once, each on a task that may take `seconds`. `work` is a function of a module."""

    def __init__(self, work: Callable[[T], R], *, processes: int, seconds: float) -> None:
        self._command = _command(work)
        self._seconds = seconds
        self._seats = [_Seat() for _ in range(processes)]
        # The last used is the next used, so that few tasks need few processes. Those who wait are served in order.
        self._free: asyncio.LifoQueue[_Seat] = asyncio.LifoQueue()
        self._endings: set[asyncio.Task[int]] = set()
        self._open = False

    async def start(self) -> None:
        """Takes tasks from here on."""
        self._open = True
        for seat in self._seats:
            self._free.put_nowait(seat)

    async def run(self, task: T) -> R:
        """The result of the work, or its error. Giving up on it (cancelling) ends the process that works on it."""
        body = _pickled(task)
        self._check_open()
        seat = await self._free.get()
        try:
            kind, answer = await self._asked(seat, body)
        finally:
            self._free.put_nowait(seat)
        result: R = _unpacked(kind, answer)
        return result

    async def close(self) -> None:
        """Ends every process, whatever it is doing. Tasks that are not done fail as PoolClosed."""
        if not self._open:
            return
        self._open = False
        for seat in self._seats:
            self._dismiss(seat)
        for _ in self._seats:  # every task lets go of its seat, the waiting ones too
            await self._free.get()
        while self._endings:
            await asyncio.wait(self._endings)

    async def _asked(self, seat: _Seat, body: bytes) -> tuple[bytes, bytes]:
        """The last word of a process on a task. Whatever goes wrong on the way there empties the seat."""
        answered = False
        try:
            member = await self._listening(seat, body)
            async with asyncio.timeout(self._seconds):
                answer = await member.hear()
            answered = True
        except EOFError:
            raise await self._death(seat) from None
        except TimeoutError:
            raise TookTooLong.of(self._seconds) from None
        finally:
            if not answered:
                self._dismiss(seat)
        return answer

    async def _listening(self, seat: _Seat, body: bytes) -> _Member:
        """A process that has begun the task. One that died while it had nothing to do is replaced without a word."""
        if seat.member is not None:
            with suppress(EOFError):
                return await self._begun(seat.member, body)
            self._dismiss(seat)
        self._check_open()
        member = seat.member = await _Member.started(self._command)
        self._check_open()
        async with asyncio.timeout(SECONDS_TO_START):
            await member.hear()
        return await self._begun(member, body)

    async def _begun(self, member: _Member, body: bytes) -> _Member:
        async with asyncio.timeout(self._seconds):
            await member.tell(body)
            await member.hear()
        return member

    async def _death(self, seat: _Seat) -> GraphmillError:
        ending = self._dismiss(seat, SECONDS_TO_END)
        self._check_open()
        return ProcessDied.of(await asyncio.shield(ending)) if ending else _closed()

    def _dismiss(self, seat: _Seat, patience: float = 0) -> asyncio.Task[int] | None:
        member, seat.member = seat.member, None
        if member is None:
            return None
        ending = asyncio.create_task(member.end(patience))
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)
        return ending

    def _check_open(self) -> None:
        if not self._open:
            raise _closed()


def _command(work: Callable[[T], R]) -> tuple[str, ...]:
    module, name = getattr(work, "__module__", "__main__"), getattr(work, "__qualname__", "")
    if module == "__main__" or not name.isidentifier():
        raise Misuse(
            f"{work!r} cannot be found by another process; a function at the top of a module was expected",
            hint="move it out of the class, function or script that it stands in",
        )
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; from pipelines.pool_process import serve; serve({module!r}, {name!r})"
    )
    return sys.executable, "-c", code


def _pickled(task: object) -> bytes:
    try:
        return pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise Unsendable(
            f"the task, a {type(task).__name__}, cannot go from one process to another: {error}"
        ) from error


def _unpacked(kind: bytes, answer: bytes) -> Any:
    if kind == UNSENDABLE:
        raise Unsendable(answer.decode(), hint="return and raise plain values, and types of a module")
    try:
        value = pickle.loads(answer)  # noqa: S301 - from a process of our own, on a line that no other has
    except Exception as error:
        raise Unsendable(f"what came back cannot be read: {error}") from error
    if kind == FAILED:
        raise value
    assert kind == DONE
    return value


def _closed() -> PoolClosed:
    return PoolClosed("the pool is closed; an open one was expected", hint="start it, and close it after its last task")
