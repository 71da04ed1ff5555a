"""The one way to the server: every call ends by its deadline, on both sides, and its errors are translated.

Owns the driver, its sessions and what is tried again. Refuses to know what is read or written.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from neo4j import (
    READ_ACCESS,
    WRITE_ACCESS,
    AsyncDriver,
    AsyncGraphDatabase,
    AsyncManagedTransaction,
    AsyncResult,
    AsyncSession,
    Query,
    Record,
    unit_of_work,
)
from neo4j.exceptions import DriverError, IncompleteCommit, Neo4jError, ServiceUnavailable, SessionExpired

from graph_stores import Credentials
from graph_stores.errors import StoreUnavailable, WrongAddress
from graph_stores.model import Value
from graph_stores.neo4j.address import Address
from graph_stores.neo4j.errors import Place, closed, is_for_good, overdue, translate

DIALECT = "neo4j"
log = logging.getLogger("graphmill.store")
T = TypeVar("T")
Work = Callable[[AsyncManagedTransaction], Awaitable[T]]

# Below every lease, so that a worker never finds out only after its lease that it cannot reach the server. The last
# pause may begin just before the end, so they grow slowly; the driver's own first one is long for a deadlock.
_LONGEST_RETRY = 5.0
_FIRST_PAUSE, _PAUSES_GROW_BY, _JITTER = 0.05, 1.5, 0.5
_CONNECT_SECONDS = 5.0
_CLOSE_SECONDS = 5.0
_PAUSE = 0.2
_FETCH = 1000


class Connection:
    def __init__(self, driver: AsyncDriver, address: Address, user: str | None, deadline: float) -> None:
        self.place = Place(url=address.shown, user=user, database=address.database)
        self.deadline = deadline
        self._driver = driver
        self._closed = False
        self._running = 0
        self._idle = asyncio.Event()
        # In a cluster, so that a read sees what this process wrote before it.
        self._bookmarks = AsyncGraphDatabase.bookmark_manager()

    @classmethod
    def to(cls, address: Address, credentials: Credentials | None, deadline: float) -> "Connection":
        user = address.user or (credentials.user if credentials else None)
        _quieten()
        driver = AsyncGraphDatabase.driver(
            address.uri,
            auth=(user, credentials.password) if credentials and user else None,
            user_agent="graphmill",
            connection_timeout=min(_CONNECT_SECONDS, deadline),
            connection_acquisition_timeout=min(3 * _CONNECT_SECONDS, deadline),
            max_transaction_retry_time=min(_LONGEST_RETRY, deadline / 2),
            initial_retry_delay=_FIRST_PAUSE,
            retry_delay_multiplier=_PAUSES_GROW_BY,
            retry_delay_jitter_factor=_JITTER,
            # A connection that was idle this long is tried before it is used: a firewall may have dropped it.
            liveness_check_timeout=30.0,
            notifications_min_severity="OFF",
            telemetry_disabled=True,
        )
        return cls(driver, address, user, deadline)

    async def verify(self) -> None:
        """Once and without retries: a server that is down is told at once."""
        try:
            async with self._bounded(self.deadline):
                await self._driver.verify_connectivity()
        except StoreUnavailable as error:
            if is_for_good(error.__cause__):
                raise WrongAddress(error.message, hint=error.hint) from error
            raise

    def due(self) -> float:
        """When a call that begins now must have ended, for calls that take several transactions."""
        return asyncio.get_running_loop().time() + self.deadline

    def whole_seconds(self, until: float) -> int:
        """What is left until then, for a procedure that waits on the server."""
        return max(1, int(self._left(until)))

    async def read(self, work: Work[T], *, until: float | None = None) -> T:
        seconds = self._left(until)
        async with self._bounded(seconds), self._session(READ_ACCESS) as session:
            return await session.execute_read(_timed(work, seconds))

    async def write(self, work: Work[T], *, until: float | None = None) -> T:
        """The work may run many times, even after it was committed and the answer got lost: it must bear that."""
        seconds = self._left(until)
        in_doubt = False
        async with self._bounded(seconds):
            until = asyncio.get_running_loop().time() + seconds
            while True:
                try:
                    async with self._session(WRITE_ACCESS) as session:
                        return await session.execute_write(_timed(work, self._left(until)))
                except IncompleteCommit:
                    in_doubt = True
                except (ServiceUnavailable, SessionExpired):
                    if not in_doubt:
                        raise
                await asyncio.sleep(_PAUSE)

    async def run(self, text: str, parameters: Mapping[str, Value], *, until: float | None = None) -> None:
        """One statement in a transaction that the server begins and ends: for schema and maintenance."""
        seconds = self._left(until)
        async with self._bounded(seconds), self._session(WRITE_ACCESS) as session:
            result = await session.run(_query(text, seconds), dict(parameters))
            await result.consume()

    async def ask(
        self, text: str, parameters: Mapping[str, Value], *, write: bool, seconds: float | None
    ) -> tuple[Sequence[str], list[Record]]:
        """A person's query, tried once, in the access mode that the server itself enforces."""
        seconds = self.deadline if seconds is None else seconds
        mode = WRITE_ACCESS if write else READ_ACCESS
        async with self._bounded(seconds, asked=True), self._session(mode) as session:
            result = await session.run(_query(text, seconds), dict(parameters))
            return result.keys(), [record async for record in result]

    async def answer(self, text: str, parameters: Mapping[str, Value]) -> tuple[Sequence[str], list[Record]]:
        """A question of our own, which may be asked again."""

        async def asked(tx: AsyncManagedTransaction) -> tuple[Sequence[str], list[Record]]:
            result = await tx.run(text, dict(parameters))
            return result.keys(), [record async for record in result]

        return await self.read(asked)

    async def stream(self, text: str, parameters: Mapping[str, Value]) -> AsyncIterator[list[Record]]:
        """The rows in portions; each has a deadline of its own, because the reader sets the pace."""
        async with self._translated(asked=False), self._session(READ_ACCESS) as session:
            async with self._bounded(self.deadline):
                result = await session.run(Query(text), dict(parameters))
            while portion := await self._portion(result):
                yield portion

    async def databases(self, text: str) -> list[str]:
        """What the server has, as far as this user may see it."""
        async with self._bounded(_CONNECT_SECONDS), self._driver.session(database="system") as session:
            result = await session.run(Query(text, timeout=_CONNECT_SECONDS))
            return [record["name"] async for record in result]

    async def close(self) -> None:
        """Refuse new calls, let those under way end, and leave those that do not to the driver."""
        if self._closed:
            return
        self._closed = True
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                while self._running:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            log.debug("calls to %s were still under way when it was closed", self.place.url)
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._driver.close()
        except TimeoutError:
            log.debug("%s did not answer while closing", self.place.url)

    async def _portion(self, result: AsyncResult) -> list[Record]:
        async with self._bounded(self.deadline):
            return await result.fetch(_FETCH)

    def _session(self, mode: str) -> AsyncSession:
        return self._driver.session(
            database=self.place.database,
            default_access_mode=mode,
            bookmark_manager=self._bookmarks,
            fetch_size=_FETCH,
        )

    def _left(self, until: float | None) -> float:
        return self.deadline if until is None else until - asyncio.get_running_loop().time()

    @asynccontextmanager
    async def _bounded(self, seconds: float, *, asked: bool = False) -> AsyncIterator[None]:
        if self._closed:
            raise closed(self.place)
        self._running += 1
        try:
            async with self._translated(asked=asked), asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            raise overdue(seconds if asked else self.deadline, self.place, asked=asked) from error
        finally:
            self._running -= 1
            self._idle.set()

    @asynccontextmanager
    async def _translated(self, *, asked: bool) -> AsyncIterator[None]:
        try:
            yield
        except TimeoutError:
            raise
        except (DriverError, Neo4jError, OSError) as error:
            raise closed(self.place) if self._closed else translate(error, self.place, asked=asked) from error


async def fetch(transaction: AsyncManagedTransaction, text: str, **parameters: Value) -> list[Record]:
    result = await transaction.run(text, parameters)
    return [record async for record in result]


def _timed(work: Work[T], seconds: float) -> Work[T]:
    """The server stops the transaction too; zero would mean that it never does."""
    timed: Work[T] = unit_of_work(metadata={"app": "graphmill"}, timeout=max(seconds, 0.001))(work)
    return timed


def _query(text: str, seconds: float) -> Query:
    return Query(text, metadata={"app": "graphmill"}, timeout=max(seconds, 0.001))


def _quieten() -> None:
    """The driver logs each retry as a warning, which Python prints where nobody has set up logging."""
    logger = logging.getLogger("neo4j")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
