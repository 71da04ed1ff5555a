"""The seam's rows as JSON and back, by their type hints.

What is read is checked against the hint as it is built: a field that is unknown, missing or of another type is
`Malformed`, and nothing but the types that the hints name is ever made.
"""

import base64
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

Json = Any
"""What the json module takes and gives."""
Turn = Callable[[Any], Any]

# An object with this key holds a value that JSON has no word for.
_TAG = "$"


class Malformed(ValueError):
    """What arrived is not what the type hints say."""


def encode(value: object, hint: Any) -> Json:
    """The value as JSON can hold it."""
    return _encoder(hint)(value)


def decode(data: Json, hint: Any) -> Any:
    """The value of the hinted type, or Malformed."""
    return _decoder(hint)(data)


@cache
def _encoder(hint: Any) -> Turn:
    origin, arguments = get_origin(hint), get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _dataclass_encoder(hint)
    if origin in (Union, UnionType):
        inner = _encoder(_without_none(arguments))
        return lambda value: None if value is None else inner(value)
    if origin in (list, tuple, Sequence):
        if arguments[0] is float:
            return _numbers
        item = _encoder(arguments[0])
        return lambda value: [item(each) for each in value]
    if origin is Mapping:
        values = _encoder(arguments[1])
        if arguments[1] is Any:
            return lambda value: {key: _encode_any(each) for key, each in value.items()}
        return lambda value: {key: values(each) for key, each in value.items()}
    return _LEAVES[hint][0]


@cache
def _decoder(hint: Any) -> Turn:
    origin, arguments = get_origin(hint), get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _dataclass_decoder(hint)
    if origin in (Union, UnionType):
        inner = _decoder(_without_none(arguments))
        return lambda data: None if data is None else inner(data)
    if origin in (list, tuple, Sequence):
        item, make = _decoder(arguments[0]), tuple if origin is tuple else list
        return lambda data: make(item(each) for each in _checked(data, list))
    if origin is Mapping:
        values = _decoder(arguments[1])
        return lambda data: {key: values(each) for key, each in _checked(data, dict).items()}
    return _LEAVES[hint][1]


def _dataclass_encoder(kind: type) -> Turn:
    hints = get_type_hints(kind)
    fields = [(field.name, _encoder(hints[field.name]), _default(field)) for field in dataclasses.fields(kind)]

    def encode_fields(value: object) -> Json:
        # A default is left out, so that it comes back as what it was: an empty tuple is not an empty list.
        data = {}
        for name, turn, default in fields:
            field = getattr(value, name)
            if type(field) is not type(default) or field != default:
                data[name] = turn(field)
        return data

    return encode_fields


def _dataclass_decoder(kind: type) -> Turn:
    hints = get_type_hints(kind)
    turns = {field.name: _decoder(hints[field.name]) for field in dataclasses.fields(kind)}
    needed = {field.name for field in dataclasses.fields(kind) if _default(field) is dataclasses.MISSING}

    def decode_fields(data: Json) -> object:
        fields = _checked(data, dict)
        if unknown := fields.keys() - turns.keys():
            raise Malformed(f"{kind.__name__} has no {min(unknown)[:40]!r}")
        if missing := needed - fields.keys():
            raise Malformed(f"{kind.__name__} lacks {min(missing)!r}")
        return kind(**{name: turns[name](value) for name, value in fields.items()})

    return decode_fields


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _without_none(arguments: tuple[Any, ...]) -> Any:
    [hint] = [each for each in arguments if each is not NoneType]
    return hint


def _checked(data: Json, kind: type) -> Any:
    # By the exact type: true is no number here.
    if type(data) is not kind:
        raise Malformed(f"expected {kind.__name__}, got {type(data).__name__}")
    return data


def _only(kind: type) -> Turn:
    return lambda data: _checked(data, kind)


def _same(value: Any) -> Any:
    return value


def _number(data: Json) -> float:
    if type(data) not in (int, float):
        raise Malformed(f"expected a number, got {type(data).__name__}")
    return float(data)


def _numbers(values: Any) -> list[float]:
    """Also of an array of numbers in single precision, which the json module refuses."""
    return [float(each) for each in (values.tolist() if hasattr(values, "tolist") else values)]


def _moment(data: Json) -> datetime:
    moment: datetime = _parsed(datetime.fromisoformat, _checked(data, str))
    return moment


def _encode_any(value: Any) -> Json:
    """A value of the graph, whatever its type; in the order of how often values are of a kind."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind in (list, tuple):
        return [_encode_any(each) for each in value]
    if kind is dict:
        if _TAG not in value and all(type(key) is str for key in value):
            return {key: _encode_any(each) for key, each in value.items()}
        return {_TAG: "map", "of": [[_encode_any(key), _encode_any(each)] for key, each in value.items()]}
    for name, (tagged, turn, _) in _TAGGED.items():
        if isinstance(value, tagged):
            return {_TAG: name, "of": turn(value)}
    raise TypeError(f"a value of type {kind.__name__} cannot be sent")


def _decode_any(data: Json) -> Any:
    kind = type(data)
    if kind in _PLAIN:
        return data
    if kind is list:
        return [_decode_any(each) for each in data]
    if _TAG not in data:
        return {key: _decode_any(each) for key, each in data.items()}
    name, content = data[_TAG], data.get("of")
    if name == "map":
        return _parsed(dict, [[_decode_any(key), _decode_any(each)] for key, each in _pairs(content)])
    if type(name) is not str or name not in _TAGGED:
        raise Malformed("a value of a kind that is not known")
    return _parsed(_TAGGED[name][2], content)


def _pairs(content: Json) -> list[Any]:
    for pair in _checked(content, list):
        if len(_checked(pair, list)) != 2:
            raise Malformed("expected pairs of a key and a value")
    return content  # type: ignore[no-any-return]


def _parsed(turn: Turn, content: Json) -> Any:
    try:
        return turn(content)
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise Malformed(f"not a value of its kind: {str(error)[:100]}") from error


_PLAIN = frozenset({str, int, float, bool, NoneType})
# A datetime is a date too, so it comes first.
_TAGGED: dict[str, tuple[type, Turn, Turn]] = {
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "duration": (
        timedelta,
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda data: timedelta(days=data[0], seconds=data[1], microseconds=data[2]),
    ),
    "bytes": (
        bytes,
        lambda value: base64.b64encode(value).decode(),
        lambda data: base64.b64decode(_checked(data, str), validate=True),
    ),
    "decimal": (Decimal, str, lambda data: Decimal(_checked(data, str))),
    "uuid": (UUID, str, lambda data: UUID(_checked(data, str))),
}
_LEAVES: dict[Any, tuple[Turn, Turn]] = {
    str: (_same, _only(str)),
    int: (_same, _only(int)),
    bool: (_same, _only(bool)),
    float: (float, _number),
    datetime: (datetime.isoformat, _moment),
    NoneType: (_same, _only(NoneType)),
    Any: (_encode_any, _decode_any),
}
