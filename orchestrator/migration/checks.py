"""What must hold of the nodes whose labels a migration brought, which no question of graphmill's own names."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from graph_stores.model import NodeRow, Select
from graph_stores.protocol import Store
from orchestrator.checking import Check, Example
from orchestrator.contents import EMBED_ANEW
from orchestrator.lifecycle import Lifecycle
from orchestrator.migration.afterwards import adopted_labels
from orchestrator.moves import transition
from orchestrator.removal import rows_of
from orchestrator.states import State

_PAGE = 1000
_STATES = frozenset(state.value for state in State)


async def _in_no_state(store: Store) -> AsyncIterator[Example]:
    async for rows in _pages(store, Select(labels=await adopted_labels(store), limit=_PAGE)):
        for row in rows:
            if row.state not in _STATES:
                yield _example(row, row.state or "no state")


async def _without_vector(store: Store) -> AsyncIterator[Example]:
    """Of those that say of which model their vector is."""
    ready = Select(labels=await adopted_labels(store), states=[State.READY.value], limit=_PAGE)
    async for rows in _pages(store, ready):
        told = {row.uuid: row for row in rows if row.properties.get("_embeddingModel")}
        for label in sorted({row.label for row in told.values()}):
            uuids = [uuid for uuid, row in told.items() if row.label == label]
            for node in await store.exported(label, uuids):
                if node.properties.get("embedding") is None:
                    yield _example(told[node.properties["uuid"]], "")


async def _pages(store: Store, select: Select) -> AsyncIterator[Sequence[NodeRow]]:
    """Each node once, however many of the labels it has."""
    seen: set[str] = set()
    while rows := await store.nodes(select) if select.labels else []:
        yield [row for row in rows if row.uuid not in seen]
        seen.update(row.uuid for row in rows)
        select = replace(select, after=rows[-1].ref)


def _example(row: NodeRow, found: str) -> Example:
    return Example(label=row.label, uuid=row.uuid, found=found or row.name)


CHECKS = (
    Check(
        name="adopted-state",
        about="came by a migration and are in no state that graphmill knows",
        hint="say where they stand: graphmill query --write \"MATCH (n {uuid: '…'}) SET n._state = 'linked'\"",
        find=_in_no_state,
    ),
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
