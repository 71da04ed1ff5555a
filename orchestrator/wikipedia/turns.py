"""How often one host is asked by all the machines that work on a graph together.

Owns names under which the store holds turns, by its own clock: a slot for each request that may be in flight, a ticket
for each that may be made in a minute, and pauses that a host asked for. What a process that is killed has taken runs
out by itself. Each machine goes on counting for itself, so that it is polite to a host whatever its graphs are, and
only as many of its processes as may ask at a time look for a turn here. Knows nothing of HTTP.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from random import Random

from graph_stores.errors import StoreUnavailable, TransientStoreError
from graph_stores.model import LONGEST_LEASE
from graph_stores.protocol import Store
from orchestrator.leases import owner_name
from pipelines.wikipedia.politeness import Limits, Politeness, Sharing, Turns

_SLOT_SECONDS = 15.0
"""How long a slot is lost when the process that has it is killed."""
_MOST_TICKETS = 50
"""Each look reads them all; with fewer, the time that requests take would be missing from the rate."""
_LONGEST_LOOK, _SHORTEST_LOOK = 5.0, 0.05
_HEARD = 1.0
"""A pause that somebody else was asked for is heard of within this, where there are no turns to wait for."""
_SLACK = 0.001


def shared_turns(store: Store, *, slot_seconds: float = _SLOT_SECONDS) -> Sharing | None:
    """None where one machine has the graph for itself: it counts already."""
    if not store.capabilities.many_processes:
        return None
    owner = owner_name()

    def share(machine: Politeness, *, host: str, answer: float, nap: Callable[[float], Awaitable[None]]) -> Turns:
        return SharedTurns(store, machine, host=host, owner=owner, answer=answer, slot_seconds=slot_seconds, nap=nap)

    return share


@dataclass(frozen=True, slots=True, kw_only=True)
class Tickets:
    """What may be asked in a minute, cut into tickets that rest after each use.

    A ticket's uses are further apart than its rest, counted from the end of one to the beginning of the next. Hence no
    minute has more of them than its rest goes into it, whenever between the two the host saw the request; and all
    tickets together have exactly as many as are allowed.
    """

    limits: Limits

    def __len__(self) -> int:
        return min(self.limits.per_minute, _MOST_TICKETS)

    def rest(self, ticket: int) -> float:
        uses, more = divmod(self.limits.per_minute, len(self))
        return self.limits.minute / (uses + (ticket < more)) + _SLACK


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    name: str
    token: str
    since: float
    """When it was asked for, by this process's own clock: it lasts at least from then on."""


class SharedTurns:
    def __init__(
        self,
        store: Store,
        machine: Politeness,
        *,
        host: str,
        owner: str,
        answer: float,
        slot_seconds: float,
        nap: Callable[[float], Awaitable[None]],
    ) -> None:
        self._store = store
        self._machine = machine
        self._host = host
        self._owner = owner
        self._answer = answer
        self._slot_seconds = slot_seconds
        self._nap = nap
        self._heard = float("-inf")
        self._random = Random()  # noqa: S311 - spreads attempts, guards nothing

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """TransientStoreError where the store does not answer: nobody asks what cannot be counted."""
        limits = self._machine.limits
        if limits is None:
            await self._hear()
        async with self._machine.turn():
            if limits is None:
                yield
                return
            async with self._slot(limits), self._ticket(Tickets(limits=limits)):
                yield

    async def wait_until(self, seconds_from_now: float) -> None:
        await self._machine.wait_until(seconds_from_now)
        seconds = await self._machine.pause()
        if seconds <= 0 or _pause(await self._look()) >= seconds:
            return
        # The longest counts; one that others keep is never changed, as they may be about to do it too.
        for number in count():
            if await self._store.hold(self._name(f"pause:{number}"), owner=self._owner, seconds=seconds):
                return

    async def pause(self) -> float:
        await self._hear()
        return await self._machine.pause()

    async def _hear(self) -> None:
        if _now() - self._heard >= _HEARD:
            await self._look()

    @asynccontextmanager
    async def _slot(self, limits: Limits) -> AsyncIterator[None]:
        """Renewed meanwhile. What is done in it is broken off before the slot can be somebody else's."""
        slot = await self._take_slot(limits.in_flight)
        try:
            async with asyncio.timeout_at(slot.since + self._slot_seconds) as trust:
                keeping = asyncio.create_task(self._keep(slot, trust))
                try:
                    yield
                finally:
                    keeping.cancel()
                    await asyncio.wait([keeping])
        except TimeoutError as error:
            if not trust.expired():
                raise
            raise StoreUnavailable(
                f"{self._store.url} did not answer, so that a request to {self._host} had to be broken off",
                hint="the work goes on where it is when the store answers again",
            ) from error
        finally:
            await _left_to_run_out(self._store.let_go(slot.name, token=slot.token))

    async def _take_slot(self, slots: int) -> _Held:
        free = list(range(slots))
        for attempt in count(1):
            if free and (slot := await self._hold(f"slot:{self._random.choice(free)}", self._slot_seconds)):
                return slot
            await self._nap(self._spread(_SHORTEST_LOOK * min(attempt, 5)))
            held = await self._look()
            free = [each for each in range(slots) if f"slot:{each}" not in held]
        raise AssertionError("there is no last attempt")

    async def _keep(self, slot: _Held, trust: asyncio.Timeout) -> None:
        while True:
            await asyncio.sleep(self._slot_seconds / 4)
            sent = _now()
            try:
                renewed = await self._store.renew(slot.name, token=slot.token, seconds=self._slot_seconds)
            except TransientStoreError:
                continue  # trust goes on running out
            if not renewed or trust.expired():
                return
            trust.reschedule(sent + self._slot_seconds)

    @asynccontextmanager
    async def _ticket(self, tickets: Tickets) -> AsyncIterator[None]:
        """Rests from its end. One of a process that is killed, from the last moment at which its request may end."""
        ticket, number = await self._take_ticket(tickets)
        try:
            yield
        finally:
            rest = self._store.renew(ticket.name, token=ticket.token, seconds=tickets.rest(number))
            await _left_to_run_out(rest)

    async def _take_ticket(self, tickets: Tickets) -> tuple[_Held, int]:
        """When the host wants to be left alone, not before it may be asked again."""
        while True:
            held = await self._look()
            resting = [held.get(f"ticket:{each}", 0.0) for each in range(len(tickets))]
            soonest = max(_pause(held), min(resting))
            if not soonest:
                number = self._random.choice([number for number, seconds in enumerate(resting) if not seconds])
                longest = self._slot_seconds + self._answer + tickets.rest(number)
                if ticket := await self._hold(f"ticket:{number}", longest):
                    return ticket, number
            await self._nap(min(soonest, _LONGEST_LOOK) + self._spread(_SLACK))

    async def _look(self) -> Mapping[str, float]:
        """How many seconds more each turn and each pause is held. The pause is this machine's from now on."""
        prefix = self._name("")
        rows = (await self._store.ask("held", {"prefix": prefix, "longest": LONGEST_LEASE})).rows
        held = {name.removeprefix(prefix): float(seconds) for name, seconds in rows}
        self._heard = _now()
        if pause := _pause(held):
            await self._machine.wait_until(pause)
        return held

    async def _hold(self, what: str, seconds: float) -> _Held | None:
        name, sent = self._name(what), _now()
        token = await self._store.hold(name, owner=self._owner, seconds=seconds)
        if token is None:
            return None
        if _now() < sent + self._slot_seconds / 2:
            return _Held(name=name, token=token, since=sent)
        # The answer was so long on its way that too much of the time is gone already.
        await self._store.let_go(name, token=token)
        return None

    def _name(self, what: str) -> str:
        return f"wiki:{self._host}:{what}"

    def _spread(self, seconds: float) -> float:
        return seconds * self._random.uniform(0.5, 1.5)


async def _left_to_run_out(end: Awaitable[object]) -> None:
    """The answer to the request is there: that the store is not, must not lose it."""
    with suppress(TransientStoreError):
        await end


def _pause(held: Mapping[str, float]) -> float:
    return max((seconds for name, seconds in held.items() if name.startswith("pause:")), default=0.0)


def _now() -> float:
    return asyncio.get_running_loop().time()
