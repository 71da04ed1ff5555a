"""Which requests an owner understands, and that errors keep their type on the way."""

import asyncio
import json
from typing import Any

import pytest

import graph_stores.errors
from graph_stores.errors import (
    Conflict,
    GraphmillError,
    HoldLost,
    LeaseLost,
    Misuse,
    PermanentStoreError,
    QueryFailed,
    TransientStoreError,
    TransitionConflict,
)
from graph_stores.kuzu import wire
from graph_stores.kuzu.codec import Malformed
from graph_stores.model import Batch, Ref, Select, Table
from graph_stores.protocol import Store

CONFLICT = Conflict(label="File", uuid="a", expected="pending", found=None, lease_lost=False)


async def heard(*frames: bytes, call: str = "nodes") -> Any:
    reader = asyncio.StreamReader()
    for frame in frames:
        reader.feed_data(frame)
    reader.feed_eof()
    return await wire.read_answer(reader, call)


def requested(**request: Any) -> wire.Request:
    return wire.understood(json.dumps({"project": "p", "call": "nodes", "arguments": {}, **request}).encode())


def test_a_request_is_understood_as_it_was_asked() -> None:
    frame = wire.asked("p", "nodes", {"select": Select(labels=["File"])})
    request = wire.understood(frame[4:])
    assert request == wire.Request(project="p", call="nodes", arguments={"select": Select(labels=["File"])})
    assert not request.changes


@pytest.mark.parametrize(
    ("call", "arguments", "changes"),
    [
        ("commit", {"batch": Batch(deletions=[Ref(label="File", uuid="a")])}, True),
        ("query", {"text": "", "parameters": {}, "write": True, "timeout": None}, True),
        ("query", {"text": "", "parameters": {}, "write": False, "timeout": 5}, False),
        ("hold", {"name": "x", "owner": "o", "seconds": 3}, True),
        ("progress", {"finished": ("ready",), "window": 60}, False),
        ("give_way", {}, False),
    ],
)
def test_it_is_known_which_requests_may_not_be_repeated(call: str, arguments: dict[str, Any], changes: bool) -> None:
    assert wire.understood(wire.asked("p", call, arguments)[4:]).changes is changes


@pytest.mark.parametrize(
    "request_",
    [
        {"call": "close"},
        {"call": "claim"},
        {"call": "_write"},
        {"call": "__class__"},
        {"call": 7},
        {"call": "nodes", "arguments": {}},
        {"call": "nodes", "arguments": {"select": {}, "self": 1}},
        {"call": "nodes", "arguments": {"return": None}},
        {"call": "nodes", "arguments": {"select": {"limit": "all"}}},
        {"call": "nodes", "arguments": []},
        {"call": "query", "arguments": {"text": "RETURN 1"}},
        {"project": None},
        {"more": 1},
    ],
)
def test_a_request_for_something_else_is_malformed(request_: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        requested(**request_)


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"nul", b"[" * 200_000, b"1" * 5000, b"3", b"[]", b"null", b"{}"])
def test_bytes_that_are_no_request_are_malformed(text: bytes) -> None:
    with pytest.raises(Malformed):
        wire.understood(text)


def test_a_request_that_the_owner_would_not_read_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LARGEST_REQUEST", 1000)
    with pytest.raises(Misuse, match="reads up to 1000 at once"):
        wire.asked("p", "ask", {"question": "x" * 1000, "parameters": None})


def every_error() -> list[type[GraphmillError]]:
    return [
        kind
        for kind in vars(graph_stores.errors).values()
        if isinstance(kind, type) and issubclass(kind, GraphmillError) and not issubclass(kind, TransitionConflict)
    ]


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
async def test_an_error_keeps_its_type(kind: type[GraphmillError]) -> None:
    with pytest.raises(kind) as caught:
        await heard(wire.failed(kind("what was wrong", hint="what to do")))
    assert type(caught.value) is kind
    assert (caught.value.message, caught.value.hint) == ("what was wrong", "what to do")


@pytest.mark.parametrize("kind", [TransitionConflict, LeaseLost])
async def test_a_conflict_names_its_nodes(kind: type[TransitionConflict]) -> None:
    with pytest.raises(kind) as caught:
        await heard(wire.failed(kind([CONFLICT, CONFLICT])))
    assert type(caught.value) is kind
    assert caught.value.conflicts == (CONFLICT, CONFLICT)


@pytest.mark.parametrize("base", [HoldLost, QueryFailed])
async def test_an_error_that_this_version_does_not_have_keeps_whether_it_may_pass(base: type[GraphmillError]) -> None:
    unknown = type("FromTheFuture", (base,), {})
    expected = TransientStoreError if base.transient else PermanentStoreError
    with pytest.raises(expected) as caught:
        await heard(wire.failed(unknown("it went wrong")))
    assert type(caught.value) is expected


async def test_a_long_answer_comes_in_parts() -> None:
    table = Table(columns=["n"], rows=[[number] for number in range(1001)])
    frames = list(wire.answered("query", table))
    assert len(frames) > 3
    assert await heard(*frames, call="query") == table
    with pytest.raises(asyncio.IncompleteReadError):
        await heard(*frames[:-1], call="query")


@pytest.mark.parametrize("frame", [{}, [], {"answer": 5}, {"answer": {}}, {"part": 3}, {"error": "x"}])
async def test_an_answer_of_another_kind_is_malformed(frame: Any) -> None:
    with pytest.raises(Malformed):
        await heard(wire.framed(json.dumps(frame).encode()), call="schema")


def test_every_call_of_a_store_is_either_asked_of_its_owner_or_refused_to_a_guest() -> None:
    refused = {"migrate", "claim", "heartbeat", "use_vector_space", "export_nodes", "export_edges", "close"}
    refused |= {"exported", "restore", "note", "leave_note", "node_pages", "edge_pages", "restore_page"}
    refused |= {"brought", "adopt"}
    here = {"listen", "give_space_back"}
    calls = {name for name in vars(Store) if not name.startswith("_")}
    assert calls == {*wire.READS, *wire.CHANGES, *refused, *here}
