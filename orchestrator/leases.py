"""The leases of one worker: who it is, what it holds, and for how long it may trust that it does.

A lease is trusted from when its heartbeat was *sent*: an answer that was long on its way says nothing about now. What
is no longer trusted is cancelled before anybody else can be given it.
"""

import asyncio
import os
import socket
import time
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from graph_stores.errors import LeaseLost, TransientStoreError
from graph_stores.model import NodeRow
from orchestrator.lifecycle import Lifecycle

LEASE_SECONDS = 30.0
_BEATS_PER_LEASE = 4
# The next beat does not wait for the answer to the last one, unless none comes at all.
_MOST_UNDER_WAY = 3


@dataclass(eq=False, slots=True)
class Held:
    """Nodes that one task works on."""

    nodes: Sequence[NodeRow]
    task: asyncio.Task[object]
    trusted_until: float
    lost: bool = False
    under_way: int = 0

    def drop(self, uuids: Set[str]) -> None:
        """Some are somebody else's now: the work on the others goes on, if there are any."""
        self.nodes = [node for node in self.nodes if node.uuid not in uuids]
        if not self.nodes:
            self.lose()

    def lose(self) -> None:
        self.lost = True
        self.task.cancel()


class Leases:
    def __init__(self, lifecycle: Lifecycle, *, seconds: float = LEASE_SECONDS) -> None:
        self.seconds = seconds
        self._lifecycle = lifecycle
        self._held: set[Held] = set()

    @contextmanager
    def holding(self, nodes: Sequence[NodeRow], task: asyncio.Task[object], *, since: float) -> Iterator[Held]:
        """`since` is when the claim was sent."""
        held = Held(nodes, task, since + self.seconds)
        self._held.add(held)
        try:
            yield held
        finally:
            self._held.discard(held)

    async def keep(self) -> None:
        """Beat until cancelled; whatever the store answers, or does not, trust runs out by itself."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._distrust())
            while True:
                await asyncio.sleep(self.seconds / _BEATS_PER_LEASE)
                # Each in its own time: a slow answer for one must not hold up the beats of the others.
                for held in self._held:
                    if not held.lost and held.under_way < _MOST_UNDER_WAY:
                        tasks.create_task(self._beat_for(held))

    async def _beat_for(self, held: Held) -> None:
        held.under_way += 1
        sent = time.monotonic()
        try:
            await self._lifecycle.heartbeat(held.nodes, seconds=self.seconds)
        except LeaseLost as lost:
            held.drop({each.uuid for each in lost.conflicts})
        except TransientStoreError:
            return  # trust goes on running out
        finally:
            held.under_way -= 1
        held.trusted_until = max(held.trusted_until, sent + self.seconds)

    async def _distrust(self) -> None:
        while True:
            await asyncio.sleep(self.seconds / _BEATS_PER_LEASE / 2)
            # One more look comes only after half a beat: what runs out until then is let go of now.
            soon = time.monotonic() + self.seconds / _BEATS_PER_LEASE / 2
            for held in list(self._held):
                if held.trusted_until <= soon and not held.lost:
                    held.lose()


def owner_name() -> str:
    """Who a claim belongs to: machine, process and its start, and one of the workers in it."""
    return f"{_machine()}:{os.getpid()}:{_started(os.getpid())}:{uuid4().hex[:6]}"


def is_gone(owner: str) -> bool:
    """Whether an owner is known to have ended: a process of this machine that is not there any more."""
    parts = owner.rsplit(":", 3)
    if len(parts) != 4 or parts[0] != _machine() or not parts[1].isdigit() or not parts[2].isdigit():
        return False
    started = _started(int(parts[1]))
    return started is None or str(started) != parts[2]


def _machine() -> str:
    """The host, and the space in which its process numbers count: containers may share a name."""
    try:
        space = f"/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        space = ""
    return f"{socket.gethostname()}{space}"


def _started(process: int) -> int | None:
    """When a process started, in the kernel's ticks; a number may be given to a new process, this pair never is."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])
