"""Where a project's graph stands: the store's counts, added up, with a rate and a time to go.

Owns the `status` document, whose keys are a contract. Keeps no count of its own: how fast a stage is, is read from the
ledger or from the times on the nodes. While no worker runs there is neither a rate nor a time to go.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graph_stores.model import Progress
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle
from orchestrator.runs.overview import Overview, current
from orchestrator.runs.records import PARTITION
from orchestrator.stages import works_on
from orchestrator.states import EMBED, LINK, PARSE, RECORDS, WORKING, Stage, State
from orchestrator.workers import AtWork, gone_owners, read_workers

WINDOW = 60.0
LONGEST_WINDOW = 600.0
AT_REST = (State.READY, State.SKIP, State.ERROR)
# A commit may be spread over the end of a second and the beginning of the next.
_COMMIT = 2
_ORDER = {state.value: place for place, state in enumerate(State)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How many nodes wait for a stage or are in its hands, and how many a second it did lately.

    `ahead` are those that are likely to come to it from the stages before.
    """

    remaining: int
    rate: float
    ahead: int = 0

    @property
    def eta(self) -> float | None:
        """Seconds until the stage has nothing left to do; None where the rate is not known."""
        left = self.remaining + self.ahead
        if not left:
            return 0.0
        return left / self.rate if self.rate else None

    def document(self) -> dict[str, Any]:
        return {
            "remaining": self.remaining,
            "rate_per_second": round(self.rate, 3),
            "eta_seconds": None if self.eta is None else round(self.eta, 1),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSum:
    """How many nodes have one message."""

    error_type: str
    message: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """`states` and `labels` hold only what there is, states in the order in which a node passes through them.

    `stages` has how much each stage has to do and how fast it is, by its name.
    """

    store: str
    project: str
    states: Mapping[str, int]
    labels: Mapping[str, Mapping[str, int]]
    errors: Sequence[ErrorSum]
    in_flight: int
    stuck: int
    stages: Mapping[str, Pace]
    is_reading: bool = False
    """Sources are still being looked through: how much there is to do is not known yet."""
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
    def slowest(self) -> str | None:
        """The stage that needs longest for what it has to do; None where that of some stage is not known."""
        busy = {name: pace.eta for name, pace in self.stages.items() if pace.remaining + pace.ahead}
        if not busy or None in busy.values():
            return None
        return max(busy, key=lambda name: busy[name] or 0.0)

    @property
    def rate(self) -> float:
        """That of the slowest stage, in what it works on: files and articles, or texts."""
        return self.stages[self.slowest].rate if self.slowest else 0.0

    @property
    def eta(self) -> float | None:
        """Seconds until everything is at rest; None where it is not known."""
        if not self.remaining:
            return 0.0
        return self.stages[self.slowest].eta if self.slowest else None

    @property
    def is_worked_on(self) -> bool:
        return any(not each.is_gone for each in self.workers)

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


Done = Mapping[str, Mapping[int, int]]
"""How many nodes came through each stage in each second, as the time since 1970 has them."""


async def read_standing(
    store: Store, *, work: bool = True, done: Done | None = None, since: float | None = None
) -> Standing:
    """Ask the store, once, how far it is; and with `work` what is being done to it, and by whom.

    What was `done` lately is asked of it too, unless it is given, by this machine's clock. What was done more than
    `since` seconds ago is of another job; if not given, it is the age of the oldest worker.
    """
    progress = await store.progress(finished=[state.value for state in AT_REST], window=WINDOW)
    standing = _standing(progress, store=store.url, project=store.project)
    if work:
        stuck = await Lifecycle(store=store).count_stuck(await gone_owners(store)) if standing.in_flight else 0
        workers, run = await read_workers(store), await current(store)
        others = {} if standing.total else await _other_projects(store)
        standing = replace(standing, stuck=stuck, workers=workers, run=run, others=others)
        ages = [each.known.unchanged.total_seconds() for each in workers if not each.is_gone]
        since = max(ages, default=0.0) if since is None else since
        if not ages:
            return standing
    if not standing.remaining:
        return standing
    now, done = (time.time(), done) if done is not None else await _ask_done(store)
    rates = {name: rate_of(seconds, now=now, since=since) for name, seconds in done.items()}
    paces = {name: replace(pace, rate=rates.get(name, 0.0)) for name, pace in standing.stages.items()}
    return replace(standing, stages=paces)


async def _other_projects(store: Store) -> dict[str, int]:
    if (await store.schema()).found is None:
        return {}
    return {str(project): int(count) for project, count in (await store.ask("projects")).rows}


def rate_of(done: Mapping[int, int], *, now: float, since: float | None = None) -> float:
    """Nodes a second, from how many were done in each second; 0 where too little is known.

    Work is committed in batches, and when the first one was begun is not known. So the time counts from its end, and
    it does not count itself. Of a slow stage more than the last minute is looked at, until there are two batches.
    """
    for window in (WINDOW, LONGEST_WINDOW):
        begin = now - min(window, LONGEST_WINDOW if since is None else since)
        recent = {second: count for second, count in done.items() if second >= begin}
        first = min(recent, default=0) + _COMMIT
        if later := sum(count for second, count in recent.items() if second >= first):
            return later / max(1.0, now - first)
    return 0.0


async def _ask_done(store: Store) -> tuple[float, Done]:
    """What the clock of the store says, and what was done by the times on the nodes."""
    done: dict[str, dict[int, int]] = {}
    clock = 0.0
    for stage, second, count, now in (await store.ask("pace", {"seconds": int(LONGEST_WINDOW)})).rows:
        done.setdefault(stage, {})[int(second.timestamp())] = count
        clock = now.timestamp()
    return clock, done


def _standing(progress: Progress, *, store: str, project: str) -> Standing:
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
        errors=_errors(progress),
        in_flight=_in_flight(progress),
        stuck=0,
        stages=_stages(labels),
        is_reading=any(each.label == PARTITION and each.state not in AT_REST for each in progress.counts),
    )


def _stages(labels: Mapping[str, Mapping[str, int]]) -> dict[str, Pace]:
    """What each stage has to do, and what will come to it from those before."""
    unparsed, unlinked = (_count(labels, stage, stage.waiting, stage.working) for stage in (PARSE, LINK))
    parsed = _count(labels, PARSE, *State) - unparsed
    per_source = _count(labels, EMBED, *State) / parsed if parsed else 1.0
    return {
        PARSE.name: Pace(remaining=unparsed, rate=0.0),
        LINK.name: Pace(remaining=unlinked, rate=0.0, ahead=unparsed),
        EMBED.name: Pace(
            remaining=_count(labels, EMBED, EMBED.waiting, EMBED.working),
            rate=0.0,
            ahead=_count(labels, EMBED, PARSE.waiting, PARSE.working, LINK.waiting, LINK.working)
            + round(unparsed * per_source),
        ),
    }


def _count(labels: Mapping[str, Mapping[str, int]], stage: Stage, *states: State) -> int:
    """How many of the nodes that a stage works on are in one of the states."""
    return sum(counts.get(state, 0) for label, counts in labels.items() if works_on(stage, label) for state in states)


def _errors(progress: Progress) -> list[ErrorSum]:
    """The most frequent first. A run that failed is told as a run."""
    counted: Counter[tuple[str, str]] = Counter()
    for each in progress.errors:
        if each.label not in RECORDS:
            counted[each.error_type, each.message] += each.count
    return [ErrorSum(error_type=kind, message=text, count=count) for (kind, text), count in counted.most_common()]


def _in_flight(progress: Progress) -> int:
    return sum(each.count for each in progress.counts if each.state in WORKING)


def _in_order(counts: Mapping[str, int]) -> dict[str, int]:
    """In the machine's order; a word that is not a state of ours is kept, at the end."""
    words = sorted(counts, key=lambda word: (_ORDER.get(word, len(_ORDER)), word))
    return {word: counts[word] for word in words if counts[word]}
