"""What happened, in numbers: changes by state, how long each state took, what failed and what was tried again.

Counts while reading, in memory that does not grow with the history.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.ledger.lines import Record
from orchestrator.ledger.record import time_of
from orchestrator.states import STAGES, State

_WORKING = {str(stage.working): stage.name for stage in STAGES}
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
    """Work of one stage: how long nodes were in its state, how often it came to its end, and how often not."""

    times: Durations = field(default_factory=Durations)
    begun: int = 0
    done: int = 0
    failed: int = 0
    given_back: int = 0
    retried: int = 0

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
        for state in (*record.via, record.after):
            if stage := _WORKING.get(state or ""):
                self.stages[stage].begun += 1
                self.stages[stage].retried += (record.tries or 0) > 1
        for state in (record.before, *record.via):
            if stage := _WORKING.get(state or ""):
                self._end(self.stages[stage], record, is_timed=state == record.before)

    def _end(self, stage: StageStats, record: Record, *, is_timed: bool) -> None:
        if record.after == State.ERROR:
            stage.failed += 1
        elif record.after in (State.PENDING, State.PARSED, State.LINKED) and record.after in _BACK.get(
            record.before or "", ()
        ):
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
        }


# Where work goes back to that was not finished.
_BACK = {str(stage.working): (str(stage.waiting),) for stage in STAGES}
