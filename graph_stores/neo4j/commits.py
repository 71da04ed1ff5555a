"""Writes a batch in one transaction, exactly once.

Each commit leaves a marker with an id of its own. When the answer to a commit is lost, the same transaction is simply
run again: it meets its own marker if the first one was committed, and waits for it while that is still undecided.
"""

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import uuid4

from neo4j import AsyncManagedTransaction, Record
from neo4j.exceptions import ConstraintError

import cypher
from graph_stores.errors import Conflict, GraphmillError, MissingNode, conflict_error, conflict_with
from graph_stores.listening import Ear, birth, born, changes_state, move_of
from graph_stores.model import LONGEST_LEASE, Batch, Move, Ref
from graph_stores.neo4j.connection import DIALECT, Connection, fetch
from graph_stores.neo4j.holds import check_fence
from graph_stores.neo4j.plan import Plan, Step, by, plan
from graph_stores.neo4j.spaces import Spaces

log = logging.getLogger("graphmill.store")
_CLOSE_SECONDS = 5.0
# Beyond these, while no commit succeeds, markers are left to the sweep by age.
_REMEMBERED = 1000


class AlreadyCommitted(Exception):
    """Met our own marker: ends the repeated transaction without a trace."""


class Commits:
    def __init__(self, connection: Connection, project: str, spaces: Spaces, *, ear: Ear) -> None:
        self._connection = connection
        self._project = project
        self._spaces = spaces
        self._ear = ear
        self._finished: deque[str] = deque(maxlen=_REMEMBERED)

    async def commit(self, batch: Batch) -> None:
        dimension = (await self._spaces.of_vectors()).dimension if _has_vectors(batch) else 0
        steps = plan(batch, dimension)
        if not (steps.transitions or steps.changes or batch.fence):
            return
        swept = self._taken()
        attempt = Attempt(
            op=uuid4().hex, swept=swept, project=self._project, batch=batch, steps=steps, spaces=self._spaces
        )
        try:
            await self._connection.write(attempt)
        except AlreadyCommitted:
            log.debug("the commit %s had happened although its answer was lost", attempt.op)
        except BaseException:
            self._finished += swept
            raise
        finally:
            self._finished.append(attempt.op)
        self._ear.tell(attempt.moves)

    async def sweep(self) -> None:
        """Remove the markers of this handle, and those that dead processes left an hour ago."""
        finished = self._taken()
        text = cypher.load(DIALECT, "commit_sweep")
        seconds = min(_CLOSE_SECONDS, self._connection.deadline)
        until = self._connection.due() - self._connection.deadline + seconds
        try:
            await self._connection.write(lambda tx: fetch(tx, text, finished=finished), until=until)
        except GraphmillError as error:
            log.debug("markers of finished commits stay until the next sweep: %s", error)

    async def close(self) -> None:
        if self._finished:
            await self.sweep()

    def _taken(self) -> list[str]:
        taken = list(self._finished)
        self._finished.clear()
        return taken


def _has_vectors(batch: Batch) -> bool:
    return any(vector.values is not None for vector in batch.vectors)


@dataclass(slots=True, kw_only=True)
class Attempt:
    """The transaction of one commit, to be run until it is known to have happened.

    What it changed is kept from the last time that it came to its end: one that is run again and finds its own marker
    has happened just so.
    """

    op: str
    swept: Sequence[str]
    project: str
    batch: Batch
    steps: Plan
    spaces: Spaces
    _answers: Sequence[tuple[Step, Record]] = ()

    async def __call__(self, tx: AsyncManagedTransaction) -> None:
        # The marker first: a commit that happened before its hold was lost must find out that it did.
        await self._mark(tx)
        if self.batch.fence:
            await check_fence(tx, self.project, self.batch.fence)
        if _has_vectors(self.batch):
            await self.spaces.check(tx)
        for step in self.steps.locks:
            await fetch(tx, step.text, rows=step.rows)
        answers = await self._move(tx)
        for step in self.steps.changes:
            answer = await fetch(tx, step.text, rows=step.rows, project=self.project)
            if step.needs and answer[0]["written"] < len(step.rows):
                await self._refuse(tx, step)
            if step.tells:
                answers.append((step, answer[0]))
        self._answers = answers

    def moves(self) -> Iterator[Move]:
        moving = {each.node: each for each in self.batch.transitions if changes_state(each)}
        nodes = born(self.batch)
        for step, answer in self._answers:
            if step.tells == "births":
                yield from (birth(nodes[uuid], at=answer["at"]) for uuid in dict.fromkeys(answer["created"]))
            elif step.tells == "deaths":
                yield from (_death(step.label, *row) for row in answer["removed"])
            else:
                for uuid, at, since, tries, run in answer["moved"]:
                    if transition := moving.get(Ref(label=step.label, uuid=uuid)):
                        yield move_of(transition, at=at, since=since, tries=tries, run=run)

    async def _mark(self, tx: AsyncManagedTransaction) -> None:
        try:
            await fetch(tx, cypher.load(DIALECT, "commit_mark"), op=self.op, finished=self.swept)
        except ConstraintError as error:
            raise AlreadyCommitted from error

    async def _move(self, tx: AsyncManagedTransaction) -> list[tuple[Step, Record]]:
        moved: set[Ref] = set()
        answers: list[tuple[Step, Record]] = []
        for step in self.steps.transitions:
            [answer] = await fetch(tx, step.text, rows=step.rows, project=self.project, longest=LONGEST_LEASE)
            moved |= {Ref(label=step.label, uuid=row[0]) for row in answer["moved"]}
            answers.append((step, answer))
        if len(moved) < len(self.batch.transitions):
            raise conflict_error(await self._conflicts(tx, moved))
        return answers

    async def _conflicts(self, tx: AsyncManagedTransaction, moved: set[Ref]) -> list[Conflict]:
        stayed = [each for each in self.batch.transitions if each.node not in moved]
        found: dict[Ref, tuple[str, str | None]] = {}
        for label, same in by(stayed, lambda each: each.node.label):
            text = cypher.render(DIALECT, "found", label=label)
            answer = await fetch(tx, text, rows=[each.node.uuid for each in same], project=self.project)
            found |= {Ref(label=label, uuid=row["uuid"]): (row["state"], row["token"]) for row in answer}
        return [conflict_with(each, found.get(each.node)) for each in stayed]

    async def _refuse(self, tx: AsyncManagedTransaction, step: Step) -> None:
        for label, same in by(sorted(set(step.needs)), lambda ref: ref.label):
            text = cypher.render(DIALECT, "gone", label=label)
            answer = await fetch(tx, text, rows=[ref.uuid for ref in same], project=self.project)
            if answer:
                names = ", ".join(f"{label} {row['uuid']}" for row in answer)
                raise MissingNode(
                    f"not in project {self.project}: {names}",
                    hint="write the node in the same batch or before",
                )


def _death(
    label: str, uuid: str, state: str | None, at: int, since: int | None, tries: int | None, run: str | None
) -> Move:
    node = Ref(label=label, uuid=uuid)
    return Move(node=node, before=state, after=None, at=at, since=since, tries=tries or 0, run=run)
