"""The guest's side of the socket: one call, asked of the owner of an embedded database.

Tells apart what was not asked, so that it can be asked elsewhere, from what may have happened.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graph_stores.errors import DeadlineExceeded, StoreOwned, TransientStoreError
from graph_stores.kuzu import wire
from graph_stores.kuzu.codec import Malformed
from graph_stores.kuzu.place import is_same_user

# The owner ends a call at its deadline; this is for the answer to arrive.
_MARGIN = 5.0


class OwnerGone(Exception):
    """Nobody answers there, or nobody any more; and nothing was changed."""


class AnswerLost(TransientStoreError):
    """The owner ended between a change and its answer."""

    code = "answer_lost"


async def ask(place: Path, project: str, call: str, arguments: Mapping[str, Any], *, deadline: float) -> Any:
    """The owner's answer, or the error that it met."""
    frame = wire.asked(project, call, arguments)
    try:
        async with asyncio.timeout(deadline + _MARGIN):
            return await _exchange(place, call, frame, changes=call in wire.CHANGES or bool(arguments.get("write")))
    except TimeoutError as error:
        raise DeadlineExceeded(
            f"the owner of the graph did not answer within {deadline:g} seconds",
            hint="what was asked may still happen; read the graph before trying again",
        ) from error
    except Malformed as error:
        raise StoreOwned(
            f"the graph is in use by a process that this version of graphmill does not understand: {error}",
            hint="wait until it ends, or use the same version for both",
        ) from error


async def _exchange(place: Path, call: str, frame: bytes, *, changes: bool) -> Any:
    reader, writer = await _connected(place)
    sent = False
    try:
        await wire.read_welcome(reader)
        sent = True
        # Not drained: an owner that turns one away does so before it has read everything.
        writer.write(frame)
        return await wire.read_answer(reader, call)
    except wire.Closing as error:
        raise OwnerGone from error
    except (OSError, asyncio.IncompleteReadError) as error:
        if sent and changes:
            raise AnswerLost(
                "the owner of the graph ended before it answered",
                hint="it may have happened: look before you repeat it",
            ) from error
        raise OwnerGone from error
    finally:
        # At once, also when nobody waits any more: the owner stops what it was asked for.
        writer.transport.abort()


async def _connected(place: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        reader, writer = await asyncio.open_unix_connection(place)
    except PermissionError as error:
        raise _strange(place) from error
    except OSError as error:
        raise OwnerGone from error
    # Somebody else's process would learn what is asked, and could answer anything.
    if not is_same_user(writer.get_extra_info("socket")):
        writer.transport.abort()
        raise _strange(place)
    return reader, writer


def _strange(place: Path) -> StoreOwned:
    return StoreOwned(
        f"the graph is in use by a process of another user than {os.geteuid()}, which answers at {place}",
        hint="ask as the user who runs it, or wait until it ends",
    )
