"""What a worker does with a graph that was migrated: texts that are in the graph already are sent on to be embedded.

No file or article will ever bring them further: the graph is all that there is of them.
"""

from collections.abc import Sequence
from dataclasses import replace

from graph_stores.model import NodeRow, Select, Transition
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import transition
from orchestrator.stages import TEXTS
from orchestrator.states import State

EMPTY = "a placeholder: nothing was ever read for it"
_PAGE = 1000
_TO_LINKED = {State.PENDING: (State.PARSING, State.PARSED, State.LINKING), State.PARSED: (State.LINKING,)}


async def adopted_labels(store: Store) -> list[str]:
    """Labels beyond graphmill's own that nodes with a state go by."""
    return sorted(row[0] for row in (await store.ask("adopted")).rows)


async def send_on_what_was_migrated(lifecycle: Lifecycle, adopted: Sequence[str]) -> int:
    """Returns how many were moved. Where nothing was migrated nothing is looked for."""
    if not (await lifecycle.store.ask("was-migrated")).rows:
        return 0
    moved = 0
    page = Select(labels=[*TEXTS, *adopted], states=[State.PENDING.value, State.PARSED.value], limit=_PAGE)
    while rows := await lifecycle.store.nodes(page):
        own = [_onwards(row) for row in rows if "_migratedBy" in row.properties or row.label in adopted]
        moved += len(own) - len(await lifecycle.move_what_is_still_so(own))
        page = replace(page, after=rows[-1].ref)
    return moved


def _onwards(row: NodeRow) -> Transition:
    state = State(row.state)
    if state is State.PENDING and not row.properties.get("content"):
        return transition(row.ref, expected=state, to=State.SKIP, properties={"_errorMessage": EMPTY})
    return transition(row.ref, expected=state, through=_TO_LINKED[state], to=State.LINKED)
