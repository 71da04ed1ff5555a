"""Where a project's graph stands: the store's counts, added up, with a rate and a time to go.

Owns the `status` document, whose keys are a contract. Keeps no count of its own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph_stores.model import ErrorCount, Progress
from graph_stores.protocol import Store
from orchestrator.states import State

WINDOW = 60.0
AT_REST = (State.READY, State.SKIP, State.ERROR)
_ORDER = {state.value: place for place, state in enumerate(State)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """`states` and `labels` hold only what there is, states in the order in which a node passes through them."""

    store: str
    project: str
    states: Mapping[str, int]
    labels: Mapping[str, Mapping[str, int]]
    errors: Sequence[ErrorCount]
    in_flight: int
    stuck: int
    rate: float

    @property
    def total(self) -> int:
        return sum(self.states.values())

    @property
    def remaining(self) -> int:
        return sum(count for state, count in self.states.items() if state not in AT_REST)

    @property
    def eta(self) -> float | None:
        """Seconds until everything is at rest; None while nothing moves."""
        if not self.remaining:
            return 0.0
        return self.remaining / self.rate if self.rate else None

    def document(self) -> dict[str, Any]:
        """The shape that `status --json` promises."""
        return {
            "store": self.store,
            "projectId": self.project,
            "total": self.total,
            "states": dict(self.states),
            "labels": {label: dict(states) for label, states in self.labels.items()},
            "errors": [
                {"errorType": error.error_type, "message": error.message, "count": error.count} for error in self.errors
            ],
            "in_flight": self.in_flight,
            "stuck": self.stuck,
            "rate_per_second": round(self.rate, 3),
            "eta_seconds": None if self.eta is None else round(self.eta, 1),
            "run": None,
        }


async def read_standing(store: Store) -> Standing:
    """Ask the store, once, how far it is."""
    progress = await store.progress(finished=[state.value for state in AT_REST], window=WINDOW)
    return _standing(progress, store=store.url, project=store.project)


def _standing(progress: Progress, *, store: str, project: str) -> Standing:
    states: Counter[str] = Counter()
    labels: dict[str, Counter[str]] = {}
    for each in progress.counts:
        states[each.state] += each.count
        labels.setdefault(each.label, Counter())[each.state] += each.count
    return Standing(
        store=store,
        project=project,
        states=_in_order(states),
        labels={label: _in_order(labels[label]) for label in sorted(labels)},
        errors=sorted(progress.errors, key=lambda error: -error.count),
        in_flight=progress.in_flight,
        stuck=progress.stuck,
        rate=progress.finished / WINDOW,
    )


def _in_order(counts: Mapping[str, int]) -> dict[str, int]:
    """In the machine's order; a word that is not a state of ours is kept, at the end."""
    words = sorted(counts, key=lambda word: (_ORDER.get(word, len(_ORDER)), word))
    return {word: counts[word] for word in words if counts[word]}
