"""Nodes that are to go, whatever they are doing and whoever has them in hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph_stores.model import NodeRow, Ref, Select, Transition, Value
from graph_stores.protocol import Store
from orchestrator.embed import chunks_of
from orchestrator.moves import transition
from orchestrator.states import State

# From where a text can get chunks that nobody knew of when it was read.
_IN_MOTION = frozenset({State.LINKED, State.EMBEDDING})
# How a node comes to where nobody looks for work, from wherever it is and whoever has it.
_AWAY: Mapping[State, tuple[State, ...]] = {
    State.PENDING: (),
    State.PARSING: (State.PENDING,),
    State.PARSED: (State.PENDING,),
    State.LINKING: (State.PARSED, State.PENDING),
    State.LINKED: (),
    State.EMBEDDING: (State.LINKED,),
    State.READY: (State.LINKED,),
    State.SKIP: (State.PENDING,),
    State.ERROR: (State.PENDING,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Nodes to delete. The moves make the commit fail where one of them is not as it was when they were listed."""

    refs: Sequence[Ref] = ()
    moves: Sequence[Transition] = ()


async def removal_of_texts(store: Store, texts: Sequence[Ref]) -> Removal:
    """Texts with the pieces that some of them were too long for."""
    rows = await rows_of(store, texts)
    return Removal(
        refs=[*texts, *(chunk for row in rows for chunk in chunks_of(row))],
        moves=[away(row) for row in rows if row.state in _IN_MOTION],
    )


def away(row: NodeRow, properties: Mapping[str, Value] | None = None) -> Transition:
    """To where nobody looks for work; a lease on it is taken away."""
    state = State(row.state)
    token = row.lease.token if row.lease else None
    return transition(row.ref, expected=state, through=_AWAY[state], to=State.SKIP, token=token, properties=properties)


async def rows_of(store: Store, refs: Sequence[Ref], *, page: int = 500) -> list[NodeRow]:
    """Nodes by name; those that are not there are left out."""
    rows: list[NodeRow] = []
    for start in range(0, len(refs), page):
        some = refs[start : start + page]
        labels = sorted({ref.label for ref in some})
        rows += await store.nodes(Select(labels=labels, uuids=[ref.uuid for ref in some], limit=len(some)))
    return rows
