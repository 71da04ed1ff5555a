"""The steps of a worker that belong to runs: reading a partition, and consolidating what was read.

Both are claimed under a lease like any other work: so each happens once at a time, and again where a process died.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Protocol

from graph_stores.errors import GraphmillError, Misuse, TransientStoreError
from graph_stores.model import Batch, Edge, Fence, Node, NodeRow, Select, Update, Value
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import step_forward, transition
from orchestrator.runs.course import leave_unread, watermark_of
from orchestrator.runs.records import PARTITION, RUN, Partition, Run, RunPlan, read_partitions
from orchestrator.runs.sources import SourceLost
from orchestrator.states import AT_REST, LINK, PARSE, State, stage_of
from orchestrator.worker import Failure, Outcome, Pause, Step, Worker

_TO_READY = (State.PARSED, State.LINKING, State.LINKED, State.EMBEDDING, State.READY)
_LEFT_TO_OTHERS = 3.0
_FROM_LINKING = (State.LINKED, State.EMBEDDING, State.READY)


@dataclass(slots=True)
class Reading:
    """A partition that is being read, by whoever holds it."""

    lifecycle: Lifecycle
    run: Run
    partition: Partition
    _node: NodeRow
    offset: int

    async def move_to(
        self, offset: int, *, nodes: Sequence[Node] = (), edges: Sequence[Edge] = (), updates: Sequence[Update] = ()
    ) -> None:
        """It is read up to there: that and what was found are one commit, which only the holder can make.

        Where it gets ahead, those who were killed over it before count no more.
        """
        await self.may_go_on()
        marks = {"nextOffset": offset, "_retryCount": 0}
        await self.lifecycle.store.commit(
            Batch(
                transitions=[step_forward(self._node, marks)],
                nodes=nodes,
                edges=edges,
                updates=updates,
            )
        )
        self.offset = offset

    async def may_go_on(self) -> None:
        """RunEnded where it may not: a partition can be as large as a wiki, and its run be cancelled meanwhile."""
        run = await run_of(self.lifecycle.store, self._node)
        if run is None or not run.is_open:
            raise RunEnded


class RunEnded(Exception):
    """Nothing more of the run is to be begun."""


class Stopped(Exception):
    """The worker was told to stop: what is in hand is given back."""


class CannotGoOn(Misuse):
    """Nothing is wrong with what is read: the process should have been started otherwise."""


class NotHere(Exception):
    """This process cannot do it, and another may: it is left to that one."""


class RunReader(Protocol):
    """What a kind of source has to do for a run. Parts of roots that are `away` are read by other machines."""

    @property
    def away(self) -> Sequence[str]: ...

    async def read(self, reading: Reading) -> None:
        """Until the graph knows what is in the partition."""
        ...

    async def consolidate(self, run: Run) -> None:
        """When everything was read and worked on: what can only be told now. Can be repeated."""
        ...


class Reader(RunReader, Protocol):
    """One kind of source: how it is read, the steps that its nodes take, and when they are at rest."""

    async def steps(self, worker: Worker, stack: AsyncExitStack, processes: int) -> Sequence[Step]: ...

    async def plans(self) -> Sequence[RunPlan]:
        """What is to be read, for each source that was asked for."""
        ...

    async def is_at_rest(self) -> bool:
        """Whether nothing is left to do but what waits for a source that is missing."""
        ...

    async def is_done_for(self, run: Run) -> bool:
        """Whether all that the run has read is at rest, whatever else is under way."""
        ...

    async def obstacle(self, run: Run) -> SourceLost | None:
        """Why something that the run has found cannot be read: its source is missing."""
        ...

    async def missing(self) -> Sequence[str]:
        """The names of its sources that cannot be read now, as far as this process knows."""
        ...

    async def left(self) -> SourceLost | None:
        """What waits for sources that are missing, if anything does."""
        ...

    async def settle(self) -> None: ...

    async def keep(self) -> None:
        """In the background while the job runs."""
        ...

    async def close(self) -> None: ...


class ReadPartitions:
    stage = PARSE
    labels: Sequence[str] = (PARTITION,)
    source = "root"
    limit = 1
    runners = 1
    needs: Sequence[str] | None = None

    def __init__(self, lifecycle: Lifecycle, readers: Mapping[str, RunReader]) -> None:
        self._lifecycle = lifecycle
        self._readers = readers
        self.may_begin = True
        self.lost: dict[str, SourceLost] = {}
        """Why runs failed whose source is missing or mostly gone, by the run's uuid."""

    @property
    def away(self) -> Sequence[str]:
        return [root for reader in self._readers.values() for root in reader.away]

    async def is_ready(self) -> bool:
        return self.may_begin

    async def work(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        return [outcome for node in nodes if (outcome := await self._outcome(node))]

    async def _outcome(self, node: NodeRow) -> Outcome | None:
        run = await run_of(self._lifecycle.store, node)
        if run is None or not run.is_open:
            return _given_up(node)
        partition = Partition.from_row(node)
        reading = Reading(self._lifecycle, run, partition, node, partition.offset)
        try:
            await _reader(self._readers, run).read(reading)
            await reading.may_go_on()
        except RunEnded:
            # What was found after the run was cancelled, and before this process saw it.
            await leave_unread(self._lifecycle, run)
            return _given_up(node)
        except Stopped:
            return None
        except NotHere:
            await _leave_to_others(self._lifecycle, node)
            return None
        except (Pause, CannotGoOn, TransientStoreError):
            raise
        except GraphmillError as error:
            if isinstance(error, SourceLost):
                self.lost[run.uuid] = error
            return Failure(node=node, message=error.message, permanent=not error.transient)
        return Result(node=node, path=_TO_READY, properties={"nextOffset": reading.offset})

    def fence(self) -> Fence | None:
        return None

    async def done(self, results: Sequence[Result]) -> None: ...

    async def undone(self) -> None: ...


class Consolidate:
    stage = LINK
    labels: Sequence[str] = (RUN,)
    limit = 1
    runners = 1
    needs: Sequence[str] | None = None

    def __init__(
        self,
        lifecycle: Lifecycle,
        readers: Mapping[str, RunReader],
        check: Callable[[Run], Awaitable[Sequence[str]]],
    ) -> None:
        self._lifecycle = lifecycle
        self._store = lifecycle.store
        self._readers = readers
        self._check = check

    async def is_ready(self) -> bool:
        return True

    async def work(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        return [outcome for node in nodes if (outcome := await self._outcome(node))]

    async def _outcome(self, node: NodeRow) -> Outcome | None:
        run = Run.from_row(node)
        try:
            await _reader(self._readers, run).consolidate(run)
        except Stopped:
            return None
        except NotHere:
            await _leave_to_others(self._lifecycle, node)
            return None
        await self._store.index_vectors()
        if any(each.state not in AT_REST for each in await read_partitions(self._store, run.uuid)):
            # Somebody has asked for it again meanwhile, and something new may be read.
            return Result(node=node, path=(State.PARSED, State.PENDING))
        if problems := await self._check(run):
            return Failure(node=node, message="; ".join(problems), permanent=True)
        return Result(node=node, path=_FROM_LINKING, properties=await self._watermark(run))

    async def _watermark(self, run: Run) -> dict[str, Value]:
        """When the source was read. Never back: a later run may have been quicker."""
        latest = await watermark_of(self._store, run.source)
        known = [each for each in (run.read_at, latest.watermark_after if latest else None) if each]
        return {"watermarkAfter": max(known, default=None)}

    def fence(self) -> Fence | None:
        return None

    async def done(self, results: Sequence[Result]) -> None: ...

    async def undone(self) -> None: ...


async def run_of(store: Store, node: NodeRow) -> Run | None:
    rows = await store.nodes(Select(labels=[RUN], uuids=[node.properties.get("_runId") or ""], limit=1))
    return Run.from_row(rows[0]) if rows else None


def _given_up(node: NodeRow) -> Result:
    return Result(node=node, path=(State.PENDING, State.SKIP), properties={"_errorMessage": "its run has ended"})


def _reader(readers: Mapping[str, RunReader], run: Run) -> RunReader:
    if run.kind not in readers:
        raise NotHere
    return readers[run.kind]


async def _leave_to_others(lifecycle: Lifecycle, node: NodeRow) -> None:
    """Not at once: this process would be the next to take it."""
    stage = stage_of(node.state)
    token = node.lease.token if node.lease else None
    move = transition(
        node.ref,
        expected=stage.working,
        to=stage.waiting,
        token=token,
        delay=_LEFT_TO_OTHERS,
        retry_count=node.retry_count,
    )
    await lifecycle.move_what_is_still_so([move])
