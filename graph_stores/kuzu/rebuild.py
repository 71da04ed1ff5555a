"""Writes every row of an embedded database into a new file. Runs in a child process: see `probe`.

Needed when the engine crashes in every checkpoint of a database, and to give vectors a column that holds any length.
The rows go through Parquet files that the engine writes and reads; they keep every type but DECIMAL. What only a
person can have added and is not carried over (sequences, indexes, defaults) is refused; macros and comments are lost.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cypher
from graph_stores.kuzu.columns import VECTOR_LIST
from graph_stores.kuzu.session import DIALECT, Rows, Session

_FILE = "rows.parquet"
_MANY = 10_000
_VECTOR = re.compile(r"(FLOAT|DOUBLE)\[\d*\]")


class CannotRebuild(Exception):
    """The database holds something that would be lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    kind: str
    is_key: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    name: str
    is_edges: bool
    columns: Sequence[Column]
    pairs: Sequence[tuple[str, str, str, str]]
    """Of edges: the labels of source and target, and their keys."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def rebuild(source: Session, target: Session, new: Path) -> None:
    """All tables of one database into another, which is empty and in the file `new`."""
    os.chdir(new.parent)  # so that no path, which may hold a quote, gets into a query
    tables = read_tables(source)
    _refuse_losses(source, tables)
    # In one transaction: each of them alone would wait for the disk.
    target.run(cypher.load(DIALECT, "begin"))
    for table in tables:
        _create(target, table)
    target.run(cypher.load(DIALECT, "commit"))
    for table in tables:
        for names in _parts(table):
            _copy(source, target, table, names)
    target.run(cypher.load(DIALECT, "checkpoint"), keep=False)
    with new.open("rb") as file:
        os.fsync(file.fileno())


def read_tables(session: Session) -> list[Table]:
    """Nodes first: edges need them."""
    found = [_table(session, name, kind) for name, kind in _run(session, "tables") if kind in ("NODE", "REL")]
    return sorted(found, key=lambda table: table.is_edges)


def scan(session: Session) -> None:
    """Read every value of every table."""
    for table in read_tables(session):
        if table.is_edges:
            _run(session, "scan_edges", table.names, type=table.name)
        else:
            _run(session, "scan_nodes", table.names, label=table.name)


def _table(session: Session, name: str, kind: str) -> Table:
    is_edges = kind == "REL"
    columns = []
    for _, column, type_, default, more in _run(session, "columns", label=name):
        if default not in ("NULL", "") or type_ == "SERIAL":
            raise CannotRebuild(f"{name}.{column} has a default value")
        columns.append(Column(name=column, kind=type_, is_key=more is True))
    pairs = [(row[0], row[1], row[2], row[3]) for row in _run(session, "connections", type=name)] if is_edges else []
    return Table(name=name, is_edges=is_edges, columns=columns, pairs=pairs)


def _refuse_losses(session: Session, tables: Sequence[Table]) -> None:
    if sequences := _run(session, "sequences"):
        raise CannotRebuild(f"it has the sequence {sequences[0][0]}")
    if indexes := [row for row in _run(session, "indexes") if row[1] != "_PK"]:
        raise CannotRebuild(f"{indexes[0][0]} has the index {indexes[0][1]}")
    if decimals := [table.name for table in tables if any("DECIMAL" in column.kind for column in table.columns)]:
        raise CannotRebuild(f"{decimals[0]} has a column of type DECIMAL")


def _create(target: Session, table: Table) -> None:
    if table.is_edges:
        form = "add_relationship"
        for source, end, _, _ in table.pairs:
            _run(target, form, type=table.name, source=source, target=end)
            form = "add_pair"
    for column in sorted(table.columns, key=lambda column: not column.is_key):
        form = "add_table" if column.is_key else "add_column"
        text = cypher.render_quoted(DIALECT, f"rebuild/{form}", label=table.name, column=column.name)
        target.run(cypher.with_type(text, _new_kind(table, column)), keep=False)


def _new_kind(table: Table, column: Column) -> str:
    is_vector = column.name == "embedding" and "_state" in table.names and _VECTOR.fullmatch(column.kind)
    return VECTOR_LIST if is_vector else column.kind


def _parts(table: Table) -> Iterator[dict[str, str]]:
    """What a query over the table, or over one pair of labels of it, names."""
    if not table.is_edges:
        yield {"label": table.name}
    for source, end, source_key, end_key in table.pairs:
        yield {"type": table.name, "source": source, "target": end, "source_key": source_key, "target_key": end_key}


def _copy(source: Session, target: Session, table: Table, names: dict[str, str]) -> None:
    what = "edges" if table.is_edges else "nodes"
    count = _run(source, f"count_{what}", (), **names)[0][0]
    if not count:
        return
    _run(source, f"write_{what}", table.names, file=_FILE, **names)
    _run(target, f"read_{what}", table.names, file=_FILE, **names)
    Path(_FILE).unlink()
    if count > _MANY:  # until then they are in memory
        target.run(cypher.load(DIALECT, "checkpoint"), keep=False)
    copied = _run(target, f"count_{what}", (), **names)[0][0]
    if copied != count:
        raise CannotRebuild(f"{table.name} has {count} rows, and {copied} in the new file")


def _run(session: Session, name: str, columns: tuple[str, ...] = (), **names: str) -> Rows:
    return session.run(cypher.render_quoted(DIALECT, f"rebuild/{name}", columns, **names), keep=False)
