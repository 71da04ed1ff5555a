"""A migration's way into an embedded database that graphmill did not make: tables with other keys and columns.

Such tables cannot become graphmill's where they are: their keys are others. So a new database is built beside the old
one, which is only read; then the new one takes its place, in the way in which a guarded checkpoint is undone (`guard`),
so that a kill leaves one or the other. The old files, byte for byte, are the way back.
"""

import asyncio
import importlib
import importlib.util
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import cypher
from graph_stores import Credentials
from graph_stores.errors import StoreFull
from graph_stores.kuzu.columns import Tables, arrow, arrow_type
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.errors import translate, translate_open
from graph_stores.kuzu.guard import Guard
from graph_stores.kuzu.ownership import Ownership
from graph_stores.kuzu.schema import Schema
from graph_stores.kuzu.session import DIALECT, Session
from graph_stores.kuzu.traits import TRAITS
from graph_stores.kuzu.vectors import Vectors
from graph_stores.legacy import Carried, Held
from graph_stores.model import Value, VectorSpace

T = TypeVar("T")

_BUFFER_POOL = 1 << 30
_DEADLINE = 3600.0
_BACKUP = "before-migration"
_CHUNK = 100_000
# The old file is copied once and written anew once.
_ROOM = 2.5


async def open_legacy(
    url: str, *, project: str, credentials: Credentials | None = None, deadline: float = 60.0
) -> "TableDatabase":
    from graph_stores.kuzu import checked_path

    name, path = checked_path(url)
    ownership = Ownership.take(path)
    try:
        return await asyncio.to_thread(TableDatabase, url, name, path, ownership)
    except BaseException:
        ownership.release()
        raise


class TableDatabase:
    def __init__(self, url: str, name: str, path: Path, ownership: Ownership) -> None:
        self.url = url
        self._name = name
        self._path = path
        self._ownership = ownership
        self._guard = Guard(path, lambda _: None)
        if self._guard.holds_copy():
            self._guard.recover()
        self._work = path.with_name(f"{path.name}.migration")
        self.backup = path.with_name(f"{path.name}.{_BACKUP}")
        self._database: Any = None
        self.tables = Tables(nodes={}, edges={}, pairs={}, readable={})
        self._open()

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Nothing here is asynchronous: an engine blocks."""
        return await asyncio.to_thread(work)

    @property
    def is_graphmill(self) -> bool:
        return "GraphmillMeta" in self.tables.nodes

    def places(self, label: str) -> tuple[int, int]:
        """One more than the largest place of a row in a table, and how many rows there are."""
        (last, count), *_ = self.rows("last_offset", {}, label=label)
        return (0 if last is None else int(last) + 1), int(count)

    def rows(
        self, question: str, parameters: Mapping[str, Value], columns: Sequence[str] = (), **names: str
    ) -> list[Sequence[Value]]:
        return list(self._run(question, parameters, columns, names).get_all())

    def held(self, question: str, parameters: Mapping[str, Value], columns: Sequence[str] = (), **names: str) -> Held:
        """As columns, of which those that are only carried over are never looked at."""
        return _ArrowHeld(self._run(question, parameters, columns, names).get_as_arrow(_CHUNK))

    def check_room(self) -> None:
        needed = int(_ROOM * (self._guard.file_size() + self._guard.log_size()))
        if (free := shutil.disk_usage(self._path.parent).free) < needed:
            raise StoreFull(
                f"{self._path.parent} has {free:,} bytes, a migration needs {needed:,} for a copy and a new graph",
                hint="make room, or move the graph to where there is some; nothing was changed",
            )

    @contextmanager
    def building(self, project: str, space: VectorSpace | None) -> Iterator["Building"]:
        """A new graph beside this one; whatever an earlier try left there goes first."""
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir()
        building = Building(self._name, self._work / self._path.name, project, space)
        try:
            yield building
        finally:
            building.close()

    def take_place(self) -> None:
        """The new graph instead of this one, whose files are kept."""
        self._close()
        self._guard.backup(_BACKUP)
        self._guard.replace_by(self._work)
        self._open()

    def restore(self) -> None:
        self._close()
        shutil.rmtree(self._work, ignore_errors=True)
        self._guard.replace_by(self.backup)
        self._guard.forget()
        self._open()

    def drop_backup(self) -> None:
        shutil.rmtree(self.backup, ignore_errors=True)

    @contextmanager
    def writing(self) -> Iterator["Building"]:
        """This graph itself, which is graphmill's by now."""
        self._close()
        own = Building(self._name, self._path, "", None, new=False)
        try:
            yield own
        finally:
            own.close()
            self._open()

    async def close(self) -> None:
        self._close()
        self._ownership.release()

    def _open(self) -> None:
        module = importlib.import_module(TRAITS[self._name].module)
        try:
            self._database = module.Database(
                str(self._path), read_only=True, auto_checkpoint=False, buffer_pool_size=_BUFFER_POOL
            )
            self._session = Session(module.Connection(self._database), threads=2)
        except Exception as error:
            raise translate_open(error, self._path, self._name) from error
        self.tables = Tables.read(lambda text: self._session.run(text, keep=False))

    def _close(self) -> None:
        if self._database is not None:
            self._session.close()
            self._database.close()
            self._database = None

    def _run(
        self, question: str, parameters: Mapping[str, Value], columns: Sequence[str], names: Mapping[str, str]
    ) -> Any:
        text = cypher.render(DIALECT, f"migration/{question}", columns=tuple(columns), **names)
        try:
            return self._session.answer(text, parameters)
        except RuntimeError as error:
            raise translate(error, f"the query {question} failed") from error


class Building:
    """A graph of graphmill's that is filled table by table. Nothing of it counts before it takes its place."""

    def __init__(self, name: str, path: Path, project: str, space: VectorSpace | None, *, new: bool = True) -> None:
        self._engine = Engine(name, path, Guard(path, lambda _: None), connect=None, deadline=_DEADLINE)
        self._engine.recover_and_open()
        self._project = project
        if new:
            Schema(self._engine).migrate()
            if space:
                Vectors(self._engine, project).use(space)

    @property
    def tables(self) -> Tables:
        return self._engine.tables

    def add_columns(self, table: str, columns: Mapping[str, str]) -> None:
        for column, kind in columns.items():
            with self._engine.transaction("a column could not be added") as session:
                session.run(cypher.add_column(table, column, kind), keep=False)
        self._engine.read_tables()

    def drop_columns(self, table: str, columns: Sequence[str]) -> None:
        with self._engine.transaction("a column could not be dropped") as session:
            for column in columns:
                text = cypher.render(DIALECT, "migration/drop_column", label=table, column=column)
                session.run(text, keep=False)
        self._engine.read_tables()

    def add(self, label: str, columns: Mapping[str, Value], count: int, carried: Carried | None = None) -> None:
        """Rows of a table: lists, or one value for all of them; and what is carried over from the old one."""
        types = self._engine.tables.nodes[label]
        table = self._table({**columns, "projectId": self._project}, types, count, carried)
        self._copy(
            cypher.render(DIALECT, "migration/copy_nodes", columns=tuple(table.column_names), label=label), table
        )

    def connect(
        self, kind: str, source: str, target: str, ends: tuple[list[str], list[str]], columns: Mapping[str, Value]
    ) -> None:
        if not ends[0]:
            return
        types = {**self._engine.tables.edges[kind], "from": "STRING", "to": "STRING"}
        table = self._table({"from": ends[0], "to": ends[1], **columns}, types, len(ends[0]), None)
        form = "migration/copy_edges" if columns else "migration/copy_bare_edges"
        names = {"type": kind, "source": source, "target": target}
        self._copy(cypher.render(DIALECT, form, columns=tuple(columns), **names), table)

    def run(self, question: str, parameters: Mapping[str, Value]) -> None:
        with self._engine.transaction("the migration could not be written down") as session:
            session.run(cypher.load(DIALECT, f"migration/{question}"), parameters)

    def close(self) -> None:
        if self._engine.is_open:
            self._engine.checkpoint(wait=True, last=True)
            self._engine.close()

    def _table(
        self, columns: Mapping[str, Value], types: Mapping[str, str], count: int, carried: Carried | None
    ) -> Any:
        import pyarrow

        lists = {name: value for name, value in columns.items() if isinstance(value, list)}
        table = arrow(lists, types)
        for name, value in columns.items():
            if name not in lists:
                alike = pyarrow.repeat(pyarrow.scalar(value, arrow_type(pyarrow, types[name])), count)
                table = table.append_column(name, alike)
        if carried:
            taken = carried.held.table.take(pyarrow.array(carried.places, pyarrow.int64()))
            for source, target in carried.names.items():
                table = table.append_column(target, _cast(taken.column(source), types[target]))
        return table

    def _copy(self, text: str, table: Any) -> None:
        with self._engine.transaction("rows could not be copied") as session:
            session.run(text, {"rows": table}, keep=False)


class _ArrowHeld:
    def __init__(self, table: Any) -> None:
        self.table = table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, name: str) -> list[Value]:
        values: list[Value] = self.table.column(name).to_pylist()
        return values


def _cast(column: Any, kind: str) -> Any:
    """As the new table's column has it: numbers may be wider, vectors are of single precision."""
    import pyarrow

    wanted = arrow_type(pyarrow, kind)
    if wanted is None or column.type == wanted:
        return column
    return column.cast(wanted, safe=False)
