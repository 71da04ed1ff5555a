"""Which nodes and edges a copy brought, kept on disk: a target that held others before is compared in those alone."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from graph_stores.model import ExportedEdge, ExportedNode

T = TypeVar("T", ExportedNode, ExportedEdge)
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

    def add(self, items: Iterable[ExportedNode | ExportedEdge]) -> None:
        self._database.execute("begin")
        self._database.executemany("insert or ignore into brought values (?)", [(_key(each),) for each in items])
        self._database.execute("commit")

    def known(self, items: Sequence[T]) -> list[T]:
        """Those of the items that were added."""
        there: set[bytes] = set()
        keys = [_key(each) for each in items]
        for start in range(0, len(keys), _ASKED):
            asked = keys[start : start + _ASKED]
            marks = ", ".join("?" * len(asked))
            rows = self._database.execute(f"select key from brought where key in ({marks})", asked)  # noqa: S608
            there |= {row[0] for row in rows}
        return [each for each, key in zip(items, keys, strict=True) if key in there]


def _key(item: ExportedNode | ExportedEdge) -> bytes:
    if isinstance(item, ExportedNode):
        parts: tuple[str, ...] = ("node", item.label, str(item.properties["uuid"]))
    else:
        source, target = item.source, item.target
        parts = ("edge", item.type, source.label, source.uuid, target.label, target.uuid)
    return blake2b(repr(parts).encode("utf-8", "backslashreplace"), digest_size=16).digest()
