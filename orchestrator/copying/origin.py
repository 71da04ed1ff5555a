"""The process that reads the graph to be copied: `python -m orchestrator.copying.origin`.

One of its own, because two embedded engines cannot live in one process; and so that one reads while the other writes.
It is told on its standard input what to read, answers on its standard output, and ends when either is closed. It
always closes the graph first: one that was not closed is taken for damaged by whoever opens it next.
"""

import asyncio
import json
import os
import pickle
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from struct import Struct
from typing import IO, Any

from graph_stores import Credentials, open_store
from graph_stores.errors import GraphmillError, PermanentStoreError, StoreOwned
from graph_stores.model import Brought, VectorSpace
from graph_stores.protocol import Store
from orchestrator.copying.checksums import Checksums
from orchestrator.copying.idle import check_idle
from orchestrator.moves import all_left_alone
from orchestrator.workers import LABEL as WORKER

LENGTH = Struct(">Q")
DEADLINE = 600.0
# A reader whose parent was killed may still be letting go of the graph.
_PATIENCE, _LOOK = 10.0, 0.05
# How long it may take to close the graph once the parent has closed the pipe; less than a next copy waits for it.
_CLOSING = 8.0
_NAMED = 10


class Kind(StrEnum):
    BEGIN = "begin"
    NODES = "nodes"
    EDGES = "edges"
    END = "end"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What is known before the first node; `nodes` may be a few more than there are, as they are counted quickly."""

    space: VectorSpace | None
    nodes: int
    brought: Brought = field(default_factory=Brought)


class NothingToCopy(PermanentStoreError):
    code = "nothing_to_copy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """`in_hand` nodes were being worked on, and wait again in the copy."""

    checksums: Checksums
    in_hand: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """An error, in a form that can be sent."""

    kind: str
    message: str
    hint: str


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # the parent decides what they mean
        signal.signal(number, signal.SIG_IGN)
    line = os.dup(1)
    os.dup2(2, 1)  # whatever a library prints is no answer
    request = json.loads(sys.stdin.readline())
    try:
        with os.fdopen(line, "wb") as out:
            asyncio.run(_serve(request, out))
    except (BrokenPipeError, asyncio.CancelledError):  # the parent has closed the pipe, or was killed
        sys.exit(1)


async def _serve(request: dict[str, Any], out: IO[bytes]) -> None:
    loop, serving = asyncio.get_running_loop(), asyncio.current_task()
    assert serving
    stop = (lambda: loop.call_soon_threadsafe(serving.cancel),)
    threading.Thread(target=_watch_parent, args=stop, daemon=True).start()
    try:
        store = await _opened(request)
        try:
            await _read(store, out)
        finally:
            await _close(store)
    except GraphmillError as error:
        _send(out, Kind.FAILED, Failing(kind=type(error).__name__, message=error.message, hint=error.hint))


def _watch_parent(stop: Callable[[], object]) -> None:
    """Stop reading when the parent closes the pipe; exit hard if the graph cannot be closed in time."""
    while os.read(0, 1024):  # not sys.stdin: a thread that waits in it keeps the interpreter from ending well
        pass
    with suppress(RuntimeError):  # the loop has ended already
        stop()
    time.sleep(_CLOSING)
    os._exit(1)


async def _close(store: Store) -> None:
    """To the end, also if the parent closes the pipe meanwhile."""
    try:
        await store.close()
    except asyncio.CancelledError:
        await store.close()


async def _opened(request: dict[str, Any]) -> Store:
    login = request["login"]
    credentials = Credentials(user=login[0], password=login[1]) if login else None
    give_up = asyncio.get_running_loop().time() + _PATIENCE
    while True:
        try:
            return await open_store(
                request["url"], project=request["project"], credentials=credentials, deadline=DEADLINE
            )
        except StoreOwned:
            if not request["again"] or asyncio.get_running_loop().time() > give_up:
                raise
            await asyncio.sleep(_LOOK)


async def _read(store: Store, out: IO[bytes]) -> None:
    await check_idle(store)
    counts = (await store.progress(finished=[], window=0.0)).counts
    nodes = sum(each.count for each in counts if each.label != WORKER)
    if not nodes:
        raise await _nothing_there(store)
    _send(out, Kind.BEGIN, Beginning(space=await store.vector_space(), nodes=nodes, brought=await store.brought()))
    checksums, in_hand = Checksums(), 0
    async for whole in store.node_pages():
        # All but who worked on that graph, which says nothing about the other one.
        if whole.label != WORKER:
            pages, held = all_left_alone(whole)
            in_hand += held
            for page in pages:
                checksums.add(page)
                _send(out, Kind.NODES, page)
    async for edges in store.edge_pages():
        checksums.add(edges)
        _send(out, Kind.EDGES, edges)
    await check_idle(store)
    _send(out, Kind.END, Ending(checksums=checksums, in_hand=in_hand))


async def _nothing_there(store: Store) -> NothingToCopy:
    projects = (await store.ask("projects")).rows
    others = [f"{name} ({count:,} nodes)" for name, count in projects]
    if not others:
        return NothingToCopy(f"there is nothing in {store.url} to be copied", hint="ingest something into it first")
    only = shlex.quote(projects[0][0]) if len(projects) == 1 else "NAME"
    return NothingToCopy(
        f"there is no project {store.project} in {store.url}; it has {', '.join(others[:_NAMED])}"
        + (f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""),
        hint=f"say which one is to be copied: graphmill --project {only} copy {shlex.quote(store.url)} TO",
    )


def _send(out: IO[bytes], kind: Kind, content: object) -> None:
    body = pickle.dumps((kind.value, content), protocol=pickle.HIGHEST_PROTOCOL)
    out.write(LENGTH.pack(len(body)))
    out.write(body)
    out.flush()


if __name__ == "__main__":
    # Under the name by which the other side knows the module: what is sent is pickled by it.
    from orchestrator.copying.origin import main as named

    named()
