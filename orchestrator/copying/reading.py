"""This side of the process that reads the graph to be copied."""

import asyncio
import json
import pickle
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from graph_stores import Credentials
from graph_stores.errors import GraphmillError, PermanentStoreError
from orchestrator.copying.origin import LENGTH, Beginning, Failing, Kind

_MODULE = "orchestrator.copying.origin"
_AHEAD = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where to copy from. `again` says that a copy of it may have been begun before, whose process is just ending."""

    url: str
    project: str
    credentials: Credentials | None = None

    def request(self, *, again: bool) -> bytes:
        login = [self.credentials.user, self.credentials.password] if self.credentials else None
        asked = {"url": self.url, "project": self.project, "login": login, "again": again}
        return json.dumps(asked).encode() + b"\n"


class SourceDied(PermanentStoreError):
    code = "source_died"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A graph that is being read: what was known of it before the first node, and everything after that."""

    origin: Origin
    beginning: Beginning
    messages: AsyncIterator[tuple[Kind, Any]]


@asynccontextmanager
async def reading(origin: Origin, *, again: bool) -> AsyncIterator[Source]:
    """What the process sends, for as long as the block lasts; it is gone afterwards.

    By then it has opened the graph and seen that there is something in it.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        _MODULE,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_AHEAD,
    )
    assert process.stdin and process.stdout
    try:
        # On its input and not among its arguments, which everybody on the machine can read.
        process.stdin.write(origin.request(again=again))
        await process.stdin.drain()
        messages = _messages(process.stdout)
        _, beginning = await anext(messages)
        yield Source(origin=origin, beginning=beginning, messages=messages)
    finally:
        process.stdin.close()
        # It may be waiting for room in the pipe, and could not close the graph.
        while await process.stdout.read(_AHEAD):
            pass
        await process.wait()


async def _messages(stream: asyncio.StreamReader) -> AsyncIterator[tuple[Kind, Any]]:
    """Until it has said everything; an error that it met is raised here."""
    while True:
        try:
            (length,) = LENGTH.unpack(await stream.readexactly(LENGTH.size))
            body = await stream.readexactly(length)
        except asyncio.IncompleteReadError as error:
            raise SourceDied(
                "the process that reads the source ended before it had read everything",
                hint="run the same command again: it goes on; with -v it tells more",
            ) from error
        word, content = pickle.loads(body)  # noqa: S301 from a process that this one has started
        kind = Kind(word)
        if kind is Kind.FAILED:
            raise _error(content)
        yield kind, content
        if kind is Kind.END:
            return


def _error(failing: Failing) -> GraphmillError:
    """In the type that it had, as far as this process knows it."""
    kind = next((each for each in _kinds(GraphmillError) if each.__name__ == failing.kind), PermanentStoreError)
    return kind(failing.message, hint=failing.hint)


def _kinds(root: type[GraphmillError]) -> Iterator[type[GraphmillError]]:
    for kind in root.__subclasses__():
        yield kind
        yield from _kinds(kind)
