"""Values on their way to the server and back.

What the driver cannot send is refused here, by name, before a transaction is begun. What comes back is plain Python:
aware UTC datetimes, lists, dicts; a type of the engine that has no such form comes back as its text.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime

from neo4j.graph import Node, Path, Relationship
from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration

from graph_stores.errors import Misuse
from graph_stores.model import NodeRow, Value
from graph_stores.values import as_utc, check_vector

_LONGEST_KEY = 2000
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def sendable(value: Value) -> Value:
    """The value as the driver takes it."""
    # Most values are these, and there are millions of them.
    if value is None or (type(value) is str and value.isascii()):
        return value
    match value:
        case str():
            return _text(value)
        case bool() | float():
            return value
        case int():
            return _integer(value)
        case datetime():
            return as_utc(value)
        case date():
            return value
        case list() | tuple():
            return [sendable(each) for each in value]
        case Mapping():
            return {key: sendable(each) for key, each in value.items()}
    raise Misuse(
        f"a value of type {type(value).__name__} cannot be stored",
        hint="use text, a number, a boolean, an aware datetime, or a list of one of these",
    )


def sendable_key(key: str) -> str:
    """A uuid or a project's name, which must fit into an index together with a few other values."""
    if len(key) > _LONGEST_KEY or len(_text(key).encode()) > _LONGEST_KEY:
        raise Misuse(
            f"the key {key[:60]!r}… is {len(_text(key).encode())} bytes long", hint=f"use at most {_LONGEST_KEY} bytes"
        )
    return key


def sendable_properties(properties: Mapping[str, Value]) -> dict[str, Value]:
    return {name: sendable(value) for name, value in properties.items()}


def sendable_vector(values: Sequence[float], dimension: int) -> list[float]:
    check_vector(values, dimension)
    return [float(value) for value in values]


def plain(value: Value, labels: Collection[str] = ()) -> Value:
    """A value of the driver as everybody else knows it; of several labels of a node, one of `labels` is its first."""
    match value:
        case str() | int() | float() | None:
            return value
        case DateTime():
            return _moment(value)
        case Date():
            return _day(value)
        case Node():
            return _node(value, labels)
        case Relationship():
            return {**plain_properties(value), "_type": value.type}
        case Path():
            return _path(value, labels)
        case Duration() | Point():
            return str(value)
        case list() | tuple():
            return [plain(each, labels) for each in value]
        case Mapping():
            return {key: plain(each, labels) for key, each in value.items()}
    return str(value)


def plain_properties(properties: Mapping[str, Value]) -> dict[str, Value]:
    return {name: plain(value) for name, value in properties.items()}


def node_row(label: str, properties: Mapping[str, Value]) -> NodeRow:
    return NodeRow.from_row(label, plain_properties(properties))


def _text(value: str) -> str:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Misuse(
            f"the text {value[:60]!a} holds half of a character", hint="decode it with errors='replace' first"
        ) from error
    return value


def _integer(value: int) -> int:
    if _SMALLEST <= value <= _LARGEST:
        return value
    raise Misuse(f"the number {value} does not fit into 64 bits", hint="store it as text")


def _moment(value: DateTime) -> datetime | str:
    """A moment in UTC; without a zone, or in a year that Python does not know, its text."""
    if value.tzinfo is None:
        return str(value.iso_format())
    try:
        return value.to_native().astimezone(UTC)
    except (ValueError, OverflowError):
        return str(value.iso_format())


def _day(value: Date) -> date | str:
    try:
        return value.to_native()
    except ValueError:
        return str(value.iso_format())


def first_label(of_node: Iterable[str], labels: Collection[str]) -> str | None:
    """The one that graphmill knows the node by, or else just the first."""
    return min(of_node, key=lambda label: (label not in labels, label), default=None)


def _node(node: Node, labels: Collection[str]) -> dict[str, Value]:
    several = {"_labels": sorted(node.labels)} if len(node.labels) > 1 else {}
    return {**plain_properties(node), "_label": first_label(node.labels, labels), **several}


def _path(path: Path, labels: Collection[str]) -> list[Value]:
    """Node, edge, node, and so on."""
    steps = [plain(path.start_node, labels)]
    for edge, node in zip(path.relationships, path.nodes[1:], strict=True):
        steps += [plain(edge, labels), plain(node, labels)]
    return steps
