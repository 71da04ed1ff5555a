"""The store over an embedded engine: one thread writes, a few read, and the frontier hears of every change.

Commits that arrive while another is being written are written together. What a caller no longer waits for is still
finished, and the frontier is changed on the writing thread, so a deadline that passes leaves nothing half-known.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Self, TypeVar

from graph_stores.errors import (
    DeadlineExceeded,
    GraphmillError,
    Misuse,
    QueryTimeout,
    StoreClosed,
    conflict_error,
    conflict_with,
)
from graph_stores.kuzu.changes import Changes, Moved
from graph_stores.kuzu.claims import Claims
from graph_stores.kuzu.columns import restored
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.frontier import Clock, Frontier, Waiting
from graph_stores.kuzu.groups import merged, split
from graph_stores.kuzu.ownership import Ownership
from graph_stores.kuzu.queries import Queries
from graph_stores.kuzu.reading import Reading
from graph_stores.kuzu.schema import Schema
from graph_stores.kuzu.session import Session
from graph_stores.kuzu.vectors import Vectors
from graph_stores.model import (
    Batch,
    Claim,
    ExportedEdge,
    ExportedNode,
    Hit,
    Marks,
    Node,
    NodeRow,
    Progress,
    Ref,
    Select,
    Table,
    Value,
    VectorSpace,
)
from graph_stores.protocol import Capabilities, SchemaStatus
from graph_stores.values import check_batch

log = logging.getLogger("graphmill.store")
T = TypeVar("T")

# A checkpoint copies file and log, so the log may grow with the file; memory grows with the log.
DEFAULT_LOG_LIMIT = 64 << 20
_READERS = 4
# Opening, closing and migrating read or copy the whole file.
_LONG = 3600.0


class EmbeddedStore:
    def __init__(
        self, *, url: str, project: str, engine: Engine, ownership: Ownership, clock: Clock, log_limit: int
    ) -> None:
        self.url = url
        self.project = project
        self.capabilities = Capabilities(many_processes=False, vector_index=False)
        self._engine = engine
        self._ownership = ownership
        self._clock = clock
        self._log_limit = log_limit
        self._frontier = Frontier(clock)
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="graphmill-writer")
        self._reading = ThreadPoolExecutor(_READERS, thread_name_prefix="graphmill-reader")
        self._schema = Schema(engine)
        self._reads = Reading(engine, project, self._frontier, clock)
        self._claims = Claims(engine, project, self._frontier, self._reads, clock)
        self._vectors = Vectors(engine, project)
        self._queries = Queries(engine)
        self._queued: list[tuple[Batch, asyncio.Future[None]]] = []
        self._draining: asyncio.Task[None] | None = None
        self._closed = False
        self._let_go = False
        self._closing: asyncio.Future[None] | None = None

    @classmethod
    async def open(
        cls, *, url: str, project: str, engine: Engine, ownership: Ownership, clock: Clock, log_limit: int
    ) -> Self:
        store = cls(url=url, project=project, engine=engine, ownership=ownership, clock=clock, log_limit=log_limit)
        try:
            await store._write(store._open, deadline=_LONG)
        except BaseException:
            # Where only the waiting ended, the thread may still be opening: what it opened is closed after it.
            store._writing.submit(store._close)
            store._shut_down()
            raise
        return store

    async def schema(self) -> SchemaStatus:
        return await self._write(self._schema.status)

    async def migrate(self) -> SchemaStatus:
        return await self._write(self._schema.migrate, deadline=_LONG)

    async def commit(self, batch: Batch) -> None:
        self._check_open()
        check_batch(batch)
        _refuse_twice(batch)
        self._vectors.check(batch.vectors)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queued.append((batch, future))
        if self._draining is None or self._draining.done():
            self._draining = asyncio.create_task(self._drain())
        await self._in_time(future, self._engine.deadline)

    async def claim(self, claim: Claim) -> list[NodeRow]:
        for label in claim.labels:
            marks = claim.marks.get(label, Marks())
            self._engine.tables.node(label, [*marks.set, *marks.stamp])
        return await self._write(lambda: self._claims.claim(claim))

    async def heartbeat(self, nodes: Sequence[Ref], *, token: str, seconds: float) -> frozenset[str]:
        for label in {node.label for node in nodes}:
            self._engine.tables.node(label)
        return await self._write(lambda: self._claims.heartbeat(nodes, token, seconds))

    async def nodes(self, select: Select) -> list[NodeRow]:
        return await self._read(lambda: self._reads.nodes(select))

    async def progress(self, *, finished: Sequence[str], window: float) -> Progress:
        return await self._read(lambda: self._reads.progress(finished, window))

    async def vector_space(self) -> VectorSpace | None:
        return await self._read(self._vectors.space)

    async def use_vector_space(self, space: VectorSpace) -> None:
        await self._write(lambda: self._vectors.use(space))

    async def index_vectors(self) -> None:
        """There is none to build: see graph_stores.kuzu.vectors."""

    async def search(self, vector: Sequence[float], *, limit: int, labels: Sequence[str] = ()) -> list[Hit]:
        return await self._read(lambda: self._vectors.search(vector, limit, labels, self._reads.by_uuid))

    async def query(
        self, text: str, parameters: Mapping[str, Value], *, write: bool = False, timeout: float | None = None
    ) -> Table:
        seconds = timeout or self._engine.deadline
        # The engine stops at the timeout by itself; the second is for its answer.
        if not write:
            return await self._interruptible(
                lambda started: self._queries.read(text, parameters, seconds, started), deadline=seconds + 1.0
            )
        return await self._write(lambda: self._write_query(text, parameters, seconds), deadline=seconds + 1.0)

    async def export_nodes(self) -> AsyncIterator[ExportedNode]:
        for page in await self._read(self._reads.node_pages):
            for node in await self._read(lambda page=page: self._reads.exported_nodes(page)):  # type: ignore[misc]
                yield node

    async def export_edges(self) -> AsyncIterator[ExportedEdge]:
        for page in await self._read(self._reads.edge_pages):
            for edge in await self._read(lambda page=page: self._reads.exported_edges(page)):  # type: ignore[misc]
                yield edge

    async def close(self) -> None:
        """Finish what is queued, and let go of the graph; goes on also when nobody waits for it any more."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._finish())
        await asyncio.shield(self._closing)

    async def _finish(self) -> None:
        if self._draining:
            await asyncio.wait([self._draining])
        try:
            await self._write(self._close, deadline=_LONG)
        finally:
            self._closed = True
            self._shut_down()

    def _shut_down(self) -> None:
        for executor in (self._writing, self._reading):
            executor.shutdown(wait=False)

    def _open(self) -> None:
        try:
            self._engine.recover_and_open()
            self._vectors.recall()
        except BaseException:
            self._close()
            raise

    def _close(self) -> None:
        """On the writing thread to the end: nobody else may own the graph while this one still works on it."""
        if self._let_go:
            return
        self._let_go = True
        try:
            # People copy the one file they know of, so it should hold everything; but with a large file a short log
            # costs the next owner less than the guard's copy would cost now.
            guard = self._engine.guard
            if self._engine.is_open and guard.log_size() > (
                0 if guard.file_size() < self._log_limit else self._log_limit // 64
            ):
                self._engine.checkpoint(wait=True)
        finally:
            try:
                self._engine.close()
            finally:
                self._ownership.release()

    async def _write(self, work: Callable[[], T], deadline: float | None = None) -> T:
        return await self._run(self._writing, work, deadline)

    async def _read(self, work: Callable[[], T], deadline: float | None = None) -> T:
        return await self._run(self._reading, work, deadline)

    async def _interruptible(self, work: Callable[[Callable[[Session], None]], T], deadline: float) -> T:
        """A read that ends soon after nobody waits for it any more."""
        running: list[Session] = []
        try:
            return await self._read(lambda: work(running.append), deadline)
        except (asyncio.CancelledError, DeadlineExceeded) as error:
            for session in running:
                session.interrupt()
            if isinstance(error, DeadlineExceeded):
                raise QueryTimeout(error.message, hint="give it more time with --timeout") from error
            raise

    async def _run(self, executor: Executor, work: Callable[[], T], deadline: float | None) -> T:
        self._check_open()
        future = asyncio.get_running_loop().run_in_executor(executor, work)
        return await self._in_time(future, deadline or self._engine.deadline)

    def _check_open(self) -> None:
        self._ownership.check()
        if self._closed:
            raise StoreClosed(f"{self._engine.path} is closed", hint="open the store again")

    async def _in_time(self, future: asyncio.Future[T], deadline: float) -> T:
        # An engine thread cannot be stopped from outside, so the work goes on and only the waiting ends.
        future.add_done_callback(lambda done: None if done.cancelled() else _seen(done.exception()))
        try:
            return await asyncio.wait_for(asyncio.shield(future), deadline)
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"{self._engine.path} did not answer within {deadline:g} seconds",
                hint="what was asked may still happen; read the graph before trying again",
            ) from error

    async def _drain(self) -> None:
        while self._queued:
            self._queued, group = split(self._queued)
            batches = [batch for batch, _ in group]
            try:
                loop = asyncio.get_running_loop()
                outcomes = await loop.run_in_executor(self._writing, self._apply_group, batches)
            except Exception as error:  # noqa: BLE001 whoever waits for a commit gets it
                outcomes = [error] * len(group)
            for (_, future), outcome in zip(group, outcomes, strict=True):
                if not future.done():
                    future.set_exception(outcome) if outcome else future.set_result(None)

    def _apply_group(self, batches: list[Batch]) -> list[Exception | None]:
        """All in one transaction; where that fails, each in its own, so that one batch's conflict is its own."""
        try:
            self._apply(merged(batches))
        except GraphmillError as error:
            if len(batches) == 1:
                return [error]
            return [outcome for batch in batches for outcome in self._apply_group([batch])]
        self._checkpoint_if_due()
        return [None] * len(batches)

    def _apply(self, batch: Batch) -> None:
        self._refuse_by_heart(batch)
        with self._engine.transaction("the commit failed") as session:
            moved, created = self._changes(session).apply(batch)
        self._engine.count_rows(Counter(node.label for node in created))
        self._tell_frontier(batch, moved, created)

    def _changes(self, session: Session) -> Changes:
        return Changes(
            session=session,
            tables=self._engine.tables,
            project=self.project,
            now=self._clock.now(),
            prefers_keys=self._engine.prefers_keys,
        )

    def _write_query(self, text: str, parameters: Mapping[str, Value], seconds: float) -> Table:
        try:
            return self._queries.write(text, parameters, seconds)
        finally:
            self._frontier.forget()

    def _refuse_by_heart(self, batch: Batch) -> None:
        """Refuse what the frontier knows to fail, before the engine has anything to roll back.

        A lease is taken away only once it has run out; and who does not hold a node can change nothing.
        """
        live = [
            conflict_with(each, (each.expected, each.token))
            for each in batch.transitions
            if each.expired and self._frontier.is_live(each.node.uuid, each.token)
        ]
        lost = [
            each
            for each in batch.transitions
            if each.token and not each.expired and not self._frontier.holds(each.node.uuid, each.token)
        ]
        if live or lost:
            found = {
                row.ref: (row.state, None)
                for each in lost
                for row in self._reads.by_uuid(each.node.label, [each.node.uuid])
            }
            raise conflict_error([*live, *(conflict_with(each, found.get(each.node)) for each in lost)])

    def _tell_frontier(self, batch: Batch, moved: list[Moved], created: list[Node]) -> None:
        self._frontier.drop(each.transition.node.uuid for each in moved)
        self._frontier.drop(ref.uuid for ref in batch.deletions)
        now = self._clock.now()
        for each in moved:
            node = each.transition.node
            waiting = Waiting(each.depth or 0, restored(each.detected_at) or now, node.uuid, node.label)
            self._frontier.add((node.label, each.transition.to), waiting, delay=each.transition.delay or 0.0)
        for new in created:
            self._frontier.add((new.label, new.state), Waiting(new.depth, now, new.uuid, new.label))

    def _checkpoint_if_due(self) -> None:
        limit = max(self._log_limit, self._engine.guard.file_size() // 2)
        size = self._engine.guard.log_size()
        if size > limit:
            try:
                self._engine.checkpoint(wait=size > 2 * limit)
            except (GraphmillError, OSError) as error:
                # The commit is done and safe; the log just stays longer.
                log.warning("could not checkpoint: %s", error)


def _refuse_twice(batch: Batch) -> None:
    seen: set[Ref] = set()
    for each in batch.transitions:
        if each.node in seen:
            raise Misuse(f"{each.node.label} {each.node.uuid} is moved twice in one batch", hint="one move per batch")
        seen.add(each.node)


def _seen(_: BaseException | None) -> None:
    return None
