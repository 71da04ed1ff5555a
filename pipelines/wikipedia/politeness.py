"""How often one host is asked, by all tasks of all processes on this machine together.

Owns a folder for each host: a file for each request that may be in flight, locked while it is, and one file with the
times of the last minute and with how long the host wants to be left alone. The kernel drops the locks of a process
that is killed, so nothing here needs to be tidied up after one. Other machines are somebody else's to count: `Sharing`
puts their turns around this machine's. Knows nothing of HTTP.
"""

import asyncio
import fcntl
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Protocol

from graph_stores.errors import GraphmillError, Misuse

LONGEST_PAUSE = 120.0
"""A host that asks for more is asked again after this."""
_NAP = 0.02
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class CountNotKept(GraphmillError):
    """Without a place to count requests in, two processes would ask twice as often as allowed."""

    code = "request_count_not_kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    per_minute: int = 200
    in_flight: int = 3
    minute: float = 60.0
    """In seconds; only tests have shorter ones."""

    def __post_init__(self) -> None:
        if self.per_minute < 1 or self.in_flight < 1:
            raise Misuse(
                f"{self.per_minute} requests a minute, {self.in_flight} of them at a time: both must be at least 1",
                hint="give --rate a number of requests per minute, for example 200",
            )


class Turns(Protocol):
    """Whose turn it is to ask one host."""

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Waits for a turn, and holds it while the request is under way."""
        ...

    async def wait_until(self, seconds_from_now: float) -> None:
        """Nobody asks the host before; a longer pause that is already kept stays."""
        ...

    async def pause(self) -> float:
        """How many seconds the host still wants to be left alone."""
        ...


class Sharing(Protocol):
    """Makes turns that others keep too, out of those of this machine. No request takes longer than `answer` seconds."""

    def __call__(
        self, machine: "Politeness", *, host: str, answer: float, nap: Callable[[float], Awaitable[None]]
    ) -> Turns: ...


def is_loopback(host: str) -> bool:
    return host.lower() in _LOOPBACK


def limits_for(host: str, *, per_minute: int | None = None) -> Limits | None:
    """None for this machine's own wikis, which may be asked as fast as they answer, unless a rate was asked for."""
    if per_minute is not None:
        return Limits(per_minute=per_minute)
    return None if is_loopback(host) else Limits()


def folder_of(host: str, port: int | None, cache: Path | None = None) -> Path:
    """Wikis on other ports of this machine are other wikis; elsewhere it is the host that is spared."""
    if cache is None:
        from platformdirs import user_cache_path

        cache = user_cache_path("graphmill")
    name = f"{host}_{port}" if is_loopback(host) and port else host.strip(".")
    safe = "".join(letter if letter.isalnum() or letter in ".-_" else "_" for letter in name.lower())
    return cache / "wikis" / (safe or "_")


@dataclass(slots=True, kw_only=True)
class _Record:
    turns: list[float] = field(default_factory=list)
    """When requests ended."""
    flying: dict[str, float] = field(default_factory=dict)
    """When those began that are under way, by their slots; or were, where a process was killed."""
    not_before: float = 0.0
    damaged: bool = False

    def settle(self, now: float, minute: float) -> None:
        """Forget what is older than a minute. What lies ahead was written before the clock was set back."""
        self.turns = sorted(min(turn, now) for turn in self.turns if turn > now - minute)
        self.flying = {slot: min(began, now) for slot, began in self.flying.items()}
        self.not_before = min(self.not_before, now + LONGEST_PAUSE)

    def land(self, slot: str, at: float | None = None) -> None:
        """From its end a request counts for a minute more; one that was killed, from its beginning."""
        began = self.flying.pop(slot, None)
        if (counted := began if at is None else at) is not None:
            self.turns.append(counted)

    def wait(self, now: float, limits: Limits) -> float:
        """How long until there is a turn."""
        counted = sorted([*self.turns, *(max(began, now - limits.minute + _NAP) for began in self.flying.values())])
        full = counted[-limits.per_minute] + limits.minute if len(counted) >= limits.per_minute else now
        return max(full, self.not_before) - now


class Politeness:
    """Turns at asking one host. With no limits only the pauses that the host asks for are kept, in this process."""

    def __init__(
        self,
        folder: Path,
        limits: Limits | None,
        *,
        clock: Callable[[], float] = time.time,
        nap: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.limits = limits
        self._folder = folder
        self._clock = clock
        self._nap = nap
        self._not_before = 0.0
        self._random = Random()  # noqa: S311 - spreads attempts, guards nothing
        # Of the tasks of one process only as many try for a lock as could get one.
        self._own = asyncio.Semaphore(limits.in_flight) if limits else None
        if limits:
            self._make_folder()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        if self.limits is None or self._own is None:
            while (wait := await self.pause()) > 0:
                await self._nap(wait)
            yield
            return
        async with self._own:
            slot, lock = await self._free_slot(self.limits.in_flight)
            try:
                await self._take(slot, self.limits)
                try:
                    yield
                finally:
                    await self._finish(slot, self.limits)
            finally:
                _unlock(lock)

    async def wait_until(self, seconds_from_now: float) -> None:
        until = self._clock() + min(max(seconds_from_now, 0.0), LONGEST_PAUSE)
        self._not_before = max(self._not_before, until)
        if self.limits is None:
            return
        async with self._locked() as record:
            record.not_before = max(record.not_before, until)

    async def pause(self) -> float:
        not_before = self._not_before if self.limits is None else self._read().not_before
        return min(max(not_before - self._clock(), 0.0), LONGEST_PAUSE)

    async def _free_slot(self, slots: int) -> tuple[str, int]:
        while True:
            for slot in map(str, range(slots)):
                if (lock := self._lock(f"slot-{slot}")) is not None:
                    return slot, lock
            await self._nap(_NAP * self._random.uniform(0.5, 1.5))

    async def _take(self, slot: str, limits: Limits) -> None:
        """Waits until there are fewer than the limit in the minute before."""
        while True:
            async with self._locked() as record:
                now = self._clock()
                record.land(slot)
                record.settle(now, limits.minute)
                self._land_killed(record, now - limits.minute)
                wait = record.wait(now, limits)
                if wait <= 0:
                    record.flying[slot] = now
                    return
            await self._nap(wait + 0.001)

    async def _finish(self, slot: str, limits: Limits) -> None:
        """When between its beginning and its end the host saw the request is not known here: it counts for both."""
        async with self._locked() as record:
            now = self._clock()
            record.land(slot, now)
            record.settle(now, limits.minute)

    def _land_killed(self, record: _Record, before: float) -> None:
        for slot in [slot for slot, began in record.flying.items() if began <= before]:
            if (lock := self._lock(f"slot-{slot}")) is not None:
                _unlock(lock)
                record.land(slot)

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[_Record]:
        """What is known of the host; written back if it has changed. Not to be awaited in."""
        while (lock := self._lock("lock")) is None:
            await self._nap(_NAP * self._random.uniform(0.1, 0.3))
        try:
            record = self._read()
            before = replace(record, turns=list(record.turns), flying=dict(record.flying))
            yield record
            if record.damaged or record != before:
                self._write(record)
        finally:
            _unlock(lock)

    def _lock(self, name: str) -> int | None:
        """None where another task or process has it."""
        path = self._folder / name
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:
            self._make_folder()
            lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        except BaseException:
            os.close(lock)
            raise
        return lock

    def _read(self) -> _Record:
        """A file that makes no sense counts as a full minute: it says nothing of how few there were."""
        try:
            found = json.loads((self._folder / "turns.json").read_bytes())
            return _Record(
                turns=[float(turn) for turn in found["turns"]],
                flying={slot: float(began) for slot, began in found["flying"].items()},
                not_before=float(found["not_before"]),
            )
        except FileNotFoundError:
            return _Record()
        except (ValueError, TypeError, LookupError, AttributeError):
            now = self._clock()
            return _Record(turns=[now] * (self.limits.per_minute if self.limits else 0), damaged=True)

    def _write(self, record: _Record) -> None:
        written = self._folder / "turns.json.new"
        known = {"not_before": record.not_before, "flying": record.flying, "turns": record.turns}
        written.write_text(json.dumps(known), encoding="ascii")
        written.replace(self._folder / "turns.json")

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / "lock").touch(mode=0o600)
        except OSError as error:
            raise CountNotKept(
                f"the requests to a wiki cannot be counted in {self._folder}: {error.strerror or error}",
                hint="make that folder writable, or set XDG_CACHE_HOME to one that is",
            ) from error


def _unlock(lock: int) -> None:
    # Closing alone would leave the lock to a child that was forked meanwhile.
    try:
        fcntl.flock(lock, fcntl.LOCK_UN)
    finally:
        os.close(lock)
