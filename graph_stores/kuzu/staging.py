"""Rows of a graph that is being built, as files on disk until all of them are there: a kill costs no more than a page.

A page is a folder of Arrow files that appears at once, with what was counted in it. Loading reads the files where they
lie, so neither making pages nor loading them takes more memory than a few of them.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ORDER = "order.json"
_COUNTED = "counted.json"
_LOADED_AT_ONCE = 64 << 20


@dataclass(frozen=True, slots=True)
class Rows:
    """What rows are of: nodes of a label, or relationships of a type between two labels."""

    table: str
    source: str = ""
    target: str = ""

    @property
    def is_edges(self) -> bool:
        return bool(self.source)


class Page:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = 0
        self.counted: Any = None  # Any: whatever can be written as JSON

    def put(self, rows: Rows, table: Any) -> None:  # Any: a table of Arrow
        import pyarrow

        name = f"{self._files:04d}.{rows.table}.{rows.source}.{rows.target}.arrow"
        self._files += 1
        with (self._folder / name).open("wb") as file:
            with pyarrow.ipc.new_file(file, table.schema) as writing:
                writing.write_table(table.combine_chunks())
            file.flush()
            os.fsync(file.fileno())


class Staging:
    """The pages of one order. Another order, or another file that it is about, begins anew."""

    def __init__(self, folder: Path, order: Mapping[str, Any]) -> None:
        self._folder = folder
        noted = _read(folder / _ORDER) or {}
        self.resumed = {key: noted.get(key) for key in order} == json.loads(json.dumps(order))
        if not self.resumed:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        self.order = noted if self.resumed else dict(order)

    def note(self, **more: Any) -> None:
        """Facts that stay the same however often it is begun."""
        self.order = {**more, **self.order}
        _write(self._folder / _ORDER, self.order)

    def counted(self, name: str) -> Any:
        """What was counted in a page that is there; None for one that is not."""
        return _read(self._folder / name / _COUNTED)

    @contextmanager
    def page(self, name: str) -> Iterator[Page]:
        unfinished = self._folder / f"{name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        page = Page(unfinished)
        yield page
        _write(unfinished / _COUNTED, page.counted)
        unfinished.rename(self._folder / name)

    def columns(self, table: str, names: Sequence[str], pair: tuple[str, str] = ("", "")) -> Iterator[tuple[Any, ...]]:
        """Some columns of what is in the pages, row by row; Any: their values."""
        for path in sorted(self._folder.glob(f"*/*.{table}.{pair[0]}.{pair[1]}.arrow")):
            if path.parent.suffix != ".unfinished":
                read = _opened(path).read_all().select(list(names))
                yield from zip(*(column.to_pylist() for column in read.columns), strict=True)

    def portions(self, *, edges: bool) -> Iterator[tuple[Rows, Any]]:
        """All rows of nodes or of relationships, of the same table and columns together, a few pages at a time."""
        import pyarrow

        files: dict[tuple[Rows, tuple[str, ...]], list[Path]] = {}
        for path in sorted(self._folder.glob("*/*.arrow")):
            rows = Rows(*path.name.split(".")[1:4])
            if rows.is_edges is edges and path.parent.suffix != ".unfinished":
                files.setdefault((rows, tuple(_opened(path).schema.names)), []).append(path)
        for (rows, _), paths in files.items():
            for portion in _cut(paths):
                yield rows, pyarrow.concat_tables([_opened(path).read_all() for path in portion])


def _opened(path: Path) -> Any:  # Any: a reader of Arrow
    import pyarrow

    return pyarrow.ipc.open_file(pyarrow.memory_map(str(path)))


def _cut(paths: list[Path]) -> Iterator[list[Path]]:
    portion: list[Path] = []
    size = 0
    for path in paths:
        portion.append(path)
        size += path.stat().st_size
        if size >= _LOADED_AT_ONCE:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _read(path: Path) -> Any:  # Any: whatever was written
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _write(path: Path, value: Any) -> None:
    fresh = path.with_suffix(".fresh")
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
