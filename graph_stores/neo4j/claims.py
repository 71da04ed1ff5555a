"""Claims and heartbeats: candidates by the index, then their locks, then what is still so under the locks.

There is no way to skip a locked row, so two claims of the same head queue up and the second gets nothing. A claim
that lost its candidates therefore begins at a random distance from the head, until claims meet nobody again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import uuid4

from neo4j import AsyncManagedTransaction

import cypher
from graph_stores.errors import TransientStoreError
from graph_stores.listening import Ear
from graph_stores.model import LONGEST_LEASE, Claim, Marks, Move, NodeRow, Ref, Value, checked_seconds
from graph_stores.neo4j.connection import DIALECT, Connection, fetch
from graph_stores.neo4j.plan import Step, locks
from graph_stores.neo4j.values import plain_properties, sendable_properties

SHALLOWEST = -(2**63)
_ROUNDS = 6
_WIDEST = 32
# So many claims in a row without meeting anybody, and the next ones look less far.
_CALM = 8
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Claims:
    def __init__(
        self, connection: Connection, project: str, random: Random | None = None, *, ear: Ear | None = None
    ) -> None:
        self._connection = connection
        self._project = project
        self._ear = ear or Ear()
        self._random = random or Random()  # noqa: S311 which node to try is no secret
        self._reach = 1
        self._undisturbed = 0

    async def claim(self, claim: Claim) -> list[NodeRow]:
        until = self._connection.due()
        token = uuid4().hex
        taken: list[NodeRow] = []
        reach = self._reach
        for _ in range(_ROUNDS):
            wanted = claim.limit - len(taken)
            if wanted <= 0:
                break
            gap = wanted * self._random.randrange(reach)
            turn = _Turn(claim=claim, project=self._project, token=token, wanted=wanted, gap=gap)
            try:
                rows = await self._connection.write(turn, until=until)
            except TransientStoreError:
                if taken:
                    break
                raise
            taken += rows
            self._ear.tell(turn.moves)
            lost = len(rows) < len(turn.chosen)
            self._learn(lost=lost)
            if not lost and not gap:
                break
            # Where fewer were found behind the gap than wanted, the rest is before it.
            reach = self._reach if len(turn.chosen) == wanted else 1
        return sorted(taken, key=lambda row: (row.depth, row.detected_at))

    async def heartbeat(self, nodes: Sequence[Ref], *, token: str, seconds: float) -> frozenset[str]:
        beat = _Beat(nodes=nodes, project=self._project, token=token, seconds=checked_seconds(seconds))
        return await self._connection.write(beat) if nodes else frozenset()

    def _learn(self, *, lost: bool) -> None:
        self._undisturbed = 0 if lost else self._undisturbed + 1
        if lost:
            self._reach = min(self._reach * 4, _WIDEST)
        elif self._undisturbed >= _CALM:
            self._reach, self._undisturbed = max(1, self._reach // 2), 0


@dataclass(slots=True, kw_only=True)
class _Turn:
    """One scan, lock and take. Run again, it keeps its choice, and so recognises what it took before.

    With a gap, the scan passes over the first nodes, which others are taking.
    """

    claim: Claim
    project: str
    token: str
    wanted: int
    gap: int
    chosen: list[Ref] = field(default_factory=list)
    taken: list[tuple[NodeRow, int, int | None]] = field(default_factory=list)
    """Each with when it was taken, and since when it had waited."""

    async def __call__(self, tx: AsyncManagedTransaction) -> list[NodeRow]:
        if not self.chosen:
            self.chosen = await self._candidates(tx)
        self.taken = []
        for step in locks(self.chosen):
            await fetch(tx, step.text, rows=step.rows)
        for step in self._takes():
            [answer] = await fetch(tx, step.text, rows=step.rows, **self._parameters(step.label))
            self.taken += [
                (NodeRow.from_row(step.label, self._timed(row)), row["_stateChangedAt"], since)
                for since, row in answer["taken"]
            ]
        return [row for row, _, _ in self.taken]

    def moves(self) -> Iterator[Move]:
        for row, at, since in self.taken:
            yield Move(
                node=row.ref,
                before=self.claim.waiting,
                after=self.claim.working,
                at=at,
                since=since,
                tries=row.retry_count,
                run=row.properties.get("_runId"),
            )

    async def _candidates(self, tx: AsyncManagedTransaction) -> list[Ref]:
        found: list[tuple[int, int, Ref]] = []
        question = "claim_candidates_near" if self.claim.away else "claim_candidates"
        away = {"away": list(self.claim.away)} if self.claim.away else {}
        source = {"source": self.claim.source} if self.claim.away else {}
        for label in sorted(set(self.claim.labels)):
            [answer] = await fetch(
                tx,
                cypher.render(DIALECT, question, label=label, **source),
                project=self.project,
                waiting=self.claim.waiting,
                shallowest=SHALLOWEST,
                longest=LONGEST_LEASE,
                skip=self.gap,
                limit=self.wanted,
                **away,
            )
            found += [(depth, age, Ref(label=label, uuid=uuid)) for depth, age, uuid in answer["found"]]
        found.sort(key=lambda each: each[:2])
        return [ref for _, _, ref in found[: self.wanted]]

    def _takes(self) -> list[Step]:
        return [
            Step(
                text=cypher.render(DIALECT, "claim_take", self._stamped(step.label), label=step.label),
                label=step.label,
                rows=step.rows,
            )
            for step in locks(self.chosen)
        ]

    def _timed(self, row: dict[str, Value]) -> dict[str, Value]:
        taken = _EPOCH + timedelta(microseconds=row["_stateChangedAt"])
        return plain_properties(row) | {
            "_detectedAt": _EPOCH + timedelta(microseconds=row["_detectedAt"] or 0),
            "_stateChangedAt": taken,
            "_leaseUntil": taken + timedelta(seconds=self.claim.seconds),
        }

    def _stamped(self, label: str) -> tuple[str, ...]:
        return ("_stateChangedAt", *sorted(set(self._marks(label).stamp)))

    def _marks(self, label: str) -> Marks:
        return self.claim.marks.get(label, Marks())

    def _parameters(self, label: str) -> dict[str, Value]:
        return {
            "project": self.project,
            "waiting": self.claim.waiting,
            "working": self.claim.working,
            "owner": self.claim.owner,
            "token": self.token,
            "seconds": self.claim.seconds,
            "longest": LONGEST_LEASE,
            "marks": sendable_properties(self._marks(label).set),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Beat:
    nodes: Sequence[Ref]
    project: str
    token: str
    seconds: float

    async def __call__(self, tx: AsyncManagedTransaction) -> frozenset[str]:
        """Locked first: a lease that is taken away while this waits must not be made to last."""
        steps = list(locks(self.nodes))
        for step in steps:
            await fetch(tx, step.text, rows=step.rows)
        kept: set[str] = set()
        for step in steps:
            text = cypher.render(DIALECT, "heartbeat", label=step.label)
            fixed = {"project": self.project, "token": self.token, "seconds": self.seconds}
            [answer] = await fetch(tx, text, rows=step.rows, **fixed)
            kept.update(answer["kept"])
        return frozenset(kept)
