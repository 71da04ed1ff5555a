"""Other processes that own an embedded database or ask its owner: `python -m tests.conformance.socket_child DEED …`."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graph_stores import kuzu, open_store
from graph_stores.model import Select
from tests.conformance.kuzu_child import file_batch, opened


def command(deed: str, engine: str, path: Path, *more: str) -> list[str]:
    return [sys.executable, "-W", "error", "-m", "tests.conformance.socket_child", deed, engine, str(path), *more]


@contextmanager
def owner(engine: str, path: Path, deed: str = "own") -> Iterator["subprocess.Popen[str]"]:
    """A process that has opened the graph, and lets go of it when its standard input is closed."""
    with child(deed, engine, path) as process:
        is_ready(process)
        yield process


@contextmanager
def child(deed: str, engine: str, path: Path) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        command(deed, engine, path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def is_ready(process: "subprocess.Popen[str]") -> None:
    assert process.stdout
    assert process.stdout.readline() == "ready\n"


async def own(engine: str, path: Path) -> None:
    store = await opened(engine, path)
    await store.commit(file_batch("a", "b"))
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await store.close()


async def own_until_a_commit(engine: str, path: Path) -> None:
    """Dies inside the first commit that a guest asks for, after it is durable and before it is answered."""
    doomed = False

    def step(name: str) -> None:
        if doomed and name == "committed":
            os.kill(os.getpid(), signal.SIGKILL)

    store = await opened(engine, path, step=step)
    await store.commit(file_batch("a", "b"))
    doomed = True
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await store.close()


async def ask(engine: str, path: Path) -> None:
    """What `status` does, as one of many that come at once."""
    store = await open_store(f"{engine}:{path}", project="p", share=True)
    print(len(await store.nodes(Select())))
    await store.close()


async def job(engine: str, path: Path) -> None:
    """Opens the graph for itself, if it may."""
    store = await kuzu.open(f"{engine}:{path}", project="p")
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await store.close()


async def knock(_: str, path: Path, user: str) -> None:
    """As another user, print what the socket says: the bytes of a welcome, or why not."""
    os.setuid(int(user))
    with socket.socket(socket.AF_UNIX) as guest:
        try:
            guest.connect(str(path))
            print(len(guest.recv(100)))
        except OSError as error:
            print(type(error).__name__)


DEEDS: dict[str, Any] = {deed.__name__: deed for deed in (own, own_until_a_commit, ask, job, knock)}

if __name__ == "__main__":
    asyncio.run(DEEDS[sys.argv[1]](sys.argv[2], Path(sys.argv[3]), *sys.argv[4:]))
