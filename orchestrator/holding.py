"""What one process of a project does at a time, under a named hold of the store."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from graph_stores.errors import TransientStoreError
from graph_stores.model import Fence
from graph_stores.protocol import Store
from orchestrator.leases import is_gone

_SECONDS = 60.0
_LOOK = 1.0


@asynccontextmanager
async def holding(store: Store, name: str, *, owner: str, waiting: Callable[[], None]) -> AsyncIterator[Fence]:
    """Wait until nobody else has the hold, and keep it; `waiting` is called once if somebody has.

    A process may sleep for longer than the hold lasts: what must not be done without it is committed with the fence.
    """
    told = False
    while (token := await take(store, name, owner=owner)) is None:
        if not told:
            told = True
            waiting()
        await asyncio.sleep(_LOOK)
    keeping = asyncio.create_task(_keep(store, name, token))
    try:
        yield Fence(name=name, token=token)
    finally:
        keeping.cancel()
        await asyncio.wait([keeping])
        with suppress(TransientStoreError):  # then it runs out by itself
            await store.let_go(name, token=token)


async def take(store: Store, name: str, *, owner: str, seconds: float = _SECONDS) -> str | None:
    """The hold's token, also where whoever had it was killed and could let nothing go; None if somebody has it."""
    token = await store.hold(name, owner=owner, seconds=seconds)
    if token is None and await _was_of_the_gone(store, name):
        token = await store.hold(name, owner=owner, seconds=seconds)
    return token


async def _was_of_the_gone(store: Store, name: str) -> bool:
    for held, owner, token in (await store.ask("holders")).rows:
        # A server may have read the token just before it was let go, and the owner just after.
        if held == name and owner and is_gone(owner):
            await store.let_go(name, token=token)
            return True
    return False


async def _keep(store: Store, name: str, token: str) -> None:
    while True:
        await asyncio.sleep(_SECONDS / 4)
        try:
            await store.renew(name, token=token, seconds=_SECONDS)
        except TransientStoreError:
            continue
