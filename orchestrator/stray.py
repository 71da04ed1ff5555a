"""What waits for a stage that nobody will run for it: a text in a file that is past that stage, a folder to be read.

It comes of a state that was set by hand, and a job would wait for it for ever. Sent to where the work on it goes on,
it is done with the others.
"""

import time
from collections.abc import Callable, Mapping, Sequence

from graph_stores.errors import GraphmillError
from graph_stores.model import Transition
from graph_stores.protocol import Store
from orchestrator.checking import Check, Example, against, asking
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import transition
from orchestrator.stages import SOURCES, STAGES, TEXTS, is_nothing_waiting
from orchestrator.states import AT_REST, WORKING, State
from orchestrator.workers import read_workers

_GROUPS = frozenset({"Directory", "Category"})
_WAITED_FOR = _GROUPS.union(SOURCES, TEXTS)
_TO_BE_EMBEDDED: Mapping[State, Sequence[State]] = {
    State.PENDING: (State.PARSING, State.PARSED, State.LINKING),
    State.PARSED: (State.LINKING,),
}
_TO_BE_SETTLED: Mapping[State, Sequence[State]] = {
    State.PENDING: (State.PARSING,),
    State.LINKED: (State.PENDING, State.PARSING),
}
_ABOUT = "wait for a stage that is over for what they are in"
_HINT = "send them on: graphmill verify --repair, or any job does it; then graphmill worker --drain"
STRAYS = Check(
    name="stray",
    about=_ABOUT,
    hint=_HINT,
    find=asking("stray-texts", "stray-scopes", "stray-sections", "stray-groups", "stray-chunks", everything=False),
)
_OF_A_JOB = Check(
    name="stray",
    about=_ABOUT,
    hint=_HINT,
    find=asking("stray-texts", "stray-scopes", "stray-sections", "stray-groups", everything=True),
)
_LOOK, _SURE = 2.0, 10.0


class NodesLeft(GraphmillError):
    code = "nodes_left"


async def send_on(lifecycle: Lifecycle, found: Sequence[Example]) -> int:
    """Texts to be embedded, and groups to be settled; returns how many nobody else has moved meanwhile."""
    moves = [_move(each) for each in found]
    return len(moves) - len(await lifecycle.move_what_is_still_so(moves))


def _move(each: Example) -> Transition:
    state = State(each.found)
    if each.label in _GROUPS:
        return transition(each.ref, expected=state, through=_TO_BE_SETTLED[state], to=State.PARSED)
    return transition(each.ref, expected=state, through=_TO_BE_EMBEDDED[state], to=State.LINKED)


class Waiting:
    """What a job does about nodes that it waits for in vain, while it has nothing in its hands."""

    def __init__(self, lifecycle: Lifecycle, say: Callable[[str], None]) -> None:
        self._lifecycle = lifecycle
        self._say = say
        self._look_at = time.monotonic() + _LOOK
        self._in_vain_since: float | None = None

    async def look(self, *, may_end: bool) -> bool:
        """Send on what strayed; whether there was any. NodesLeft where it `may_end` and nobody will do what is left."""
        began = time.monotonic()
        if began < self._look_at:
            return False
        found = await against(self._lifecycle.store, _OF_A_JOB)
        sent = await send_on(self._lifecycle, found) if found else 0
        if sent:
            self._say(f"{sent:,} nodes waited for a stage that is over for what they are in; they are sent on")
        elif may_end:
            await self._give_up(self._lifecycle.store)
        self._look_at = time.monotonic() + max(_LOOK, 10 * (time.monotonic() - began))
        return bool(sent)

    async def _give_up(self, store: Store) -> None:
        left = await _left_in_vain(store)
        now = time.monotonic()
        self._in_vain_since = (self._in_vain_since or now) if left else None
        # Not at the first look: between two steps of somebody's work nothing may wait for a moment.
        if self._in_vain_since is not None and now - self._in_vain_since >= _SURE:
            raise NodesLeft(
                f"nobody will work on what is left: {left}",
                hint="find out why and mend it: graphmill verify --repair; then run the same command again",
            )


async def _left_in_vain(store: Store) -> str:
    """What is not at rest although nothing waits for a stage and nobody works; empty where that is not so."""
    progress = await store.progress(finished=[], window=0.0)
    if any(each.state in WORKING for each in progress.counts) or not await is_nothing_waiting(store, frozenset(STAGES)):
        return ""
    if sum(not each.is_gone for each in await read_workers(store)) > 1:
        return ""
    resting = {state.value for state in AT_REST}
    counts = [each for each in progress.counts if each.label in _WAITED_FOR and each.state not in resting]
    # A part that is parsed waits for nothing but its file, which may be in error.
    left = [each for each in counts if each.label not in TEXTS or each.state != State.PARSED]
    return ", ".join(f"{each.count:,} {each.label} {each.state}" for each in left)
