"""The states a node can be in and the moves between them.

Owns the table, what a retry returns to, and how a state is shown in the expansion vocabulary.
Pure: it reads no clock, no graph and no configuration.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType

from graph_stores.errors import GraphmillError


class State(StrEnum):
    PENDING = "pending"
    PARSING = "parsing"
    PARSED = "parsed"
    LINKING = "linking"
    LINKED = "linked"
    EMBEDDING = "embedding"
    READY = "ready"
    SKIP = "skip"
    ERROR = "error"


class ErrorType(StrEnum):
    PARSE = "parse"
    LINK = "link"
    EMBED = "embed"


class ErrorClass(StrEnum):
    """What kind of failure it was, and so whether trying again can help."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    MISSING = "missing"
    RATE_LIMIT = "rate_limit"
    NETWORK = "network"
    PARSE = "parse"
    TIMEOUT = "timeout"

    @property
    def is_permanent(self) -> bool:
        return self in (ErrorClass.PERMANENT, ErrorClass.MISSING, ErrorClass.PARSE)


class ExpansionState(StrEnum):
    DISCOVERED = "discovered"
    CLAIMED = "claimed"
    LOADED = "loaded"
    PROCESSED = "processed"
    FAILED = "failed"


class Outcome(StrEnum):
    """What became of a run, or of a partition of one."""

    WAITING = "waiting"
    RUNNING = "running"
    CONSOLIDATING = "consolidating"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of the pipeline: nodes wait in one state, are worked on in the next, and are done in the third."""

    name: str
    waiting: State
    working: State
    done: State
    error_type: ErrorType
    stamp: str


PARSE = Stage(
    name="parse",
    waiting=State.PENDING,
    working=State.PARSING,
    done=State.PARSED,
    error_type=ErrorType.PARSE,
    stamp="_parsedAt",
)
LINK = Stage(
    name="link",
    waiting=State.PARSED,
    working=State.LINKING,
    done=State.LINKED,
    error_type=ErrorType.LINK,
    stamp="_linkedAt",
)
EMBED = Stage(
    name="embed",
    waiting=State.LINKED,
    working=State.EMBEDDING,
    done=State.READY,
    error_type=ErrorType.EMBED,
    stamp="_embeddedAt",
)
STAGES = (PARSE, LINK, EMBED)
WORKING = MappingProxyType({stage.working: stage for stage in STAGES})

MOVES: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        State.PENDING: frozenset({State.PARSING, State.SKIP}),
        State.PARSING: frozenset({State.PARSED, State.ERROR, State.PENDING}),
        State.PARSED: frozenset({State.LINKING, State.PENDING}),
        State.LINKING: frozenset({State.LINKED, State.ERROR, State.PARSED}),
        State.LINKED: frozenset({State.EMBEDDING, State.SKIP, State.PENDING}),
        State.EMBEDDING: frozenset({State.READY, State.ERROR, State.LINKED}),
        State.READY: frozenset({State.PENDING, State.LINKED}),
        State.SKIP: frozenset({State.PENDING, State.LINKED}),
        State.ERROR: frozenset({State.PENDING, State.PARSED, State.LINKED}),
    }
)

STEPS = frozenset((before.value, after.value) for before, following in MOVES.items() for after in following)
"""Every legal move as a pair of words."""

# What a parse produces is born parsed; what can never be parsed is born skip; a chunk is born with its vector.
BIRTH = frozenset({State.PENDING, State.PARSED, State.SKIP, State.READY})
# New content sends a node back from any state in which nobody is working on it.
CHANGEABLE = frozenset(state for state, following in MOVES.items() if State.PENDING in following) - set(WORKING)


# Nobody has anything more to do.
AT_REST = frozenset({State.READY, State.SKIP, State.ERROR})

# What graphmill writes about its own work. No part of what a source became.
RECORDS = frozenset({"IngestionRun", "Partition", "Worker"})

# How the state of such a record is told.
OUTCOMES: Mapping[str, Mapping[State, Outcome]] = MappingProxyType(
    {
        "IngestionRun": {
            **dict.fromkeys(State, Outcome.RUNNING),
            State.LINKING: Outcome.CONSOLIDATING,
            State.READY: Outcome.COMPLETED,
            State.ERROR: Outcome.FAILED,
            State.SKIP: Outcome.CANCELLED,
        },
        "Partition": {
            **dict.fromkeys(State, Outcome.RUNNING),
            State.PENDING: Outcome.WAITING,
            State.READY: Outcome.COMPLETED,
            State.ERROR: Outcome.FAILED,
            State.SKIP: Outcome.CANCELLED,
        },
    }
)


class InvalidTransition(GraphmillError):
    code = "invalid_transition"
    transient = False


def check(expected: State, to: State) -> None:
    """Refuse a move that the table does not have."""
    if to not in MOVES[expected]:
        legal = ", ".join(sorted(MOVES[expected]))
        raise InvalidTransition(f"a node cannot go from {expected} to {to}; from {expected} it can go to {legal}")


def check_path(path: Sequence[State]) -> tuple[Stage, ...]:
    """Refuse a way that takes a step the table does not have; returns the stages that it completes."""
    steps = list(pairwise(path))
    for expected, to in steps:
        check(expected, to)
    return tuple(stage for expected, to in steps if (stage := WORKING.get(expected)) and stage.done is to)


def check_birth(state: State) -> None:
    """Refuse a state that no new node can have."""
    if state not in BIRTH:
        raise InvalidTransition(f"a node cannot start in {state}; it can start in {', '.join(sorted(BIRTH))}")


def stage_of(state: str) -> Stage:
    """The stage that works on nodes in this state; InvalidTransition where none does."""
    for stage in STAGES:
        if stage.working == state:
            return stage
    raise InvalidTransition(f"nobody works on a node that is {state}; it must be claimed first")


def retry_state(error_type: ErrorType) -> State:
    """Where a retry returns to: the state in which the stage that failed finds its work."""
    return next(stage.waiting for stage in STAGES if stage.error_type is error_type)


def expansion_state(state: State, *, retries_left: bool) -> ExpansionState | None:
    """Show a state in the vocabulary of the Wikipedia frontier; what is left out was never in it."""
    match state:
        case State.PENDING:
            return ExpansionState.DISCOVERED
        case State.PARSING:
            return ExpansionState.CLAIMED
        case State.PARSED | State.LINKING:
            return ExpansionState.LOADED
        case State.LINKED | State.EMBEDDING | State.READY:
            return ExpansionState.PROCESSED
        case State.SKIP:
            return None
        case State.ERROR:
            return ExpansionState.DISCOVERED if retries_left else ExpansionState.FAILED
