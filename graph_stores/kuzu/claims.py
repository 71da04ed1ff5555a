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
# Whether nodes can be read here is asked of so many at once: the engine scans the table for each question.
_ASKED_AT_ONCE = 2000


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
        left: list[Waiting] = []
        at_once = _ASKED_AT_ONCE if claim.away else 0
        while (wanted := claim.limit - len(rows)) > 0 and (hints := self._frontier.take(queues, max(wanted, at_once))):
            try:
                away = self._away(claim, hints) if claim.away else set()
                near = [hint for hint in hints if hint.uuid not in away]
                rows += self._claim_hinted(claim, near[:wanted], token) if near else []
            except BaseException:
                self._put_back(claim, [*hints, *left])
                raise
            self._put_back(claim, near[wanted:])
            left += [hint for hint in hints if hint.uuid in away]
        # Not before the end: what ripens meanwhile would be taken again, for ever if there is enough of it.
        self._put_back(claim, left, delay=_LOOK_AGAIN)
        self._frontier.hold((row.uuid for row in rows), token=token, seconds=claim.seconds)
        return sorted(rows, key=lambda row: (row.depth, row.detected_at, row.uuid))

    def _away(self, claim: Claim, hints: Sequence[Waiting]) -> set[str]:
        """Those that cannot be read here, by uuid."""
        uuids = [hint.uuid for hint in hints]
        labels = {hint.label for hint in hints}
        return {uuid for label in labels for uuid in self._reads.away(label, uuids, claim.away, source=claim.source)}

    def _put_back(self, claim: Claim, hints: Sequence[Waiting], *, delay: float = 0.0) -> None:
        for hint in hints:
            self._frontier.add((hint.label, claim.waiting), hint, delay=delay)

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
