"""What holds other nodes and has no text of its own goes on to ready when what it holds is at rest.

Asks the graph each time: nothing is counted along the way that could drift.
"""

from collections import Counter

from graph_stores.model import Ref, Transition
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import transition
from orchestrator.paging import paged
from orchestrator.states import ErrorClass, ErrorType, State

_PAGE = 1000


async def settle_files(lifecycle: Lifecycle) -> int:
    """Bring files and then folders to rest where they can be; returns how many were moved."""
    return await _settle_wholes(lifecycle, "File", "files") + await _settle_groups(
        lifecycle, "Directory", "directories"
    )


async def settle_articles(lifecycle: Lifecycle) -> int:
    """Bring articles and then categories to rest where they can be; returns how many were moved."""
    return await _settle_wholes(lifecycle, "Article", "articles") + await _settle_groups(
        lifecycle, "Category", "categories"
    )


async def unsettle(lifecycle: Lifecycle) -> None:
    """Files and articles that were ready wait again for those of their parts that do."""
    for label, kind in (("File", "files"), ("Article", "articles")):
        while rows := (await lifecycle.store.ask(f"unsettled-{kind}", {"limit": _PAGE})).rows:
            refs = [Ref(label=label, uuid=uuid) for (uuid,) in rows]
            moves = [transition(ref, expected=State.READY, to=State.LINKED) for ref in refs]
            await lifecycle.move_what_is_still_so(moves)


async def _settle_wholes(lifecycle: Lifecycle, label: str, kind: str) -> int:
    moved = 0
    # In pages: those that are in error stay so, and must not be in the way of the others.
    async for rows in paged(lifecycle.store, f"settled-{kind}", limit=_PAGE):
        failing: Counter[str] = Counter()
        for uuid, count in (await lifecycle.store.ask(f"failing-{kind}")).rows:
            failing[uuid] += count
        refs = [(Ref(label=label, uuid=uuid), State(state)) for uuid, state in rows]
        moves = [move for ref, state in refs if (move := _move(ref, state, failing[ref.uuid]))]
        moved += len(moves) - len(await lifecycle.move_what_is_still_so(moves))
    return moved


def _move(ref: Ref, state: State, failing: int) -> Transition | None:
    if not failing:
        through = [State.LINKED, State.EMBEDDING] if state is State.ERROR else [State.EMBEDDING]
        return transition(ref, expected=state, through=through, to=State.READY, retry_count=0)
    if state is State.ERROR:
        return None
    parts = "one of its parts is" if failing == 1 else f"{failing} of its parts are"
    return transition(
        ref,
        expected=state,
        through=[State.EMBEDDING],
        to=State.ERROR,
        properties={
            "_errorType": ErrorType.EMBED.value,
            "_errorClass": ErrorClass.PERMANENT.value,
            "_errorMessage": f"{parts} in error",
        },
    )


async def _settle_groups(lifecycle: Lifecycle, label: str, kind: str) -> int:
    moved = 0
    through = [State.LINKING, State.LINKED, State.EMBEDDING]
    while rows := (await lifecycle.store.ask(f"settled-{kind}", {"limit": _PAGE})).rows:
        moves = [
            transition(Ref(label=label, uuid=uuid), expected=State.PARSED, through=through, to=State.READY)
            for (uuid,) in rows
        ]
        moved += len(moves) - len(await lifecycle.move_what_is_still_so(moves))
    return moved
