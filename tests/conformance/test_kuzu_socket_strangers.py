"""Only the same user is answered at the owner's socket, and nothing that anybody sends there harms the owner."""

import asyncio
import json
import os
import socket
import stat
import struct
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graph_stores import open_store
from graph_stores.errors import StoreOwned
from graph_stores.kuzu import door, wire
from graph_stores.kuzu.place import is_same_user, peer_of
from graph_stores.kuzu.shared import SharedStore
from graph_stores.kuzu.store import EmbeddedStore
from graph_stores.model import Select
from tests.conformance.examples import PATIENCE
from tests.conformance.kuzu_child import file_batch, opened
from tests.conformance.socket_child import command

NOBODY = 65534


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    store = await opened("kuzu", tmp_path / "graph")
    yield store
    await store.close()


def place(store: EmbeddedStore) -> Path:
    path: Path = store._engine.path
    return path.with_name("graph.sock")


async def connected(store: EmbeddedStore) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_unix_connection(place(store))
    await wire.read_welcome(reader)
    return reader, writer


async def still_answers(store: EmbeddedStore) -> None:
    guest = await open_store(store.url, project="p", share=True)
    assert isinstance(guest, SharedStore)
    await guest.nodes(Select())
    assert guest._owned is None
    await guest.close()


async def test_the_socket_is_for_its_user_only(store: EmbeddedStore) -> None:
    mode = place(store).stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600
    assert place(store).stat().st_uid == os.geteuid()


def test_the_kernel_tells_whose_process_is_at_the_other_end(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    with one, other:
        assert peer_of(one) == os.geteuid()
        assert is_same_user(other)
        monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
        assert not is_same_user(other)


async def test_who_is_not_the_same_user_is_not_even_welcomed(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "is_same_user", lambda _: False)
    reader, writer = await asyncio.open_unix_connection(place(store))
    assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()


async def test_nothing_is_asked_of_an_owner_who_is_another_user(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph_stores.kuzu.remote.is_same_user", lambda _: False)
    with pytest.raises(StoreOwned, match="another user"):
        await open_store(store.url, project="p", share=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
async def test_a_process_of_another_user_is_refused_by_the_file_and_by_the_owner() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        store = await opened("kuzu", Path(folder) / "graph")

        async def knock() -> str:
            asked = command("knock", "kuzu", place(store), str(NOBODY))
            run = await asyncio.to_thread(subprocess.run, asked, capture_output=True, text=True, timeout=PATIENCE)
            return run.stdout.strip() or run.stderr

        assert await knock() == "PermissionError"
        place(store).chmod(0o666)
        assert await knock() == "0", "who gets past the file's permissions is not welcomed"
        await store.close()


def frame(text: bytes, length: int | None = None) -> bytes:
    return struct.pack(">I", len(text) if length is None else length) + text


@pytest.mark.parametrize(
    "sent",
    [
        frame(b"garbage"),
        frame(b"\xff" * 100),
        frame(b"", length=2**32 - 1),
        frame(b"x" * 100, length=wire.LARGEST_REQUEST + 1),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        frame(b"[" * 100_000),
        frame(json.dumps({"project": "p", "call": "close", "arguments": {}}).encode()),
        frame(json.dumps({"project": "p", "call": "_write", "arguments": {"work": "x"}}).encode()),
        frame(json.dumps({"project": "p", "call": "nodes", "arguments": {"select": 5}}).encode()),
    ],
)
async def test_strange_bytes_are_answered_with_an_error_and_the_connection_ends(
    store: EmbeddedStore, sent: bytes
) -> None:
    reader, writer = await connected(store)
    writer.write(sent)
    told = await read_all(reader)
    assert not told or b"could not read the request" in told
    writer.close()
    await still_answers(store)


async def read_all(reader: asyncio.StreamReader) -> bytes:
    """All that the owner says; it may hang up on one who goes on talking."""
    async with asyncio.timeout(PATIENCE):
        try:
            return await reader.read()
        except OSError:
            return b""


@pytest.mark.parametrize("sent", [b"", b"\0\0", frame(b'{"project"', length=1000)], ids=["nothing", "half", "part"])
async def test_one_who_does_not_finish_its_request_is_sent_away(
    store: EmbeddedStore, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "PATIENCE", 0.05)
    reader, writer = await connected(store)
    writer.write(sent)
    assert await read_all(reader) == b""
    writer.close()
    monkeypatch.undo()
    await still_answers(store)


async def test_guests_who_stand_still_hold_up_neither_others_nor_the_closing_of_the_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "PATIENCE", 3600.0)
    store = await opened("kuzu", tmp_path / "graph")
    silent = [await connected(store) for _ in range(5)]
    deaf = [await connected(store) for _ in range(3)]
    text = "UNWIND range(1, 20000) AS i RETURN lpad('', 1000, 'x')"
    request = wire.asked("p", "query", {"text": text, "parameters": {}, "write": False, "timeout": None})
    for _, writer in deaf:
        # Asks for more than the kernel takes on its way, and never reads it.
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(request)
    await still_answers(store)
    await store.commit(file_batch("a"))
    async with asyncio.timeout(PATIENCE):
        await store.close()
    for _, writer in silent + deaf:
        writer.transport.abort()


async def test_more_guests_than_can_be_served_are_told_so(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "_GUESTS_AT_ONCE", 2)
    waiting = [await connected(store) for _ in range(2)]
    reader, writer = await asyncio.open_unix_connection(place(store))
    assert b"asking at once" in await read_all(reader)
    for _, each in [*waiting, (reader, writer)]:
        each.transport.abort()


async def test_no_socket_stays_when_the_owner_ends(store: EmbeddedStore) -> None:
    assert place(store).exists()
    await store.close()
    assert not place(store).exists()
