"""What happened, in numbers: changes by state, how long each state took, what failed and what was tried again.

Counts while reading, in memory that does not grow with the history.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.ledger.lines import Record
from orchestrator.ledger.record import time_of
from orchestrator.stages import SOURCES, TEXTS, works_on
from orchestrator.states import RECORDS, STAGES, State

_WORKING = {str(stage.working): stage.name for stage in STAGES}
# Nodes that a stage does no work on: they pass through it in one commit, along with or because of others. What has a
# label that we do not know, from a migrated graph or an older ledger, counts everywhere.
_OWN = RECORDS.union(("Directory", "Wiki", "Category", "Chunk"), SOURCES, TEXTS)
_PASSING = {stage.name: frozenset(label for label in _OWN if not works_on(stage, label)) for stage in STAGES}
_REMOVED = "(removed)"
# Neighbouring steps differ by two in a hundred: what is told is off by one at most.
_STEP = math.log(1.02)
_SHORTEST = 1e-6


class Durations:
    """How long something took, many times: any share of them can be asked for, to one in a hundred."""

    def __init__(self) -> None:
        self._steps: Counter[int] = Counter()
        self.count = 0

    def add(self, seconds: float) -> None:
        self._steps[round(math.log(max(seconds, _SHORTEST)) / _STEP)] += 1
        self.count += 1

    def within(self, share: float) -> float | None:
        """So long at most did that share of them take."""
        left = math.ceil(self.count * share)
        for step in sorted(self._steps):
            left -= self._steps[step]
            if left <= 0:
                return math.exp(step * _STEP)
        return None


@dataclass(slots=True, kw_only=True)
class StageStats:
    """Work of one stage: how long nodes were in its state, how often it came to its end, and how often not.

    `under_way` are the nodes that are in its state, each with whether that is not the first try.
    """

    times: Durations = field(default_factory=Durations)
    under_way: dict[str, bool] = field(default_factory=dict)
    done: int = 0
    failed: int = 0
    given_back: int = 0
    again: int = 0

    @property
    def begun(self) -> int:
        """Whatever ended was begun, also where that change itself was dropped from the history."""
        return self.done + self.failed + self.given_back + len(self.under_way)

    @property
    def retried(self) -> int:
        return self.again + sum(self.under_way.values())

    @property
    def error_rate(self) -> float | None:
        ended = self.done + self.failed
        return self.failed / ended if ended else None

    def document(self) -> dict[str, object]:
        return {
            "begun": self.begun,
            "done": self.done,
            "failed": self.failed,
            "given_back": self.given_back,
            "retried": self.retried,
            "error_rate": self.error_rate,
            "seconds_median": self.times.within(0.5),
            "seconds_95": self.times.within(0.95),
        }


@dataclass(slots=True, kw_only=True)
class Stats:
    changes: int = 0
    into: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    stages: dict[str, StageStats] = field(default_factory=lambda: {stage.name: StageStats() for stage in STAGES})
    waits: dict[str, Durations] = field(default_factory=dict)
    reconciled: int = 0
    imported: int = 0
    first: str = ""
    last: str = ""
    dropped_before: str = ""
    """Up to when older changes are gone, but for the latest of each node."""

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Stats":
        stats = cls()
        for record in records:
            stats.add(record)
        return stats

    def add(self, record: Record) -> None:
        self.changes += 1
        self.into[record.after or _REMOVED] += 1
        self.labels[record.label] += 1
        self.reconciled += record.reconciled
        self.imported += record.imported
        self.first = min(self.first or record.at, record.at)
        self.last = max(self.last, record.at)
        if record.error_type and record.after == State.ERROR:
            self.errors[record.error_type] += 1
        self._add_work(record)
        if record.before and record.seconds is not None and record.before not in _WORKING:
            self.waits.setdefault(record.before, Durations()).add(record.seconds)

    def _add_work(self, record: Record) -> None:
        """A stage that was passed within one commit began and ended in it, and its time is not known."""
        for state in (record.before, *record.via):
            if stage := self._stage(state, record):
                self._end(stage, record, is_timed=state == record.before)
        if stage := self._stage(record.after, record):
            stage.under_way[record.node] = (record.tries or 0) > 1

    def _stage(self, state: str | None, record: Record) -> StageStats | None:
        name = _WORKING.get(state or "")
        return self.stages[name] if name and record.label not in _PASSING[name] else None

    def _end(self, stage: StageStats, record: Record, *, is_timed: bool) -> None:
        was_again = stage.under_way.pop(record.node, False)
        stage.again += was_again or (record.tries or 0) > 1
        if record.after == State.ERROR:
            stage.failed += 1
        elif record.after in _BACK.get(record.before or "", ()):
            stage.given_back += 1
        else:
            stage.done += 1
        if is_timed and record.seconds is not None:
            stage.times.add(record.seconds)

    @property
    def seconds(self) -> float:
        return (time_of(self.last) - time_of(self.first)) / 1e6 if self.changes else 0.0

    def document(self) -> dict[str, object]:
        return {
            "changes": self.changes,
            "first": self.first or None,
            "last": self.last or None,
            "into": dict(self.into.most_common()),
            "labels": dict(self.labels.most_common()),
            "stages": {name: stage.document() for name, stage in self.stages.items()},
            "waits": {
                state: {"count": times.count, "seconds_median": times.within(0.5), "seconds_95": times.within(0.95)}
                for state, times in self.waits.items()
            },
            "errors": dict(self.errors.most_common()),
            "reconciled": self.reconciled,
            "imported": self.imported,
            "dropped_before": self.dropped_before or None,
        }


# Where work goes back to that was not finished.
_BACK = {str(stage.working): (str(stage.waiting),) for stage in STAGES}
