"""The course of a run: begun or gone on with, moved on when everything of it is at rest, cancelled, tried again.

Every process that works on a graph moves runs on, so that none is stranded when one of them dies between two steps.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from graph_stores.errors import HoldLost, Misuse, TransitionConflict
from graph_stores.model import Batch, Fence, Ref, Transition, Update, Value
from graph_stores.protocol import Store
from orchestrator.holding import holding
from orchestrator.leases import is_gone
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import transition
from orchestrator.paging import paged
from orchestrator.runs.records import (
    Partition,
    Run,
    RunPlan,
    RunType,
    SourceRecord,
    find_run,
    partition_edge,
    partition_node,
    partition_uuid,
    read_partitions,
    read_runs,
    run_uuid,
)
from orchestrator.runs.sources import SourceLost
from orchestrator.states import AT_REST, ErrorClass, ErrorType, State

CANCELLED = "its run was cancelled before it was read"
# Other partitions have what was in it.
PLANNED_ANEW = "it was planned anew"
_HOLD = "runs"
_LOOK = 1.0
_PAGE = 1000
_TO_CONSOLIDATE = (State.PARSING,)


async def begin(lifecycle: Lifecycle, plan: RunPlan, *, owner: str, say: Callable[[str], None]) -> Run:
    """A new run, or the one that was not finished when the same was asked for before.

    While somebody else is reading the source, what they saw may be older than what is asked for now: they are waited
    for. A run that is gone on with looks again at everything that may have changed since.
    """
    store, told = lifecycle.store, False
    # As the graph will hold them.
    plan = replace(plan, options=json.loads(json.dumps(plan.options)))
    while True:
        async with plan.turn(), holding(store, _HOLD, owner=owner, waiting=lambda: None) as fence:
            runs = await read_runs(store, source=plan.source)
            found = {run.uuid: await read_partitions(store, run.uuid) for run in runs if run.is_open}
            if not _are_in_hands(runs, found):
                for run in [each for each in runs if each.is_open and each.options != plan.options]:
                    await _end(lifecycle, run, found[run.uuid], "another run of the same source took its place")
                unfinished = next((run for run in runs if run.is_open and run.options == plan.options), None)
                known = await plan.record() if plan.record else SourceRecord()
                with suppress(TransitionConflict, HoldLost):  # somebody was quicker: look again
                    if unfinished is None:
                        return await _start(store, plan, known, runs, fence)
                    return await _go_on(lifecycle, unfinished, plan, known, found[unfinished.uuid], fence)
                continue
        if not told:
            told = True
            say(f"another job is reading {plan.source}; waiting for it")
        await asyncio.sleep(_LOOK)


async def watermark_of(store: Store, source: str) -> Run | None:
    """The run that moved the source's watermark last."""
    moved = [run for run in await read_runs(store, source=source) if run.watermark_after]
    return max(moved, key=lambda run: run.watermark_after, default=None)  # type: ignore[arg-type, return-value]


async def move_on(
    lifecycle: Lifecycle,
    run: Run,
    is_done: Callable[[Run], Awaitable[bool]] | None = None,
    obstacle: Callable[[Run], Awaitable[SourceLost | None]] | None = None,
) -> bool:
    """Where nothing waits any more that it could still bring something to: have the run consolidated if it is read to
    its end, or let it fail. Whether it was moved. `is_done` tells of what it has read, where that is not known, and
    `obstacle` why some of it cannot be read.
    """
    if run.state is not State.PENDING:
        return False
    partitions = await read_partitions(lifecycle.store, run.uuid)
    if any(each.state not in AT_REST for each in partitions) or (is_done and not await is_done(run)):
        return False
    failed = [each for each in partitions if each.state is State.ERROR]
    unread = [each for each in partitions if each.state is State.SKIP and each.reason != PLANNED_ANEW]
    if unread and not failed:
        reason: dict[str, Value] = {"_errorMessage": f"{_partitions(len(unread))} of it stayed cancelled"}
        move = transition(run.ref, expected=State.PENDING, to=State.SKIP, properties=reason)
    elif failed:
        reasons = "; ".join(f"{each.key}: {each.reason}" for each in failed[:3])
        move = _failure(run, f"{_partitions(len(failed))} could not be read: {reasons}")
    elif obstacle and (lost := await obstacle(run)):
        move = _failure(run, lost.message)
    else:
        move = transition(run.ref, expected=State.PENDING, through=_TO_CONSOLIDATE, to=State.PARSED)
    return not await lifecycle.move_what_is_still_so([move])


def _failure(run: Run, reason: str) -> Transition:
    return transition(
        run.ref,
        expected=State.PENDING,
        through=_TO_CONSOLIDATE,
        to=State.ERROR,
        properties={
            "_errorType": ErrorType.PARSE.value,
            "_errorClass": ErrorClass.PERMANENT.value,
            "_errorMessage": reason,
        },
    )


async def cancel(lifecycle: Lifecycle, run: Run) -> int:
    """Have nothing more of the run begun; what is in hand is finished. Returns how many sources were not read."""
    while True:
        if not run.is_open:
            raise Misuse(f"run {run.short} of {run.source} is {run.outcome} already", hint="there is nothing to cancel")
        if run.state is State.LINKING:
            raise Misuse(
                f"run {run.short} of {run.source} is read and being consolidated: too late to cancel it",
                hint=f"it ends by itself; see: graphmill runs show {run.short}",
            )
        partitions = await read_partitions(lifecycle.store, run.uuid)
        if await _end(lifecycle, run, partitions, "somebody cancelled it"):
            return await leave_unread(lifecycle, run)
        run = await find_run(lifecycle.store, run.uuid)  # somebody has moved it meanwhile


async def leave_unread(lifecycle: Lifecycle, run: Run) -> int:
    """What waits to be read for a run that was cancelled is not begun; returns how much that was."""
    left_out = 0
    async for rows in paged(lifecycle.store, "waiting-of-run", limit=_PAGE, run=run.uuid):
        refs = [Ref(label=label, uuid=uuid) for uuid, label in rows]
        moves = [
            transition(ref, expected=State.PENDING, to=State.SKIP, properties={"_errorMessage": CANCELLED})
            for ref in refs
        ]
        left_out += len(moves) - len(await lifecycle.move_what_is_still_so(moves))
    return left_out


async def try_again(lifecycle: Lifecycle, run: Run, keys: Sequence[str] = ()) -> list[Partition]:
    """Have what failed or was cancelled of a run read again; of some partitions only, where they are named."""
    if run.state is State.READY:
        raise Misuse(f"run {run.short} of {run.source} is completed", hint="for changes, ingest or expand it again")
    partitions = await read_partitions(lifecycle.store, run.uuid)
    unknown = sorted(set(keys) - {each.key for each in partitions})
    if unknown:
        raise Misuse(
            f"run {run.short} has no partition {unknown[0]!r}", hint=f"see them with: graphmill runs show {run.short}"
        )
    again = [each for each in partitions if each.state in (State.ERROR, State.SKIP) and (not keys or each.key in keys)]
    moves = [
        transition(each.ref, expected=each.state, to=State.PENDING, retry_count=0)
        for each in again
        if each.state is not State.PENDING
    ]
    if not run.is_open:
        moves.append(transition(run.ref, expected=run.state, to=State.PENDING, retry_count=0))
    await lifecycle.move_what_is_still_so(moves)
    async for rows in paged(lifecycle.store, "cancelled-of-run", limit=_PAGE, run=run.uuid, reason=CANCELLED):
        sources = [Ref(label=label, uuid=uuid) for uuid, label in rows]
        await lifecycle.move_what_is_still_so(
            [transition(ref, expected=State.SKIP, to=State.PENDING) for ref in sources]
        )
    return again


async def forget_runs(lifecycle: Lifecycle, source: str, *, whole: bool) -> None:
    """A source that is gone has no watermark, and nothing more of it is read; of a part of one only the latter."""
    for run in await read_runs(lifecycle.store, source=source, only_open=not whole):
        partitions = await read_partitions(lifecycle.store, run.uuid)
        if whole:
            await lifecycle.delete([run.ref, *(each.ref for each in partitions)])
        elif run.state is not State.LINKING:
            await _end(lifecycle, run, partitions, "what it read was forgotten")


def _are_in_hands(runs: Sequence[Run], found: Mapping[str, Sequence[Partition]]) -> bool:
    """Whether somebody is reading for one of the runs, or consolidating one."""
    held = [each for some in found.values() for each in some if each.state is State.PARSING]
    return any(run.state is State.LINKING for run in runs) or any(
        each.holder is None or not is_gone(each.holder) for each in held
    )


async def _start(store: Store, plan: RunPlan, known: SourceRecord, runs: Sequence[Run], fence: Fence) -> Run:
    before = max((run.watermark_after for run in runs if run.watermark_after), default=None)
    number = len(runs) + 1
    run = Run(
        uuid=run_uuid(store.project, plan.source, number),
        name=f"{plan.source} #{number}",
        source=plan.source,
        type=RunType.FULL if plan.is_full or before is None else RunType.INCREMENTAL,
        state=State.PENDING,
        options=plan.options,
        watermark_before=before,
    )
    parts = [*plan.parts, *plan.first]
    await store.commit(
        Batch(
            fence=fence,
            transitions=known.transitions,
            nodes=[*known.nodes, run.node(), *(partition_node(run, part, index) for index, part in enumerate(parts))],
            # By the store's clock, and before anything of the source is looked at.
            updates=[Update(node=run.ref, stamp=("startedAt", "readAt")), *plan.marks],
            edges=[partition_edge(run, part, index) for index, part in enumerate(parts)],
        )
    )
    return run


async def _go_on(
    lifecycle: Lifecycle, run: Run, plan: RunPlan, known: SourceRecord, found: Sequence[Partition], fence: Fence
) -> Run:
    there = {each.uuid for each in found}
    parts = [*plan.parts, *(part for part in plan.first if partition_uuid(run.uuid, part.key) in there)]
    planned = {partition_uuid(run.uuid, part.key) for part in parts}
    moves: list[Transition] = []
    for each in found:
        if each.uuid not in planned:
            moves += _given_up(each, PLANNED_ANEW)
        elif not each.kind.is_settled or each.state in (State.ERROR, State.SKIP):
            moves += _anew(each)
    if run.state is not State.PENDING:  # it was to be consolidated, and there may be something new
        moves.append(transition(run.ref, expected=run.state, to=State.PENDING))
    await lifecycle.store.commit(
        Batch(
            fence=fence,
            transitions=[*known.transitions, *moves],
            nodes=[*known.nodes, *(partition_node(run, part, index) for index, part in enumerate(parts))],
            updates=[Update(node=each.ref, properties={"nextOffset": 0}) for each in found if not each.kind.is_settled],
            edges=[partition_edge(run, part, index) for index, part in enumerate(parts)],
        )
    )
    return replace(run, state=State.PENDING)


def _anew(partition: Partition) -> list[Transition]:
    if partition.state not in AT_REST:
        return []
    return [transition(partition.ref, expected=partition.state, to=State.PENDING, retry_count=0)]


def _given_up(partition: Partition, reason: str) -> list[Transition]:
    if partition.state is not State.PENDING:
        return []
    properties = {"_errorMessage": reason}
    return [transition(partition.ref, expected=State.PENDING, to=State.SKIP, properties=properties)]


async def _end(lifecycle: Lifecycle, run: Run, partitions: Sequence[Partition], reason: str) -> bool:
    """Cancelled: nobody begins anything of it any more. False where somebody else has moved it first."""
    through = () if run.state is State.PENDING else (State.PENDING,)
    properties = {"_errorMessage": reason}
    move = transition(run.ref, expected=run.state, through=through, to=State.SKIP, properties=properties)
    if await lifecycle.move_what_is_still_so([move]):
        return False
    await lifecycle.move_what_is_still_so([move for each in partitions for move in _given_up(each, reason)])
    return True


def _partitions(count: int) -> str:
    return "one partition" if count == 1 else f"{count:,} partitions"
