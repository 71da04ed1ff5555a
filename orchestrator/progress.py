"""Where a project's graph stands: the store's counts, added up, with a rate and a time to go.

Owns the `status` document, whose keys are a contract. Keeps no count of its own: how fast a stage is, is read from the
times that the nodes themselves carry, so that it is known right after a restart too.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graph_stores.model import ErrorCount, Progress, Table
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle
from orchestrator.runs.overview import Overview, current
from orchestrator.stages import works_on
from orchestrator.states import RECORDS, STAGES, WORKING, Stage, State
from orchestrator.workers import LABEL as WORKER
from orchestrator.workers import AtWork, gone_owners, read_workers

WINDOW = 60.0
AT_REST = (State.READY, State.SKIP, State.ERROR)
# What was done in less than this is too little to tell a rate from: it may all be of one commit.
SHORTEST = 1.0
_ORDER = {state.value: place for place, state in enumerate(State)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How many nodes wait for a stage or are in its hands, and how many a second it did lately."""

    remaining: int
    rate: float

    @property
    def eta(self) -> float | None:
        """Seconds until nothing remains; None while nothing moves."""
        if not self.remaining:
            return 0.0
        return self.remaining / self.rate if self.rate else None

    def document(self) -> dict[str, Any]:
        return {
            "remaining": self.remaining,
            "rate_per_second": round(self.rate, 3),
            "eta_seconds": None if self.eta is None else round(self.eta, 1),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """`states` and `labels` hold only what there is, states in the order in which a node passes through them.

    `rate` is that of nodes coming to rest; `stages` has each stage's own by its name.
    """

    store: str
    project: str
    states: Mapping[str, int]
    labels: Mapping[str, Mapping[str, int]]
    errors: Sequence[ErrorCount]
    in_flight: int
    stuck: int
    rate: float
    stages: Mapping[str, Pace]
    workers: Sequence[AtWork] = ()
    run: Overview | None = None
    """The one under way, or else the last one."""
    others: Mapping[str, int] = field(default_factory=dict)
    """Where the project is empty: the projects that the graph has, with how many nodes each."""

    @property
    def total(self) -> int:
        return sum(self.states.values())

    @property
    def remaining(self) -> int:
        return sum(count for state, count in self.states.items() if state not in AT_REST)

    @property
    def in_error(self) -> int:
        return self.states.get(State.ERROR, 0)

    @property
    def eta(self) -> float | None:
        """Seconds until everything is at rest, by the slowest stage that still has work; None while nothing moves."""
        by_stage = [pace.eta for pace in self.stages.values() if pace.eta]
        return max(by_stage) if by_stage else Pace(remaining=self.remaining, rate=self.rate).eta

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
            "stages": {name: pace.document() for name, pace in self.stages.items()},
            "workers": [each.document() for each in self.workers],
            "run": self.run.document() if self.run else None,
            **({"projects": dict(self.others)} if self.others else {}),
        }


Rates = Mapping[str, float]
"""How many nodes a second came through each stage lately, and to rest."""


async def read_standing(store: Store, *, work: bool = True, rates: Rates | None = None) -> Standing:
    """Ask the store, once, how far it is; and with `work` what is being done to it, and by whom.

    The rates are asked of it too, unless they are known otherwise.
    """
    progress = await store.progress(finished=[state.value for state in AT_REST], window=WINDOW)
    # In a copy times are those of the other graph: where nobody works and nobody ever did, nothing was done lately.
    if not _in_flight(progress) and not any(each.label == WORKER for each in progress.counts):
        rates = {}
    if rates is None:
        rates = _rates(await store.ask("pace", {"seconds": int(WINDOW)}))
    standing = _standing(progress, rates, store=store.url, project=store.project)
    if not work:
        return standing
    stuck = await Lifecycle(store=store).count_stuck(await gone_owners(store)) if standing.in_flight else 0
    others = {} if standing.total else await _other_projects(store)
    return replace(standing, stuck=stuck, workers=await read_workers(store), run=await current(store), others=others)


async def _other_projects(store: Store) -> dict[str, int]:
    if (await store.schema()).found is None:
        return {}
    return dict((await store.ask("projects")).rows)


def _rates(pace: Table) -> dict[str, float]:
    """Per stage, over the time in which it was at work: a job that began ten seconds ago is not ten times as slow."""
    return {
        stage: count / max(SHORTEST, (now - since).total_seconds()) for stage, count, since, now in pace.rows if count
    }


def _standing(progress: Progress, rates: Mapping[str, float], *, store: str, project: str) -> Standing:
    states: Counter[str] = Counter()
    labels: dict[str, Counter[str]] = {}
    for each in progress.counts:
        if each.label in RECORDS:
            continue
        states[each.state] += each.count
        labels.setdefault(each.label, Counter())[each.state] += each.count
    return Standing(
        store=store,
        project=project,
        states=_in_order(states),
        labels={label: _in_order(labels[label]) for label in sorted(labels)},
        errors=sorted(progress.errors, key=lambda error: -error.count),
        in_flight=_in_flight(progress),
        stuck=0,
        rate=rates.get("rest", 0.0),
        stages={
            stage.name: Pace(remaining=_waiting(progress, stage), rate=rates.get(stage.name, 0.0)) for stage in STAGES
        },
    )


def _in_flight(progress: Progress) -> int:
    return sum(each.count for each in progress.counts if each.state in WORKING)


def _waiting(progress: Progress, stage: Stage) -> int:
    before = (stage.waiting, stage.working)
    return sum(each.count for each in progress.counts if works_on(stage, each.label) and each.state in before)


def _in_order(counts: Mapping[str, int]) -> dict[str, int]:
    """In the machine's order; a word that is not a state of ours is kept, at the end."""
    words = sorted(counts, key=lambda word: (_ORDER.get(word, len(_ORDER)), word))
    return {word: counts[word] for word in words if counts[word]}
