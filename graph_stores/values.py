"""Which names and values may reach an engine, checked the same way for every engine before anything is sent."""

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from cypher import is_identifier
from graph_stores.errors import InvalidIdentifier, InvalidVector, Misuse
from graph_stores.model import OWNED, Batch, Ref, Value

# Beyond these a vector's squared length is zero or infinite in single precision.
SHORTEST, LONGEST = 1e-37, 1e37
_BEYOND = 2**63


def checked_name(name: str, kind: str) -> str:
    """A label, relationship type or property name that is safe inside a query."""
    if not is_identifier(name):
        raise InvalidIdentifier(
            f"the {kind} {name[:60]!r} is not a name of letters, digits and underscores",
            hint=f"rename the {kind}; any text can be a value, but not a name",
        )
    return name


def check_batch(batch: Batch) -> None:
    """Refuse names that could break out of a query and properties that only the store may write."""
    properties = [
        *(node.properties for node in batch.nodes),
        *(node.initial for node in batch.nodes),
        *(update.properties for update in batch.updates),
        *(edge.properties for edge in batch.edges),
        *(transition.marks.set for transition in batch.transitions),
    ]
    names = {name for each in properties for name in each}
    names.update(name for transition in batch.transitions for name in transition.marks.stamp)
    for name in names:
        checked_name(name, "property")
        if name in OWNED:
            raise Misuse(f"the property {name} is written by the store only", hint="use the typed field for it")
    for each in properties:
        for value in each.values():
            _check_value(value)
    for node in batch.nodes:
        _check_value(node.uuid)
        _check_value(node.name)
    for update in batch.updates:
        _check_value(update.name)
    for kind in {*(edge.type for edge in batch.edges), *(unlink.type for unlink in batch.unlinks)}:
        checked_name(kind, "relationship type")
    for label in {*(node.label for node in batch.nodes), *(ref.label for ref in _refs(batch))}:
        checked_name(label, "label")
    for vector in batch.vectors:
        if vector.values is not None:
            check_vector(vector.values)


def _check_value(value: Value) -> None:
    """Refuse what no engine can hold, in the order of how often values are of a kind."""
    kind = type(value)
    if kind is str:
        if not value.isascii():
            _check_text(value)
    elif kind is int:
        if not -_BEYOND <= value < _BEYOND:
            raise Misuse(f"{value} does not fit into 64 bits", hint="store it as text")
    elif kind is datetime:
        as_utc(value)
    elif kind is list or kind is tuple:
        for item in value:
            _check_value(item)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Misuse(
            f"the text {text[:40]!r} holds half a character, which cannot be stored",
            hint="decode names of files with errors='backslashreplace'",
        ) from error


def _refs(batch: Batch) -> Iterator[Ref]:
    yield from batch.deletions
    for edge in batch.edges:
        yield edge.source
        yield edge.target
    for unlink in batch.unlinks:
        yield unlink.source
    for transition in batch.transitions:
        yield transition.node
    for update in batch.updates:
        yield update.node
    for vector in batch.vectors:
        yield vector.node


def check_vector(values: Sequence[float], dimension: int | None = None) -> None:
    """A vector of the right length that has a direction: vectors are compared by angle, in single precision."""
    if dimension is not None and len(values) != dimension:
        raise InvalidVector(f"the vector has {len(values)} numbers, expected {dimension}")
    # One call, and not one for each number: this is done for every vector.
    root = math.hypot(*values)
    length = root * root
    if not math.isfinite(length):
        raise InvalidVector("the vector holds a value that is not a finite number")
    if not SHORTEST < length < LONGEST:
        raise InvalidVector("the vector is empty or zero, or too short or too long for single precision")


def as_utc(value: datetime) -> datetime:
    """An aware datetime in UTC; a naive one is refused, because guessing its zone would lose the moment."""
    if value.tzinfo is None:
        raise Misuse(f"{value.isoformat()} has no time zone", hint="pass an aware datetime")
    return value.astimezone(UTC)
