"""Rows into statements of an embedded engine, inside a transaction.

Chooses between a statement per key and one statement for all: the first costs the same however large the table is,
the second reads the table's keys once.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import cypher
from graph_stores.errors import MissingNode
from graph_stores.kuzu.columns import Tables, arrow, plain
from graph_stores.kuzu.session import DIALECT, Rows, Session
from graph_stores.model import Value

T = TypeVar("T")
K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    session: Session
    tables: Tables
    project: str
    prefers_keys: Callable[[str, int], bool]
    """Whether that many statements by key are cheaper than reading the keys of the label's table."""

    def each(
        self,
        table: str,
        name: str,
        rows: list[dict[str, Value]],
        types: Mapping[str, str],
        columns: tuple[str, ...] = (),
        **identifiers: str,
    ) -> Sequence[Sequence[Value]]:
        """The rows through `name`_one or `name`_many, whichever is cheaper."""
        if self.prefers_keys(table, len(rows)):
            return self.one_by_one(f"{name}_one", rows, columns, **identifiers)
        return self.together(f"{name}_many", rows, types, columns, **identifiers)

    def one_by_one(
        self, name: str, rows: list[dict[str, Value]], columns: tuple[str, ...] = (), **identifiers: str
    ) -> list[Sequence[Value]]:
        text = cypher.render(DIALECT, name, columns, **identifiers)
        return [answer for row in rows for answer in self.session.run(text, {"project": self.project, **row})]

    def together(
        self,
        name: str,
        rows: list[dict[str, Value]],
        types: Mapping[str, str],
        columns: tuple[str, ...] = (),
        **identifiers: str,
    ) -> Rows:
        text = cypher.render(DIALECT, name, columns, **identifiers)
        return self.session.run(text, {"project": self.project, "rows": arrow_of(rows, types)})

    def found(self, label: str, uuids: Sequence[str]) -> Rows:
        """Those that are in the project, with their state and lease token."""
        text = cypher.render(DIALECT, "found", label=label)
        return self.session.run(text, {"uuids": list(uuids), "project": self.project})

    def refuse_missing(self, label: str, wanted: Iterable[str], there: set[str]) -> None:
        if missing := next((uuid for uuid in wanted if uuid not in there), None):
            raise MissingNode(
                f"{label} {missing} is not in project {self.project}", hint="write the node in the same batch or before"
            )


def prefixed(values: Mapping[str, Value]) -> dict[str, Value]:
    """Values under names that cannot meet a variable of the query."""
    return {f"v_{name}": plain(value) for name, value in values.items()}


def prefixed_types(types: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {f"v_{name}": types[name] for name in names}


def arrow_of(rows: list[dict[str, Value]], types: Mapping[str, str]) -> Any:
    return arrow({name: [row[name] for row in rows] for name in types}, types)


def by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    groups: dict[K, list[T]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups
