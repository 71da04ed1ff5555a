"""Random sequences of lifecycle verbs against a plain dictionary: after every step the graph is what the model says."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from graph_stores.errors import LeaseLost
from graph_stores.model import NodeRow, Select
from orchestrator import states
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.states import ErrorClass, ErrorType, Stage, State
from tests.conformance.examples import AT_ONCE, HOUR, claim, expire, file, ref
from tests.conformance.place import Place

EXAMPLES = {"kuzu": 6, "ladybug": 3, "neo4j": 3}
UUIDS = st.sampled_from("abc")
STAGES = st.sampled_from(states.STAGES)
PICKS = st.integers(0, 99)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A node as the model knows it."""

    depth: int
    born: int = field(compare=False)
    state: State = State.PENDING
    tries: int = 0
    content: str | None = None
    error: ErrorType | None = None
    token: str | None = None

    @classmethod
    def of(cls, row: NodeRow) -> "Expected":
        return cls(
            depth=row.depth,
            born=0,
            state=State(row.state),
            tries=row.retry_count,
            content=row.properties.get("_contentHash"),
            error=ErrorType(row.error_type) if row.error_type else None,
            token=row.lease.token if row.lease else None,
        )

    def moved(self, to: State, *, tries: int = 0, error: ErrorType | None = None) -> "Expected":
        return replace(self, state=to, tries=tries, error=error, token=None)

    def failed(self, *, permanent: bool = False) -> "Expected":
        stage = states.WORKING[self.state]
        tries = self.tries + (not permanent)
        over = permanent or tries >= AT_ONCE.limit
        return self.moved(State.ERROR if over else stage.waiting, tries=tries, error=stage.error_type)


class LifecycleMachine(RuleBasedStateMachine):
    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.runner = asyncio.Runner()
        self.run(self.open(create=True))
        self.model: dict[str, Expected] = {}
        self.held: dict[str, NodeRow] = {}
        self.lost: list[NodeRow] = []
        self.ages = count()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(coroutine)

    async def open(self, **options: Any) -> None:
        store = await self.place.reopen(**options)
        if options:
            await store.migrate()
        self.lifecycle = Lifecycle(store=store, policy=AT_ONCE)

    def let_go(self, uuid: str) -> NodeRow:
        """From now on whoever remembers this row is a zombie."""
        row = self.held.pop(uuid)
        self.lost.append(row)
        return row

    def picked(self, pick: int) -> str:
        return sorted(self.held)[pick % len(self.held)]

    @rule(uuid=UUIDS, depth=st.integers(0, 2))
    def upsert(self, uuid: str, depth: int) -> None:
        self.run(self.lifecycle.upsert([file(uuid, depth=depth)]))
        self.model.setdefault(uuid, Expected(depth=depth, born=next(self.ages)))

    @rule(stage=STAGES, limit=st.integers(1, 3))
    def claim(self, stage: Stage, limit: int) -> None:
        rows = self.run(claim(self.lifecycle, stage, limit=limit))
        waiting = [(node.depth, node.born, uuid) for uuid, node in self.model.items() if node.state is stage.waiting]
        assert [row.uuid for row in rows] == [uuid for _, _, uuid in sorted(waiting)[:limit]]
        for row in rows:
            assert row.lease is not None
            self.held[row.uuid] = row
            self.model[row.uuid] = replace(self.model[row.uuid], state=stage.working, token=row.lease.token)

    @precondition(lambda self: self.held)
    @rule(pick=PICKS)
    def complete(self, pick: int) -> None:
        row = self.let_go(self.picked(pick))
        self.run(self.lifecycle.complete([Result(node=row)]))
        self.model[row.uuid] = self.model[row.uuid].moved(states.WORKING[State(row.state)].done)

    @precondition(lambda self: self.held)
    @rule(pick=PICKS, error_class=st.sampled_from(ErrorClass))
    def fail(self, pick: int, error_class: ErrorClass) -> None:
        row = self.let_go(self.picked(pick))
        went = self.run(self.lifecycle.fail(row, message="no", error_class=error_class))
        self.model[row.uuid] = self.model[row.uuid].failed(permanent=error_class.is_permanent)
        assert went is self.model[row.uuid].state

    @precondition(lambda self: self.held)
    @rule()
    def release(self) -> None:
        rows = [self.let_go(uuid) for uuid in list(self.held)]
        self.run(self.lifecycle.release(rows))
        for row in rows:
            node = self.model[row.uuid]
            self.model[row.uuid] = node.moved(states.WORKING[node.state].waiting, tries=node.tries, error=node.error)

    @precondition(lambda self: self.held)
    @rule(pick=PICKS)
    def expire(self, pick: int) -> None:
        row = self.let_go(self.picked(pick))
        self.run(expire(self.lifecycle, [row]))
        assert self.run(self.lifecycle.reclaim()) == 1
        self.model[row.uuid] = self.model[row.uuid].failed()

    @precondition(lambda self: self.lost)
    @rule(pick=PICKS, verb=st.sampled_from(["complete", "fail", "release", "heartbeat"]))
    def disturb(self, pick: int, verb: str) -> None:
        row = self.lost[pick % len(self.lost)]
        verbs: dict[str, Callable[[], Awaitable[object]]] = {
            "complete": lambda: self.lifecycle.complete([Result(node=row, nodes=[file("zombie")])]),
            "fail": lambda: self.lifecycle.fail(row, message="no", error_class=ErrorClass.TRANSIENT),
            "release": lambda: self.lifecycle.release([row]),
            "heartbeat": lambda: self.lifecycle.heartbeat([row], seconds=HOUR),
        }
        with pytest.raises(LeaseLost):
            self.runner.run(_awaited(verbs[verb]()))

    @rule(uuid=UUIDS, content=st.sampled_from("xy"))
    def change(self, uuid: str, content: str) -> None:
        busy = self.run(self.lifecycle.mark_changed({ref(uuid): content}))
        node = self.model.get(uuid)
        is_new = node is not None and node.content != content
        assert busy == ([ref(uuid)] if is_new and uuid in self.held else [])
        if node is not None and is_new and not busy:
            # What is new has failed nothing yet.
            self.model[uuid] = replace(node.moved(State.PENDING), content=content)

    @rule()
    def retry(self) -> None:
        wrong = {uuid: node for uuid, node in self.model.items() if node.state is State.ERROR}
        assert self.run(self.lifecycle.retry_errors()) == len(wrong)
        for uuid, node in wrong.items():
            assert node.error is not None
            self.model[uuid] = node.moved(states.retry_state(node.error))

    @rule(uuid=UUIDS)
    def delete(self, uuid: str) -> None:
        self.run(self.lifecycle.delete([ref(uuid)]))
        self.model.pop(uuid, None)
        if uuid in self.held:
            self.let_go(uuid)

    @rule()
    def reopen(self) -> None:
        """Where one process owns the graph, the leases of the owner before are void; elsewhere they go on."""
        self.run(self.open())
        orphans = [] if self.lifecycle.store.capabilities.many_processes else list(self.held)
        assert self.run(self.lifecycle.reclaim()) == len(orphans)
        for uuid in orphans:
            self.let_go(uuid)
            self.model[uuid] = self.model[uuid].failed()

    @invariant()
    def the_graph_is_what_the_model_says(self) -> None:
        rows = self.run(self.lifecycle.store.nodes(Select(labels=["File"])))
        assert {row.uuid: Expected.of(row) for row in rows} == self.model

    def teardown(self) -> None:
        self.run(self.lifecycle.delete([ref(uuid) for uuid in self.model]))
        self.run(self.place.close())
        self.runner.close()


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


def test_any_sequence_of_verbs_leaves_the_graph_as_the_model_says(engine: str, place: Place) -> None:
    numbers = count()

    def machine() -> LifecycleMachine:
        number = next(numbers)
        url = place.url if engine == "neo4j" else f"{place.url}{number}"
        return LifecycleMachine(replace(place, url=url, project=f"{place.project}-{number}", handles=[]))

    run_state_machine_as_test(
        machine,  # type: ignore[arg-type]
        settings=settings(
            max_examples=EXAMPLES[engine],
            stateful_step_count=20,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
