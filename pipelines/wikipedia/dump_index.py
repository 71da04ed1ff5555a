"""The index of one dump: a SQLite file beside it, or in the user's cache where nothing can be written there.

Owns its form, how it comes to be whole, and when it is out of date. It is written under another name and renamed: what
is found under its own is complete. Knows nothing of how pages are read.
"""

import fcntl
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from graph_stores.errors import GraphmillError
from pipelines.statements import Statements
from pipelines.wikipedia.dump_page import Entry, Kind

_FORMAT = 2
_SQL = Statements(Path(__file__).with_suffix(".sql"))
_CHECK_EVERY = 0.2
_COMMIT_AFTER = 20_000


class IndexUnwritable(GraphmillError):
    code = "index_unwritable"


class Stopped(Exception):
    """Whoever waits for this work does not want it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a page is. Without a position and a length it is somewhere in the stream."""

    stream: int
    position: int | None = None
    length: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A page in the index. `entry` is None where only the page itself can say what it is."""

    id: int
    title: str
    page_id: int
    place: Place
    entry: Entry | None

    @classmethod
    def from_sql(cls, row: sqlite3.Row) -> "Row":
        entry = None
        if row["kind"] is not None:
            entry = Entry(
                title=row["title"],
                page_id=row["page_id"],
                revision_id=row["revision_id"],
                timestamp=row["timestamp"],
                kind=Kind(row["kind"]),
                target=row["target"],
                fragment=row["fragment"],
            )
        return cls(
            id=row["id"],
            title=row["title"],
            page_id=row["page_id"],
            place=Place(stream=row["stream"], position=row["position"], length=row["length"]),
            entry=entry,
        )


class DumpIndex:
    """A complete index, opened to read. Used by one thread at a time."""

    def __init__(self, path: Path, connection: sqlite3.Connection, facts: Mapping[str, Any]) -> None:
        self.path = path
        self.facts = facts
        self._connection = connection

    @classmethod
    def open(cls, path: Path, dump: Path) -> "DumpIndex | None":
        """None where there is none, or one of another state of the dump."""
        if not path.is_file():
            return None
        try:
            connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        except sqlite3.Error:
            return None
        connection.row_factory = sqlite3.Row
        try:
            facts = {row["name"]: row["value"] for row in connection.execute(_SQL.one("facts"))}
        except sqlite3.Error:
            facts = {}
        if not facts.items() >= identity_of(dump).items():
            connection.close()
            return None
        return cls(path, connection, facts)

    def find(self, titles: Iterable[str]) -> dict[str, Row]:
        rows = self._connection.execute(_SQL.one("find"), (json.dumps(list(titles)),))
        return {row["title"]: Row.from_sql(row) for row in rows}

    def leading_to(self, titles: Iterable[str]) -> list[tuple[str, str]]:
        """Redirects straight to the titles: their own title and where they lead."""
        rows = self._connection.execute(_SQL.one("leading_to"), (json.dumps(list(titles)),))
        return [(row["title"], row["target"]) for row in rows]

    def following(self, after: int, limit: int) -> list[Row]:
        """In the order of their places."""
        rows = self._connection.execute(_SQL.one("following"), {"id": after, "limit": limit})
        return [Row.from_sql(row) for row in rows]

    def ends(self) -> list[Row]:
        """The first and the last page."""
        rows = [self._connection.execute(_SQL.one(name)).fetchone() for name in ("first", "last")]
        return [Row.from_sql(row) for row in rows if row is not None]

    def members(self, category: str) -> list[Row]:
        return [Row.from_sql(row) for row in self._connection.execute(_SQL.one("members"), (category,))]

    def has_more_than(self, limit: int) -> bool:
        return bool(self._connection.execute(_SQL.one("has_more_than"), {"limit": limit}).fetchone()[0])

    def every_title(self) -> list[str]:
        return [row["title"] for row in self._connection.execute(_SQL.one("every_title"))]

    def titles_around(self, title: str, limit: int) -> list[str]:
        """Those that stand next to it in the alphabet, in both directions."""
        values = {"title": title, "limit": limit}
        return [
            row["title"]
            for name in ("titles_from", "titles_before")
            for row in self._connection.execute(_SQL.one(name), values)
        ]

    def close(self) -> None:
        self._connection.close()


class IndexWriter:
    """An index that is being made. What it has told at a mark is kept when its process is killed there."""

    def __init__(self, path: Path, dump: Path) -> None:
        self.path = path
        self._building = path.with_name(f"{path.name}.building")
        self._identity = identity_of(dump)
        self._connection = self._open()
        self.facts = self._facts()
        if self.facts and not self._can_go_on():
            self.start_over()
        self._since = 0

    def start_over(self) -> None:
        self._connection.close()
        self._building.unlink(missing_ok=True)
        Path(f"{self._building}-journal").unlink(missing_ok=True)
        self._connection = self._open()
        self.facts = {}
        self._since = 0

    def add(self, place: Place, *, title: str, page_id: int, entry: Entry | None) -> int:
        self._since += 1
        added = self._connection.execute(
            _SQL.one("add"),
            {
                "title": title,
                "page_id": page_id,
                "stream": place.stream,
                "position": place.position,
                "length": place.length,
                "revision_id": entry.revision_id if entry else None,
                "timestamp": entry.timestamp if entry else None,
                "kind": entry.kind if entry else None,
                "target": entry.target if entry else None,
                "fragment": entry.fragment if entry else None,
            },
        )
        assert added.lastrowid is not None
        return added.lastrowid

    def add_members(self, page: int, categories: Iterable[str]) -> None:
        for name in categories:
            self._connection.execute(_SQL.one("add_category"), (name,))
            self._connection.execute(_SQL.one("add_member"), {"name": name, "page": page})

    @property
    def has_much(self) -> bool:
        return self._since >= _COMMIT_AFTER

    def mark(self, **facts: object) -> None:
        """All that was added until now holds, and these facts with it."""
        self.facts = {**self.facts, **self._identity, **facts}
        self._connection.executemany(
            _SQL.one("tell"), [{"name": name, "value": value} for name, value in self.facts.items()]
        )
        self._connection.execute(_SQL.one("commit"))
        self._connection.execute(_SQL.one("begin"))
        self._since = 0

    def finish(self, **facts: object) -> None:
        for name in ("index_titles", "forget_old", "index_targets", "index_members"):
            self._connection.execute(_SQL.one(name))
        self.mark(**facts, complete=True)
        self.close()
        with self._building.open("rb") as file:
            os.fsync(file.fileno())
        self._building.replace(self.path)

    def close(self) -> None:
        """What came after the last mark is lost with this."""
        self._connection.close()

    def discard(self) -> None:
        self.close()
        self._building.unlink(missing_ok=True)

    def _open(self) -> sqlite3.Connection:
        try:
            return self._prepared()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            # What another version or a crash of the machine left there.
            self._building.unlink(missing_ok=True)
            return self._prepared()

    def _prepared(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._building, isolation_level=None, check_same_thread=False)
        try:
            for name in ("settings", "create", "begin"):
                for statement in _SQL.several(name):
                    connection.execute(statement).fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    def _can_go_on(self) -> bool:
        if not self.facts.items() >= self._identity.items() or "resume" not in self.facts or "complete" in self.facts:
            return False
        try:
            return bool(self._connection.execute(_SQL.one("check")).fetchone()[0] == "ok")
        except sqlite3.DatabaseError:
            return False

    def _facts(self) -> dict[str, Any]:
        return dict(self._connection.execute(_SQL.one("facts")).fetchall())


def identity_of(dump: Path) -> dict[str, object]:
    """What must be the same for an index to hold."""
    found = dump.stat()
    return {"format": _FORMAT, "size": found.st_size, "mtime": found.st_mtime_ns}


def index_paths(dump: Path, ending: str) -> list[Path]:
    """Where the index may be: beside the dump, else in the cache."""
    from platformdirs import user_cache_path

    whole = dump.resolve()
    digest = hashlib.sha256(os.fsencode(whole)).hexdigest()[:16]
    name = f"{whole.name}.{ending}"
    return [whole.with_name(name), user_cache_path("graphmill") / "dumps" / digest / name]


def writable_path(paths: Iterable[Path]) -> Path:
    *_, last = tried = list(paths)
    for path in tried:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            if os.access(path.parent, os.W_OK):
                return path
    raise IndexUnwritable(
        f"no index can be written: neither beside the dump nor in {last.parent}",
        hint="make one of both writable, or set XDG_CACHE_HOME to a folder that is",
    )


@contextmanager
def only_one(dump: Path, stop: Event, waits: Callable[[], None]) -> Iterator[None]:
    """Others who would make the same index wait. The lock is on the dump itself, and goes with its holder."""
    with dump.open("rb") as file:
        told = False
        while not _locked(file.fileno()):
            if not told:
                waits()
                told = True
            if stop.wait(_CHECK_EVERY):
                raise Stopped
        yield


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: two who build at once only do the same work twice.
        return True
    return True
