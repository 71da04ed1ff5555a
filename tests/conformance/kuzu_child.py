"""What another process does to an embedded database: `python -m tests.conformance.kuzu_child DEED ENGINE PATH`."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import cypher
from graph_stores import kuzu
from graph_stores.errors import GraphmillError, StoreClosed, StoreOwned
from graph_stores.kuzu.store import EmbeddedStore
from graph_stores.model import Batch, Select, Vector, VectorSpace
from orchestrator.moves import new_node


def child(
    deed: str, engine: str, path: Path, *more: str, fault: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """With `fault`, the engine kills its process where that is scripted: see crashing/engine.py."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.conformance.kuzu_child", deed, engine, str(path), *more]
    scripted = {"PYTHONPATH": str(CRASHING), "FAULT": fault} if fault else {}
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **scripted},
        start_new_session=bool(fault),  # a scripted Ctrl-C is not for the tests
    )


CRASHING = Path(__file__).parent / "crashing"
DEADLY = "deadly" * 20


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


async def write_one_and_die(engine: str, path: Path) -> None:
    store = await opened(engine, path)
    await store.commit(file_batch("one more"))
    os._exit(0)


async def write_and_close(engine: str, path: Path) -> None:
    """Ten commits in the log only, and a clean end; as where a checkpoint is not worth it."""
    store = await opened(engine, path)
    await store._write(lambda: store._engine.checkpoint(wait=True))
    for number in range(10):
        await store.commit(file_batch(str(number), name="x" * 3000))
    store._engine.checkpoint = lambda *, wait: False  # type: ignore[method-assign]
    await store.close()


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
            print(error.code, error.message, error.hint)


async def close_without_room(engine: str, path: Path) -> None:
    """Everything is committed, and then the database file may not grow."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = await opened(engine, path)
    await store.commit(file_batch("before"))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (store._engine.guard.log_size() + 5000, hard))
    await store.close()
    print("done")


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


async def write_deadly(engine: str, path: Path, end: str) -> None:
    """Two commits, the second of which holds what a scripted fault is about; ends in a checkpoint or without one."""
    store = await opened(engine, path)
    await store._write(lambda: store._engine.checkpoint(wait=True))
    await store.commit(file_batch("a", "b"))
    await store.commit(file_batch("c", name=DEADLY))
    print("acknowledged", flush=True)
    if end == "close":
        await store.close()
    os._exit(0)


async def change_column_in_place(engine: str, path: Path) -> None:
    """What earlier versions did for a model with vectors of another length; the checkpoint after it crashes Kuzu."""
    every, labels = cypher.migrations, ("MarkdownSection", "TextSection", "Scope", "Section", "Chunk")
    cypher.migrations = lambda dialect: every(dialect)[:6]
    store = await opened(engine, path)
    for label in labels:
        await store.query(f"ALTER TABLE {label} ADD embedding FLOAT[256]", {}, write=True)
    await store.use_vector_space(VectorSpace(provider="test", model="old", dimension=256))
    for name in "abc":
        text = new_node(label="MarkdownSection", uuid=name, name=name)
        await store.commit(Batch(nodes=[text], vectors=[Vector(node=text.ref, values=[1.0] * 256)]))
        if name == "a":
            await store._write(lambda: store._engine.checkpoint(wait=True))

    def change() -> None:
        with store._engine.transaction("test") as session:
            for label in labels:
                session.run(f"ALTER TABLE {label} DROP embedding", keep=False)
                session.run(f"ALTER TABLE {label} ADD embedding FLOAT[8]", keep=False)

    await store._write(change)
    print("acknowledged", flush=True)
    await store.close()


async def uuids(engine: str, path: Path) -> None:
    """Print which files and sections there are, or why the graph cannot be opened."""
    try:
        store = await kuzu.open(f"{engine}:{path}", project="p")
        print(*sorted(row.uuid for row in await store.nodes(Select(labels=["File", "MarkdownSection"]))))
        await store.close()
    except GraphmillError as error:
        print(error.code, error.message, error.hint)


async def checkpoint(engine: str, path: Path) -> None:
    store = await kuzu.open(f"{engine}:{path}", project="p")
    await store._write(lambda: store._engine.checkpoint(wait=True))
    print(store._engine.guard.log_size())
    await store.close()


async def recover(engine: str, path: Path) -> None:
    print(*kuzu.recover(f"{engine}:{path}"))


_ALL = (
    try_to_open,
    die_as_owner,
    write_and_die,
    write_one_and_die,
    write_and_close,
    run_out_of_room,
    close_without_room,
    fork,
    load_in_bulk,
    count,
    write_deadly,
    change_column_in_place,
    uuids,
    checkpoint,
    recover,
)
DEEDS: dict[str, Any] = {deed.__name__: deed for deed in _ALL}

if __name__ == "__main__":
    asyncio.run(DEEDS[sys.argv[1]](sys.argv[2], Path(sys.argv[3]), *sys.argv[4:]))
