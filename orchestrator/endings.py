"""Calls of the store that are not left half way: what they did would be found out by the next process only."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

_LAST_SECONDS = 5.0


async def to_its_end(call: Awaitable[T], *, unwanted: Callable[[T], Awaitable[None]] | None = None) -> T:
    """The answer. Who is cancelled meanwhile is so only after it has come, or would take too long.

    `unwanted` is told an answer that nobody waits for any more.
    """
    task = asyncio.ensure_future(call)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=_LAST_SECONDS)
        if not task.done():
            task.cancel()
        elif unwanted and not task.cancelled() and not task.exception():
            await unwanted(task.result())
        raise
