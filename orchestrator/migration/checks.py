"""What must hold of the nodes whose labels a migration brought, beside what must hold of every node."""

from collections.abc import AsyncIterator, Sequence

from graph_stores.protocol import Store
from orchestrator.checking import Check, Example, asking
from orchestrator.contents import EMBED_ANEW
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import transition
from orchestrator.removal import rows_of
from orchestrator.states import State

_vectorless = asking("adopted-vectors")


async def _without_vector(store: Store) -> AsyncIterator[Example]:
    """Only of those that say of which model their vector is: others may be ready without one."""
    if await store.vector_space():
        async for each in _vectorless(store):
            yield each


CHECKS = (
    Check(
        name="adopted-vector",
        about="came by a migration and are ready without their vector",
        hint=EMBED_ANEW,
        find=_without_vector,
    ),
)


async def embed_again(store: Store, found: Sequence[Example]) -> str:
    rows = await rows_of(store, [each.ref for each in found])
    moves = [transition(row.ref, expected=State.READY, to=State.LINKED) for row in rows]
    await Lifecycle(store=store).move_what_is_still_so(moves)
    return "sent back to linked, to be embedded again"
