"""What must hold in every graph, at every moment: asked of the graph itself, whoever writes to it meanwhile.

Owns the list of checks and what a person can do about each. Looks at the graph alone, never at a source, and mends
nothing.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from graph_stores.model import LONGEST_LEASE
from graph_stores.protocol import Store
from orchestrator import contents
from orchestrator.checking import Check, Example, Problem, Verdict, asking, problem_of
from orchestrator.contents import EMBED_ANEW
from orchestrator.paging import paged
from orchestrator.read_command import commands_of_runs
from orchestrator.runs.course import PLANNED_ANEW
from orchestrator.states import AT_REST, OUTCOMES, RECORDS, WORKING, State, expansion_state
from orchestrator.stray import STRAYS

_PAGE = 10_000
_SHOWN = 3
_MEND = "mend them: graphmill verify --repair"
_TAKE_BACK = "take them back: graphmill reclaim, or any job does it"
_READ_ANEW = "have their source read again: graphmill verify --repair, then graphmill worker --drain"


async def verify(store: Store, checks: Sequence[Check] | None = None) -> Verdict:
    """The verdict of all checks, or of these."""
    found = await problems(store, checks=checks)
    progress = await store.progress(finished=[], window=0.0)
    # As many as `status` shows: what graphmill writes about its own work is checked too, but nobody's node.
    return Verdict(checked=sum(each.count for each in progress.counts if each.label not in RECORDS), problems=found)


async def problems(store: Store, *, examples: int = _SHOWN, checks: Sequence[Check] | None = None) -> list[Problem]:
    """Everything that does not hold, empty in a healthy graph; of each kind so many nodes are named."""
    asked = CHECKS if checks is None else checks
    return [problem for check in asked if (problem := await problem_of(store, check, examples=examples))]


async def _without_vector(store: Store) -> AsyncIterator[Example]:
    # Where there is no space there may be no such property, and an engine refuses to be asked for it.
    question = "vectorless" if await store.vector_space() else "spaceless"
    async for example in asking(question)(store):
        yield example


async def _of_another_space(store: Store) -> AsyncIterator[Example]:
    if space := await store.vector_space():
        async for example in asking("foreign-vectors", provider=space.provider, model=space.model)(store):
            yield example


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watermark:
    """Of one run; `moved` is when the next run could begin from it."""

    run: str
    source: str
    state: str
    moved: datetime | None
    before: datetime | None
    after: datetime

    def example(self, found: str) -> Example:
        return Example(label="IngestionRun", uuid=self.run, found=f"{self.source}: {found}")


async def _watermarks(store: Store) -> AsyncIterator[_Watermark]:
    async for rows in paged(store, "check-watermarks", limit=_PAGE):
        for run, source, state, started, finished, before, after in rows:
            yield _Watermark(
                run=run, source=source or "", state=state or "", moved=finished or started, before=before, after=after
            )


async def _of_unfinished_runs(store: Store) -> AsyncIterator[Example]:
    async for mark in _watermarks(store):
        if mark.state != State.READY:
            yield mark.example(f"the run is {mark.state}")


async def _gone_back(store: Store) -> AsyncIterator[Example]:
    by_source: dict[str, list[_Watermark]] = {}
    async for mark in _watermarks(store):
        by_source.setdefault(mark.source, []).append(mark)
        if mark.before and mark.after < mark.before:
            yield mark.example(f"from {mark.before:%Y-%m-%d %H:%M:%S} to {mark.after:%Y-%m-%d %H:%M:%S}")
    for marks in by_source.values():
        finished = sorted((mark for mark in marks if mark.state == State.READY and mark.moved), key=_order)
        newest = finished[0].after if finished else None
        for mark in finished[1:]:
            assert newest is not None
            if mark.after < newest:
                yield mark.example(f"an earlier run had come to {newest:%Y-%m-%d %H:%M:%S}")
            newest = max(newest, mark.after)


def _order(mark: _Watermark) -> tuple[datetime, datetime]:
    assert mark.moved is not None
    return mark.moved, mark.after


async def _run_anew(store: Store, found: Sequence[Example]) -> str:
    commands = await commands_of_runs(store, [each.uuid for each in found])
    return f"graphmill verify --repair, then {' and '.join(commands) or 'read the source again'}"


async def _outcomes(store: Store) -> AsyncIterator[Example]:
    for label, question in (("IngestionRun", "outcomes-of-runs"), ("Partition", "outcomes-of-partitions")):
        words = _shown_as({state: [word] for state, word in OUTCOMES[label].items()})
        async for example in asking(question, shown=words)(store):
            yield example


def _shown_as(pairs: Mapping[State, Sequence[str | None]]) -> list[str]:
    return [f"{state} {word or ''}" for state, words in pairs.items() for word in words]


def _expansion_words() -> list[str]:
    shown = {state: [expansion_state(state, retries_left=left) for left in (True, False)] for state in State}
    return _shown_as(shown)


_WORKING = [state.value for state in WORKING]
_STATES = [state.value for state in State]
_RESTING = sorted(state.value for state in AT_REST)

CHECKS = (
    Check(
        name="state",
        about="are in no state that graphmill knows",
        hint=_MEND,
        find=asking("states", states=_STATES),
    ),
    Check(
        name="idle-lease",
        about="have a lease although nobody works on them",
        hint=_MEND,
        find=asking("idle-leases", working=_WORKING),
    ),
    Check(
        name="missing-lease",
        about="are being worked on by nobody",
        hint=_TAKE_BACK,
        find=asking("unheld", working=_WORKING),
    ),
    Check(
        name="endless-lease",
        about="have a lease or a delay that ends later than any can",
        hint=_TAKE_BACK,
        find=asking("endless", working=_WORKING, longest=int(LONGEST_LEASE)),
    ),
    Check(
        name="lone-part",
        about="are parts of nothing",
        hint=_READ_ANEW,
        find=asking("lone-texts", "lone-scopes", "lone-sections", "lone-chunks"),
    ),
    Check(name="lone-file", about="are in no folder", hint=_READ_ANEW, find=asking("lone-files")),
    Check(name="missing-vector", about="are ready without a vector", hint=EMBED_ANEW, find=_without_vector),
    Check(
        name="foreign-vector",
        about="are ready with a vector of another model than the graph's",
        hint=EMBED_ANEW,
        find=_of_another_space,
    ),
    Check(
        name="missing-hash",
        about="are ready without the hash of the text that was embedded",
        hint=EMBED_ANEW,
        find=asking("unhashed"),
    ),
    STRAYS,
    Check(
        name="unsettled",
        about="are ready although a part of them is not",
        hint="graphmill verify --repair, then let the work be finished: graphmill worker --drain",
        find=asking("unsettled-files", "unsettled-articles", resting=_RESTING),
    ),
    Check(
        name="twin",
        about="are there more than once",
        hint=_READ_ANEW,
        find=asking("twin-files", "twin-articles"),
    ),
    Check(
        name="expansion-state",
        about="have an expansion_state that is not what their _state is shown as",
        hint=_MEND,
        find=asking("expansion", shown=_expansion_words()),
    ),
    Check(
        name="outcome",
        about="have an outcome that is not what their _state is shown as",
        hint=_MEND,
        find=_outcomes,
    ),
    Check(
        name="early-run",
        about="are completed although one of their partitions is not",
        hint=_run_anew,
        find=asking("early-runs", replanned=PLANNED_ANEW),
    ),
    Check(
        name="lone-partition",
        about="are partitions of no run",
        hint=_MEND,
        find=asking("lone-partitions"),
    ),
    Check(
        name="early-watermark",
        about="have a watermark although they are not completed",
        hint=_run_anew,
        find=_of_unfinished_runs,
    ),
    Check(
        name="watermark-gone-back",
        about="set the watermark of their source back",
        hint=_run_anew,
        find=_gone_back,
    ),
    *contents.CHECKS,
)
