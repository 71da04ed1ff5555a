"""One run of the mill: reads the roots, works until everything is at rest, and says what it did.

Owns how the parts are put together and when a job is over. It can be ended anywhere: the same job goes on from there.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import graph_stores
from graph_stores.errors import Misuse
from graph_stores.model import VectorSpace
from graph_stores.protocol import Store
from orchestrator.checks import problems
from orchestrator.embed import (
    EmbedLater,
    EmbedTexts,
    SkipTexts,
    remove_chunks_of_another_model,
    send_back_what_another_model_made,
    send_back_what_was_embedded_meanwhile,
)
from orchestrator.files.elsewhere import FilesElsewhere, left_elsewhere, stranded
from orchestrator.files.ingestion import Ingestion
from orchestrator.files.roots import KIND as FILES
from orchestrator.files.roots import Source
from orchestrator.leases import LEASE_SECONDS, owner_name
from orchestrator.lifecycle import Lifecycle
from orchestrator.messages import first_of
from orchestrator.migration.afterwards import send_on_what_was_migrated
from orchestrator.progress import Standing, read_standing
from orchestrator.read_command import read_command
from orchestrator.runs.course import begin, move_on
from orchestrator.runs.records import Run, counts_of, read_partitions, read_runs
from orchestrator.runs.sources import SourceLost
from orchestrator.runs.steps import Consolidate, Reader, ReadPartitions
from orchestrator.settle import unsettle
from orchestrator.stages import STAGES, Missing, adopted_labels, does, is_nothing_waiting, is_over
from orchestrator.states import AT_REST, EMBED, LINK, PARSE, State
from orchestrator.stray import Waiting
from orchestrator.tally import Tally
from orchestrator.wikipedia.expansion import Expansion
from orchestrator.wikipedia.order import Order
from orchestrator.wikipedia.wikis import KIND as WIKI
from orchestrator.worker import Step, Worker, looks, through_outages
from orchestrator.workers import read_workers, registered
from pipelines.embedding import Embedder, EmbedderChoice, EmbedderMisuse, Texts, VectorCache, name_of, open_embedder
from pipelines.files.walk import Excluded, LeftOut

T = TypeVar("T")

_SHORTEST_LOOK, _LONGEST_LOOK = 0.02, 0.5
_SETTLE_SECONDS = 0.5
# The note that a change of the vector space was begun.
_CHANGING = "vectors-changing"
# How often a job looks, while there is other work, whether its own is done.
_OWN_LOOK = 1.0


class TextsLeft(EmbedderMisuse):
    """The embedder cannot be opened, and the job has done some of its work before it was needed."""

    exit_code = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a job is to do: read files, or expand from a wiki. With neither it works on what is in the graph already."""

    sources: Sequence[Source] = ()
    expansion: Order | None = None
    embedder: EmbedderChoice = field(default_factory=EmbedderChoice)
    workers: int = 1
    rehash: bool = False
    allow_deletes: bool = False
    watch: bool = False
    drain: bool = True
    lease_seconds: float = LEASE_SECONDS
    grace: float = 15.0
    """How many seconds work in flight may go on once the job was told to stop; then it is given back."""
    stages: frozenset[str] = frozenset(STAGES)
    """What this process takes part in."""
    contact: str | None = None
    """Who asks a wiki that was not told when it was expanded from."""

    @property
    def kinds(self) -> frozenset[str]:
        """What it reads."""
        return frozenset(([FILES] if self.sources else []) + ([WIKI] if self.expansion else []))

    @property
    def reads(self) -> bool:
        return bool(self.kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    tally: Tally
    seconds: float
    standing: Standing
    stopped: bool
    left_out: Sequence[LeftOut]
    excluded: Sequence[Excluded] = ()
    """What the default excludes left out."""
    runs: Sequence[Run] = ()
    kinds: frozenset[str] = frozenset()
    """What it was asked to read: files, a wiki, or nothing."""
    lost: SourceLost | None = None
    """Why one of its runs failed, or not everything is at rest: a source is missing or mostly gone."""


class Job:
    def __init__(
        self, store: Store, plan: Plan, *, say: Callable[[str], None] = lambda _: None, owner: str | None = None
    ) -> None:
        self.tally = Tally()
        self._owner = owner or owner_name()
        self._store = store
        self._plan = plan
        self._say = say
        self._lifecycle = Lifecycle(store=store)
        self._own = graph_stores.path_of(store.url)
        self._stop = asyncio.Event()
        self._files = Ingestion(
            self._lifecycle,
            plan.sources,
            self.tally,
            say,
            own=self._own,
            rehash=plan.rehash,
            allow_deletes=plan.allow_deletes,
            stop=self._stop,
        )
        self._kinds = self._chosen()
        self._readers = list(self._kinds.values())
        self._reading = ReadPartitions(self._lifecycle, self._kinds)
        # Not before the job's own runs are begun: one that is gone on with is looked at anew.
        self._reading.may_begin = not plan.reads
        self._waiting = Waiting(self._lifecycle, say)
        self._begun: list[Run] = []
        self._joined: list[Run] = []
        self._look_at = 0.0

    def _chosen(self) -> dict[str, Reader]:
        """A job that reads one kind of source leaves the others alone; one that reads nothing works on everything."""
        expansion = Expansion(self._lifecycle, self._plan.expansion, self.tally, self._say)
        expansion.sources.contact, expansion.allow_deletes = self._plan.contact, self._plan.allow_deletes
        expansion.is_read = self._store.capabilities.many_processes or self._plan.stages >= {PARSE.name, LINK.name}
        readers: dict[str, Reader] = {FILES: self._files, WIKI: expansion}
        if self._plan.sources and not self._plan.expansion:
            del readers[WIKI]
        if self._plan.expansion and not self._plan.sources:
            del readers[FILES]
        return readers

    def stop(self) -> None:
        """End gracefully: what is in flight is finished or given back."""
        self._stop.set()

    async def run(self) -> Report:
        began = time.monotonic()
        await self._files.register()
        if not self._plan.reads:
            self._joined = await read_runs(self._store, only_open=True)
        async with contextlib.AsyncExitStack() as stack:
            steps = await self._unless_stopped(self._steps(stack))
            finished = steps is not None and await self._work(steps)
        if finished:
            await self._unless_stopped(self._store.index_vectors())
            finished = not self._stop.is_set()
        runs = await through_outages(self._its_runs, self._say)
        return Report(
            tally=self.tally,
            seconds=time.monotonic() - began,
            standing=await through_outages(partial(read_standing, self._store), self._say),
            stopped=not finished,
            left_out=self._files.left_out,
            excluded=self._files.excluded,
            runs=runs,
            kinds=self._plan.kinds,
            lost=await through_outages(partial(self._lost, runs), self._say),
        )

    async def _lost(self, runs: Sequence[Run]) -> SourceLost | None:
        for run in runs:
            if run.state is State.ERROR and run.uuid in self._reading.lost:
                return self._reading.lost[run.uuid]
        for reader in self._readers:
            if left := await reader.left():
                if not self._plan.reads:
                    return left
                self._say(f"{left.message}; {left.hint}")
        return None

    async def _its_runs(self) -> list[Run]:
        """Those that it began, or found under way where it began none, as they are now."""
        own = {run.uuid for run in (*self._begun, *self._joined)}
        return [run for run in await read_runs(self._store) if run.uuid in own]

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

    async def _steps(self, stack: contextlib.AsyncExitStack) -> list[Step]:
        """Whatever can fail to start does so here, before anything is claimed."""
        embeds = EMBED.name in self._plan.stages
        known = await self._store.vector_space() if embeds else None
        # Where the graph has vectors of this model already, whether it loads is seen when there is a text for it.
        later = known is not None and name_of(provider=known.provider, model=known.model) == self._plan.embedder.name
        embedder = await self._opened(stack) if embeds and not later else None
        self._worker = Worker(
            self._lifecycle,
            [],
            say=self._say,
            lease_seconds=self._plan.lease_seconds,
            grace=self._plan.grace,
            owner=self._owner,
        )
        steps = [
            step
            for reader in self._readers
            for step in await reader.steps(self._worker, stack, self._plan.workers)
            if does(self._plan.stages, step)
        ]
        of_runs: list[Step] = [self._reading, Consolidate(self._lifecycle, self._kinds, self._problems)]
        steps += [step for step in of_runs if does(self._plan.stages, step)]
        if not embeds:
            return steps
        embedding: EmbedLater | EmbedTexts | SkipTexts
        if later and known:
            await self._enter_space(known, known)
            embedding = EmbedLater(self._store, self.tally, partial(self._load, stack))
        elif embedder is None:
            embedding = SkipTexts()
        else:
            embedding = await self._embedding(stack, embedder)
        adopted = await through_outages(partial(adopted_labels, self._store), self._say)
        sending = partial(send_on_what_was_migrated, self._lifecycle, adopted)
        for line in (await through_outages(sending, self._say)).lines():
            self._say(line)
        embedding.labels = (*embedding.labels, *adopted)
        return [*steps, embedding]

    async def _opened(self, stack: contextlib.AsyncExitStack) -> Embedder | None:
        embedder = await open_embedder(self._plan.embedder)
        if embedder:
            stack.push_async_callback(embedder.close)
        return embedder

    async def _load(self, stack: contextlib.AsyncExitStack) -> EmbedTexts | None:
        try:
            embedder = await self._unless_stopped(self._opened(stack))
        except EmbedderMisuse as error:
            raise TextsLeft(
                f"what was read is in the graph, and its texts wait to be embedded: {error.message}", hint=error.hint
            ) from error
        found = await self._store.vector_space()
        if found and (name := name_of(provider=found.provider, model=found.model)) != self._plan.embedder.name:
            # Whoever changed it did so after this job had begun, and knew what they did.
            raise Misuse(
                f"the graph's vectors are of {name} by now, this job would make others",
                hint=f"run it again with --embedder {name}",
            )
        return await self._embedding(stack, embedder) if embedder else None

    async def _embedding(self, stack: contextlib.AsyncExitStack, embedder: Embedder) -> EmbedTexts:
        space = VectorSpace(provider=embedder.provider, model=embedder.model, dimension=embedder.dimension)
        await self._enter_space(space, await self._store.vector_space())
        cache = await VectorCache.open(_cache_path(self._own))
        stack.push_async_callback(cache.close)
        return EmbedTexts(Texts(embedder, cache), embedder, self.tally)

    async def _enter_space(self, space: VectorSpace, found: VectorSpace | None) -> None:
        if found and found != space and not self._plan.reads:
            raise await self._other_space(space, found)
        # First the nodes and then the space: a job that ends in between finds the nodes waiting. One that ends after
        # that finds the note.
        is_new = bool(found and found != space)
        is_unfinished = bool(await through_outages(partial(self._store.note, _CHANGING), self._say))
        sending = partial(send_back_what_another_model_made, self._lifecycle, space, all_of_them=is_new)
        again = await through_outages(sending, self._say)
        if again or found != space:
            await self._make_way(space, all_of_them=is_new)
        if found != space:
            await self._store.leave_note(_CHANGING, "yes")
            await self._store.use_vector_space(space)
        if found != space or is_unfinished:
            late = partial(send_back_what_was_embedded_meanwhile, self._lifecycle, space)
            again += await through_outages(late, self._say)
            await self._make_way(space, all_of_them=True)
            await self._store.leave_note(_CHANGING, "")
        if again:
            self._say(f"{again:,} texts are embedded again, with {self._plan.embedder.name}")

    async def _make_way(self, space: VectorSpace, *, all_of_them: bool) -> None:
        """Chunks of texts that were sent back go, and what holds such texts waits for them."""
        removing = partial(remove_chunks_of_another_model, self._lifecycle, space, all_of_them=all_of_them)
        await through_outages(removing, self._say)
        await through_outages(partial(unsettle, self._lifecycle), self._say)

    async def _other_space(self, space: VectorSpace, found: VectorSpace) -> Misuse:
        """For a worker: only a command that reads a source may change the space."""
        name, own = (name_of(provider=each.provider, model=each.model) for each in (found, space))
        keep = f"give --embedder {name}" if name != own else "give --embedder-url of the endpoint that made them"
        change = await read_command(self._store, "--embedder", own)
        return Misuse(
            f"the graph's vectors are of {name} ({found.dimension} numbers), "
            f"this worker would make others of {own} ({space.dimension} numbers)",
            hint=f"{keep}, or have all texts embedded again: {change}",
        )

    async def _work(self, steps: Sequence[Step]) -> bool:
        """Whether everything came to rest; False where the job was stopped before."""
        self._worker.steps = steps
        try:
            shown = [name for name in STAGES if name in self._plan.stages]
            async with registered(self._worker, stages=shown), asyncio.TaskGroup() as tasks:
                background = [tasks.create_task(reader.keep()) for reader in self._readers]
                background.append(tasks.create_task(self._settle()))
                working = tasks.create_task(self._worker.run())
                driving = tasks.create_task(self._drive())
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
            raise first_of(failures) from failures
        finally:
            for reader in self._readers:
                await reader.close()
        if finished:
            await self._settle_once()
        return finished

    async def _drive(self) -> None:
        for reader in self._readers:
            for plan in await through_outages(reader.plans, self._say):
                starting = partial(begin, self._lifecycle, plan, owner=self._worker.owner, say=self._say)
                self._begun.append(await through_outages(starting, self._say))
        self._reading.may_begin = True
        self._worker.wake()
        if self._plan.watch:
            async with asyncio.TaskGroup() as tasks:
                resting = tasks.create_task(self._rest(for_ever=True))
                await self._until_read()
                await self._files.follow()
                resting.cancel()
            if self._stop.is_set():
                return
        await self._rest(for_ever=not self._plan.drain)

    async def _until_read(self) -> None:
        """Until its runs have looked through all their parts: a watch that looks earlier finds the same files new."""
        async for _ in looks(_SHORTEST_LOOK, _LONGEST_LOOK):
            if await through_outages(self._is_read, self._say):
                return

    async def _is_read(self) -> bool:
        parts = [part for run in self._begun for part in await read_partitions(self._store, run.uuid)]
        return all(part.state in AT_REST for part in parts)

    async def _rest(self, *, for_ever: bool = False) -> None:
        """Wait until everything is at rest and every run at its end, whoever works on them."""
        nap = _SHORTEST_LOOK
        while True:
            await self._worker.comes_to_rest_within(nap)
            nap = min(_LONGEST_LOOK, nap * 1.5)
            if not self._worker.is_idle:
                if await through_outages(self._leaves_the_rest, self._say) and not for_ever:
                    return
                continue
            if await through_outages(self._is_at_rest, self._say) and not for_ever:
                return
            if self._files.away and not for_ever:
                await through_outages(self._give_up_on_other_machines, self._say)
            looking = partial(self._waiting.look, may_end=self._ends and not for_ever)
            if await through_outages(looking, self._say):
                self._worker.wake()

    @property
    def _ends(self) -> bool:
        """Whether what it leaves undone nobody will do."""
        return self._plan.stages == frozenset(STAGES)

    async def _give_up_on_other_machines(self) -> None:
        if not self._leaves_stages_out:
            if error := await stranded(self._store, self._files.lost):
                raise error
        elif (left := await left_elsewhere(self._store)) and await self._is_done_but_for(self._files.away):
            raise FilesElsewhere.of(left)

    @property
    def _leaves_stages_out(self) -> bool:
        """Whether it ends before everything is at rest; to embed, all must be, unless nobody else can do the rest."""
        alone = not self._store.capabilities.many_processes
        return not self._ends and (alone or EMBED.name not in self._plan.stages)

    async def _is_done_but_for(self, away: Sequence[str] = ()) -> bool:
        """Whether its own stages have nothing left but what waits for missing sources and these roots."""
        missing = replace(await self._missing(), away=away)
        if self._store.capabilities.many_processes:
            return await is_over(self._store, self._plan.stages, missing)
        # Nobody else can come to do what it leaves out.
        return await is_nothing_waiting(self._store, self._plan.stages, missing)

    async def _is_at_rest(self) -> bool:
        if self._leaves_stages_out:
            return await self._is_done_but_for()
        resting = {kind for kind, reader in self._kinds.items() if await reader.is_at_rest()}
        runs = [run for run in await read_runs(self._store, only_open=True) if run.kind in self._kinds]
        for run in runs:
            if run.kind in resting and await move_on(self._lifecycle, run, obstacle=self._obstacle):
                self._worker.wake()
        own = {run.uuid for run in self._begun}
        if resting != set(self._kinds):
            return await self._leaves_the_rest()
        return not [run for run in runs if not own or run.uuid in own]

    async def _missing(self) -> Missing:
        names = {kind: await reader.missing() for kind, reader in self._kinds.items()}
        return Missing(roots=names.get(FILES, ()), wikis=names.get(WIKI, ()))

    async def _obstacle(self, run: Run) -> SourceLost | None:
        if lost := await self._kinds[run.kind].obstacle(run):
            self._reading.lost[run.uuid] = lost
        return lost

    async def _leaves_the_rest(self) -> bool:
        """Whether its own runs have ended and somebody else works on what is left. Moves on those that are done."""
        alone = not self._store.capabilities.many_processes
        if len(self._begun) < (2 if alone else 1) or time.monotonic() < self._look_at:
            return False
        began = time.monotonic()
        own = {run.uuid for run in self._begun}
        runs = [run for run in await read_runs(self._store, only_open=True) if run.uuid in own]
        for run in runs:
            if await move_on(self._lifecycle, run, self._kinds[run.kind].is_done_for):
                self._worker.wake()
        is_over = not runs and await self._are_others_at_work()
        self._look_at = time.monotonic() + max(_OWN_LOOK, 10 * (time.monotonic() - began))
        return is_over

    async def _are_others_at_work(self) -> bool:
        others = [each.known for each in await read_workers(self._store) if not each.is_gone]
        return any(each.name != self._owner and set(each.stages) == set(STAGES) for each in others)

    async def _problems(self, run: Run) -> Sequence[str]:
        """What is wrong with the graph after the run; of one that changed nothing nothing new can be."""
        if not await counts_of(self._store, run.uuid):
            return ()
        return [f"{problem.count:,} {problem.about}" for problem in await problems(self._store)]

    async def _settle(self) -> None:
        """While the job goes on, so that those who ask see files and articles become ready."""
        nap = _SETTLE_SECONDS
        while True:
            await asyncio.sleep(nap)
            began = time.monotonic()
            await self._settle_once()
            nap = max(_SETTLE_SECONDS, 10 * (time.monotonic() - began))

    async def _settle_once(self) -> None:
        for reader in self._readers:
            await through_outages(reader.settle, self._say)


def _cache_path(own: Path | None) -> Path:
    """Beside an embedded graph; for a graph on a server in the user's own cache."""
    if own:
        return own.with_name(f"{own.name}.vectors")
    from platformdirs import user_cache_path

    return user_cache_path("graphmill") / "vectors"
