"""Commits on an embedded engine: those that arrive while another is being written are written together.

Owns the queue of batches and what the frontier hears of them. What a caller no longer waits for is still finished.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor
from datetime import datetime

from graph_stores.errors import GraphmillError, conflict_error, conflict_with, hold_lost
from graph_stores.kuzu import memory
from graph_stores.kuzu.changes import Applied, Changes
from graph_stores.kuzu.columns import restored
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.frontier import Clock, Frontier, Waiting
from graph_stores.kuzu.groups import merged, split
from graph_stores.kuzu.holds import Holds
from graph_stores.kuzu.list_changes import with_lists
from graph_stores.kuzu.reading import Reading
from graph_stores.kuzu.session import Session
from graph_stores.listening import Ear, birth, changes_state, microseconds, move_of
from graph_stores.model import Batch, Move

log = logging.getLogger("graphmill.store")

# A checkpoint costs as much as the file is large, and until then memory grows with several times the log.
_SHARE_OF_THE_FILE = 8
# A rebuild writes the whole file anew, which costs several times as much as a checkpoint.
_LONGER_BEFORE_REBUILD = 4
# By how much the process may grow until then, and of which share of the longest log a checkpoint is worth it: each
# makes the file larger and forgets what was read of it. With half as much growth the file was twice as large.
_MOST_GROWTH = 192 << 20
_WORTH_A_CHECKPOINT = 8


class Commits:
    def __init__(
        self,
        engine: Engine,
        project: str,
        frontier: Frontier,
        reads: Reading,
        clock: Clock,
        *,
        holds: Holds,
        executor: Executor,
        log_limit: int,
        ear: Ear,
    ) -> None:
        self._engine = engine
        self._project = project
        self._frontier = frontier
        self._reads = reads
        self._clock = clock
        self._holds = holds
        self._executor = executor
        self._log_limit = log_limit
        self._ear = ear
        self._growth = memory.Growth(_MOST_GROWTH)
        self._queued: list[tuple[Batch, asyncio.Future[None]]] = []
        self._draining: asyncio.Task[None] | None = None

    def queue(self, batch: Batch) -> asyncio.Future[None]:
        """The batch will be written in its turn; the future tells when, or why not."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queued.append((batch, future))
        if self._draining is None or self._draining.done():
            self._draining = asyncio.create_task(self._drain())
        return future

    async def finish(self) -> None:
        """Wait until everything that is queued was written."""
        if self._draining:
            await asyncio.wait([self._draining])

    async def _drain(self) -> None:
        while self._queued:
            self._queued, group = split(self._queued)
            batches = [batch for batch, _ in group]
            try:
                loop = asyncio.get_running_loop()
                outcomes = await loop.run_in_executor(self._executor, self._apply_group, batches)
            except Exception as error:  # noqa: BLE001 whoever waits for a commit gets it
                outcomes = [error] * len(group)
            for (_, future), outcome in zip(group, outcomes, strict=True):
                if not future.done():
                    future.set_exception(outcome) if outcome else future.set_result(None)

    def _apply_group(self, batches: list[Batch]) -> list[Exception | None]:
        """Those whose fence stands; one that has lost its hold is left out and takes nothing else with it."""
        fences = [batch.fence for batch in batches]
        with self._holds.kept(fences) as standing:
            written = iter(
                self._apply_together([batch for batch, stands in zip(batches, standing, strict=True) if stands])
            )
            return [
                hold_lost(fence) if fence and not stands else next(written)
                for fence, stands in zip(fences, standing, strict=True)
            ]

    def _apply_together(self, batches: list[Batch]) -> list[Exception | None]:
        """All in one transaction; where that fails, each in its own, so that one batch's conflict is its own."""
        if not batches:
            return []
        try:
            self._apply(merged(batches))
        except GraphmillError as error:
            if len(batches) == 1:
                return [error]
            return [outcome for batch in batches for outcome in self._apply_together([batch])]
        self._checkpoint_if_due()
        return [None] * len(batches)

    def _apply(self, batch: Batch) -> None:
        self._refuse_by_heart(batch)
        now = self._clock.now()
        with self._engine.transaction("the commit failed") as session:
            applied = self._changes(session, now).apply(batch)
        self._engine.count_rows(Counter(node.label for node in applied.created))
        changed = with_lists(batch, self._engine.tables)
        self._engine.lists.note(created=(node.uuid for node in applied.created), changed=changed)
        self._tell_frontier(batch, applied)
        self._ear.tell(lambda: _moves(applied, microseconds(now)))

    def _changes(self, session: Session, now: datetime) -> Changes:
        return Changes(
            session=session,
            tables=self._engine.tables,
            project=self._project,
            prefers_keys=self._engine.prefers_keys,
            now=now,
        )

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

    def _tell_frontier(self, batch: Batch, applied: Applied) -> None:
        moved = [each for each in applied.moved if not each.transition.keeps_lease]
        self._frontier.drop(each.transition.node.uuid for each in moved)
        self._frontier.drop(ref.uuid for ref in batch.deletions)
        now = self._clock.now()
        for each in moved:
            node = each.transition.node
            waiting = Waiting(each.depth or 0, restored(each.detected_at) or now, node.uuid, node.label)
            self._frontier.add((node.label, each.transition.to), waiting, delay=each.transition.delay or 0.0)
        for new in applied.created:
            self._frontier.add((new.label, new.state), Waiting(new.depth, now, new.uuid, new.label))

    def _checkpoint_if_due(self) -> None:
        limit = max(self._log_limit, self._engine.guard.file_size() // _SHARE_OF_THE_FILE)
        if self._engine.lists.in_file:
            limit = max(_LONGER_BEFORE_REBUILD * limit, self._engine.guard.file_size())
        size = self._engine.guard.log_size()
        if size > limit or (size > self._log_limit // _WORTH_A_CHECKPOINT and self._growth.is_too_much()):
            try:
                if self._engine.checkpoint(wait=size > 2 * limit):
                    memory.give_back()
                    self._growth.begin()
            except (GraphmillError, OSError) as error:
                # The commit is done and safe; the log just stays longer.
                log.warning("could not checkpoint: %s", error)


def _moves(applied: Applied, at: int) -> Iterator[Move]:
    for moved in applied.moved:
        if changes_state(moved.transition):
            since = microseconds(moved.since) if moved.since else None
            yield move_of(moved.transition, at=at, since=since, tries=moved.tries, run=moved.run)
    for gone in applied.removed:
        since = microseconds(gone.since) if gone.since else None
        yield Move(
            node=gone.node, before=gone.state, after=None, at=at, since=since, tries=gone.tries or 0, run=gone.run
        )
    for node in applied.created:
        yield birth(node, at=at)
