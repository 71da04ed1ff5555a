"""The processes at work on a graph: each says in the graph that it is there, and finds those that no longer are.

Owns the `Worker` nodes and who counts as gone, which the store's clock decides. What a worker has in its hands is asked
of the nodes themselves. A process that was taken for dead can come back: its leases are gone, and nothing else.
"""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from graph_stores.errors import GraphmillError
from graph_stores.model import Batch, Ref, Update, Value
from graph_stores.protocol import Store
from orchestrator.leases import LEASE_SECONDS, is_gone
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import new_node, transition
from orchestrator.states import State
from orchestrator.worker import Worker, through_outages

log = logging.getLogger("graphmill.workers")

LABEL = "Worker"
ENDED, DISAPPEARED = "it ended", "it disappeared"
_NAMESPACE = uuid5(NAMESPACE_URL, "graphmill:workers")
_BEATS_PER_LEASE, _BEATS_UNHEARD = 6, 2
_PARTING_SECONDS = 10.0
_SILENT_LEASES = 2
_REMEMBERED = timedelta(days=1)
_SHOWN_GONE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A worker as its node tells of it; all times are the store's."""

    uuid: str
    name: str
    host: str
    process: int
    version: str
    stages: Sequence[str]
    state: str
    silent: timedelta
    unchanged: timedelta
    reason: str | None

    @classmethod
    def from_row(cls, row: Sequence[Value]) -> "Known":
        uuid, name, host, process, release, stages, state, heartbeat, changed, reason, now = row
        return cls(
            uuid=uuid,
            name=name or "",
            host=host or "",
            process=process or 0,
            version=release or "",
            stages=tuple(stages or ()),
            state=state,
            silent=_between(heartbeat or changed, now),
            unchanged=_between(changed, now),
            reason=reason,
        )

    @property
    def ref(self) -> Ref:
        return Ref(label=LABEL, uuid=self.uuid)

    def is_lost(self, lease_seconds: float = LEASE_SECONDS) -> bool:
        """It should be at work, and has not been heard of for too long or is known to have ended."""
        silent_too_long = self.silent > _SILENT_LEASES * timedelta(seconds=lease_seconds)
        return self.state == State.PENDING and (silent_too_long or is_gone(self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class AtWork:
    """A worker as `status` shows it: one that is at work, or one that disappeared lately."""

    known: Known
    holds: int

    @property
    def is_gone(self) -> bool:
        return self.known.state != State.PENDING or self.known.is_lost()

    def document(self) -> dict[str, Any]:
        """The shape that `status --json` promises."""
        return {
            "name": self.known.name,
            "host": self.known.host,
            "process": self.known.process,
            "version": self.known.version,
            "stages": list(self.known.stages),
            "heartbeat_age_seconds": round(self.known.silent.total_seconds(), 1),
            "holds": self.holds,
            "state": "disappeared" if self.is_gone else "working",
        }


async def read_workers(store: Store) -> list[AtWork]:
    """The running workers, and those that disappeared in the last ten minutes."""
    shown = [each for each in await _known(store) if _is_shown(each)]
    if not shown:
        return []
    holds = {owner: int(count) for owner, count in (await store.ask("holdings")).rows}
    return [AtWork(known=each, holds=holds.get(each.name, 0)) for each in shown]


async def gone_owners(store: Store, *, unregistered: bool = False) -> Callable[[str], bool]:
    """Tells whether an owner of leases is gone: its process ended, or its worker disappeared.

    With `unregistered`, also one that is no worker of this graph: jobs register before they claim.
    """
    running = {each.name: each.state == State.PENDING and not each.is_lost() for each in await _known(store)}
    return lambda owner: is_gone(owner) or not running.get(owner, not unregistered)


async def list_gone_owners(store: Store) -> list[str]:
    """The owners of leases in the graph that are gone. One process owns an embedded graph: others are gone there."""
    is_gone_owner = await gone_owners(store, unregistered=not store.capabilities.many_processes)
    return sorted(owner for owner, _ in (await store.ask("holdings")).rows if is_gone_owner(owner))


@asynccontextmanager
async def registered(worker: Worker, *, stages: Sequence[str]) -> AsyncIterator[None]:
    """Show the worker in the graph for as long as the block lasts, and have the dead found meanwhile."""
    registration = Registration(worker, stages)
    await through_outages(registration.enter, worker.say)
    keeping = [asyncio.create_task(registration.beat()), asyncio.create_task(registration.watch())]
    try:
        yield
    finally:
        for task in keeping:
            task.cancel()
        await asyncio.wait(keeping)
        errors = [error for task in keeping if not task.cancelled() and (error := task.exception())]
        await registration.leave()
    if errors:
        raise errors[0]


class Registration:
    """The node of one worker, and its look at the others."""

    def __init__(self, worker: Worker, stages: Sequence[str]) -> None:
        self._worker = worker
        self._lifecycle: Lifecycle = worker.lifecycle
        self._store = worker.lifecycle.store
        self._stages = stages
        self.owner = worker.owner
        self._ref = ref_of(self._store.project, worker.owner)

    async def enter(self) -> None:
        """Be there, also where the node was given up or is gone: a process can sleep for longer than a day."""
        node = new_node(
            label=LABEL,
            uuid=self._ref.uuid,
            name=self.owner,
            properties={
                "host": socket.gethostname(),
                "process": os.getpid(),
                "version": our_version(),
                "stages": list(self._stages),
            },
        )
        await self._store.commit(Batch(nodes=[node], updates=[self._beat]))

    async def leave(self) -> None:
        """Best effort: where the store does not answer, others find that nobody is there."""
        move = transition(self._ref, expected=State.PENDING, to=State.SKIP, properties={"_errorMessage": ENDED})
        try:
            async with asyncio.timeout(_PARTING_SECONDS):
                await self._lifecycle.move_what_is_still_so([move])
        except (GraphmillError, TimeoutError) as error:
            log.info("the end of %s is not recorded: %s", self.owner, error)

    async def beat(self) -> None:
        """Until cancelled. Less often where one process owns the graph: only those who ask for the status listen."""
        shared = self._store.capabilities.many_processes
        pause = self._worker.lease_seconds / (_BEATS_PER_LEASE if shared else _BEATS_UNHEARD)
        while True:
            await asyncio.sleep(pause)
            await through_outages(lambda: self._lifecycle.update([self._beat]), _silently)

    async def watch(self) -> None:
        """Look after the others, at once and every lease, until cancelled."""
        while True:
            await through_outages(self.sweep, _silently)
            await asyncio.sleep(self._worker.lease_seconds)

    async def sweep(self) -> None:
        """Mark those that disappeared, take back what they held, and forget those of days ago."""
        known = await _known(self._store)
        mine = [each for each in known if each.uuid == self._ref.uuid]
        if not mine or mine[0].state != State.PENDING:
            await self._return(mine)
        others = [each for each in known if each.uuid != self._ref.uuid]
        await self._give_up([each for each in others if each.is_lost(self._worker.lease_seconds)])
        old = [each.ref for each in others if each.state != State.PENDING and each.unchanged > _REMEMBERED]
        if old:
            await self._lifecycle.delete(old)

    @property
    def _beat(self) -> Update:
        return Update(node=self._ref, stamp=("heartbeat",))

    async def _return(self, mine: Sequence[Known]) -> None:
        """Others took this worker for dead, or even forgot it."""
        if mine:
            back = transition(self._ref, expected=State(mine[0].state), to=State.PENDING)
            await self._lifecycle.move_what_is_still_so([back])
        await self.enter()

    async def _give_up(self, lost: Sequence[Known]) -> None:
        if not lost:
            return
        names = {each.name for each in lost}
        # First what they held: a sweep that ends half way finds them again.
        await self._worker.reclaim(lambda owner: owner in names or is_gone(owner))
        moves = [
            transition(each.ref, expected=State.PENDING, to=State.SKIP, properties={"_errorMessage": DISAPPEARED})
            for each in lost
        ]
        await self._lifecycle.move_what_is_still_so(moves)


def ref_of(project: str, owner: str) -> Ref:
    """The node of the worker of that name."""
    return Ref(label=LABEL, uuid=str(uuid5(_NAMESPACE, f"{project}\0{owner}")))


@cache
def our_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("graphmill")
    except PackageNotFoundError:
        return "unknown"


async def _known(store: Store) -> list[Known]:
    return [Known.from_row(row) for row in (await store.ask("workers")).rows]


def _is_shown(known: Known) -> bool:
    if known.state == State.PENDING:
        return not known.is_lost() or known.silent <= _SHOWN_GONE
    return known.reason == DISAPPEARED and known.unchanged <= _SHOWN_GONE


def _between(earlier: datetime | None, later: datetime) -> timedelta:
    return max(timedelta(), later - earlier) if earlier else timedelta()


def _silently(_: str) -> None:
    """The worker itself says it when the store does not answer."""
