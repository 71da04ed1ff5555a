"""The seam to a graph that graphmill did not make: what a migration asks of it, and does to it.

Apart from `Store`, which refuses such a graph. Knows no rule: what a mark means is decided before this seam, and
arrives as parameters of the queries in `cypher/<dialect>/migration/`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar

from graph_stores import DEFAULT_DEADLINE, Credentials, module_of
from graph_stores.errors import GraphmillError
from graph_stores.model import Value, VectorSpace

Row = Mapping[str, Value]
T = TypeVar("T")


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


class Held(Protocol):
    """Rows that were read in columns; only those that are asked for become values."""

    table: Any  # Any: as the engine has it

    def __len__(self) -> int: ...

    def column(self, name: str) -> list[Value]: ...

    def lengths(self, name: str) -> list[int | None]:
        """How long each list of a column is; None where there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """Columns that go over as they are, by their old name and their new one: of the rows at these places, or of all.

    Of what is in `copies` a second column is made, by its new name, and only in those rows."""

    held: Held
    places: Sequence[int] | None
    names: Mapping[str, str]
    copies: Mapping[str, tuple[str, Sequence[bool]]] = field(default_factory=dict)


class MarkedGraph(Protocol):
    """A graph whose nodes carry their marks as properties, and are moved where they are, page by page."""

    url: str

    def learn(self, names: Mapping[str, Sequence[str]]) -> None:
        """What the marks are called in this graph; the queries are made of these names."""
        ...

    def text(self, name: str) -> str:
        """One of the queries of the migration, to be read or run by hand."""
        ...

    async def last_place(self) -> int:
        """The largest place of a node: they are asked for by ranges of places."""
        ...

    async def find(self, question: str, parameters: Mapping[str, Value]) -> Sequence[Row]:
        """One of the queries of the migration, in the engine's read mode."""
        ...

    async def move(self, change: str, parameters: Mapping[str, Value], *, token: str) -> Sequence[Row]:
        """One page in one transaction, with a note of what it moved, while the claim under this token stands."""
        ...

    async def claim(self, token: str, *, seconds: float) -> bool:
        """Be the one who migrates, for so long; False while somebody else is."""
        ...

    async def release(self, token: str) -> None: ...

    async def at_work(self, project: str | None) -> Sequence[str]:
        """Who works on the project now, or on any, in words."""
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

    async def drop_schema(self, before: Sequence[str], *, was_graphmill: bool) -> bool:
        """What was not there before; False, and nothing, where something else has become graphmill's meanwhile."""
        ...

    async def restore_schema(self, before: Sequence[str], *, was_graphmill: bool) -> None:
        """What is missing of what was there before; and nothing is remembered of the migration."""
        ...

    async def spaces(self) -> Mapping[str, VectorSpace]:
        """The vector space of each project that has one."""
        ...

    async def declare_space(self, project: str, space: VectorSpace) -> None:
        """Without touching a vector: they are there already."""
        ...

    async def forget_space(self, project: str) -> None:
        """Take the declaration back, and leave the vectors alone."""
        ...

    async def forget_records(self, projects: Sequence[str]) -> None:
        """Remove the records of runs and workers of projects."""
        ...

    async def forget_pages(self, project: str | None) -> None:
        """Remove the notes of what was moved, of a project or of all."""
        ...

    async def close(self) -> None: ...


class Page(Protocol):
    """A part of the new graph's rows that is there as a whole or not at all; `counted` is kept with it."""

    counted: Any  # Any: whatever can be written as JSON


class Staging(Protocol):
    """The pages that are there already, also those that were made before a kill."""

    order: Mapping[str, Any]

    def note(self, **more: Any) -> None:
        """Facts that stay the same however often it is begun."""
        ...

    def counted(self, name: str) -> Any: ...

    def page(self, name: str) -> AbstractContextManager[Page]: ...

    def columns(self, table: str, names: Sequence[str], pair: tuple[str, str] = ("", "")) -> Iterator[tuple[Any, ...]]:
        """Some columns of what is in the pages, row by row."""
        ...


class NewGraph(Protocol):
    """A graph of graphmill's whose rows are put into pages, and loaded when all of them are there."""

    said: Sequence[str]
    """The statements that made its tables, in addition to graphmill's own schema."""

    @property
    def tables(self) -> "Tables": ...

    def add_columns(self, table: str, columns: Mapping[str, str]) -> None:
        """By name and type; one that is there stays as it is."""
        ...

    def drop_columns(self, table: str, columns: Sequence[str]) -> None: ...

    def add_table(self, label: str, key: str, columns: Mapping[str, str]) -> None: ...

    def add_relationship(self, kind: str, pairs: Iterable[tuple[str, str]], columns: Mapping[str, str]) -> None: ...

    def add(
        self, page: Any, label: str, columns: Mapping[str, Value], count: int, carried: Carried | None = None
    ) -> None:
        """Rows of a table: lists, or one value for all of them; and what is carried over from the old one."""
        ...

    def connect(
        self,
        page: Any,
        kind: str,
        pair: tuple[str, str],
        columns: Mapping[str, Value],
        count: int,
        carried: Carried | None = None,
    ) -> None:
        """Relationships by the keys of their ends, `_from` and `_to`."""
        ...

    def load(self, staging: Any) -> None:
        """All that is in the pages."""
        ...

    def run(self, question: str, parameters: Mapping[str, Value]) -> None: ...


class TableGraph(Protocol):
    """A graph in tables with keys of their own, of which a new one is made; what is read is read where it is."""

    url: str
    tables: "Tables"
    keys: Mapping[str, str]
    """The key of each table of nodes."""
    odd: Sequence[str]
    """Names of tables and columns that would have to be quoted, and cannot be asked for."""
    backup: Path

    @property
    def is_graphmill(self) -> bool: ...

    async def in_thread(self, work: Callable[[], T]) -> T: ...

    def places(self, label: str) -> tuple[int, int]: ...

    def text(self, question: str, columns: Sequence[str] = (), properties: Sequence[str] = (), **names: str) -> str: ...

    def rows(
        self,
        question: str,
        parameters: Mapping[str, Value],
        columns: Sequence[str] = (),
        properties: Sequence[str] = (),
        **names: str,
    ) -> list[Sequence[Value]]: ...

    def held(
        self,
        question: str,
        parameters: Mapping[str, Value],
        columns: Sequence[str] = (),
        properties: Sequence[str] = (),
        **names: str,
    ) -> Held: ...

    def check_room(self) -> None:
        """Refuse where the copy and the new graph would not fit."""
        ...

    def staging(self, order: Mapping[str, Value]) -> Staging:
        """The pages of this order that there are; those of another go."""
        ...

    def trying(self, projects: Sequence[str], space: VectorSpace | None) -> AbstractContextManager[NewGraph]:
        """A new graph that is thrown away."""
        ...

    def building(self, projects: Sequence[str], space: VectorSpace | None) -> AbstractContextManager[NewGraph]:
        """A new graph, in which the vectors of all these projects are in the space."""
        ...

    def take_place(self) -> None:
        """The new graph instead of the old one, which is kept as it was."""
        ...

    def restore(self) -> None:
        """The old graph again, byte for byte."""
        ...

    def drop_backup(self) -> None: ...

    def writing(self) -> AbstractContextManager[NewGraph]: ...

    async def close(self) -> None: ...


class Tables(Protocol):
    """Column types by table, and between which labels a relationship may go."""

    @property
    def nodes(self) -> Mapping[str, Mapping[str, str]]: ...
    @property
    def edges(self) -> Mapping[str, Mapping[str, str]]: ...
    @property
    def pairs(self) -> Mapping[str, frozenset[tuple[str, str]]]: ...


async def open_legacy(
    url: str, *, project: str, credentials: Credentials | None = None, deadline: float = DEFAULT_DEADLINE
) -> Any:  # Any: a MarkedGraph or a TableGraph, which are told apart by what they can
    """The graph at the URL, whatever it is; nothing is created and nothing is written by opening it."""
    module = import_module(f"{module_of(url)}.legacy")
    return await module.open_legacy(url, project=project, credentials=credentials, deadline=deadline)
