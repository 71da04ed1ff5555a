"""The worker: claims nodes for each of its steps, has them worked on, and commits what came of it.

Owns the loop, what an unexpected failure means, and how a stop is graceful. What a step does is the step's business.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

from graph_stores.errors import (
    GraphmillError,
    HoldLost,
    Misuse,
    StoreClosed,
    StoreFull,
    TransientStoreError,
    TransitionConflict,
)
from graph_stores.model import Fence, NodeRow
from orchestrator.endings import to_its_end
from orchestrator.leases import LEASE_SECONDS, Leases, is_gone, owner_name
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.messages import shown, storable
from orchestrator.prudence import Prudence
from orchestrator.states import STAGES, ErrorClass, Stage

log = logging.getLogger("graphmill.worker")
T = TypeVar("T")

# What this process brings about it is told of at once; the rest is found by looking, which costs everybody's server.
_FIRST_NAP, _LONGEST_NAP = 0.02, 2.0
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0
_IDLE_LOOKS_PER_LEASE = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A node on which the work failed, and whether trying again can help."""

    node: NodeRow
    message: str
    permanent: bool = False
    error_class: ErrorClass | None = None
    """Where more is known than whether it can help."""

    @property
    def kind(self) -> ErrorClass:
        return self.error_class or (ErrorClass.PERMANENT if self.permanent else ErrorClass.TRANSIENT)


Outcome = Result | Failure


class Pause(Exception):
    """Nothing is wrong with the nodes: what the step needs is away. They are given back, and the step waits."""

    def __init__(self, message: str, *, seconds: float) -> None:
        super().__init__(message)
        self.message = message
        self.seconds = seconds


class Step(Protocol):
    """What is done in one stage to nodes of some labels, `limit` at a time, in `runners` batches at once."""

    stage: Stage
    labels: Sequence[str]
    limit: int
    runners: int
    needs: Sequence[str] | None
    """The properties of a node that it looks at; None for all."""

    async def is_ready(self) -> bool:
        """Whether it may claim now."""
        ...

    async def work(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        """One outcome per node; a node without one is given back."""
        ...

    def fence(self) -> Fence | None: ...

    async def done(self, results: Sequence[Result]) -> None:
        """They were committed."""
        ...

    async def undone(self) -> None:
        """What was made could not be committed as it was: forget what was concluded from it."""
        ...


@runtime_checkable
class Placed(Protocol):
    """A step that needs what cannot always be read here: nodes of sources that are `away` are left alone."""

    away: Sequence[str]
    source: str
    """The property of a node that names its source."""


@dataclass(slots=True)
class Worker:
    lifecycle: Lifecycle
    steps: Sequence[Step]
    say: Callable[[str], None] = field(default=lambda _: None)
    lease_seconds: float = LEASE_SECONDS
    grace: float = 15.0
    """How long work in flight may go on once the worker was told to stop."""
    owner: str = field(default_factory=owner_name)
    _leases: Leases = field(init=False)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _resting: asyncio.Event = field(default_factory=asyncio.Event)
    _busy: int = 0
    _worked: bool = False
    _failures: int = 0
    _prudence: Prudence = field(init=False)

    def __post_init__(self) -> None:
        self._prudence = Prudence(delay=self.lifecycle.policy.first_delay)
        self._leases = Leases(self.lifecycle, seconds=self.lease_seconds)

    @property
    def is_idle(self) -> bool:
        """Nothing is in its hands."""
        return not self._busy

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """Claim nothing more; what is in flight is finished, or given back after the grace."""
        self._stopping.set()
        self.wake()

    async def is_stopped_within(self, seconds: float) -> bool:
        """Wait that long, unless it is told to stop."""
        await _first(self._stopping.wait(), seconds)
        return self._stopping.is_set()

    async def comes_to_rest_within(self, seconds: float) -> None:
        """Wait that long, or until nothing is in its hands after something was."""
        self._resting.clear()
        await _first(self._resting.wait(), seconds)

    def wake(self) -> None:
        """There may be something to claim."""
        told, self._news = self._news, asyncio.Event()
        told.set()

    async def reclaim(self, is_lost: Callable[[str], bool] = is_gone) -> None:
        """Take back what was lost with others, to claim it again."""
        if await self.lifecycle.reclaim(is_lost):
            self._prudence.expect_suspects(self.steps)
            self.wake()

    async def run(self) -> None:
        """Work until told to stop."""
        await through_outages(self.reclaim, self.say)
        async with asyncio.TaskGroup() as background:
            keeping = [background.create_task(self._leases.keep()), background.create_task(self._recover())]
            async with asyncio.TaskGroup() as running:
                tasks = [running.create_task(self._serve(step)) for step in self.steps for _ in range(step.runners)]
                running.create_task(self._end_late(tasks))
            for task in keeping:
                task.cancel()

    async def _end_late(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        await self._stopping.wait()
        _, late = await asyncio.wait(tasks, timeout=self.grace)
        for task in late:
            task.cancel()

    async def _recover(self) -> None:
        """On a timer of its own: a worker that is always busy recovers what others lost; an idle one is quicker."""
        looked = time.monotonic()
        while True:
            await asyncio.sleep(self.lease_seconds / _IDLE_LOOKS_PER_LEASE)
            if self.is_idle or time.monotonic() >= looked + self.lease_seconds:
                looked = time.monotonic()
                await through_outages(self.reclaim, self.say)

    async def _serve(self, step: Step) -> None:
        nap = _FIRST_NAP
        while not self._stopping.is_set():
            news = self._news  # what comes while it looks is news to it, too
            self._busy += 1
            try:
                worked = await self._turn(step)
            except Pause as pause:
                await self._rest(pause)
                nap = _FIRST_NAP
                continue
            finally:
                self._busy -= 1
            if worked:
                self._worked = True
                nap = _FIRST_NAP
                continue
            if self._worked and self.is_idle:
                self._worked = False
                self._resting.set()
            await _first(news.wait(), nap)
            nap = min(_LONGEST_NAP, nap * 2)

    async def _rest(self, pause: Pause) -> None:
        self.say(f"{pause.message}; going on in {pause.seconds:.0f} s")
        await _first(self._stopping.wait(), pause.seconds)

    async def _turn(self, step: Step) -> bool:
        """Claim once and do what there is; whether there was anything."""
        if not await through_outages(step.is_ready, self.say):
            return False
        sent = time.monotonic()
        claiming = through_outages(lambda: self._claim(step), self.say)
        nodes = await to_its_end(claiming, unwanted=self._give_back)
        if nodes:
            await self._work(step, nodes, since=sent)
            if step.stage is not STAGES[-1]:  # what came through the last one waits for nothing more
                self.wake()
        return bool(nodes)

    async def _claim(self, step: Step) -> list[NodeRow]:
        sent = time.monotonic()
        placed = step if isinstance(step, Placed) else None
        nodes = await self.lifecycle.claim(
            step.stage,
            labels=step.labels,
            limit=self._prudence.limit(step),
            owner=self.owner,
            seconds=self.lease_seconds,
            away=placed.away if placed else (),
            source=placed.source if placed else "root",
            properties=step.needs,
        )
        taken = self._prudence.choose(step, nodes, sent=sent)
        if len(taken) < len(nodes):
            await self._give_back([node for node in nodes if node not in taken])
        return taken

    async def _work(self, step: Step, nodes: Sequence[NodeRow], *, since: float) -> None:
        task = asyncio.ensure_future(self._outcomes(step, nodes))
        with self._leases.holding(nodes, task, since=since) as held:
            try:
                outcomes = await task
            except asyncio.CancelledError:
                task.cancel()
                await asyncio.wait([task])
                await asyncio.shield(self._give_back(nodes))
                if not held.lost:
                    raise
                log.info("lost the lease of %d nodes that were %s", len(nodes), step.stage.working)
            except (Pause, Misuse):  # with Misuse nothing can go on like this, and nobody's node is to blame
                await self._give_back(nodes)
                raise
            except TransientStoreError as error:
                await self._give_back(nodes)
                raise Pause(f"the store does not answer: {error.message}", seconds=_FIRST_WAIT) from error
            else:
                failures = self._failures
                await to_its_end(through_outages(lambda: self._settle(step, nodes, outcomes), self.say))
                if self._failures == failures:
                    self._prudence.came_through(step, nodes)

    async def _outcomes(self, step: Step, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        try:
            return await step.work(nodes)
        except (Pause, Misuse, TransientStoreError):
            raise
        except Exception as error:  # whatever a step raises becomes a state with a reason
            log.debug("work on %d nodes failed", len(nodes), exc_info=True)
            if len(nodes) == 1:
                return [_failure(nodes[0], error)]
            if step.fence():  # what one node means is concluded from the others
                return [Failure(node=node, message=shown(error)) for node in nodes]
        return [outcome for node in nodes for outcome in await self._outcomes(step, [node])]

    async def _settle(self, step: Step, nodes: Sequence[NodeRow], outcomes: Sequence[Outcome]) -> None:
        results = [outcome for outcome in outcomes if isinstance(outcome, Result)]
        failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
        committed = await self._commit(step, results)
        for failure in failures:
            await self._fail(failure)
        settled = {result.node.uuid for result in committed} | {failure.node.uuid for failure in failures}
        await self._give_back([node for node in nodes if node.uuid not in settled])
        await step.done(committed)

    async def _commit(self, step: Step, results: Sequence[Result]) -> Sequence[Result]:
        """Commit together what nobody has moved meanwhile; returns what was committed."""
        while results:
            try:
                await self.lifecycle.complete(results, fence=step.fence())
            except HoldLost:
                await step.undone()
                return ()
            except TransitionConflict as conflict:
                if step.fence():  # what one node means was concluded from the others
                    await step.undone()
                    return ()
                moved = {(each.label, each.uuid) for each in conflict.conflicts}
                kept = [each for each in results if moved.isdisjoint((ref.label, ref.uuid) for ref in each.touched)]
                if len(kept) == len(results):
                    raise
                results = kept
            except (TransientStoreError, StoreFull, StoreClosed):  # no node is to blame
                raise
            except GraphmillError as error:
                return await self._commit_one_by_one(step, results, error)
            else:
                return results
        return ()

    async def _commit_one_by_one(
        self, step: Step, results: Sequence[Result], error: GraphmillError
    ) -> Sequence[Result]:
        """The store refuses something in it for good: find whose it is."""
        if len(results) == 1:
            await step.undone()
            await self._fail(_failure(results[0].node, error))
            return ()
        if not step.fence():
            return [done for result in results for done in await self._commit(step, [result])]
        # These can only be made together, so each counts as a suspect and is tried with fewer others.
        await step.undone()
        for result in results:
            await self._fail(Failure(node=result.node, message=str(error)))
        return ()

    async def _fail(self, failure: Failure) -> None:
        self._failures += 1
        try:
            await self.lifecycle.fail(failure.node, message=storable(failure.message), error_class=failure.kind)
        except TransitionConflict:
            log.debug("%s was taken away before it could fail", failure.node.uuid)

    async def _give_back(self, nodes: Sequence[NodeRow]) -> None:
        """Release what is still held; what is not is somebody else's already."""
        try:
            await self.lifecycle.give_back(nodes)
        except TransientStoreError as error:
            log.info("leases of %d nodes are left to run out: %s", len(nodes), error)


async def through_outages(call: Callable[[], Awaitable[T]], say: Callable[[str], None]) -> T:
    """Make the call until the store answers it; says once that it does not, and once that it does again."""
    wait = _FIRST_WAIT
    told = False
    while True:
        try:
            answer = await call()
        except TransientStoreError as error:
            if isinstance(error, HoldLost):
                raise
            if wait > 4 * _FIRST_WAIT and not told:
                told = True
                say(f"the store does not answer, waiting for it: {error.message}")
            await asyncio.sleep(wait)
            wait = min(_LONGEST_WAIT, wait * 2)
        else:
            if told:
                say("the store answers again")
            return answer


async def looks(shortest: float, longest: float) -> AsyncIterator[None]:
    """Moments to look whether something came about: often at first, then less so."""
    nap = shortest
    while True:
        yield
        await asyncio.sleep(nap)
        nap = min(longest, nap * 1.5)


def _failure(node: NodeRow, error: Exception) -> Failure:
    known = isinstance(error, GraphmillError)
    return Failure(node=node, message=shown(error), permanent=known and not getattr(error, "transient", False))


async def _first(event: Awaitable[object], seconds: float) -> None:
    """Wait for the event, but not longer."""
    waiting = asyncio.ensure_future(event)
    try:
        await asyncio.wait([waiting], timeout=seconds)
    finally:
        waiting.cancel()
