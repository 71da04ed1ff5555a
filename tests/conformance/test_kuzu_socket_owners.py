"""Owners of an embedded database come, close, are killed and make room; who asks is answered all the same."""

import asyncio
import fcntl
import json
import os
import stat
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from graph_stores import kuzu, open_store
from graph_stores.errors import DeadlineExceeded, StoreNotFound, StoreOwned
from graph_stores.kuzu import shared, wire
from graph_stores.kuzu.ownership import lock_file, owner_of
from graph_stores.kuzu.remote import AnswerLost
from graph_stores.kuzu.shared import SharedStore
from graph_stores.model import Select
from tests.conformance.examples import PATIENCE, eventually
from tests.conformance.kuzu_child import file_batch, opened
from tests.conformance.socket_child import child, command, is_ready, owner

both = pytest.mark.parametrize("engine", ["kuzu", "ladybug"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "graph"


async def shared_store(path: Path, engine: str = "kuzu", **options: Any) -> SharedStore:
    store = await open_store(f"{engine}:{path}", project="p", share=True, **options)
    assert isinstance(store, SharedStore)
    return store


async def uuids(store: Any) -> list[str]:
    return [row.uuid for row in await store.nodes(Select())]


def is_owner(store: SharedStore) -> bool:
    return store._owned is not None


def socket_beside(path: Path) -> Path:
    return path.with_name("graph.sock")


def ran(deed: str, path: Path) -> str:
    run = subprocess.run(command(deed, "kuzu", path), capture_output=True, text=True, timeout=PATIENCE)
    return run.stdout + run.stderr


async def ends(process: "subprocess.Popen[str]") -> int:
    return await asyncio.to_thread(process.wait, 60)


@both
async def test_a_guest_falls_back_to_the_file_when_the_owner_is_killed(engine: str, path: Path) -> None:
    with owner(engine, path) as process:
        guest = await shared_store(path, engine)
        assert await uuids(guest) == ["a", "b"]
        assert not is_owner(guest)
        process.kill()
        await ends(process)
    assert socket_beside(path).exists(), "a killed owner leaves its socket"
    assert await uuids(guest) == ["a", "b"]
    assert is_owner(guest)
    second = await shared_store(path, engine)
    assert await uuids(second) == ["a", "b"]
    assert not is_owner(second), "the stale socket was replaced"
    await guest.close()
    assert not socket_beside(path).exists()
    assert await uuids(second) == ["a", "b"]
    assert is_owner(second)
    await second.close()


async def test_an_owner_that_closes_sends_its_guests_to_the_file(path: Path) -> None:
    with owner("kuzu", path) as process:
        guests = [await shared_store(path) for _ in range(3)]
        asked = 0

        async def keep_asking(guest: SharedStore) -> None:
            nonlocal asked
            while not any(map(is_owner, guests)):
                assert await uuids(guest) == ["a", "b"]
                asked += 1

        asking = asyncio.gather(*map(keep_asking, guests))

        async def all_have_asked() -> bool:
            return asked > 10

        await eventually(all_have_asked)
        assert process.stdin
        process.stdin.close()
        await asking
        assert await ends(process) == 0
    assert sum(map(is_owner, guests)) == 1
    for guest in guests:
        assert await uuids(guest) == ["a", "b"]
        await guest.close()


async def test_a_closing_owner_finishes_what_a_guest_changes_and_stops_what_it_reads(path: Path) -> None:
    store = await opened("kuzu", path)
    await store.commit(file_batch(*map(str, range(700))))
    guest = await shared_store(path)
    text = "MATCH (a:File), (b:File), (c:File), (d:File) WHERE a.name < b.name OR c.name < d.name RETURN count(*)"
    reading = asyncio.create_task(guest.query(text, {}, timeout=600.0))

    async def runs() -> bool:
        return len(store._engine._gate._stoppable) == 1

    await eventually(runs)
    changing = asyncio.create_task(guest.commit(file_batch("x")))

    async def is_queued() -> bool:
        return bool(store._door and store._door._changing) or changing.done()

    await eventually(is_queued)
    async with asyncio.timeout(PATIENCE):
        await store.close()
        await changing
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert len(await uuids(guest)) == 701
    await guest.close()


async def test_a_change_whose_answer_is_lost_says_so_and_is_not_repeated(path: Path) -> None:
    with owner("kuzu", path, "own_until_a_commit") as process:
        guest = await shared_store(path)
        with pytest.raises(AnswerLost, match="before it answered") as caught:
            await guest.commit(file_batch("c"))
        assert caught.value.transient
        await ends(process)
        assert await uuids(guest) == ["a", "b", "c"], "this one had happened"
        await guest.close()


async def test_guests_who_all_come_at_once_to_a_free_file_are_all_answered(path: Path) -> None:
    store = await opened("kuzu", path)
    await store.commit(file_batch("a"))
    await store.close()
    told = await asyncio.gather(*(asyncio.to_thread(ran, "ask", path) for _ in range(4)))
    assert told == ["1\n"] * 4


async def test_a_job_is_made_room_for_by_a_command_that_only_shares_the_file(path: Path) -> None:
    await (await opened("kuzu", path)).close()
    guest = await shared_store(path)
    assert await uuids(guest) == []
    assert is_owner(guest)
    with child("job", "kuzu", path) as process:
        assert process.stdin
        await asyncio.to_thread(is_ready, process)
        assert await uuids(guest) == []
        assert not is_owner(guest)
        with pytest.raises(StoreOwned, match="socket_child"):
            await kuzu.open(f"kuzu:{path}", project="p")
        process.stdin.close()
        assert await ends(process) == 0
    assert await uuids(guest) == []
    assert is_owner(guest)
    await guest.close()


async def test_a_command_finishes_its_call_before_it_makes_room(path: Path) -> None:
    await (await opened("kuzu", path)).close()
    guest = await shared_store(path)
    store = await guest._owner()
    async with asyncio.timeout(PATIENCE):
        guest._calls += 1  # as during a call
        guest._give_way()
        await asyncio.sleep(0)
        assert await store.nodes(Select()) == []
        job = asyncio.create_task(kuzu.open(f"kuzu:{path}", project="p"))
        guest._calls -= 1
        guest._idle.set()
        await (await job).close()
    await guest.close()


async def test_a_graph_that_is_not_there_is_told_at_once(path: Path) -> None:
    with pytest.raises(StoreNotFound):
        await shared_store(path)
    assert list(path.parent.iterdir()) == []


@asynccontextmanager
async def named_in_the_lock(path: Path, **told: Any) -> AsyncIterator[None]:
    """Somebody has the lock, and its file says this of the owner."""
    descriptor = os.open(lock_file(path), os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.pwrite(descriptor, json.dumps({"process": 1, "command": "x", "since": "2026", **told}).encode(), 0)
    try:
        yield
    finally:
        os.ftruncate(descriptor, 0)
        os.close(descriptor)


@pytest.mark.parametrize(
    "told",
    [
        {"host": os.uname().nodename},
        {"host": os.uname().nodename, "answers": False, "socket": None},
        {"host": "elsewhere", "answers": True, "socket": "/nowhere"},
    ],
    ids=["of an earlier version", "without a socket", "on another machine"],
)
async def test_an_owner_who_cannot_be_asked_is_named_at_once(
    path: Path, told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "PATIENCE", 3600.0)
    await (await opened("kuzu", path)).close()
    async with named_in_the_lock(path, **told):
        with pytest.raises(StoreOwned, match=f"process 1 on {told['host']}"):
            await shared_store(path)


async def test_an_owner_that_never_gets_to_answer_is_waited_for_a_bounded_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "PATIENCE", 0.1)
    await (await opened("kuzu", path)).close()
    async with named_in_the_lock(path, host=os.uname().nodename, answers=True, socket=None):
        with pytest.raises(StoreOwned, match="process 1"):
            await shared_store(path)


Speech = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


@asynccontextmanager
async def scripted_owner(path: Path, speech: Speech) -> AsyncIterator[None]:
    """A process at the socket that says what it is told to."""
    spoken: set[asyncio.Task[None]] = set()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        spoken.add(task)
        with suppress(OSError):
            await speech(reader, writer)
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_unix_server(speak, socket_beside(path))
    text = {"process": 1, "host": os.uname().nodename, "command": "x", "since": "2026", "answers": True}
    lock_file(path).write_text(json.dumps({**text, "socket": str(socket_beside(path))}))
    try:
        yield
    finally:
        server.close()
        await asyncio.gather(*spoken)
        socket_beside(path).unlink(missing_ok=True)


async def test_a_read_that_is_cut_off_is_asked_again_and_a_change_is_not(path: Path) -> None:
    await (await opened("kuzu", path)).close()

    async def cut_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(wire.welcome())
        await wire.read_frame(reader, 1 << 20)
        writer.write(b"\0\0")

    async with scripted_owner(path, cut_off):
        guest = SharedStore(url="", project="p", path=path, own=never, deadline=PATIENCE)
        with pytest.raises(AnswerLost):
            await guest.commit(file_batch("x"))
        with pytest.raises(AnswerLost):
            await guest.query("MATCH (n) DELETE n", {}, write=True)
        guest = await shared_store(path)
        assert await uuids(guest) == []
        assert is_owner(guest)
        await guest.close()


async def test_a_change_that_nobody_heard_of_is_made_elsewhere(path: Path) -> None:
    await (await opened("kuzu", path)).close()
    said = iter([b"", wire.closing(), wire.welcome() + wire.closing()])

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(next(said))

    for name in ("unheard", "closing", "closed meanwhile"):
        async with scripted_owner(path, refuse):
            guest = await kuzu.share(f"kuzu:{path}", project="p")
            await guest.commit(file_batch(name))
            await guest.close()
    store = await kuzu.open(f"kuzu:{path}", project="p")
    assert await uuids(store) == ["closed meanwhile", "closing", "unheard"]
    await store.close()


async def test_an_owner_of_another_version_is_not_asked(path: Path) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(wire.framed(b'{"welcome": 999}'))
        await reader.read()

    async with scripted_owner(path, greet):
        with pytest.raises(StoreOwned, match="another version"):
            await shared_store(path)


async def test_an_owner_that_stands_still_is_waited_for_until_the_deadline(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph_stores.kuzu.remote._MARGIN", 0.1)

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with scripted_owner(path, say_nothing):
        with pytest.raises(DeadlineExceeded, match="did not answer"):
            await shared_store(path, deadline=0.1)


async def never(_: Callable[[], None]) -> Any:
    raise AssertionError("the file is not to be opened")


async def test_a_path_too_long_for_a_socket_beside_it_has_one_in_a_folder_of_the_users_own(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 110)
    folder.mkdir()
    path = folder / "graph"
    store = await opened("kuzu", path)
    told = owner_of(path)
    assert told
    assert told.socket
    assert told.socket.parent != folder
    assert stat.S_IMODE(told.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(told.socket.parent.stat().st_mode) == 0o700
    guest = await shared_store(path)
    assert await uuids(guest) == []
    assert not is_owner(guest)
    await store.close()
    assert not told.socket.exists()
    await guest.close()


async def test_what_lies_where_the_socket_would_be_is_left_alone(path: Path) -> None:
    socket_beside(path).write_text("somebody's")
    store = await opened("kuzu", path)
    guest = await shared_store(path)
    assert await uuids(guest) == []
    assert not is_owner(guest)
    await guest.close()
    await store.close()
    assert socket_beside(path).read_text() == "somebody's"


async def test_an_owner_without_a_place_for_a_socket_works_on_and_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_place(_: Path) -> Any:
        raise OSError("no sockets here")

    monkeypatch.setattr("graph_stores.kuzu.door.listen", no_place)
    monkeypatch.setattr(shared, "PATIENCE", 3600.0)
    store = await opened("kuzu", path)
    await store.commit(file_batch("a"))
    with pytest.raises(StoreOwned, match=f"process {os.getpid()}|already open in this process"):
        await shared_store(path)
    await store.close()
