"""Vectors that were made before, in one SQLite file that several processes may share.

It saves work and is never in the way: whatever is wrong with the file, the worst answer is "not known". A file that is
damaged is set aside and begun anew. What was not asked for the longest goes first when the file is full.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from graph_stores.model import VectorSpace
from pipelines.statements import Statements

_LOG = logging.getLogger(__name__)
_SQL = Statements(Path(__file__).with_suffix(".sql"))
_NEWEST = 1
_PATIENCE = 5.0
_LARGEST = 2 * 1024**3
# How much goes at once when the file is full.
_SHARE = 10
_COMPANIONS = ("", "-wal", "-shm")
# Of the primary result codes of SQLite: the file itself is broken, whoever asks.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}

T = TypeVar("T")


class VectorCache:
    """Numbers are bytes of little-endian float32; a hash is 64 hexadecimal digits."""

    def __init__(self, path: Path, largest: int) -> None:
        self.path = path
        self._largest = largest
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="vector-cache")
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        self._opening = 0
        self._spaces: dict[VectorSpace, int] = {}

    @classmethod
    async def open(cls, path: Path, *, largest: int = _LARGEST) -> "VectorCache":
        """`largest` is how many bytes the file may hold."""
        opened = cls(path, largest)
        await opened._run(opened._connect, None)
        return opened

    async def get_many(self, space: VectorSpace, hashes: Iterable[str]) -> dict[str, bytes]:
        """What is known of these texts."""
        wanted = list(hashes)
        return await self._run(lambda: self._trying(lambda it: self._get(it, space, wanted)), {}) if wanted else {}

    async def put_many(self, space: VectorSpace, vectors: Mapping[str, bytes]) -> None:
        if vectors:
            await self._run(lambda: self._trying(lambda it: self._put(it, space, vectors)), None)

    async def close(self) -> None:
        await self._run(self._disconnect, None)
        self._executor.shutdown()

    async def _run(self, work: "Callable[[], T | None]", otherwise: T) -> T:
        answer = await asyncio.get_running_loop().run_in_executor(self._executor, work)
        return otherwise if answer is None else answer

    def _trying(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """The work's answer, or None where the file does not let itself be used; a damaged one is replaced."""
        if self._connection is None:
            return None
        try:
            return work(self._connection)
        except sqlite3.Error as error:
            if _is_damage(error):
                self._replace(error)
            else:
                _LOG.warning("the cache of vectors %s was not used: %s", self.path, error)
            return None

    def _connect(self) -> None:
        try:
            self._open()
        except sqlite3.Error as error:
            if _is_damage(error):
                self._replace(error)
            else:
                self._give_up(error)
        except OSError as error:
            self._give_up(error)

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
        self._connection = connection
        found = self.path.stat()
        self._inode = (found.st_dev, found.st_ino)
        version = connection.execute(_SQL.one("version")).fetchone()[0]
        if version not in (0, _NEWEST):
            raise sqlite3.NotSupportedError(f"its format {version} is newer than {_NEWEST}")
        for statement in _SQL.several("settings"):
            connection.execute(statement).fetchall()
        with _writing(connection):
            for statement in _SQL.several("create"):
                connection.execute(statement)
            connection.execute(_SQL.one("set_version"))
            self._opening = connection.execute(_SQL.one("count_opening")).fetchone()[0]
        self._spaces.clear()
        self._make_room(connection)

    def _replace(self, error: Exception) -> None:
        _LOG.warning("the cache of vectors %s is damaged (%s): it is set aside and begun anew", self.path, error)
        self._disconnect()
        try:
            self._set_aside()
            self._open()
        except (sqlite3.Error, OSError) as again:
            self._give_up(again)

    def _set_aside(self) -> None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return
        # Another process may have replaced it already: what it began must stay.
        if (found.st_dev, found.st_ino) == self._inode:
            for companion in _COMPANIONS:
                with suppress(FileNotFoundError):
                    Path(f"{self.path}{companion}").replace(f"{self.path}.damaged{companion}")

    def _give_up(self, error: Exception) -> None:
        _LOG.warning("going on without the cache of vectors %s: %s", self.path, error)
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _get(self, connection: sqlite3.Connection, space: VectorSpace, hashes: list[str]) -> dict[str, bytes]:
        number = self._space(connection, space)
        found: dict[str, bytes] = {}
        old: list[int] = []
        for each in hashes:
            row = connection.execute(_SQL.one("get"), {"space": number, "hash": bytes.fromhex(each)}).fetchone()
            if row is not None and len(row[2]) == 4 * space.dimension:
                found[each] = row[2]
                if row[1] != self._opening:
                    old.append(row[0])
        if old:
            self._touch(connection, old)
        return found

    def _touch(self, connection: sqlite3.Connection, rows: list[int]) -> None:
        # Another process that holds the file up must not cost what was found in it.
        with suppress(sqlite3.OperationalError), _writing(connection):
            connection.executemany(_SQL.one("touch"), [{"id": each, "used": self._opening} for each in rows])

    def _put(self, connection: sqlite3.Connection, space: VectorSpace, vectors: Mapping[str, bytes]) -> None:
        number = self._space(connection, space)
        with _writing(connection):
            connection.executemany(
                _SQL.one("put"),
                [
                    {"space": number, "hash": bytes.fromhex(each), "used": self._opening, "numbers": numbers}
                    for each, numbers in vectors.items()
                ],
            )
        self._make_room(connection)

    def _space(self, connection: sqlite3.Connection, space: VectorSpace) -> int:
        if space not in self._spaces:
            names = {"provider": space.provider, "model": space.model, "dimension": space.dimension}
            connection.execute(_SQL.one("make_space"), names)
            self._spaces[space] = connection.execute(_SQL.one("space"), names).fetchone()[0]
        return self._spaces[space]

    def _make_room(self, connection: sqlite3.Connection) -> None:
        """The file itself does not shrink: what was freed is written to again."""
        while connection.execute(_SQL.one("size")).fetchone()[0] > self._largest:
            count = connection.execute(_SQL.one("count")).fetchone()[0]
            if not count:
                return
            with _writing(connection):
                connection.execute(_SQL.one("forget_oldest"), {"count": count // _SHARE + 1})


@contextmanager
def _writing(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that takes the write lock at once: one that asks for it late is refused without waiting."""
    connection.execute(_SQL.one("begin"))
    try:
        yield
        connection.execute(_SQL.one("commit"))
    except BaseException:
        if connection.in_transaction:
            connection.execute(_SQL.one("rollback"))
        raise


def _is_damage(error: sqlite3.Error) -> bool:
    # The extended code has the primary one in its lowest byte.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE
