"""What the owner of an embedded database knows by heart: which nodes wait to be claimed, and which leases live.

The engine has no secondary index, so finding waiting nodes by a query would read the whole table for each claim.
Entries are hints: the claim itself compares and sets in the graph, and drops a hint that is no longer true.
Expiry runs on the monotonic clock, so a jump of the wall clock neither ends nor prolongs a lease.
"""

import heapq
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

Queue = tuple[str, str]
"""A label and the state in which its nodes wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic


class Waiting(NamedTuple):
    """A tuple, because a heap compares millions of them: depth first, then age."""

    depth: int
    detected_at: datetime
    uuid: str
    label: str


@dataclass(slots=True)
class _Held:
    token: str
    until: float


class Frontier:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ready: dict[Queue, list[Waiting]] = {}
        self._delayed: dict[Queue, list[tuple[float, Waiting]]] = {}
        # A node may be in a heap more than once; the entry that counts is the one that is also here.
        self._current: dict[str, Waiting] = {}
        self._held: dict[str, _Held] = {}

    def knows(self, queue: Queue) -> bool:
        return queue in self._ready

    def learn(self, queue: Queue, nodes: Iterable[tuple[Waiting, float]]) -> None:
        """Start a queue with what the graph holds; until then its nodes are not remembered."""
        self._ready[queue] = []
        self._delayed[queue] = []
        for waiting, delay in nodes:
            self.add(queue, waiting, delay=delay)

    def forget(self) -> None:
        """The graph was changed past us: what waits must be read again. Leases stay as they are."""
        self._ready.clear()
        self._delayed.clear()
        self._current.clear()

    def add(self, queue: Queue, waiting: Waiting, *, delay: float = 0.0) -> None:
        if queue not in self._ready:
            return
        self._current[waiting.uuid] = waiting
        if delay > 0:
            heapq.heappush(self._delayed[queue], (self._clock.monotonic() + delay, waiting))
        else:
            heapq.heappush(self._ready[queue], waiting)

    def take(self, queues: Sequence[Queue], limit: int) -> list[Waiting]:
        """The first that wait in any of the queues, in order of depth and age."""
        for queue in queues:
            self._ripen(queue)
        taken: list[Waiting] = []
        while len(taken) < limit:
            filled = [self._ready[queue] for queue in queues if self._ready[queue]]
            if not filled:
                break
            first = heapq.heappop(min(filled, key=lambda heap: heap[0]))
            if self._current.get(first.uuid) is first:
                del self._current[first.uuid]
                taken.append(first)
        return taken

    def hold(self, uuids: Iterable[str], *, token: str, seconds: float) -> None:
        until = self._clock.monotonic() + seconds
        for uuid in uuids:
            self._held[uuid] = _Held(token, until)

    def drop(self, uuids: Iterable[str]) -> None:
        """Somebody moved or removed the nodes: they neither wait nor are they held."""
        for uuid in uuids:
            self._held.pop(uuid, None)
            self._current.pop(uuid, None)

    def holds(self, uuid: str, token: str) -> bool:
        """Whether the node is still under this token; it is until somebody moves it, even after the lease ran out."""
        held = self._held.get(uuid)
        return held is not None and held.token == token

    def is_live(self, uuid: str, token: str | None) -> bool:
        """Whether the lease runs. One that this owner never gave out is of a process that is gone."""
        held = self._held.get(uuid)
        return held is not None and held.token == token and held.until > self._clock.monotonic()

    def _ripen(self, queue: Queue) -> None:
        delayed = self._delayed[queue]
        while delayed and delayed[0][0] <= self._clock.monotonic():
            heapq.heappush(self._ready[queue], heapq.heappop(delayed)[1])
