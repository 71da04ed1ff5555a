"""Texts whose words changed: back to where what a parse made is."""

from collections.abc import Mapping

from graph_stores.model import NodeRow, Transition
from orchestrator.moves import transition
from orchestrator.states import State

# How a part whose text changed comes back to parsed, from wherever it is; a lease on it is taken away.
_BACK: Mapping[State, tuple[State, ...]] = {
    State.LINKED: (State.PENDING, State.PARSING),
    State.EMBEDDING: (State.LINKED, State.PENDING, State.PARSING),
    State.READY: (State.PENDING, State.PARSING),
    State.SKIP: (State.PENDING, State.PARSING),
    State.ERROR: (State.PENDING, State.PARSING),
}


def parsed_again(row: NodeRow) -> Transition | None:
    """Back to parsed, where it is not so already; a lease on it is taken away."""
    if row.state == State.PARSED:
        return None
    state = State(row.state)
    token = row.lease.token if row.lease else None
    return transition(row.ref, expected=state, through=_BACK[state], to=State.PARSED, token=token, retry_count=0)
