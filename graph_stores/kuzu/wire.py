"""What goes over the owner's socket: one request and its answer, in frames of JSON with their length before them.

Owns which calls of a store may be asked of its owner, and how errors keep their type on the way. An answer that is a
list or a table comes in parts, so that a long one neither holds up its owner nor needs one large frame.
"""

import asyncio
import inspect
import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, get_type_hints

import graph_stores.errors
from graph_stores.errors import (
    Conflict,
    GraphmillError,
    Misuse,
    PermanentStoreError,
    TransientStoreError,
    TransitionConflict,
)
from graph_stores.kuzu.codec import Json, Malformed, decode, encode
from graph_stores.model import Table
from graph_stores.protocol import Store

VERSION = 1
"""Of what is said here; an owner and a guest that differ in it do not understand each other."""
# Reading one holds up the owner's interpreter: about a tenth of a second for this much.
LARGEST_REQUEST = 16 << 20
# The owner is of the same user, and known to be when its answer is read.
LARGEST_ANSWER = 1 << 30
READS = ("schema", "nodes", "progress", "vector_space", "search", "ask", "query")
CHANGES = ("commit", "hold", "renew", "let_go", "index_vectors")
GIVE_WAY = "give_way"
"""Asks an owner that needs the graph for one command only to let a job have it."""

_LENGTH = struct.Struct(">I")
_PART = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    project: str
    call: str
    arguments: Mapping[str, Any]

    @property
    def changes(self) -> bool:
        """Whether asking twice may do it twice."""
        return self.call in CHANGES or bool(self.arguments.get("write"))


class Closing(Exception):
    """The owner is about to let go of the graph, and has not done what it was asked for."""


def asked(project: str, call: str, arguments: Mapping[str, object]) -> bytes:
    """The frame of a request."""
    hints = _hints(call)
    data = {name: encode(value, hints[name]) for name, value in arguments.items()}
    request = Request(project=project, call=call, arguments=data)
    text = _dumped(encode(request, Request))
    if len(text) > LARGEST_REQUEST:
        raise Misuse(
            f"{call} takes {len(text)} bytes, the owner of the graph reads up to {LARGEST_REQUEST} at once",
            hint="send less at a time, or wait until the graph's owner ends",
        )
    return framed(text)


def understood(text: bytes) -> Request:
    """The request that a frame holds, its arguments in the types that the call takes; or Malformed."""
    request: Request = decode(_loaded(text), Request)
    if request.call == GIVE_WAY:
        return request
    if request.call not in (*READS, *CHANGES):
        raise Malformed(f"there is no call {request.call[:40]!r}")
    hints = _hints(request.call)
    if unknown := request.arguments.keys() - hints.keys():
        raise Malformed(f"{request.call} does not take {min(unknown)[:40]!r}")
    arguments = {name: decode(value, hints[name]) for name, value in request.arguments.items()}
    try:
        inspect.signature(getattr(Store, request.call)).bind(None, **arguments)
    except TypeError as error:
        raise Malformed(f"{request.call}: {error}") from error
    return replace(request, arguments=arguments)


def answered(call: str, result: object) -> Iterator[bytes]:
    """The frames of an answer, each made when it is asked for."""
    hint = _hints(call)["return"]
    if isinstance(result, Table):
        yield from _parts(result.rows, list[Any])
        result = replace(result, rows=[])
    elif isinstance(result, list):
        yield from _parts(result, hint)
        result = []
    yield framed(_dumped({"answer": encode(result, hint)}))


def failed(error: GraphmillError) -> bytes:
    data = {"type": type(error).__name__, "message": error.message, "hint": error.hint, "transient": error.transient}
    if isinstance(error, TransitionConflict):
        data["conflicts"] = encode(error.conflicts, tuple[Conflict, ...])
    return framed(_dumped({"error": data}))


def welcome() -> bytes:
    """The owner speaks first, so that one who heard nothing knows that nothing was asked."""
    return framed(_dumped({"welcome": VERSION}))


def closing() -> bytes:
    return framed(_dumped({"closing": True}))


async def read_welcome(reader: asyncio.StreamReader) -> None:
    match _loaded(await read_frame(reader, LARGEST_ANSWER)):
        case {"welcome": version} if version == VERSION:
            return
        case {"error": dict(data)}:
            raise _error(data)
        case {"closing": _}:
            raise Closing
    raise Malformed("the owner of the graph is another version of graphmill")


async def read_answer(reader: asyncio.StreamReader, call: str) -> Any:
    """What the owner answered, or the error that it met."""
    parts: list[Json] = []
    while True:
        match _loaded(await read_frame(reader, LARGEST_ANSWER)):
            case {"part": list(part)}:
                parts += part
            case {"answer": data}:
                return _whole(call, data, parts)
            case {"error": dict(data)}:
                raise _error(data)
            case {"closing": _}:
                raise Closing
            case _:
                raise Malformed("the owner of the graph answered with something else")


async def read_frame(reader: asyncio.StreamReader, largest: int) -> bytes:
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > largest:
        raise Malformed(f"{length} bytes at once, at most {largest} are read")
    return await reader.readexactly(length)


def framed(text: bytes) -> bytes:
    return _LENGTH.pack(len(text)) + text


def _parts(items: Any, hint: Any) -> Iterator[bytes]:
    for start in range(0, len(items), _PART):
        yield framed(_dumped({"part": encode(items[start : start + _PART], hint)}))


def _whole(call: str, data: Json, parts: list[Json]) -> Any:
    hint = _hints(call)["return"]
    if hint is Table and isinstance(data, dict):
        data["rows"] = parts
    return decode(parts if isinstance(data, list) else data, hint)


def _error(data: Mapping[str, Any]) -> GraphmillError:
    """The error in its own type, or in the nearest that this version has."""
    otherwise = TransientStoreError if data.get("transient") else PermanentStoreError
    kind = getattr(graph_stores.errors, str(data.get("type")), otherwise)
    if not (isinstance(kind, type) and issubclass(kind, GraphmillError)):
        kind = otherwise
    if issubclass(kind, TransitionConflict):
        return kind(decode(data.get("conflicts"), tuple[Conflict, ...]))
    return kind(str(data.get("message")), hint=str(data.get("hint")))


@cache
def _hints(call: str) -> dict[str, Any]:
    return {"return": type(None)} if call == GIVE_WAY else get_type_hints(getattr(Store, call))


def _dumped(data: Json) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode()


def _loaded(text: bytes) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {str(error)[:100]}") from error
