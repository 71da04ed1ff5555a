"""Faults inside an embedded engine, scripted around the real one: an error is nothing done, a success is all done."""

import asyncio
import datetime
import re
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from graph_stores import errors
from graph_stores.errors import (
    DeadlineExceeded,
    GraphmillError,
    PermanentStoreError,
    QueryTimeout,
    StoreOwned,
    TransientStoreError,
    TransitionConflict,
)
from graph_stores.kuzu.errors import TABLE, translate
from graph_stores.kuzu.frontier import Clock
from graph_stores.kuzu.store import EmbeddedStore
from graph_stores.kuzu.traits import TRAITS
from graph_stores.model import Batch, Edge, Ref, Select, Value
from orchestrator import states
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import new_node, transition
from orchestrator.states import State
from tests.conformance.examples import HOUR, PATIENCE
from tests.conformance.kuzu_child import file_batch, opened

A, B = Ref(label="File", uuid="a"), Ref(label="File", uuid="b")


@pytest.fixture(params=["kuzu", "ladybug"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@dataclass
class Script:
    """Counts the calls of every connection of one database and lets one of them go wrong."""

    fail_at: int | None = None
    after: bool = False
    fail_text: str | None = None
    calls: int = 0
    texts: list[str] = field(default_factory=list)
    hang: threading.Event | None = None
    message: str = "scripted: it did not run"

    def connect(self, engine: str) -> Callable[[Any], Any]:
        module = __import__(TRAITS[engine].module)
        return lambda database: _Scripted(module.Connection(database), self)

    def arm(self, *, fail_at: int, after: bool) -> None:
        self.calls, self.texts, self.fail_at, self.after = 0, [], fail_at, after

    def around(self, text: str, call: Callable[[], Any]) -> Any:
        self.calls += 1
        self.texts.append(text)
        if self.hang and not text.startswith("CALL"):
            self.hang.wait(PATIENCE)
        failing = self.calls == self.fail_at or (self.fail_text is not None and text.startswith(self.fail_text))
        if failing and not self.after:
            raise RuntimeError(self.message)
        answer = call()
        if failing:
            answer.close()
            raise RuntimeError("scripted: it ran, the answer was lost")
        return answer


class _Scripted:
    def __init__(self, real: Any, script: Script) -> None:
        self._real = real
        self._script = script
        self._texts: dict[int, str] = {}

    def _prepare(self, text: str, parameters: Any) -> Any:
        statement = self._real._prepare(text, parameters)
        self._texts[id(statement)] = text
        return statement

    def execute(self, statement: Any, parameters: Any = None) -> Any:
        text = statement if isinstance(statement, str) else self._texts[id(statement)]
        return self._script.around(text, lambda: self._real.execute(statement, parameters or {}))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.fixture
async def scripted(engine: str, tmp_path: Path) -> AsyncIterator[tuple[EmbeddedStore, Script]]:
    script = Script()
    store = await opened(engine, tmp_path / "graph", connect=script.connect(engine))
    yield store, script
    script.fail_at = script.fail_text = script.hang = None
    await store.close()


def whole_batch() -> Batch:
    return Batch(
        transitions=[transition(A, expected=State.PENDING, to=State.SKIP)],
        nodes=[new_node(label="File", uuid="b", name="b")],
        edges=[Edge(type="LINKS_TO", source=A, target=B, properties={"count": 1})],
    )


async def shape(store: EmbeddedStore) -> tuple[dict[str, str], int]:
    rows = await store.nodes(Select())
    return {row.uuid: row.state for row in rows}, len([edge async for edge in store.export_edges()])


@pytest.mark.parametrize("after", [False, True], ids=["did not run", "answer lost"])
async def test_every_statement_of_a_commit_may_fail_and_the_outcome_is_exact(
    scripted: tuple[EmbeddedStore, Script], after: bool
) -> None:
    store, script = scripted
    before, done = ({"a": "pending"}, 0), ({"a": "skip", "b": "pending"}, 1)
    outcomes = []
    for call in range(1, 40):
        await Lifecycle(store=store).delete([A, B])
        await Lifecycle(store=store).upsert([new_node(label="File", uuid="a", name="a")])
        script.arm(fail_at=call, after=after)
        try:
            await store.commit(whole_batch())
        except GraphmillError:
            script.fail_at = None
            outcomes.append(script.texts[call - 1])
            assert await shape(store) == before
        else:
            reached = script.calls >= call
            script.fail_at = None
            assert await shape(store) == done
            if not reached:
                break
            outcomes.append(script.texts[call - 1])
    assert "BEGIN TRANSACTION" in outcomes
    assert "COMMIT" in outcomes
    assert len(outcomes) > 6


async def test_rows_of_a_transaction_that_was_rolled_back_can_be_written_again(
    scripted: tuple[EmbeddedStore, Script],
) -> None:
    """Kuzu refuses every later update of such a row until the database is opened again."""
    store, _ = scripted
    await store.commit(file_batch("a"))
    wrong = [
        transition(A, expected=State.PENDING, to=State.SKIP),
        transition(B, expected=State.PENDING, to=State.SKIP),
    ]
    for _ in range(20):
        with pytest.raises(TransitionConflict):
            await store.commit(Batch(transitions=wrong))
        await store.commit(Batch(transitions=wrong[:1]))
        await store.commit(Batch(transitions=[transition(A, expected=State.SKIP, to=State.PENDING)]))


async def test_commits_that_wait_for_each_other_are_written_together(scripted: tuple[EmbeddedStore, Script]) -> None:
    store, script = scripted
    script.texts.clear()
    await asyncio.gather(*(store.commit(file_batch(str(number))) for number in range(50)))
    assert len((await shape(store))[0]) == 50
    assert script.texts.count("COMMIT") <= 3


async def test_one_batch_of_a_group_may_conflict_and_the_others_are_written(
    scripted: tuple[EmbeddedStore, Script],
) -> None:
    store, _ = scripted
    wrong = Batch(transitions=[transition(A, expected=State.READY, to=State.PENDING)])
    batches = [file_batch("1"), wrong, file_batch("2"), file_batch("3")]
    outcomes = await asyncio.gather(*(store.commit(batch) for batch in batches), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [type(None), TransitionConflict, type(None), type(None)]
    assert set((await shape(store))[0]) == {"1", "2", "3"}


async def test_third_statement_is_refused_after_the_second_failed(scripted: tuple[EmbeddedStore, Script]) -> None:
    store, _ = scripted

    def three() -> None:
        with store._engine.transaction("test") as session:
            session.run("CREATE (:Directory {uuid: 'one'})")
            with pytest.raises(RuntimeError):
                session.run("CREATE (:Directory {nonsense: 'two'})")
            session.run("CREATE (:Directory {uuid: 'three'})")

    with pytest.raises(PermanentStoreError, match="the rest of it is refused"):
        await store._write(three)
    assert (await store.query("MATCH (d:Directory) RETURN count(*)", {})).rows == [[0]]


async def test_what_a_node_has_already_is_not_written_again(scripted: tuple[EmbeddedStore, Script]) -> None:
    """Each update keeps memory until the next checkpoint, and a category is named by each of its articles."""
    store, script = scripted
    shown: dict[str, Value] = {"path": "a", "size": 3, "language": None}

    async def updates(*uuids: str) -> list[str]:
        script.texts.clear()
        nodes = [new_node(label="File", uuid=uuid, name="n", properties=dict(shown)) for uuid in uuids]
        await store.commit(Batch(nodes=nodes))
        return [text for text in script.texts if "SET" in text and ":File" in text]

    await updates("a")
    await updates("a", "b")
    assert not await updates("a", "b")
    for changed in ({"size": 4}, {"language": "python"}, {"path": None}):
        shown |= changed
        assert await updates("a")
        (row,) = await store.nodes(Select(labels=["File"], uuids=["a"]))
        assert {name: row.properties.get(name) for name in shown} == shown


async def test_checkpoint_that_fails_costs_no_commit(scripted: tuple[EmbeddedStore, Script]) -> None:
    store, script = scripted
    store._commits._log_limit = 0
    store._engine.guard.file_size = lambda: 0  # type: ignore[method-assign]
    script.fail_text = "CHECKPOINT"
    for after in (False, True):
        script.after = after
        await store.commit(Batch(nodes=[new_node(label="File", uuid=f"late-{after}", name="x")]))
        assert f"late-{after}" in (await shape(store))[0]
    assert "CHECKPOINT" in script.texts


async def test_a_call_that_never_returns_ends_at_its_deadline(engine: str, tmp_path: Path) -> None:
    script = Script()
    store = await opened(engine, tmp_path / "graph", connect=script.connect(engine))
    await store.commit(file_batch("there"))
    store._engine.deadline = 0.5
    script.hang = threading.Event()
    for call in (
        lambda: store.commit(whole_batch()),
        lambda: store.nodes(Select()),
        lambda: store.progress(finished=["ready"], window=60),
        lambda: Lifecycle(store=store).claim(states.PARSE, labels=["File"], limit=1, owner="w", seconds=1),
        lambda: store.heartbeat([A], token="t", seconds=1),
    ):
        with pytest.raises(DeadlineExceeded):
            async with asyncio.timeout(PATIENCE):
                await call()
    with pytest.raises(QueryTimeout):
        async with asyncio.timeout(PATIENCE):
            await store.query("MATCH (n:File) RETURN n", {}, timeout=0.2)
    script.hang.set()
    await store.close()


async def test_a_heartbeat_does_not_wait_for_a_checkpoint(engine: str, tmp_path: Path) -> None:
    store = await opened(engine, tmp_path / "graph")
    await store.commit(file_batch("a"))
    [row] = await Lifecycle(store=store).claim(states.PARSE, labels=["File"], limit=1, owner="w", seconds=60)
    assert row.lease
    begun, go_on = threading.Event(), threading.Event()

    def hold_up(step: str) -> None:
        if step == "guard in place":
            begun.set()
            go_on.wait(PATIENCE)

    store._engine.guard._step = hold_up
    checkpoint = asyncio.create_task(store._write(lambda: store._engine.checkpoint(wait=True), PATIENCE))
    await asyncio.to_thread(begun.wait, PATIENCE)
    assert await store.heartbeat([row.ref], token=row.lease.token, seconds=HOUR) == {row.uuid}
    assert await store.heartbeat([row.ref], token="another", seconds=HOUR) == set()
    assert not checkpoint.done()
    go_on.set()
    await checkpoint
    assert store._frontier._held[row.uuid].until > time.monotonic() + HOUR / 2
    await store.close()


async def test_a_cancellation_is_never_swallowed_by_an_answer_that_comes_with_it(engine: str, tmp_path: Path) -> None:
    store = await opened(engine, tmp_path / "graph")
    for ticks in range(8):
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        waiting = asyncio.create_task(store._in_time(answer, 5))
        await asyncio.sleep(0)
        answer.set_result(1)
        for _ in range(ticks):
            await asyncio.sleep(0)
        was_waiting = waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled() == was_waiting, f"cancelled {ticks} ticks after the answer"
    await store.close()


async def test_every_call_after_a_full_disk_says_that_the_disk_is_full(engine: str, tmp_path: Path) -> None:
    script = Script()
    store = await opened(engine, tmp_path / "graph", connect=script.connect(engine))
    await store.commit(file_batch("a"))
    script.fail_text = "COMMIT"
    script.message = f"IO exception: Cannot write to file {tmp_path / 'graph.wal'}: No space left on device"
    with pytest.raises(errors.StoreFull) as full:
        await store.commit(file_batch("b"))
    for call in (store.commit(file_batch("c")), store.nodes(Select())):
        with pytest.raises(errors.StoreFull, match="no room on the disk") as later:
            await call
        assert (later.value.message, later.value.hint) == (full.value.message, full.value.hint)
    await store.close()


async def test_lease_lives_by_the_monotonic_clock_whatever_the_wall_clock_does(engine: str, tmp_path: Path) -> None:
    wall, ticks = [datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)], [0.0]
    clock = Clock(now=lambda: wall[0], monotonic=lambda: ticks[0])
    store = await opened(engine, tmp_path / "graph", clock=clock)
    lifecycle = Lifecycle(store=store)
    await lifecycle.upsert([new_node(label="File", uuid="a", name="a")])
    (held,) = await lifecycle.claim(states.PARSE, labels=["File"], limit=1, owner="w", seconds=60)
    for minutes in (10, -20):
        wall[0] += datetime.timedelta(minutes=minutes)
        assert await lifecycle.reclaim() == 0
    await lifecycle.heartbeat([held], seconds=60)
    ticks[0] += 61
    assert await lifecycle.reclaim() == 1
    await store.close()


MESSAGES = {
    "Interrupted.": DeadlineExceeded,
    "IO exception: Could not set lock on file : /g. See the docs": StoreOwned,
    "IO exception: Cannot write to file: No space left on device": errors.StoreFull,
    "Can not execute a write query inside a read-only transaction.": errors.WriteRefused,
    "Buffer manager exception: Unable to allocate memory! The buffer pool is full": TransientStoreError,
    "Cannot start a new write transaction in the system. Only one write transaction": TransientStoreError,
    "Timeout waiting for active transactions to leave the system before checkpointing.": TransientStoreError,
    "IO exception: Cannot open file /g: Permission denied": TransientStoreError,
    "Parser exception: Invalid input <X>": errors.QueryFailed,
    "Binder exception: Table Nope does not exist.": errors.QueryFailed,
    "Connection Exception: We do not support prepare multiple statements.": errors.QueryFailed,
    "Runtime exception: Found duplicated primary key value 1": PermanentStoreError,
    "something that no version ever said": TransientStoreError,
}


@pytest.mark.parametrize("message", MESSAGES)
def test_every_engine_error_has_a_class(message: str) -> None:
    cause = RuntimeError(message)
    assert type(translate(cause, "test")) is MESSAGES[message]


def test_every_row_of_the_error_table_is_reached() -> None:
    first = [next((i for i, (pattern, _) in enumerate(TABLE) if re.search(pattern, m)), None) for m in MESSAGES]
    assert set(range(len(TABLE))) <= set(first)
