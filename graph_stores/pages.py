"""Nodes and edges by the thousand, in columns: how a whole graph is read, sent, written and compared.

A page is a table with a column for each property that any of its nodes has; what a node does not have is null. Times
are in UTC. What a node or an edge holds has one form in bytes, whichever engine it came from: checksums are made of it.
"""

import json
from array import array
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, Self, TypeVar

from graph_stores.errors import Misuse
from graph_stores.model import ExportedEdge, ExportedNode, Ref, Value

VECTOR = "embedding"
SOURCE, TARGET = "source", "target"
T = TypeVar("T", ExportedNode, ExportedEdge)
_PREFIX = "v_"
_PORTION = 5000
# What is in memory at once of a graph that is read in pages.
_AIM = 16 << 20
_FIRST, _FEWEST, _MOST = 2000, 50, 50_000

# Any: a table of the columnar library, which is imported when it is used
Arrow = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePage:
    """Nodes of one label. The columns are named as the properties are, `uuid` among them."""

    label: str
    table: Arrow

    @classmethod
    def of(cls, nodes: Iterable[ExportedNode]) -> list[Self]:
        """As few pages as there are labels, but more where a property is of one type here and of another there."""
        by_label: dict[str, list[Mapping[str, Value]]] = defaultdict(list)
        for node in nodes:
            by_label[node.label].append(node.properties)
        return [cls(label=label, table=table) for label, rows in by_label.items() for table in _tables(label, rows)]

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return int(self.table.nbytes)

    @property
    def uuids(self) -> list[str]:
        return list(self.table["uuid"].to_pylist())

    @property
    def keys(self) -> list[bytes]:
        """What each node is known by among all nodes and edges."""
        return [repr(("node", self.label, uuid)).encode() for uuid in self.uuids]

    def contents(self) -> list[bytes]:
        """Everything that each node holds, in one form."""
        return _contents([self.label], {name: self.table[name] for name in self.table.column_names})

    def nodes(self) -> list[ExportedNode]:
        return [ExportedNode(label=self.label, properties=row) for row in _rows(self.table)]

    def without(self, names: Collection[str]) -> Self:
        return replace(self, table=self.table.drop_columns([each for each in self.table.column_names if each in names]))

    def only(self, chosen: Sequence[bool]) -> Self:
        return replace(self, table=self.table.filter(_booleans(chosen)))

    def parted(self, name: str, values: Collection[str]) -> tuple[Self, Self]:
        """Those that have one of the values in a property, and the others."""
        there = self.table[name].to_pylist() if name in self.table.column_names else [None] * len(self)
        chosen = [value in values for value in there]
        if not any(chosen):
            return replace(self, table=self.table.slice(0, 0)), self
        return self.only(chosen), self.only([not each for each in chosen])


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgePage:
    """Edges of one type from one label to another. Beside both uuids, a column has the name of its property, marked."""

    type: str
    source: str
    target: str
    table: Arrow

    @classmethod
    def of(cls, edges: Iterable[ExportedEdge]) -> list[Self]:
        alike: dict[tuple[str, str, str], list[Mapping[str, Value]]] = defaultdict(list)
        for edge in edges:
            ends = {SOURCE: edge.source.uuid, TARGET: edge.target.uuid}
            row = {**ends, **{f"{_PREFIX}{name}": value for name, value in edge.properties.items()}}
            alike[edge.type, edge.source.label, edge.target.label].append(row)
        return [
            cls(type=kind, source=source, target=target, table=table)
            for (kind, source, target), rows in alike.items()
            for table in _tables(kind, rows)
        ]

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def size(self) -> int:
        return int(self.table.nbytes)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the properties that any of them has."""
        return tuple(sorted(each.removeprefix(_PREFIX) for each in self.table.column_names if each not in _ENDS))

    @property
    def keys(self) -> list[bytes]:
        ends = zip(self.table[SOURCE].to_pylist(), self.table[TARGET].to_pylist(), strict=True)
        return [repr(("edge", self.type, self.source, source, self.target, target)).encode() for source, target in ends]

    def contents(self) -> list[bytes]:
        return _contents(
            [self.type, self.source, self.target], {name: self.table[name] for name in self.table.column_names}
        )

    def edges(self) -> list[ExportedEdge]:
        return [
            ExportedEdge(
                type=self.type,
                source=Ref(label=self.source, uuid=row.pop(SOURCE)),
                target=Ref(label=self.target, uuid=row.pop(TARGET)),
                properties={name.removeprefix(_PREFIX): value for name, value in row.items()},
            )
            for row in _rows(self.table)
        ]

    def only(self, chosen: Sequence[bool]) -> Self:
        return replace(self, table=self.table.filter(_booleans(chosen)))


Page = NodePage | EdgePage
_ENDS = frozenset({SOURCE, TARGET})


class Fitting:
    """How many rows to read next, by what the last ones took."""

    def __init__(self) -> None:
        self.rows = _FIRST

    def took(self, size: int) -> None:
        wanted = self.rows * _AIM // max(size, 1)
        self.rows = max(_FEWEST, min(_MOST, wanted, 4 * self.rows))


async def portions(items: AsyncIterator[T]) -> AsyncIterator[list[T]]:
    """Bounded by number and about by size."""
    portion: list[T] = []
    size = 0
    async for item in items:
        portion.append(item)
        size += _weight(item.properties)
        if len(portion) >= _PORTION or size > _AIM:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _weight(properties: Mapping[str, Value]) -> int:
    return sum(len(value) if type(value) is str else 8 * len(value) for value in properties.values() if _is_long(value))


def _is_long(value: Value) -> bool:
    return type(value) in (str, list)


def named(names: Iterable[str]) -> list[str]:
    """The names of properties as the columns of edges have them."""
    return [f"{_PREFIX}{name}" for name in names]


def whole(table: Arrow) -> Arrow:
    """In one piece, and without columns that hold nothing."""
    kept = [name for name in table.column_names if table[name].null_count < table.num_rows]
    return table.select(kept).combine_chunks()


def _booleans(values: Sequence[bool]) -> Arrow:
    import pyarrow

    return pyarrow.array(values, pyarrow.bool_())


def _rows(table: Arrow) -> list[dict[str, Value]]:
    columns = {name: _values(table[name]) for name in table.column_names}
    return [
        {name: value for name, value in zip(columns, row, strict=True) if value is not None}
        for row in zip(*columns.values(), strict=True)
    ]


def _values(column: Arrow) -> list[Value]:
    from pyarrow import types

    values: list[Value] = column.to_pylist()
    if types.is_timestamp(column.type):
        return [value if value is None else value.replace(tzinfo=UTC) for value in values]
    return values


def _tables(what: str, rows: Sequence[Mapping[str, Value]]) -> list[Arrow]:
    """One, or several where values of one property are of several types."""
    import pyarrow

    columns = {name: [row.get(name) for row in rows] for name in sorted({name for row in rows for name in row})}
    for name, values in columns.items():
        if len({_kind(value) for value in values if value is not None}) > 1:
            parts = defaultdict(list)
            for row in rows:
                parts[_kind(row.get(name))].append(row)
            return [table for part in parts.values() for table in _tables(what, part)]
    return [whole(pyarrow.table({name: _column(what, name, values) for name, values in columns.items()}))]


def _kind(value: Value) -> tuple[type, ...]:
    return (list, type(value[0])) if type(value) is list and value else (type(value),)


def _column(what: str, name: str, values: Sequence[Value]) -> Arrow:
    import pyarrow

    first = next((value for value in values if value is not None), None)
    try:
        if isinstance(first, datetime):
            plain = [value and value.astimezone(UTC).replace(tzinfo=None) for value in values]
            return pyarrow.array(plain, pyarrow.timestamp("us"))
        if name == VECTOR:
            [length, *others] = {len(value) for value in values if value is not None} or {0}
            return pyarrow.array(values, pyarrow.list_(pyarrow.float32(), *([] if others else [length])))
        if first is None or isinstance(first, bool | int | float | str | list | date):
            return pyarrow.array(values)
    except (pyarrow.ArrowException, OverflowError, UnicodeError) as error:
        raise Misuse(f"{name.removeprefix(_PREFIX)} of {what} has values that cannot be kept: {error}") from error
    raise Misuse(f"{name.removeprefix(_PREFIX)} of {what} is of type {type(first).__name__}, which no graph keeps")


def _contents(head: Sequence[str], columns: Mapping[str, Arrow]) -> list[bytes]:
    """For each row what it is of, and each of its values with its name, its type and its length."""
    import pyarrow
    from pyarrow import compute

    # Any: the library describes its functions only when it runs
    join: Any = partial(compute.binary_join_element_wise, null_handling="skip")
    opening = pyarrow.scalar(json.dumps(head).encode(), pyarrow.binary())
    cells = [_cells(name, columns[name]) for name in sorted(columns)]
    return list(join(opening, *cells, b"\n").to_pylist())


def _cells(name: str, column: Arrow) -> Arrow:
    import pyarrow
    from pyarrow import compute

    binary = pyarrow.binary()
    mark, values = _encoded(name, column)
    lengths = compute.cast(compute.cast(compute.binary_length(values), pyarrow.string()), binary)
    opening = pyarrow.scalar(f"{json.dumps(name)}{mark}".encode(), binary)
    # Null where the value is.
    return compute.binary_join_element_wise(opening, lengths, values, b":")


def _encoded(name: str, column: Arrow) -> tuple[str, Arrow]:
    """A letter for the type, and the values as bytes."""
    import pyarrow
    from pyarrow import types

    chunks = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    values = chunks.combine_chunks() if isinstance(chunks, pyarrow.ChunkedArray) else chunks
    kind, binary = values.type, pyarrow.binary()
    if types.is_string(kind) or types.is_large_string(kind):
        return "s", values.cast(binary)
    if types.is_boolean(kind) or types.is_integer(kind):
        return ("b" if types.is_boolean(kind) else "i"), values.cast(pyarrow.string()).cast(binary)
    if types.is_timestamp(kind):
        times = values.cast(pyarrow.timestamp("us"), safe=False)
        return "t", times.cast(pyarrow.int64()).cast(pyarrow.string()).cast(binary)
    if types.is_date(kind):
        return "d", values.cast(pyarrow.date32()).cast(pyarrow.string()).cast(binary)
    if types.is_floating(kind):
        return "f", _bits(values.cast(pyarrow.float64())).cast(pyarrow.string()).cast(binary)
    if name == VECTOR:
        return "v", _vectors(values)
    return "l", pyarrow.array([value if value is None else _text(value) for value in values.to_pylist()], binary)


def _bits(values: Arrow) -> Arrow:
    import pyarrow

    return values.view(pyarrow.int64())


def _vectors(values: Arrow) -> Arrow:
    """In single precision, which is what every engine keeps of them."""
    import pyarrow
    from pyarrow import types

    if not types.is_nested(values.type) or not types.is_float32(values.type.value_type):
        numbers = [value if value is None else array("f", value).tobytes() for value in values.to_pylist()]
        return pyarrow.array(numbers, pyarrow.binary())
    if types.is_fixed_size_list(values.type):
        width, flat = 4 * values.type.list_size, values.values
        data = flat.buffers()[1].slice(4 * flat.offset)
        fixed = pyarrow.Array.from_buffers(
            pyarrow.binary(width), len(values), [values.buffers()[0], data], offset=values.offset
        )
        return fixed.cast(pyarrow.binary())
    return _bytes_of_lists(values)


def _bytes_of_lists(values: Arrow) -> Arrow:
    """Of lists of any length: the same numbers, with the places where they begin counted in bytes."""
    import pyarrow
    from pyarrow import compute

    flat = values.values
    places = compute.multiply(values.offsets.cast(pyarrow.int64()), 4).cast(pyarrow.int32())
    data = flat.buffers()[1].slice(4 * flat.offset) if len(flat) else pyarrow.py_buffer(b"")
    valid = pyarrow.array(values.is_valid()).buffers()[1]
    return pyarrow.Array.from_buffers(pyarrow.binary(), len(values), [valid, places.buffers()[1], data])


def _text(value: Value) -> bytes:
    return json.dumps(value, separators=(",", ":"), default=_moment).encode()


def _moment(value: object) -> dict[str, str]:
    # A dict, so that no text can be taken for a time.
    if isinstance(value, datetime):
        return {"$": value.astimezone(UTC).isoformat(timespec="microseconds")}
    raise Misuse(f"a value of type {type(value).__name__} has no place in a graph")
