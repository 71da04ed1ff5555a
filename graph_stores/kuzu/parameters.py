"""Which values of a person's parameters an embedded engine binds as they are; the others it would bend or choke on.

A list has one type of item there, and a map is a struct whose fields are those of the first one seen.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from graph_stores.errors import Misuse
from graph_stores.kuzu.columns import plain
from graph_stores.model import Value

_LARGEST = 2**63


def bindable(parameters: Mapping[str, Value]) -> dict[str, Value]:
    return {name: _checked(f"${name}", value) for name, value in parameters.items()}


def _checked(name: str, value: Any) -> Value:  # Any: what JSON can hold
    match value:
        case bool() | str() | float() | None:
            return value
        case int() if not -_LARGEST <= value < _LARGEST:
            raise Misuse(f"{name} does not fit into 64 bits", hint="pass it as text")
        case datetime():
            return plain(value)
        case list() | tuple():
            return _list(name, list(value))
        case dict():
            if not value:
                raise Misuse(f"{name} is an empty map, which this engine cannot take", hint="leave it out, or fill it")
            return {key: _checked(f"{name}.{key}", item) for key, item in value.items()}
    return value


def _list(name: str, items: list[Any]) -> list[Value]:
    kinds = {_kind(item) for item in items if item is not None}
    if len(kinds) > 1:
        raise Misuse(
            f"{name} mixes {' and '.join(sorted(kinds))}", hint="this engine takes lists with one type of item"
        )
    if kinds == {"map"}:
        # In the order of the first, with null for what one does not have.
        fields = list(dict.fromkeys(key for item in items if item for key in item))
        items = [item if item is None else {key: item.get(key) for key in fields} for item in items]
    return [_checked(f"{name}[{number}]", item) for number, item in enumerate(items)]


def _kind(item: Any) -> str:
    match item:
        case bool():
            return "true or false"
        case int() | float():
            return "numbers" if isinstance(item, float) else "whole numbers"
        case str():
            return "text"
        case list() | tuple():
            return "lists"
        case dict():
            return "map"
    return type(item).__name__
