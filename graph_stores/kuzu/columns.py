"""The tables of an embedded database as it describes them itself, and values in the types of their columns."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import cypher
from graph_stores.errors import Misuse, UnknownLabel
from graph_stores.kuzu.session import DIALECT, Rows
from graph_stores.model import Value

if TYPE_CHECKING:
    from collections.abc import Callable

_LARGE = frozenset({"embedding", "_content"})
_VECTOR = re.compile(r"FLOAT\[(\d+)\]")
_OURS = re.compile(r"(STRING|INT64|DOUBLE|BOOL|TIMESTAMP)(\[\])?|FLOAT\[\d*\]")
VECTOR_LIST = "FLOAT[]"
"""The type of a vector; a graph of an earlier graphmill may have FLOAT[n]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Column types by node label and by relationship type, and between which labels a relationship may go."""

    nodes: Mapping[str, Mapping[str, str]]
    edges: Mapping[str, Mapping[str, str]]
    pairs: Mapping[str, frozenset[tuple[str, str]]]
    readable: Mapping[str, tuple[str, ...]]
    """The columns of a label without the vector and the content of a file, which only those get who ask for them."""
    odd: frozenset[str] = frozenset()
    """Tables with a column whose name would need quoting, or whose type is none of graphmill's: somebody added it."""

    @classmethod
    def read(cls, run: "Callable[[str], Rows]") -> "Tables":
        kinds: dict[str, str] = _pairs(run(cypher.load(DIALECT, "tables")))
        described = {name: run(cypher.render(DIALECT, "columns", label=name)) for name in kinds}
        columns = {name: _pairs(rows) for name, rows in described.items()}
        relations = [name for name, kind in kinds.items() if kind == "REL"]
        return cls(
            nodes={name: columns[name] for name, kind in kinds.items() if kind == "NODE"},
            readable={name: tuple(column for column in columns[name] if column not in _LARGE) for name in kinds},
            edges={name: columns[name] for name in relations},
            pairs={
                name: frozenset((row[0], row[1]) for row in run(cypher.render(DIALECT, "connections", type=name)))
                for name in relations
            },
            odd=frozenset(name for name, rows in described.items() if any(_is_odd(*row[:2]) for row in rows)),
        )

    @property
    def labels(self) -> list[str]:
        """The labels whose nodes have a state."""
        return sorted(label for label, columns in self.nodes.items() if "_state" in columns)

    @property
    def adopted(self) -> tuple[str, ...]:
        """The labels whose nodes have a state since a migration brought them."""
        own = {name for each in cypher.migrations(DIALECT) for name in each.creates}
        return tuple(label for label in self.labels if label not in own)

    def naming(self, text: str) -> str:
        """A question with the labels that a migration brought, where it asks for them."""
        return cypher.with_adopted(text, DIALECT, self.adopted) if "Adopted" in text else text

    @property
    def vector_labels(self) -> list[str]:
        return [label for label in self.labels if "content" in self.nodes[label]]

    @property
    def vector_kinds(self) -> set[str]:
        """The types that the vectors have; one, unless a label was added by other means."""
        columns = (self.nodes[label] for label in self.vector_labels)
        return {types["embedding"] for types in columns if "embedding" in types}

    def node(self, label: str, properties: Iterable[str] = ()) -> Mapping[str, str]:
        """The columns of a label; a label or a property that the schema does not have is refused."""
        if label not in self.labels:
            raise UnknownLabel(f"the schema has no label {label}", hint=f"it has {', '.join(self.labels)}")
        return _with_columns(label, self.nodes[label], properties)

    def edge(self, kind: str, source: str, target: str, properties: Iterable[str] = ()) -> Mapping[str, str]:
        if (source, target) not in self.pairs.get(kind, ()):
            raise UnknownLabel(f"the schema has no relationship {kind} from {source} to {target}")
        return _with_columns(kind, self.edges[kind], properties)


def _pairs(rows: Rows) -> dict[str, str]:
    """Names to kinds; a name that would need quoting is somebody else's, and left alone."""
    return {row[0]: row[1] for row in rows if cypher.is_identifier(row[0])}


def _is_odd(name: str, kind: str) -> bool:
    return not cypher.is_identifier(name) or not _OURS.fullmatch(kind)


def typed(table: Any, types: Mapping[str, str]) -> Any:
    """The same table in the types of the columns that it goes to."""
    import pyarrow

    arrays = {}
    for name in table.column_names:
        try:
            arrays[name] = table[name].cast(arrow_type(pyarrow, types[name]))
        except pyarrow.ArrowException as error:
            raise Misuse(f"{name.removeprefix('v_')} takes values of type {types[name]}: {error}") from error
    return pyarrow.table(arrays)


def arrow(columns: Mapping[str, Sequence[Value]], types: Mapping[str, str]) -> Any:
    """The columns as a typed table, which the engine reads ten times faster than parameters and with nulls intact."""
    import pyarrow

    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = pyarrow.array(values, arrow_type(pyarrow, types[name]))
        except (
            pyarrow.ArrowInvalid,
            pyarrow.ArrowTypeError,
            pyarrow.ArrowNotImplementedError,
            OverflowError,
            UnicodeError,
        ) as error:
            raise Misuse(f"{name.removeprefix('v_')} takes values of type {types[name]}: {error}") from error
    return pyarrow.table(arrays)


def plain(value: Value) -> Value:
    """A value as the engine takes it: it would drop the zone of a time, so times go in as UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def restored(value: Value) -> Value:
    """A value as it went in; nodes and edges as objects with `_label` or `_type`, paths as lists of them."""
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    if isinstance(value, list):
        # Vectors are most of what a large graph holds.
        return value if value and type(value[0]) is float else [restored(item) for item in value]
    if isinstance(value, dict):
        return _restored_object(value)
    return value


def _restored_object(value: dict[str, Value]) -> Value:
    if not all(type(name) is str for name in value):  # a map, whose keys can be anything
        return {name: restored(item) for name, item in value.items()}
    if path := _path(value):
        return path
    label = value.get("_label", value.get("_LABEL"))
    key = "_type" if "_src" in value or "_SRC" in value else "_label"
    rest = {name: restored(item) for name, item in value.items() if name.lower() not in _INTERNAL}
    return rest if label is None else {key: label, **{name: item for name, item in rest.items() if item is not None}}


def _path(value: dict[str, Value]) -> list[Value]:
    """A path as its nodes and edges in the order in which one walks it; empty for what is not a path."""
    parts = {name.lower(): items for name, items in value.items()}
    if set(parts) != {"_nodes", "_rels"}:
        return []
    nodes, edges = restored(parts["_nodes"]), restored(parts["_rels"])
    return [part for pair in zip(nodes, [*edges, None], strict=True) for part in pair if part is not None]


_INTERNAL = frozenset({"_id", "_label", "_src", "_dst"})


def _with_columns(name: str, columns: Mapping[str, str], properties: Iterable[str]) -> Mapping[str, str]:
    for column in properties:
        if column not in columns:
            raise UnknownLabel(f"{name} has no property {column}", hint=f"it has {', '.join(sorted(columns))}")
    return columns


def arrow_type(pyarrow: Any, kind: str) -> Any:
    """None for a type that graphmill's own tables do not have."""
    if match := _VECTOR.fullmatch(kind):
        return pyarrow.list_(pyarrow.float32(), int(match.group(1)))
    if kind.endswith("[]"):
        return pyarrow.list_(arrow_type(pyarrow, kind[:-2]))
    return {
        "STRING": pyarrow.string(),
        "INT64": pyarrow.int64(),
        "DOUBLE": pyarrow.float64(),
        "FLOAT": pyarrow.float32(),
        "BOOL": pyarrow.bool_(),
        "TIMESTAMP": pyarrow.timestamp("us"),
        "DATE": pyarrow.date32(),
    }.get(kind)
