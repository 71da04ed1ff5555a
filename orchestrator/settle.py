"""What holds other nodes and has no text of its own goes on to ready when what it holds is at rest.

Asks the graph each time: nothing is counted along the way that could drift.
"""

from collections import Counter

from graph_stores.model import Ref, Transition
from orchestrator.lifecycle import Lifecycle, transition
from orchestrator.states import ErrorClass, ErrorType, State

_PAGE = 1000


async def settle(lifecycle: Lifecycle) -> int:
    """Bring files and then folders to rest where they can be; returns how many were moved."""
    return await _settle_files(lifecycle) + await _settle_directories(lifecycle)


async def unsettle(lifecycle: Lifecycle) -> None:
    """Files that were ready wait again for those of their parts that do."""
    while rows := (await lifecycle.store.ask("unsettled-files", {"limit": _PAGE})).rows:
        moves = [transition(_file(uuid), expected=State.READY, to=State.LINKED) for (uuid,) in rows]
        await lifecycle.move_what_is_still_so(moves)


async def _settle_files(lifecycle: Lifecycle) -> int:
    moved, after = 0, ""
    while rows := (await lifecycle.store.ask("settled-files", {"after": after, "limit": _PAGE})).rows:
        failing: Counter[str] = Counter()
        for uuid, count in (await lifecycle.store.ask("failing-files")).rows:
            failing[uuid] += count
        moves = [move for uuid, state in rows if (move := _move(uuid, State(state), failing[uuid]))]
        moved += len(moves) - len(await lifecycle.move_what_is_still_so(moves))
        after = rows[-1][0]  # those that are in error stay so, and must not be in the way of the others
    return moved


def _move(uuid: str, state: State, failing: int) -> Transition | None:
    if not failing:
        through = [State.LINKED, State.EMBEDDING] if state is State.ERROR else [State.EMBEDDING]
        return transition(_file(uuid), expected=state, through=through, to=State.READY, retry_count=0)
    if state is State.ERROR:
        return None
    parts = "one of its parts is" if failing == 1 else f"{failing} of its parts are"
    return transition(
        _file(uuid),
        expected=state,
        through=[State.EMBEDDING],
        to=State.ERROR,
        properties={
            "_errorType": ErrorType.EMBED.value,
            "_errorClass": ErrorClass.PERMANENT.value,
            "_errorMessage": f"{parts} in error",
        },
    )


async def _settle_directories(lifecycle: Lifecycle) -> int:
    moved = 0
    through = [State.LINKING, State.LINKED, State.EMBEDDING]
    while rows := (await lifecycle.store.ask("settled-directories", {"limit": _PAGE})).rows:
        moves = [
            transition(Ref(label="Directory", uuid=uuid), expected=State.PARSED, through=through, to=State.READY)
            for (uuid,) in rows
        ]
        moved += len(moves) - len(await lifecycle.move_what_is_still_so(moves))
    return moved


def _file(uuid: str) -> Ref:
    return Ref(label="File", uuid=uuid)
