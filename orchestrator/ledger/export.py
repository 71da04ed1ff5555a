"""The whole history as a table for other tools, written as it is read."""

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from graph_stores.errors import Misuse
from graph_stores.parquet import Kind, ParquetFile
from orchestrator.ledger.lines import Record
from orchestrator.ledger.record import time_of

_ROWS = 1 << 16
_COLUMNS: dict[str, tuple[Kind, Callable[[Record], object]]] = {
    "at": ("time", lambda record: time_of(record.at)),
    "node": ("text", lambda record: record.node),
    "label": ("text", lambda record: record.label),
    "from": ("text", lambda record: record.before),
    "to": ("text", lambda record: record.after),
    "via": ("texts", lambda record: list(record.via)),
    "by": ("text", lambda record: record.by or None),
    "run": ("text", lambda record: record.run),
    "try": ("integer", lambda record: record.tries),
    "seconds": ("number", lambda record: record.seconds),
    "errorType": ("text", lambda record: record.error_type),
    "error": ("text", lambda record: record.error),
    "reconciled": ("boolean", lambda record: record.reconciled),
    "imported": ("boolean", lambda record: record.imported),
    "was": ("text", lambda record: record.was),
}


def export(records: Iterable[Record], path: Path) -> int:
    """To Parquet or CSV by the name's end; the file is there when it is whole. Returns the number of rows."""
    writers = {".parquet": _to_parquet, ".csv": _to_csv}
    if path.suffix not in writers:
        raise Misuse(f"{path} is neither Parquet nor CSV by its name", hint="expected FILE.parquet or FILE.csv")
    with _beside(path) as unfinished:
        return writers[path.suffix](records, unfinished)


def _to_parquet(records: Iterable[Record], path: Path) -> int:
    count = 0
    with ParquetFile(path, {name: kind for name, (kind, _) in _COLUMNS.items()}) as file:
        for batch in _batches(records):
            file.write({name: [value(record) for record in batch] for name, (_, value) in _COLUMNS.items()})
            count += len(batch)
    return count


def _to_csv(records: Iterable[Record], path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for record in records:
            writer.writerow(_cell(name, value(record), record) for name, (_, value) in _COLUMNS.items())
            count += 1
    return count


def _cell(name: str, value: object, record: Record) -> object:
    match value:
        case list():
            return " ".join(value)
        case bool():
            return "true" if value else "false"
        case _:
            return record.at if name == "at" else value


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    stream = iter(records)
    while batch := list(islice(stream, _ROWS)):
        yield batch


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
