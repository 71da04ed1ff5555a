"""What a new node and a legal move of a node look like: everything that is written together with a state.

Owns what is shown beside `_state`: the expansion vocabulary of articles, the outcome of runs and partitions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graph_stores.model import Marks, Node, NodeRow, Ref, Transition, Value
from graph_stores.pages import NodePage
from orchestrator import states
from orchestrator.states import Stage, State

# The labels that also show the expansion vocabulary.
EXPANDING = frozenset({"Article"})
LEASE = frozenset({"_leaseOwner", "_leaseToken", "_leaseUntil"})
CLEAN: Mapping[str, Value] = {"_errorType": None, "_errorClass": None, "_errorMessage": None}


def transition(
    node: Ref,
    *,
    expected: State,
    to: State,
    through: Sequence[State] = (),
    token: str | None = None,
    expired: bool = False,
    delay: float | None = None,
    retry_count: int | None = None,
    retries_left: bool = True,
    properties: Mapping[str, Value] | None = None,
) -> Transition:
    """A legal transition with everything that changes together with the state.

    Several steps that mean something only together are one write: `through` are the states in between.
    """
    stages = states.check_path((expected, *through, to))
    # What is in skip has its reason where an error has its message.
    marks = {**(CLEAN if expected in (State.ERROR, State.SKIP) else {}), **(properties or {})}
    if retry_count is not None:
        marks["_retryCount"] = retry_count
    stamp = [stage.stamp for stage in stages]
    marks |= _shown(node.label, to, retries_left=retries_left)
    if node.label in EXPANDING:
        if retry_count is not None:
            marks["retry_count"] = retry_count
        if states.LINK in stages:
            stamp.append("processed_at")
    if node.label in states.OUTCOMES:
        if to in states.AT_REST:
            stamp.append("finishedAt")
        else:
            marks["finishedAt"] = None
    return Transition(
        node=node,
        expected=expected.value,
        to=to.value,
        token=token,
        expired=expired,
        delay=delay,
        marks=Marks(set=marks, stamp=tuple(stamp)),
        through=tuple(state.value for state in through),
    )


def new_node(
    *,
    label: str,
    uuid: str,
    name: str,
    state: State = State.PENDING,
    depth: int = 0,
    properties: Mapping[str, Value] | None = None,
    initial: Mapping[str, Value] | None = None,
) -> Node:
    """A node to create or update, with the expansion vocabulary where its label shows it."""
    states.check_birth(state)
    initial = {"_retryCount": 0, **(initial or {}), **_shown(label, state)}
    if label in EXPANDING:
        initial |= {"expansion_depth": depth, "retry_count": 0}
    return Node(
        label=label,
        uuid=uuid,
        name=name,
        state=state.value,
        depth=depth,
        properties=properties or {},
        initial=initial,
    )


def claim_marks(stage: Stage, labels: Sequence[str]) -> dict[str, Marks]:
    """What a claim writes beside the lease, for the labels that show something beside `_state`."""
    shown = {label: _shown(label, stage.working) for label in labels}
    return {
        label: Marks(set=marks, stamp=("claimed_at",) if label in EXPANDING and stage is states.PARSE else ())
        for label, marks in shown.items()
        if marks
    }


def step_forward(node: NodeRow, properties: Mapping[str, Value]) -> Transition:
    """What is known of a node in a worker's hands changes; it stays where it is, and the lease with it."""
    return Transition(
        node=node.ref,
        expected=node.state,
        to=node.state,
        token=node.lease.token if node.lease else None,
        marks=Marks(set=properties),
        keeps_lease=True,
    )


def left_alone(label: str, properties: Mapping[str, Value]) -> dict[str, Value]:
    """The properties of a node that nobody works on: without a lease, and waiting again if it was in somebody's hands.

    That costs it no try.
    """
    kept = {name: value for name, value in properties.items() if name not in LEASE and name != "_notBefore"}
    if properties.get("_state") in states.WORKING:
        kept |= _set_to(label, states.WORKING[properties["_state"]].waiting)
    return {name: value for name, value in kept.items() if value is not None}


def all_left_alone(page: NodePage) -> tuple[list[NodePage], int]:
    """The same of many nodes, and how many of them were in somebody's hands."""
    held, others = page.parted("_state", states.WORKING)
    waiting = (replace(node, properties=left_alone(node.label, node.properties)) for node in held.nodes())
    return [each for each in (others.without(LEASE), *NodePage.of(waiting)) if len(each)], len(held)


def put(
    label: str, properties: Mapping[str, Value], to: State, more: Mapping[str, Value] | None = None
) -> dict[str, Value]:
    """The properties of a node that a repair puts into a state, wherever it was: past the table, and nobody's."""
    changed = {**properties, **CLEAN, **_set_to(label, to, retries_left=to is not State.ERROR), **(more or {})}
    kept = {name: value for name, value in changed.items() if name not in LEASE}
    return {name: value for name, value in kept.items() if value is not None}


def shown_right(label: str, properties: Mapping[str, Value]) -> dict[str, Value]:
    """The properties of a node with the words that belong to its state."""
    state = State(properties["_state"])
    changed = {**properties, **_shown(label, state, retries_left=state is not State.ERROR)}
    return {name: value for name, value in changed.items() if value is not None}


def _set_to(label: str, state: State, *, retries_left: bool = True) -> dict[str, Value]:
    return {"_state": state.value, **_shown(label, state, retries_left=retries_left)}


def _shown(label: str, state: State, *, retries_left: bool = True) -> dict[str, Value]:
    if label in EXPANDING:
        shown = states.expansion_state(state, retries_left=retries_left)
        return {"expansion_state": shown.value if shown else None}
    if outcomes := states.OUTCOMES.get(label):
        return {"outcome": outcomes[state].value}
    return {}
