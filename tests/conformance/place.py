"""The graph of one test, wherever its engine keeps it."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from graph_stores import Credentials, open_store
from graph_stores.protocol import Store

ENGINES = ["kuzu", "ladybug", "neo4j"]
# How Kuzu is written to depends on how large its tables are; what is written must not.
IN_EVERY_FORM = pytest.mark.parametrize("engine", [*ENGINES, "kuzu by key"], indirect=True)

# Where a test says nothing about the engine, or what it says takes too long to hear it from each of them.
HERE = pytest.mark.parametrize("engine", ["kuzu"], indirect=True)
HERE_AND_ON_A_SERVER = pytest.mark.parametrize("engine", ["kuzu", "neo4j"], indirect=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a test's graph is, to be opened, closed and opened again."""

    url: str
    project: str
    credentials: Credentials | None = None
    handles: list[Store] = field(default_factory=list)

    async def open(self, **options: Any) -> Store:
        store = await open_store(self.url, **{"project": self.project, "credentials": self.credentials} | options)
        self.handles.append(store)
        return store

    async def reopen(self, **options: Any) -> Store:
        await self.close()
        return await self.open(**options)

    async def close(self, *, quickly: bool = False) -> None:
        while self.handles:
            await self.handles.pop().close(quickly=quickly)

    async def other_handle(self) -> Store:
        """A second handle where the engine allows one, and the same handle where one process owns the file."""
        return await self.open() if self.handles[0].capabilities.many_processes else self.handles[0]
