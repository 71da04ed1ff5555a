"""Holds: one node each, whose lock is taken before it is looked at, and kept by a commit that rests on it."""

import json
from uuid import uuid4

from neo4j import AsyncManagedTransaction

import cypher
from graph_stores.errors import hold_lost
from graph_stores.model import LONGEST_LEASE, Fence, Value, checked_seconds
from graph_stores.neo4j.connection import DIALECT, Connection, fetch
from graph_stores.neo4j.values import sendable, sendable_key


class Holds:
    def __init__(self, connection: Connection, project: str) -> None:
        self._connection = connection
        self._project = project

    async def take(self, name: str, *, owner: str, seconds: float) -> str | None:
        token = uuid4().hex
        key = _key(self._project, name)
        wanted = {"key": key, "token": token, "owner": sendable(owner), "seconds": checked_seconds(seconds)}
        wanted["longest"] = LONGEST_LEASE

        async def work(tx: AsyncManagedTransaction) -> bool:
            await fetch(tx, cypher.load(DIALECT, "hold_create"), key=key, project=self._project, name=sendable(name))
            return bool(await fetch(tx, cypher.load(DIALECT, "hold_take"), **wanted))

        return token if await self._connection.write(work) else None

    async def renew(self, name: str, *, token: str, seconds: float) -> bool:
        return await self._change(name, "hold_renew", token=token, seconds=checked_seconds(seconds))

    async def let_go(self, name: str, *, token: str) -> None:
        """The node stays: whoever waits for its lock would fail if it were gone."""
        await self._change(name, "hold_end", token=token)

    async def _change(self, name: str, change: str, **parameters: Value) -> bool:
        key = _key(self._project, name)

        async def work(tx: AsyncManagedTransaction) -> bool:
            await fetch(tx, cypher.load(DIALECT, "hold_lock"), key=key)
            return bool(await fetch(tx, cypher.load(DIALECT, change), key=key, **parameters))

        return await self._connection.write(work)


async def check_fence(tx: AsyncManagedTransaction, project: str, fence: Fence) -> None:
    """Locked until the commit ends, so that nobody else gets the hold before."""
    key = _key(project, fence.name)
    await fetch(tx, cypher.load(DIALECT, "hold_lock"), key=key)
    if not await fetch(tx, cypher.load(DIALECT, "hold_stands"), key=key, token=fence.token):
        raise hold_lost(fence)


def _key(project: str, name: str) -> str:
    """Of both, and of no other two."""
    return sendable_key(json.dumps([project, name]))
