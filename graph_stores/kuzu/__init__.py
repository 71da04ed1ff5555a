"""The embedded engines, Kuzu and its successor Ladybug: one adapter, one owner process per database."""

from pathlib import Path

from graph_stores import Credentials
from graph_stores.errors import Misuse, NotAStore, StoreNotFound
from graph_stores.kuzu.engine import Connect, Engine
from graph_stores.kuzu.frontier import Clock
from graph_stores.kuzu.guard import Guard, Step
from graph_stores.kuzu.ownership import Ownership
from graph_stores.kuzu.store import DEFAULT_LOG_LIMIT, EmbeddedStore

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
    """Own the database at the path. The last three arguments let a test script time, faults and kills."""
    name, _, place = url.partition(":")
    if not place:
        raise Misuse(f"the store {url!r} has no path", hint=f"write {name}:PATH, for example {name}:./graph.{name}")
    if place.startswith("//"):
        raise Misuse(f"{url!r} names a host, expected a path", hint=f"write {name}:{place.lstrip('/')}")
    path = Path(place).expanduser().resolve()
    _check_path(path, name, create)
    ownership = Ownership.take(path)
    guard = Guard(path, step or (lambda _: None))
    # From here on the store answers for the ownership, also when it cannot be opened.
    return await EmbeddedStore.open(
        url=url,
        project=project,
        engine=Engine(name, path, guard, connect=connect, deadline=deadline),
        ownership=ownership,
        clock=clock or Clock(),
        log_limit=log_limit,
    )


def _check_path(path: Path, name: str, create: bool) -> None:
    """The engines crash or misread what is not theirs, so the first bytes are looked at before they are asked."""
    if path.is_dir():
        raise NotAStore(f"{path} is a folder, expected a {name} database file", hint="name a file inside it")
    if not path.exists():
        if Guard(path, lambda _: None).holds_copy():
            return
        if not create:
            raise StoreNotFound(
                f"there is no graph at {path}", hint=f"create it with: graphmill --store {name}:{path} init"
            )
        return
    if create and not path.stat().st_size:
        path.unlink()  # a kill between making the file and its first write
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
        raise NotAStore(f"{path} is a {other} database, not a {name} one", hint=f"use --store {other}:{path}")
    raise NotAStore(f"{path} is not a {name} database", hint="choose another path; nothing was changed")
