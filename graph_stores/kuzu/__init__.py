"""The embedded engines, Kuzu and its successor Ladybug: one adapter, one owner process per database."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from graph_stores import Credentials
from graph_stores.errors import Misuse, NotAStore, StoreNotFound, StoreOwned
from graph_stores.kuzu.engine import Connect, Engine
from graph_stores.kuzu.frontier import Clock
from graph_stores.kuzu.guard import Guard, Step
from graph_stores.kuzu.memory import use_few_arenas
from graph_stores.kuzu.ownership import Ownership, is_owned_here, owner_of
from graph_stores.kuzu.recovery import cut_back
from graph_stores.kuzu.shared import PATIENCE, SharedStore, ask_to_leave
from graph_stores.kuzu.store import DEFAULT_LOG_LIMIT, EmbeddedStore

_LOOK = 0.02
_MAGIC = {"kuzu": b"KUZU", "ladybug": b"LBUG"}


async def open(
    url: str,
    *,
    project: str,
    credentials: Credentials | None = None,
    create: bool = False,
    deadline: float = 60.0,
    log_limit: int = DEFAULT_LOG_LIMIT,
    clock: Clock | None = None,
    connect: Connect | None = None,
    step: Step | None = None,
) -> EmbeddedStore:
    """Own the database at the path; a command that has it for now makes room. Also lets other processes ask for it.

    The last three arguments let a test script time, faults and kills.
    """
    path = _path(url)
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return await _own(
                url,
                path,
                project=project,
                create=create,
                deadline=deadline,
                log_limit=log_limit,
                clock=clock,
                connect=connect,
                step=step,
            )
        except StoreOwned:
            if time.monotonic() > until or not await ask_to_leave(path):
                raise
            await asyncio.sleep(_LOOK)


async def share(
    url: str,
    *,
    project: str,
    credentials: Credentials | None = None,
    create: bool = False,
    deadline: float = 60.0,
) -> SharedStore:
    """The database at the path for one command: asked of its owner, or owned for now where nobody does."""
    path = _path(url)

    async def own(give_way: Callable[[], None]) -> EmbeddedStore:
        try:
            return await _own(url, path, project=project, create=create, deadline=deadline, give_way=give_way)
        except (NotAStore, StoreNotFound):
            if owner_of(path):
                ownership = Ownership.take(path)  # refused where there is an owner, who may just be making it
                ownership.release(closed=not ownership.deaths)
            raise

    return SharedStore(url=url, project=project, path=path, own=own, deadline=deadline)


def recover(url: str) -> tuple[int, Path | None]:
    """Go back to the last commit with which the engine survives: see `recovery.cut_back`."""
    name, path = checked_path(url)
    ownership, closed = Ownership.take(path), False
    try:
        outcome = cut_back(name, path, Guard(path, lambda _: None))
        closed = True
        return outcome
    finally:
        ownership.release(closed=closed)


async def _own(
    url: str,
    path: Path,
    *,
    project: str,
    create: bool,
    deadline: float,
    log_limit: int = DEFAULT_LOG_LIMIT,
    clock: Clock | None = None,
    connect: Connect | None = None,
    step: Step | None = None,
    give_way: Callable[[], None] | None = None,
) -> EmbeddedStore:
    name = url.partition(":")[0]
    if not is_owned_here(path):  # else closing the file here would end the engine's own lock on it
        _check_path(path, name, create)
    ownership = Ownership.take(path, guest=give_way is not None)
    use_few_arenas()
    _remove_unwritten(path, create)
    guard = Guard(path, step or (lambda _: None))
    # From here on the store answers for the ownership, also when it cannot be opened.
    store = await EmbeddedStore.open(
        url=url,
        project=project,
        engine=Engine(name, path, guard, connect=connect, deadline=deadline),
        ownership=ownership,
        clock=clock or Clock(),
        log_limit=log_limit,
    )
    try:
        await store.answer_guests(give_way=give_way)
    except BaseException:
        await store.close()
        raise
    return store


def _path(url: str) -> Path:
    name, _, place = url.partition(":")
    if not place:
        raise Misuse(f"the store {url!r} has no path", hint=f"write {name}:PATH, for example {name}:./graph.{name}")
    if place.startswith("//"):
        raise Misuse(f"{url!r} names a host, expected a path", hint=f"write {name}:{place.lstrip('/')}")
    return Path(place).expanduser().resolve()


def checked_path(url: str) -> tuple[str, Path]:
    """The engine's name and the path of a database that is there."""
    name, path = url.partition(":")[0], _path(url)
    _check_path(path, name, create=False)
    return name, path


def _remove_unwritten(path: Path, create: bool) -> None:
    """What a kill between making the file and its first write leaves; only once it is ours, or it may be being made."""
    if create and path.exists() and not path.stat().st_size:
        path.unlink()


def _check_path(path: Path, name: str, create: bool) -> None:
    """The engines crash or misread what is not theirs, so the first bytes are looked at before they are asked."""
    if path.is_dir():
        raise NotAStore(f"{path} is a folder, expected a {name} database file", hint="name a file inside it")
    if not path.exists():
        if Guard(path, lambda _: None).holds_copy():
            return
        if not create:
            raise StoreNotFound(
                f"there is no graph at {path}",
                hint="go to the folder that has it, or name it with --store;"
                f" a new one: graphmill --store {name}:{path} ingest PATH",
            )
        return
    if create and not path.stat().st_size:
        return
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise NotAStore(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error
    if magic == _MAGIC[name]:
        return
    other = next((engine for engine, bytes_ in _MAGIC.items() if bytes_ == magic), None)
    if other:
        raise NotAStore(f"{path} is a {other} database, not a {name} one", hint=f"call it {other}:{path}")
    raise NotAStore(f"{path} is not a {name} database", hint="choose another path; nothing was changed")
