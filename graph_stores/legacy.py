"""The seam to a graph that graphmill did not make: what a migration asks of it, and does to it.

Apart from `Store`, which refuses such a graph. Knows no rule: what a mark means is decided before this seam, and arrives
as parameters of the queries in `cypher/<dialect>/migration/`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from graph_stores import DEFAULT_DEADLINE, Credentials, module_of
from graph_stores.errors import GraphmillError
from graph_stores.model import Value, VectorSpace

Row = Mapping[str, Value]


class MigrationRefused(GraphmillError):
    """Nothing was changed: what was asked for cannot be done to this graph, or not now."""

    code = "migration_refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """How many nodes of a label a rule moves where; `unknown` is the word that nobody knew."""

    rule: str
    label: str
    to: str
    count: int
    unknown: str | None = None
    examples: Sequence[str] = ()


class MarkedGraph(Protocol):
    """A graph whose nodes carry their marks as properties, and are moved where they are, page by page."""

    url: str

    def text(self, name: str) -> str:
        """One of the queries of the migration, to be read or run by hand."""
        ...

    async def last_place(self) -> int:
        """The largest place of a node: they are asked for by ranges of places."""
        ...

    async def ask(self, question: str, parameters: Mapping[str, Value]) -> Sequence[Row]:
        """One of the queries of the migration, in the engine's read mode."""
        ...

    async def move(self, change: str, parameters: Mapping[str, Value], *, token: str, noted: bool) -> Sequence[Row]:
        """One page in one transaction, while the claim under this token stands; `noted`, with what it moved."""
        ...

    async def claim(self, token: str, *, seconds: float) -> bool:
        """Be the one who migrates, for so long; False while somebody else is."""
        ...

    async def release(self, token: str) -> None: ...

    async def at_work(self) -> Sequence[str]:
        """Who works on the graph now, in words."""
        ...

    async def record(self) -> Mapping[str, Any]:
        """What is remembered of a migration; empty where there was none."""
        ...

    async def remember(self, record: Mapping[str, Value]) -> None: ...

    async def schema(self) -> Sequence[str]:
        """Every constraint and index, as the statement that makes it."""
        ...

    async def clear_way(self, labels: Sequence[str]) -> Sequence[int]:
        """Drop what stands where graphmill's constraints go; returns the places of nodes whose uuid is another's."""
        ...

    async def make_schema(self, adopted: Sequence[str]) -> None:
        """graphmill's schema, and what further labels need."""
        ...

    async def is_graphmill(self) -> bool:
        """Whether graphmill's schema is there."""
        ...

    async def restore_schema(self, before: Sequence[str], *, was_graphmill: bool) -> None:
        """The schema as it was, and nothing of the migration; unless something else has become graphmill's meanwhile."""
        ...

    async def spaces(self) -> Mapping[str, VectorSpace]:
        """The vector space of each project that has one."""
        ...

    async def declare_space(self, project: str, space: VectorSpace) -> None:
        """Without touching a vector: they are there already."""
        ...

    async def forget(self, *, pages_only: bool) -> None:
        """Remove what was remembered of the pages, or of the whole migration."""
        ...

    async def close(self) -> None: ...


async def open_legacy(
    url: str, *, project: str, credentials: Credentials | None = None, deadline: float = DEFAULT_DEADLINE
) -> Any:  # Any: a MarkedGraph or a TableGraph, told apart by their type
    """The graph at the URL, whatever it is; nothing is created and nothing is written by opening it."""
    module = import_module(f"{module_of(url)}.legacy")
    return await module.open_legacy(url, project=project, credentials=credentials, deadline=deadline)
