"""A migration's way into an embedded database that graphmill did not make: tables with other keys and columns.

Such tables cannot become graphmill's where they are: their keys are others. So a new database is built beside the old
one, which is only read; then the new one takes its place, in the way in which a guarded checkpoint is undone (`guard`),
so that a kill leaves one or the other. The old files, byte for byte, are the way back. What was read and decided before
a kill is not read again (`staging`).
"""

import asyncio
import importlib
import importlib.util
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from uuid import UUID

import cypher
from graph_stores import Credentials
from graph_stores.errors import StoreFull
from graph_stores.kuzu.building import Building
from graph_stores.kuzu.columns import Tables
from graph_stores.kuzu.errors import translate, translate_open
from graph_stores.kuzu.guard import Guard
from graph_stores.kuzu.memory import use_few_arenas
from graph_stores.kuzu.ownership import Ownership
from graph_stores.kuzu.recovery import make_usable
from graph_stores.kuzu.session import DIALECT, Session
from graph_stores.kuzu.staging import Staging
from graph_stores.kuzu.traits import TRAITS
from graph_stores.legacy import Held
from graph_stores.model import Value, VectorSpace

T = TypeVar("T")

_BUFFER_POOL = 1 << 30
_BACKUP = "before-migration"
_CHUNK = 100_000
# The old file is copied once and written anew twice: as pages, and as a graph.
_ROOM = 3.5


async def open_legacy(
    url: str, *, project: str, credentials: Credentials | None = None, deadline: float = 60.0
) -> "TableDatabase":
    from graph_stores.kuzu import checked_path

    name, path = checked_path(url)
    ownership = Ownership.take(path)
    use_few_arenas()
    try:
        return await asyncio.to_thread(TableDatabase, url, name, path, ownership)
    except BaseException:
        ownership.release(closed=not ownership.deaths)
        raise


class TableDatabase:
    def __init__(self, url: str, name: str, path: Path, ownership: Ownership) -> None:
        self.url = url
        self._name = name
        self._path = path
        self._ownership = ownership
        self._guard = Guard(path, lambda _: None)
        if self._guard.holds_copy() or ownership.deaths or self._guard.is_graphmills():
            make_usable(name, path, self._guard, deaths=ownership.deaths, first=True)
        self._work = path.with_name(f"{path.name}.migration")
        self.backup = path.with_name(f"{path.name}.{_BACKUP}")
        self._database: Any = None
        self.tables = Tables(nodes={}, edges={}, pairs={}, readable={})
        self.keys: dict[str, str] = {}
        self.odd: list[str] = []
        self._open()
        if self.is_graphmill:  # it has taken its place, and nobody was left to tidy up
            shutil.rmtree(self._work, ignore_errors=True)

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

    def text(self, question: str, columns: Sequence[str] = (), properties: Sequence[str] = (), **names: str) -> str:
        return cypher.render(
            DIALECT, f"migration/{question}", columns=tuple(columns), properties=tuple(properties), **names
        )

    def rows(
        self,
        question: str,
        parameters: Mapping[str, Value],
        columns: Sequence[str] = (),
        properties: Sequence[str] = (),
        **names: str,
    ) -> list[Sequence[Value]]:
        return list(self._run(question, parameters, columns, properties, names).get_all())

    def held(
        self,
        question: str,
        parameters: Mapping[str, Value],
        columns: Sequence[str] = (),
        properties: Sequence[str] = (),
        **names: str,
    ) -> Held:
        """As columns, of which those that are only carried over are never looked at."""
        import pyarrow

        def run(within: Mapping[str, Value]) -> Any:
            return self._run(question, within, columns, properties, names)

        table = run(parameters).get_as_arrow(_CHUNK)
        try:
            table.validate()
        except pyarrow.ArrowInvalid:
            # Kuzu leaves the fields of a null structure out, so all after it are of another row.
            schema = run({**parameters, "first": 0, "last": 0}).get_as_arrow(_CHUNK).schema
            table = _from_values(run(parameters).get_all(), schema)
        return _ArrowHeld(table)

    def check_room(self) -> None:
        needed = int(_ROOM * (self._guard.file_size() + self._guard.log_size()))
        if (free := shutil.disk_usage(self._path.parent).free) < needed:
            raise StoreFull(
                f"{self._path.parent} has {free:,} bytes, a migration needs {needed:,} for a copy and a new graph",
                hint="make room, or move the graph to where there is some; nothing was changed",
            )

    def staging(self, order: Mapping[str, Value]) -> Staging:
        """The pages of a new graph beside this one; those of another order, or of the file as it no longer is, go."""
        files = [file for file in (self._path, self._guard.log) if file.exists()]
        now = {file.name: [file.stat().st_size, file.stat().st_mtime_ns] for file in files}
        return Staging(self._work / "pages", {**order, "files": now})

    @contextmanager
    def building(self, projects: Sequence[str], space: VectorSpace | None) -> Iterator[Building]:
        """A new graph beside this one, empty; it is filled from pages at the end."""
        self._work.mkdir(exist_ok=True)
        folder = self._work / "graph"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        building = Building(self._name, folder / self._path.name, projects, space)
        try:
            yield building
        finally:
            building.close()

    @contextmanager
    def trying(self, projects: Sequence[str], space: VectorSpace | None) -> Iterator[Building]:
        """A new graph that is thrown away, to see what would be made."""
        with TemporaryDirectory() as folder:
            building = Building(self._name, Path(folder) / self._path.name, projects, space)
            try:
                yield building
            finally:
                building.close()

    def take_place(self) -> None:
        """The new graph instead of this one, whose files are kept."""
        self._close()
        self._guard.backup(_BACKUP)
        self._guard.replace_by(self._work / "graph")
        shutil.rmtree(self._work, ignore_errors=True)
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
    def writing(self) -> Iterator[Building]:
        """This graph itself, which is graphmill's by now."""
        self._close()
        own = Building(self._name, self._path, (), None, new=False)
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
        self.keys, self.odd = {}, []
        for name, _ in self._session.run(cypher.load(DIALECT, "tables"), keep=False):
            if not cypher.is_identifier(name):
                self.odd.append(name)
                continue
            columns = self._session.run(cypher.render(DIALECT, "migration/keys", label=name), keep=False)
            self.odd += [f"{name}.{column}" for _, column, *_ in columns if not cypher.is_identifier(column)]
            self.keys |= {table: column for table in (name,) for _, column, _, _, key in columns if key is True}

    def _close(self) -> None:
        if self._database is not None:
            self._session.close()
            self._database.close()
            self._database = None

    def _run(
        self,
        question: str,
        parameters: Mapping[str, Value],
        columns: Sequence[str],
        properties: Sequence[str],
        names: Mapping[str, str],
    ) -> Any:
        text = self.text(question, columns, properties, **names)
        try:
            return self._session.answer(text, parameters)
        except RuntimeError as error:
            raise translate(error, f"the query {question} failed") from error


class _ArrowHeld:
    def __init__(self, table: Any) -> None:
        self.table = table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, name: str) -> list[Value]:
        values: list[Value] = self.table.column(name).to_pylist()
        return values

    def lengths(self, name: str) -> list[int | None]:
        import pyarrow.compute

        column = self.table.column(name)
        if pyarrow.types.is_fixed_size_list(column.type):
            return [column.type.list_size if there else None for there in column.is_valid().to_pylist()]
        if not pyarrow.types.is_list(column.type):
            return [None] * len(self)
        values: list[int | None] = pyarrow.compute.list_value_length(column).to_pylist()
        return values


def _from_values(rows: Sequence[Sequence[Value]], schema: Any) -> Any:
    import pyarrow

    return pyarrow.table(
        [pyarrow.array([_arrow_value(row[number]) for row in rows], field.type) for number, field in enumerate(schema)],
        schema=schema,
    )


def _arrow_value(value: Value) -> Value:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, dict):
        return {name: _arrow_value(item) for name, item in value.items()}
    if isinstance(value, list):
        return value if value and type(value[0]) is float else [_arrow_value(item) for item in value]
    return value
