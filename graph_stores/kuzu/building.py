"""A graph of graphmill's that a migration makes: its tables first, then rows in pages on disk, then all of them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import cypher
from graph_stores.kuzu.columns import VECTOR_LIST, Tables, arrow, arrow_type
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.guard import Guard
from graph_stores.kuzu.memory import give_back
from graph_stores.kuzu.schema import Schema
from graph_stores.kuzu.session import DIALECT
from graph_stores.kuzu.staging import Page, Rows, Staging
from graph_stores.kuzu.vectors import Vectors
from graph_stores.legacy import Carried
from graph_stores.model import Value, VectorSpace

_DEADLINE = 3600.0


class Building:
    """A graph of graphmill's that is filled table by table. Nothing of it counts before it takes its place."""

    def __init__(
        self, name: str, path: Path, projects: Sequence[str], space: VectorSpace | None, *, new: bool = True
    ) -> None:
        self._engine = Engine(name, path, Guard(path, lambda _: None), connect=None, deadline=_DEADLINE)
        self._engine.recover_and_open()
        self.said: list[str] = []
        if new:
            Schema(self._engine).migrate()
            if space:
                for project in projects:
                    Vectors(self._engine, project).use(space)

    @property
    def tables(self) -> Tables:
        return self._engine.tables

    def add_columns(self, table: str, columns: Mapping[str, str]) -> None:
        self._change("a column could not be added", [cypher.add_column(table, *each) for each in columns.items()])

    def drop_columns(self, table: str, columns: Sequence[str]) -> None:
        drop = [cypher.render(DIALECT, "migration/drop_column", label=table, column=column) for column in columns]
        self._change("a column could not be dropped", drop)

    def add_table(self, label: str, key: str, columns: Mapping[str, str]) -> None:
        """One that is there already gets what it lacks; the key of it is as it is."""
        made = [] if label in self.tables.nodes else [cypher.add_table(label, key, columns[key])]
        more = {name: kind for name, kind in columns.items() if name != key}
        self._change("a table could not be made", made + [cypher.add_column(label, *each) for each in more.items()])

    def add_relationship(self, kind: str, pairs: Iterable[tuple[str, str]], columns: Mapping[str, str]) -> None:
        form = "add_pair" if kind in self.tables.edges else "add_relationship"
        made = []
        for source, target in sorted(pairs):
            made.append(cypher.render(DIALECT, f"migration/{form}", type=kind, source=source, target=target))
            form = "add_pair"
        self._change(
            "a relationship could not be made", made + [cypher.add_column(kind, *each) for each in columns.items()]
        )

    def add(
        self, page: Page, label: str, columns: Mapping[str, Value], count: int, carried: Carried | None = None
    ) -> None:
        """Rows of a table: lists, or one value for all of them; and what is carried over from the old one."""
        if count:
            page.put(Rows(label), self._table(columns, self.tables.nodes[label], count, carried))

    def connect(
        self,
        page: Page,
        kind: str,
        pair: tuple[str, str],
        columns: Mapping[str, Value],
        count: int,
        carried: Carried | None = None,
    ) -> None:
        """Relationships by the keys of their ends, `_from` and `_to`."""
        if count:
            known = self.tables.edges[kind]
            types = {**known, "_from": "STRING", "_to": "STRING"}
            if known and not (carried and carried.names.keys() & known) and not columns.keys() & known:
                columns = {
                    **columns,
                    next(iter(known)): None,
                }  # the engine takes rows without any for rows without ends
            table = self._table(columns, types, count, carried)
            # The ends come first: the engine knows them by that.
            rest = [name for name in table.column_names if name not in ("_from", "_to")]
            page.put(Rows(kind, *pair), table.select(["_from", "_to", *rest]))

    def load(self, staging: Staging) -> None:
        """All that is in the pages: first the nodes, then what is between them."""
        for rows, table in staging.portions(edges=False):
            names = tuple(table.column_names)
            self._copy(cypher.render(DIALECT, "migration/copy_nodes", columns=names, label=rows.table), table)
            self._open_anew()
        for rows, table in staging.portions(edges=True):
            columns = tuple(table.column_names[2:])
            form = "migration/copy_edges" if columns else "migration/copy_bare_edges"
            ends = {"source": rows.source, "target": rows.target}
            self._copy(cypher.render(DIALECT, form, columns=columns, type=rows.table, **ends), table)
            self._open_anew()

    def run(self, question: str, parameters: Mapping[str, Value]) -> None:
        with self._engine.transaction("the migration could not be written down") as session:
            session.run(cypher.load(DIALECT, f"migration/{question}"), parameters)

    def close(self) -> None:
        if self._engine.is_open:
            self._engine.checkpoint(wait=True)
            self._engine.close()

    def _open_anew(self) -> None:
        """What the engine keeps in memory of rows that are on disk is let go; not all of them are in its log."""
        self._engine.checkpoint(wait=True)
        give_back()

    def _change(self, doing: str, statements: Sequence[str]) -> None:
        if statements:
            with self._engine.transaction(doing) as session:
                for text in statements:
                    session.run(text, keep=False)
            self._engine.read_tables()
            self.said += statements

    def _table(
        self, columns: Mapping[str, Value], types: Mapping[str, str], count: int, carried: Carried | None
    ) -> Any:
        import pyarrow

        lists = {name: value for name, value in columns.items() if isinstance(value, list)}
        table = arrow(lists, types)
        arrays = {name: table.column(name) for name in lists}
        for name, value in columns.items():
            if name not in lists:
                arrays[name] = pyarrow.repeat(pyarrow.scalar(value, arrow_type(pyarrow, types[name])), count)
        if carried:
            taken = carried.held.table
            if carried.places is not None:
                taken = taken.take(pyarrow.array(carried.places, pyarrow.int64()))
            for source, target in carried.names.items():
                arrays[target] = _cast(taken.column(source), types.get(target, ""))
            for target, (source, wanted) in carried.copies.items():
                rows = pyarrow.array([row if each else None for row, each in enumerate(wanted)], pyarrow.int64())
                arrays[target] = _cast(taken.column(source).take(rows), types[target])
        return pyarrow.table(arrays)

    def _copy(self, text: str, table: Any) -> None:
        with self._engine.transaction("rows could not be copied") as session:
            session.run(text, {"rows": table}, keep=False)


def _cast(column: Any, kind: str) -> Any:
    """As the new table's column has it: numbers may be wider, vectors are of single precision."""
    import pyarrow

    wanted = None if kind.endswith("[]") and kind != VECTOR_LIST else arrow_type(pyarrow, kind)
    if wanted is None or column.type == wanted:
        return column
    return column.cast(wanted, safe=False)
