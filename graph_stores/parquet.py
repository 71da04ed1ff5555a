"""Rows into a Parquet file, a batch at a time. Here, because nothing else imports the engines' columnar library."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

Kind = Literal["text", "texts", "integer", "number", "boolean", "time"]


class ParquetFile:
    """Use it in a `with`: the file is whole when that ends. A time is given in microseconds since the epoch."""

    def __init__(self, path: Path, columns: Mapping[str, Kind]) -> None:
        import pyarrow
        from pyarrow import parquet

        kinds = {
            "text": pyarrow.string(),
            "texts": pyarrow.list_(pyarrow.string()),
            "integer": pyarrow.int64(),
            "number": pyarrow.float64(),
            "boolean": pyarrow.bool_(),
            "time": pyarrow.timestamp("us", tz="UTC"),
        }
        self._schema = pyarrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
        self._writer = parquet.ParquetWriter(path, self._schema, compression="zstd")

    def write(self, columns: Mapping[str, Sequence[object]]) -> None:
        import pyarrow

        self._writer.write_table(pyarrow.table(dict(columns), schema=self._schema))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
