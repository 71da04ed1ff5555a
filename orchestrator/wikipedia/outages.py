"""A wiki that does not answer is waited for."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pipelines.wikipedia.model import WikiUnavailable

T = TypeVar("T")

OUTAGE_PAUSE = 10.0


async def answered(call: Callable[[], Awaitable[T]], say: Callable[[str], None]) -> T:
    """Ask the wiki until it answers; that it does not is said once."""
    told = False
    while True:
        try:
            answer = await call()
        except WikiUnavailable as error:
            if not told:
                told = True
                say(f"{error.message}; waiting for it")
            await asyncio.sleep(error.retry_after or OUTAGE_PAUSE)
        else:
            if told:
                say("the wiki answers again")
            return answer
