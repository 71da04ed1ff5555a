"""Claims and heartbeats on an embedded engine: the frontier says who is next, the graph whether that is still so."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

import cypher
from graph_stores.kuzu.columns import plain
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.frontier import Clock, Frontier, Waiting
from graph_stores.kuzu.reading import Reading
from graph_stores.kuzu.session import DIALECT, Session
from graph_stores.listening import Ear, microseconds
from graph_stores.model import BOOKKEEPING, Claim, Marks, Move, NodeRow, Ref, Value, checked_seconds

_LOOK_AGAIN = 10.0


class Claims:
    def __init__(
        self, engine: Engine, project: str, frontier: Frontier, reads: Reading, clock: Clock, *, ear: Ear
    ) -> None:
        self._engine = engine
        self._project = project
        self._frontier = frontier
        self._reads = reads
        self._clock = clock
        self._ear = ear

    def claim(self, claim: Claim) -> list[NodeRow]:
        queues = [(label, claim.waiting) for label in claim.labels]
        for label, state in queues:
            if not self._frontier.knows((label, state)):
                self._frontier.learn((label, state), self._reads.waiting(label, state))
        token = uuid4().hex
        rows: list[NodeRow] = []
        while len(rows) < claim.limit and (hints := self._frontier.take(queues, claim.limit - len(rows))):
            try:
                rows += self._claim_hinted(claim, self._near(claim, hints) if claim.away else hints, token)
            except BaseException:
                for hint in hints:
                    self._frontier.add((hint.label, claim.waiting), hint)
                raise
        self._frontier.hold((row.uuid for row in rows), token=token, seconds=claim.seconds)
        return sorted(rows, key=lambda row: (row.depth, row.detected_at, row.uuid))

    def _near(self, claim: Claim, hints: list[Waiting]) -> list[Waiting]:
        """Those that can be read here; the others are looked at again only after a while."""
        uuids = [hint.uuid for hint in hints]
        away: set[str] = set()
        for label in {hint.label for hint in hints}:
            away |= self._reads.away(label, uuids, claim.away, source=claim.source)
        for hint in hints:
            if hint.uuid in away:
                self._frontier.add((hint.label, claim.waiting), hint, delay=_LOOK_AGAIN)
        return [hint for hint in hints if hint.uuid not in away]

    def _claim_hinted(self, claim: Claim, hints: list[Waiting], token: str) -> list[NodeRow]:
        now = self._clock.now()
        fixed = {
            "project": self._project,
            "waiting": claim.waiting,
            "working": claim.working,
            "owner": claim.owner,
            "token": token,
            "now": plain(now),
            "until": plain(now + timedelta(seconds=claim.seconds)),
        }
        rows: list[NodeRow] = []
        since: list[Value] = []
        with self._engine.transaction("the claim failed") as session:
            for label in dict.fromkeys(hint.label for hint in hints):
                uuids = list(dict.fromkeys(hint.uuid for hint in hints if hint.label == label))
                marks = claim.marks.get(label, Marks())
                values = {**marks.set, **dict.fromkeys(marks.stamp, now)}
                columns = tuple(sorted(values))
                parameters = {**fixed, **{f"v_{name}": plain(value) for name, value in values.items()}}
                returned = self._returned(label, claim.properties)
                answers = self._claim_label(session, label, columns, returned, uuids, parameters)
                since += [answer[0] for answer in answers]
                rows += self._reads.rows(label, returned, (answer[1:] for answer in answers))
        self._ear.tell(lambda: map(partial(_taken, claim, microseconds(now)), rows, since))
        return rows

    def _returned(self, label: str, properties: Sequence[str] | None) -> tuple[str, ...]:
        readable = self._engine.tables.readable[label]
        if properties is None:
            return readable
        return tuple(name for name in readable if name in BOOKKEEPING or name in properties)

    def _claim_label(
        self,
        session: Session,
        label: str,
        columns: tuple[str, ...],
        returned: tuple[str, ...],
        uuids: list[str],
        parameters: Mapping[str, Value],
    ) -> list[Sequence[Value]]:
        """Since when each had waited, and the columns to be returned."""
        if self._engine.prefers_keys(label, len(uuids), len(returned)):
            text = cypher.render(DIALECT, "claim_one", columns, returned, label=label)
            return [row for uuid in uuids for row in session.run(text, {**parameters, "uuid": uuid})]
        text = cypher.render(DIALECT, "claim_many", columns, returned, label=label)
        return session.run(text, {**parameters, "uuids": uuids})

    def prolong(self, nodes: Sequence[Ref], token: str, seconds: float) -> frozenset[str]:
        """A heartbeat in memory, where leases are kept; in the graph they are only shown."""
        kept = frozenset(node.uuid for node in nodes if self._frontier.holds(node.uuid, token))
        self._frontier.hold(kept, token=token, seconds=checked_seconds(seconds))
        return kept

    def heartbeat(self, nodes: Sequence[Ref], token: str, seconds: float) -> frozenset[str]:
        until = plain(self._clock.now() + timedelta(seconds=checked_seconds(seconds)))
        kept: set[str] = set()
        with self._engine.transaction("the heartbeat failed") as session:
            for label in sorted({node.label for node in nodes}):
                uuids = [node.uuid for node in nodes if node.label == label]
                text = cypher.render(DIALECT, "heartbeat", label=label)
                parameters = {"uuids": uuids, "token": token, "until": until, "project": self._project}
                kept |= {row[0] for row in session.run(text, parameters)}
        self._frontier.hold(kept, token=token, seconds=seconds)
        return frozenset(kept)


def _taken(claim: Claim, at: int, row: NodeRow, since: datetime | None) -> Move:
    return Move(
        node=row.ref,
        before=claim.waiting,
        after=claim.working,
        at=at,
        since=microseconds(since) if since else None,
        tries=row.retry_count,
        run=row.properties.get("_runId"),
    )
