"""What another process does to an embedded database: `python -m tests.conformance.kuzu_child DEED ENGINE PATH`."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from graph_stores import kuzu
from graph_stores.errors import GraphmillError, StoreClosed, StoreOwned
from graph_stores.kuzu.store import EmbeddedStore
from graph_stores.model import Batch, Select
from orchestrator.moves import new_node


def child(deed: str, engine: str, path: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "ignore", "-m", "tests.conformance.kuzu_child", deed, engine, str(path), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


async def opened(engine: str, path: Path, **options: Any) -> EmbeddedStore:
    store = await kuzu.open(f"{engine}:{path}", project="p", create=True, **options)
    await store.migrate()
    return store


def file_batch(*uuids: str, name: str = "x") -> Batch:
    return Batch(nodes=[new_node(label="File", uuid=uuid, name=name) for uuid in uuids])


async def try_to_open(engine: str, path: Path) -> None:
    """Print why it may not, or nothing."""
    try:
        store = await kuzu.open(f"{engine}:{path}", project="p")
        await store.close()
    except GraphmillError as error:
        print(error.code, error)


async def die_as_owner(engine: str, path: Path) -> None:
    await opened(engine, path)
    os.kill(os.getpid(), signal.SIGKILL)


async def write_and_die(engine: str, path: Path) -> None:
    """Ten commits in the log only, as a kill leaves them."""
    store = await opened(engine, path)
    await store._write(lambda: store._engine.checkpoint(wait=True))
    for number in range(10):
        await store.commit(file_batch(str(number), name="x" * 3000))
    os._exit(0)


async def run_out_of_room(engine: str, path: Path) -> None:
    """A commit whose log write fails for real, because the file may not grow."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = await opened(engine, path)
    await store.commit(file_batch("before"))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (store._engine.guard.log_size() + 5000, hard))
    large = file_batch(*(f"large-{number}" for number in range(200)), name="y" * 5000)
    for attempt in (store.commit(large), store.nodes(Select()), store.close()):
        try:
            await attempt
            print("done")
        except GraphmillError as error:
            print(error.code)


async def fork(engine: str, path: Path) -> None:
    """The forked child may use neither the handle nor a new one, and its end frees nothing."""
    store = await opened(engine, path)
    forked = os.fork()
    if not forked:
        try:
            await store.nodes(Select())
        except StoreClosed:
            try:
                await kuzu.open(f"{engine}:{path}", project="p")
            except StoreOwned:
                os._exit(7)
        os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]))  # noqa: ASYNC222 nothing else runs here
    print(child("try_to_open", engine, path).stdout.split()[0])
    print(await store.nodes(Select()))
    await store.close()


async def load_in_bulk(engine: str, path: Path, statement: str, end: str) -> None:
    store = await opened(engine, path)
    await store.commit(file_batch(*(str(number) for number in range(300))))
    await store.query("CREATE NODE TABLE Other(id STRING PRIMARY KEY)", {}, write=True)
    await store.query(statement, {}, write=True)
    await store.commit(file_batch("later"))
    print("answered", flush=True)
    if end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    await store.close()


async def count(engine: str, path: Path, table: str) -> None:
    store = await kuzu.open(f"{engine}:{path}", project="p")
    print((await store.query(f"MATCH (n:{table}) RETURN count(*)", {})).rows[0][0])
    await store.close()


_ALL = (try_to_open, die_as_owner, write_and_die, run_out_of_room, fork, load_in_bulk, count)
DEEDS: dict[str, Any] = {deed.__name__: deed for deed in _ALL}

if __name__ == "__main__":
    asyncio.run(DEEDS[sys.argv[1]](sys.argv[2], Path(sys.argv[3]), *sys.argv[4:]))
