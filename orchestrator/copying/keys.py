"""Which nodes and edges a copy brought, kept on disk: a target that held others before is compared in those alone."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

from graph_stores.pages import Page

_ASKED = 500


class Keys:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    @classmethod
    @contextmanager
    def open(cls) -> Iterator["Keys"]:
        with TemporaryDirectory(prefix="graphmill-copy-") as folder:
            database = sqlite3.connect(Path(folder) / "keys", isolation_level=None, check_same_thread=False)
            try:
                database.execute("pragma journal_mode = off")
                database.execute("pragma synchronous = off")
                database.execute("create table brought (key blob primary key) without rowid")
                yield cls(database)
            finally:
                database.close()

    def add(self, page: Page) -> None:
        self._database.execute("begin")
        self._database.executemany("insert or ignore into brought values (?)", [(key,) for key in _keys(page)])
        self._database.execute("commit")

    def known(self, page: Page) -> Page:
        """Those of the page that were added."""
        there: set[bytes] = set()
        keys = _keys(page)
        for start in range(0, len(keys), _ASKED):
            asked = keys[start : start + _ASKED]
            marks = ", ".join("?" * len(asked))
            rows = self._database.execute(f"select key from brought where key in ({marks})", asked)  # noqa: S608
            there |= {row[0] for row in rows}
        return page.only([key in there for key in keys])


def _keys(page: Page) -> list[bytes]:
    return [blake2b(key, digest_size=16).digest() for key in page.keys]
