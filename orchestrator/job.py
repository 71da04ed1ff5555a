"""One run of the mill: reads the roots, works until everything is at rest, and says what it did.

Owns how the parts are put together and when a job is over. It can be ended anywhere: the same job goes on from there.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import graph_stores
from graph_stores.errors import Misuse
from graph_stores.model import VectorSpace
from graph_stores.protocol import Store
from orchestrator.embed import EmbedTexts, SkipTexts, send_back_what_another_model_made
from orchestrator.files.link import LinkFiles
from orchestrator.files.parse import ParseFiles
from orchestrator.files.roots import Root, Source, read_roots, resolve
from orchestrator.files.scan import Scanner
from orchestrator.files.watch import changes
from orchestrator.leases import LEASE_SECONDS
from orchestrator.lifecycle import Lifecycle
from orchestrator.progress import Standing, read_standing
from orchestrator.settle import settle, unsettle
from orchestrator.tally import Tally
from orchestrator.worker import Step, Worker, through_outages
from pipelines.embedding import Embedder, EmbedderChoice, Texts, VectorCache, name_of, open_embedder
from pipelines.files.making import Made, Task, make
from pipelines.files.walk import LeftOut
from pipelines.pool import Pool

T = TypeVar("T")

# A file that takes longer to parse is an error, not a hang.
_PARSE_SECONDS = 120.0
_SHORTEST_LOOK, _LONGEST_LOOK = 0.02, 0.5
_SETTLE_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a job is to do. Without sources it works on what is in the graph already."""

    sources: Sequence[Source] = ()
    embedder: EmbedderChoice = field(default_factory=EmbedderChoice)
    workers: int = 1
    rehash: bool = False
    watch: bool = False
    drain: bool = True
    lease_seconds: float = LEASE_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    tally: Tally
    seconds: float
    standing: Standing
    stopped: bool
    left_out: Sequence[LeftOut]


class Job:
    def __init__(self, store: Store, plan: Plan, *, say: Callable[[str], None] = lambda _: None) -> None:
        self.tally = Tally()
        self._store = store
        self._plan = plan
        self._say = say
        self._lifecycle = Lifecycle(store=store)
        self._own = graph_stores.path_of(store.url)
        self._left_out: dict[str, Sequence[LeftOut]] = {}
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """End gracefully: what is in flight is finished or given back."""
        self._stop.set()

    async def run(self) -> Report:
        began = time.monotonic()
        roots = await self._register()
        async with contextlib.AsyncExitStack() as stack:
            steps = await self._unless_stopped(self._steps(stack))
            finished = steps is not None and await self._work(steps, roots)
        await self._store.index_vectors()
        return Report(
            tally=self.tally,
            seconds=time.monotonic() - began,
            standing=await read_standing(self._store),
            stopped=not finished,
            left_out=[each for some in self._left_out.values() for each in some],
        )

    async def _unless_stopped(self, work: Coroutine[None, None, T]) -> T | None:
        """A model may take its time to load; a job that was stopped does not wait for it."""
        working, stopping = asyncio.create_task(work), asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        finally:
            for task in (working, stopping):
                task.cancel()
            await asyncio.wait([working, stopping])

    async def _register(self) -> list[Root]:
        known = await read_roots(self._store)
        roots: dict[str, Root] = {}
        for source in self._plan.sources:
            root = resolve(source, {**known, **roots})
            roots[root.name] = root
        changed = [root.node(self._store.project) for root in roots.values() if root != known.get(root.name)]
        if changed:
            await self._lifecycle.upsert(changed)
        return list(roots.values())

    async def _steps(self, stack: contextlib.AsyncExitStack) -> list[Step]:
        """Whatever can fail to start does so here, before anything is claimed."""
        embedder = await open_embedder(self._plan.embedder)
        if embedder:
            stack.push_async_callback(embedder.close)
        await self._enter_space(embedder)
        pool: Pool[Task, Made] = Pool(make, processes=self._plan.workers, seconds=_PARSE_SECONDS)
        await pool.start()
        stack.push_async_callback(pool.close)
        self._worker = Worker(self._lifecycle, [], say=self._say, lease_seconds=self._plan.lease_seconds)
        self._linker = LinkFiles(self._lifecycle, self._worker.owner, self.tally)
        parser = ParseFiles(self._store, pool, self.tally, parsed=self._linker.expect)
        if embedder is None:
            return [parser, self._linker, SkipTexts()]
        cache = await VectorCache.open(_cache_path(self._own))
        stack.push_async_callback(cache.close)
        return [parser, self._linker, EmbedTexts(Texts(embedder, cache), embedder, self.tally)]

    async def _enter_space(self, embedder: Embedder | None) -> None:
        if embedder is None:
            return
        space = VectorSpace(provider=embedder.provider, model=embedder.model, dimension=embedder.dimension)
        found = await self._store.vector_space()
        if found and found != space and not self._plan.sources:
            name = name_of(provider=found.provider, model=found.model)
            raise Misuse(
                f"the graph's vectors are of {name} ({found.dimension} numbers), this worker would make others",
                hint=f"give --embedder {name}, or change the model with: graphmill ingest --embedder "
                f"{self._plan.embedder.name}",
            )
        # First the nodes and then the space: a job that ends in between finds the nodes waiting.
        again = await send_back_what_another_model_made(
            self._lifecycle, space, all_of_them=bool(found and found != space)
        )
        if found != space:
            await self._store.use_vector_space(space)
        if again:
            self._say(f"{again:,} texts are embedded again, with {self._plan.embedder.name}")
            await unsettle(self._lifecycle)

    async def _work(self, steps: Sequence[Step], roots: Sequence[Root]) -> bool:
        """Whether everything came to rest; False where the job was stopped before."""
        self._worker.steps = steps
        try:
            async with asyncio.TaskGroup() as tasks:
                background = [
                    tasks.create_task(self._linker.keep()),
                    tasks.create_task(self._settle()),
                ]
                working = tasks.create_task(self._worker.run())
                driving = tasks.create_task(self._drive(roots))
                stopping = tasks.create_task(self._stop.wait())
                await asyncio.wait([driving, stopping, working], return_when=asyncio.FIRST_COMPLETED)
                finished = driving.done()
                self._worker.stop()
                for task in (driving, stopping):
                    task.cancel()
                await working
                for task in background:
                    task.cancel()
        except ExceptionGroup as failures:
            raise _first(failures) from failures
        finally:
            await self._linker.close()
        if finished:
            await through_outages(lambda: settle(self._lifecycle), self._say)
        return finished

    async def _drive(self, roots: Sequence[Root]) -> None:
        scanner = Scanner(self._lifecycle, self._linker, self.tally, own=self._own)
        await self._scan(scanner, roots, rehash=self._plan.rehash)
        if self._plan.watch:
            self._say("watching for changes; Ctrl-C ends it")
            async for changed in changes(roots, own=self._own, stop=self._stop):
                await self._scan(scanner, [root for root in changed if root.location.exists()], counted=Tally())
        elif self._plan.drain:
            await self._rest()
        else:
            await self._stop.wait()

    async def _scan(
        self, scanner: Scanner, roots: Sequence[Root], *, rehash: bool = False, counted: Tally | None = None
    ) -> None:
        """Until no file changed while it was in a worker's hands."""
        left, counted = list(roots), counted or self.tally
        while left:
            again: list[Root] = []
            for root in left:
                scan = partial(scanner.scan, root, rehash=rehash, tally=counted)
                scanned = await through_outages(scan, self._say)
                self._left_out[root.name] = scanned.left_out
                again += [root] if scanned.busy else []
                self._worker.wake()
            # What is only looked at again was counted already.
            left, counted = again, Tally()
            if left:
                await asyncio.sleep(_LONGEST_LOOK)

    async def _rest(self) -> None:
        """Wait until everything is at rest, whoever works on it."""
        async for _ in _looks():
            if self._worker.is_idle:
                await through_outages(lambda: settle(self._lifecycle), self._say)
                (left,) = (await through_outages(lambda: self._store.ask("unfinished"), self._say)).rows[0]
                if not left:
                    return

    async def _settle(self) -> None:
        """While the job goes on, so that those who ask see files become ready."""
        while True:
            began = time.monotonic()
            await through_outages(lambda: settle(self._lifecycle), self._say)
            await asyncio.sleep(max(_SETTLE_SECONDS, 10 * (time.monotonic() - began)))


async def _looks() -> AsyncIterator[None]:
    """Often at first, then less so."""
    nap = _SHORTEST_LOOK
    while True:
        await asyncio.sleep(nap)
        yield
        nap = min(_LONGEST_LOOK, nap * 1.5)


def _cache_path(own: Path | None) -> Path:
    """Beside an embedded graph; for a graph on a server in the user's own cache."""
    if own:
        return own.with_name(f"{own.name}.vectors")
    from platformdirs import user_cache_path

    return user_cache_path("graphmill") / "vectors"


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """What went wrong first; the rest of the group was only told to end."""
    error: BaseException = failures
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
