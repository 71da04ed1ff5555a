"""The store over an embedded engine: one thread writes, a few read, and the frontier hears of every change.

Commits that arrive while another is being written are written together. What a caller no longer waits for is still
finished, and the frontier is changed on the writing thread, so a deadline that passes leaves nothing half-known.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import Self, TypeVar

from graph_stores.errors import DeadlineExceeded, GraphmillError, Misuse, QueryTimeout, StoreClosed
from graph_stores.kuzu.adopting import adopt, brought
from graph_stores.kuzu.claims import Claims
from graph_stores.kuzu.commits import Commits
from graph_stores.kuzu.door import Door
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.frontier import Clock, Frontier
from graph_stores.kuzu.holds import Holds
from graph_stores.kuzu.ownership import Ownership
from graph_stores.kuzu.queries import Queries
from graph_stores.kuzu.reading import Reading
from graph_stores.kuzu.restoring import Restoring
from graph_stores.kuzu.schema import Schema
from graph_stores.kuzu.session import DIALECT, Session
from graph_stores.kuzu.stopping import Stoppable
from graph_stores.kuzu.vectors import Vectors
from graph_stores.listening import Ear
from graph_stores.model import (
    Batch,
    Brought,
    Claim,
    ExportedEdge,
    ExportedNode,
    Hit,
    Marks,
    NodeRow,
    Progress,
    Ref,
    Select,
    Table,
    Value,
    VectorSpace,
)
from graph_stores.pages import EdgePage, Fitting, NodePage, Page
from graph_stores.protocol import Capabilities, Listener, SchemaStatus
from graph_stores.questions import Question
from graph_stores.values import check_batch

log = logging.getLogger("graphmill.store")
T = TypeVar("T")
P = TypeVar("P", NodePage, EdgePage)

CAPABILITIES = Capabilities(many_processes=False, vector_index=False)

# A checkpoint copies file and log, so the log may grow with the file; memory grows with the log.
DEFAULT_LOG_LIMIT = 32 << 20
_READERS = 4
# A file of this size is not worth the child process that makes it smaller.
_SMALL = 4 << 20
# Opening, closing and migrating read or copy the whole file.
_LONG = 3600.0
# When a command says why it waits for its graph: the log is long, and replaying it takes longer than this.
_LONG_LOG = 8 << 20
_UNEXPLAINED = 1.0


class EmbeddedStore:
    def __init__(
        self,
        *,
        url: str,
        project: str,
        engine: Engine,
        ownership: Ownership,
        clock: Clock,
        log_limit: int,
        writing: Executor | None = None,
        reading: Executor | None = None,
        frontier: Frontier | None = None,
        ear: Ear | None = None,
        largest_answer: int | None = None,
    ) -> None:
        self.url = url
        self.project = project
        self.capabilities = CAPABILITIES
        self._engine = engine
        self._ownership = ownership
        self._clock = clock
        self._log_limit = log_limit
        self._frontier = frontier or Frontier(clock)
        self._writing = writing or ThreadPoolExecutor(1, thread_name_prefix="graphmill-writer")
        self._reading = reading or ThreadPoolExecutor(_READERS, thread_name_prefix="graphmill-reader")
        self._ear = ear or Ear()
        self._schema = Schema(engine)
        self._reads = Reading(engine, project, self._frontier, clock)
        self._claims = Claims(engine, project, self._frontier, self._reads, clock, ear=self._ear)
        self._vectors = Vectors(engine, project)
        self._queries = Queries(engine, largest=largest_answer)
        self._restoring = Restoring(engine=engine, project=project)
        self._holds = Holds(clock)
        self._commits = Commits(
            engine,
            project,
            self._frontier,
            self._reads,
            clock,
            holds=self._holds,
            executor=self._writing,
            log_limit=log_limit,
            ear=self._ear,
        )
        self._door: Door | None = None
        self._closed = False
        self._checkpoints_on_close = True
        self._let_go = False
        self._closing: asyncio.Future[None] | None = None

    @classmethod
    async def open(
        cls, *, url: str, project: str, engine: Engine, ownership: Ownership, clock: Clock, log_limit: int
    ) -> Self:
        store = cls(url=url, project=project, engine=engine, ownership=ownership, clock=clock, log_limit=log_limit)
        explaining = asyncio.get_running_loop().call_later(_UNEXPLAINED, store._explain_delay)
        try:
            await store._write(store._open, deadline=_LONG)
        except BaseException:
            # Where only the waiting ended, the thread may still be opening: what it opened is closed after it.
            store._writing.submit(store._close)
            store._shut_down()
            raise
        finally:
            explaining.cancel()
        return store

    def _explain_delay(self) -> None:
        """A user who takes a long replay for a hang would end it, and the next command would start it again."""
        size = self._engine.guard.log_size()
        if self._ownership.deaths and size >= _LONG_LOG:
            log.warning(
                "the last job on %s ended without closing it: replaying its log (%.0f MB) and moving it into the "
                "graph. This happens once.",
                self._engine.path,
                size / 1e6,
            )

    async def answer_guests(self, *, give_way: Callable[[], None] | None = None) -> None:
        """Let other processes ask through this one; `give_way` is called when a job wants the graph for itself."""
        self._door = await Door.open(self, self._ownership, give_way=give_way)

    async def view(self, project: str, *, reading: Executor, largest_answer: int | None = None) -> Self:
        """The same graph for a guest: of any project, and on threads that are not the owner's."""
        view = type(self)(
            url=self.url,
            project=project,
            engine=self._engine,
            ownership=self._ownership,
            clock=self._clock,
            log_limit=self._log_limit,
            writing=self._writing,
            reading=reading,
            # Which leases live is known to the owner only; those of another project it never gave out.
            frontier=self._frontier if project == self.project else None,
            ear=self._ear if project == self.project else None,
            largest_answer=largest_answer,
        )
        await self._run(reading, view._vectors.recall, None)  # noqa: SLF001 it is one of us
        return view

    async def schema(self) -> SchemaStatus:
        return await self._read(self._schema.status)

    async def migrate(self) -> SchemaStatus:
        return await self._write(self._schema.migrate, deadline=_LONG)

    def listen(self, listener: Listener | None) -> None:
        self._ear.listener = listener

    async def commit(self, batch: Batch) -> None:
        self._check_open()
        check_batch(batch)
        _refuse_twice(batch)
        self._vectors.check(batch.vectors)
        await self._in_time(self._commits.queue(batch), self._engine.deadline)

    async def claim(self, claim: Claim) -> list[NodeRow]:
        for label in claim.labels:
            marks = claim.marks.get(label, Marks())
            self._engine.tables.node(label, [*marks.set, *marks.stamp])
        return await self._write(lambda: self._claims.claim(claim))

    async def heartbeat(self, nodes: Sequence[Ref], *, token: str, seconds: float) -> frozenset[str]:
        for label in {node.label for node in nodes}:
            self._engine.tables.node(label)
        if self._engine.is_checkpointing:  # the lease may be over before the writer has time for this
            return self._claims.prolong(nodes, token, seconds)
        return await self._write(lambda: self._claims.heartbeat(nodes, token, seconds))

    async def hold(self, name: str, *, owner: str, seconds: float) -> str | None:
        self._check_open()
        return self._holds.take(name, owner=owner, seconds=seconds)

    async def renew(self, name: str, *, token: str, seconds: float) -> bool:
        self._check_open()
        return self._holds.renew(name, token=token, seconds=seconds)

    async def let_go(self, name: str, *, token: str) -> None:
        self._check_open()
        self._holds.let_go(name, token=token)

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

    async def give_space_back(self) -> int:
        """By writing what is left into a new file: the engine never makes one smaller."""
        return await self._write(self._shrink, deadline=_LONG)

    def _shrink(self) -> int:
        before = self._engine.guard.file_size() + self._engine.guard.log_size()
        if before < _SMALL:
            return 0
        try:
            self._engine.rebuild()
        except GraphmillError as error:
            log.warning("%s keeps the space of what was deleted: %s", self._engine.path, error)
            return 0
        finally:
            self._frontier.forget()
        return max(0, before - self._engine.guard.file_size())

    async def search(self, vector: Sequence[float], *, limit: int, labels: Sequence[str] = ()) -> list[Hit]:
        return await self._read(lambda: self._vectors.search(vector, limit, labels, self._reads.by_uuid))

    async def ask(self, question: str, parameters: Mapping[str, Value] | None = None) -> Table:
        asked = Question.of(DIALECT, question, project=self.project, parameters=parameters or {})
        return await self._read(lambda: self._queries.answer(asked))

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
        async for page in self.node_pages():
            for node in page.nodes():
                yield node

    async def export_edges(self) -> AsyncIterator[ExportedEdge]:
        async for page in self.edge_pages():
            for edge in page.edges():
                yield edge

    async def node_pages(self) -> AsyncIterator[NodePage]:
        for label in self._reads.labels():
            async for page in self._in_places(label, partial(self._reads.node_columns, label)):
                yield page

    async def edge_pages(self) -> AsyncIterator[EdgePage]:
        for ends in self._reads.ends():
            async for page in self._in_places(ends[1], partial(self._reads.edge_columns, ends)):
                yield page

    async def _in_places(self, label: str, read: Callable[[int, int], Sequence[P]]) -> AsyncIterator[P]:
        """By place in the table: a place never changes, so a page costs no sorting and no memory."""
        first, fitting = 0, Fitting()
        places = await self._read(lambda: self._reads.places(label))
        while first < places:
            beyond = first + fitting.rows
            pages = await self._read(partial(read, first, beyond))
            for page in pages:
                yield page
            first = beyond
            fitting.took(sum(page.size for page in pages))

    async def exported(self, label: str, uuids: Sequence[str]) -> list[ExportedNode]:
        return await self._read(lambda: self._restoring.exported(label, uuids))

    async def restore(
        self, nodes: Sequence[ExportedNode], edges: Sequence[ExportedEdge] = (), *, new: bool = False
    ) -> None:
        await self._write(lambda: self._restored(lambda: self._restoring.restore(nodes, edges, new=new)))

    async def restore_page(self, page: Page) -> None:
        await self._write(lambda: self._restored(lambda: self._restoring.restore_page(page)))

    def _restored(self, write: Callable[[], None]) -> None:
        try:
            write()
        finally:
            self._frontier.forget()
        self._commits._checkpoint_if_due()  # noqa: SLF001 it is one of us

    async def brought(self) -> Brought:
        return await self._read(lambda: brought(self._engine, self.project))

    async def adopt(self, wanted: Brought) -> None:
        await self._write(lambda: adopt(self._engine, wanted), deadline=_LONG)

    async def note(self, name: str) -> str | None:
        return await self._read(lambda: self._restoring.note(name))

    async def leave_note(self, name: str, text: str) -> None:
        await self._write(lambda: self._restoring.leave_note(name, text))

    async def close(self, *, quickly: bool = False) -> None:
        """Finish what is queued, and let go of the graph; goes on also after a cancellation.

        `quickly` leaves the log as it is: a checkpoint of a large graph takes seconds.
        """
        self._checkpoints_on_close = not quickly
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._finish())
        await asyncio.shield(self._closing)

    async def _finish(self) -> None:
        if self._door:
            await self._door.close()
        await self._commits.finish()
        try:
            await self._write(self._close, deadline=_LONG)
        finally:
            self._closed = True
            self._shut_down()
            await self._ear.close()

    def _shut_down(self) -> None:
        for executor in (self._writing, self._reading):
            executor.shutdown(wait=False)

    def _open(self) -> None:
        try:
            self._engine.recover_and_open(deaths=self._ownership.deaths)
            self._vectors.recall()
        except BaseException:
            self._close()
            raise

    def _close(self) -> None:
        """On the writing thread to the end: nobody else may own the graph while this one still works on it."""
        if self._let_go:
            return
        self._let_go = True
        closes, closed = self._engine.is_open or not (self._engine.was_opened or self._ownership.deaths), False
        try:
            # People copy the one file they know of, so it should hold everything; but a short log costs the next
            # owner less than the guard's copy of a large file, or a rebuild, would cost now.
            engine, guard = self._engine, self._engine.guard
            is_cheap = guard.file_size() < self._log_limit and not engine.lists.in_file
            is_due = guard.log_size() > (0 if is_cheap else self._log_limit // 64)
            if engine.is_open and is_due and self._checkpoints_on_close:
                engine.checkpoint(wait=True)
        except GraphmillError as error:
            # Every commit is in the log, so nothing is lost, and the next owner tries again.
            log.warning("%s was closed without a checkpoint: %s", self._engine.path, error)
        finally:
            try:
                was_open = self._engine.is_open
                self._engine.close()
                if was_open:
                    self._engine.guard.record_close()
                closed = closes
            finally:
                self._ownership.release(closed=closed)

    async def _write(self, work: Callable[[], T], deadline: float | None = None) -> T:
        return await self._run(self._writing, work, deadline)

    async def _read(self, work: Callable[[], T], deadline: float | None = None) -> T:
        return await self._run(self._reading, work, deadline)

    async def _interruptible(self, work: Callable[[Callable[[Session], None]], T], deadline: float) -> T:
        """A read that ends soon after nobody waits for it any more."""
        stoppable = Stoppable()

        def run() -> T:
            try:
                return work(stoppable.started)
            finally:
                stoppable.ended()

        try:
            return await self._read(run, deadline)
        except (asyncio.CancelledError, DeadlineExceeded) as error:
            stoppable.stop()
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
            async with asyncio.timeout(deadline):
                return await asyncio.shield(future)
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"{self._engine.path} did not answer within {deadline:g} seconds",
                hint="what was asked may still happen; read the graph before trying again",
            ) from error

    def _write_query(self, text: str, parameters: Mapping[str, Value], seconds: float) -> Table:
        try:
            return self._queries.write(text, parameters, seconds)
        finally:
            self._frontier.forget()


def _refuse_twice(batch: Batch) -> None:
    seen: set[Ref] = set()
    for each in batch.transitions:
        if each.node in seen:
            raise Misuse(f"{each.node.label} {each.node.uuid} is moved twice in one batch", hint="one move per batch")
        seen.add(each.node)


def _seen(_: BaseException | None) -> None:
    return None
