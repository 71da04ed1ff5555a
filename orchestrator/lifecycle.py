"""The one writer of states: every move of every node is checked against the table here and then committed.

Owns what claiming, completing, failing, releasing, reclaiming, retrying and "content changed" mean.
Refuses to read a clock: times are the store's; randomness comes in as an argument.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from graph_stores.errors import Conflict, LeaseLost, TransitionConflict
from graph_stores.model import (
    Batch,
    Claim,
    Edge,
    Fence,
    Node,
    NodeRow,
    Ref,
    Select,
    Transition,
    Unlink,
    Update,
    Value,
    Vector,
)
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.moves import CLEAN, EXPANDING, claim_marks, step_forward, transition
from orchestrator.owners import spoken
from orchestrator.retries import RetryPolicy
from orchestrator.states import RECORDS, ErrorClass, ErrorType, Stage, State

_PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a stage made of one claimed node. `path` is where the node goes, by default to the stage's done state."""

    node: NodeRow
    path: Sequence[State] = ()
    properties: Mapping[str, Value] = field(default_factory=dict)
    also: Sequence[Transition] = ()
    deletions: Sequence[Ref] = ()
    unlinks: Sequence[Unlink] = ()
    nodes: Sequence[Node] = ()
    updates: Sequence[Update] = ()
    edges: Sequence[Edge] = ()
    vectors: Sequence[Vector] = ()

    @property
    def touched(self) -> frozenset[Ref]:
        """The nodes whose state must be as it was found."""
        return frozenset((self.node.ref, *(move.node for move in self.also)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """A node in a working state that no running worker holds: its lease is over, or its owner is known to be gone."""

    node: NodeRow
    expired: bool
    gone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """The verbs over one store."""

    store: Store
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    random: Random = field(default_factory=Random)

    async def upsert(self, nodes: Sequence[Node], edges: Sequence[Edge] = ()) -> None:
        await self.store.commit(Batch(nodes=nodes, edges=edges))

    async def update(self, updates: Sequence[Update]) -> None:
        if updates:
            await self.store.commit(Batch(updates=updates))

    async def transition(self, transitions: Sequence[Transition]) -> None:
        await self.store.commit(Batch(transitions=transitions))

    async def claim(
        self,
        stage: Stage,
        *,
        labels: Sequence[str],
        limit: int,
        owner: str,
        seconds: float,
        away: Sequence[str] = (),
        source: str = "root",
        properties: Sequence[str] | None = None,
    ) -> list[NodeRow]:
        """Up to `limit` nodes that wait for the stage, for this owner alone until the lease ends.

        What cannot be read here, because its source is one of `away`, is left to others; `source` is the property that
        names it. With `properties`, others than these need not be read.
        """
        return await self.store.claim(
            Claim(
                labels=tuple(labels),
                waiting=stage.waiting.value,
                working=stage.working.value,
                owner=owner,
                limit=limit,
                seconds=seconds,
                marks=claim_marks(stage, labels),
                away=tuple(away),
                source=source,
                properties=properties,
            )
        )

    async def heartbeat(self, nodes: Sequence[NodeRow], *, seconds: float) -> None:
        """Keep the leases; LeaseLost names those that are gone, the others are kept."""
        lost: list[NodeRow] = []
        for token, held in _by_token(nodes).items():
            kept = await self.store.heartbeat([node.ref for node in held], token=token, seconds=seconds)
            lost += [node for node in held if node.uuid not in kept]
        if lost:
            raise LeaseLost([_lost(node) for node in lost])

    async def complete(self, results: Sequence[Result], *, fence: Fence | None = None) -> None:
        """What the stage produced and the next state, in one commit."""
        _check_births(results)
        await self.store.commit(
            Batch(
                fence=fence,
                transitions=[move for result in results for move in (_completion(result), *result.also)],
                deletions=[ref for result in results for ref in result.deletions],
                unlinks=[unlink for result in results for unlink in result.unlinks],
                nodes=[_of_its_run(node, result.node) for result in results for node in result.nodes],
                updates=[update for result in results for update in result.updates],
                edges=[edge for result in results for edge in result.edges],
                vectors=[vector for result in results for vector in result.vectors],
            )
        )

    async def release(self, nodes: Sequence[NodeRow]) -> None:
        """Give work back that was not begun or not finished; it costs the node no try."""
        await self.transition([self._back(node, retry_count=node.retry_count) for node in nodes])

    async def give_back(self, nodes: Sequence[NodeRow]) -> None:
        """Release those of the nodes that are still held."""
        await self.move_what_is_still_so([self._back(node, retry_count=node.retry_count) for node in nodes])

    async def fail(self, node: NodeRow, *, message: str, error_class: ErrorClass) -> State:
        """Record a failed try: back to waiting while tries are left, else error; returns where the node went."""
        move = self._failure(node, message=message, error_class=error_class)
        await self.transition([move])
        return State(move.to)

    async def stuck(self, is_gone: Callable[[str], bool] = lambda _: False) -> AsyncIterator[list[Stuck]]:
        """The nodes in a working state that no running worker holds, in pages.

        Their lease is over (see `Select`), or its owner is known to be gone. `reclaim`, `verify` and `status` all ask
        here.
        """
        working = Select(states=[state.value for state in states.WORKING], limit=_PAGE)
        if not await self.store.nodes(replace(working, limit=1)):
            return  # as a rule
        found: set[Ref] = set()
        for expired in (True, False):
            page = replace(working, expired=expired)
            while rows := await self.store.nodes(page):
                # A server may find a node by the state that it is just leaving, and then tell the new one.
                held = [row for row in rows if row.state in states.WORKING and row.ref not in found]
                stuck = [Stuck(node=row, expired=expired, gone=_is_of(row, is_gone)) for row in held]
                stuck = [each for each in stuck if each.expired or each.gone]
                found.update(each.node.ref for each in stuck)
                yield stuck
                page = replace(page, after=rows[-1].ref)

    async def count_stuck(self, is_gone: Callable[[str], bool]) -> int:
        return sum([len(page) async for page in self.stuck(is_gone)])

    async def reclaim(self, is_gone: Callable[[str], bool] = lambda _: False) -> int:
        """Take back every stuck node, which counts as a try; returns how many nodes were moved."""
        moved = 0
        async for page in self.stuck(is_gone):
            moves = [self._loss(each) for each in page]
            moved += len(moves) - len(await self.move_what_is_still_so(moves))
        return moved

    async def retry_errors(
        self,
        *,
        labels: Sequence[str] = (),
        uuids: Sequence[str] = (),
        error_type: ErrorType | None = None,
        error_class: ErrorClass | None = None,
    ) -> int:
        """Send nodes in error back to the stage that failed, with all their tries. Runs are retried as runs."""
        moved = 0
        page = Select(
            labels=labels,
            uuids=uuids,
            states=[State.ERROR.value],
            error_type=error_type,
            error_class=error_class,
            limit=_PAGE,
        )
        while rows := await self.store.nodes(page):
            moves = [_retry(row) for row in rows if row.label not in RECORDS]
            moved += len(moves) - len(await self.move_what_is_still_so(moves))
            page = replace(page, after=rows[-1].ref)
        return moved

    async def mark_changed(
        self, hashes: Mapping[Ref, str], properties: Mapping[Ref, Mapping[str, Value]] | None = None
    ) -> list[Ref]:
        """Send nodes whose content is new back to pending; returns those in a worker's hands, to be marked later.

        `properties` are what else becomes true of a node in the same commit.
        """
        busy: list[Ref] = []
        marks = {ref: {**(properties or {}).get(ref, {}), "_contentHash": hashes[ref]} for ref in hashes}
        refs = sorted(hashes)
        for start in range(0, len(refs), _PAGE):
            page = refs[start : start + _PAGE]
            rows = await self.store.nodes(
                Select(labels=sorted({ref.label for ref in page}), uuids=[ref.uuid for ref in page], limit=len(page))
            )
            changed = [row for row in rows if row.properties.get("_contentHash") != hashes.get(row.ref)]
            busy += [row.ref for row in changed if row.state in states.WORKING]
            moves = [_changed(row, marks[row.ref]) for row in changed if row.state in states.CHANGEABLE]
            moves += [_rehashed(row, marks[row.ref]) for row in changed if row.state == State.PENDING]
            busy += await self.move_what_is_still_so(moves)
        return busy

    async def delete(self, refs: Sequence[Ref]) -> None:
        await self.store.commit(Batch(deletions=refs))

    def _failure(
        self,
        node: NodeRow,
        *,
        message: str,
        error_class: ErrorClass,
        limit: int | None = None,
        expired: bool = False,
        at_once: bool = False,
    ) -> Transition:
        stage = states.stage_of(node.state)
        permanent = error_class.is_permanent
        tries = node.retry_count + (0 if permanent else 1)
        error = {"_errorType": stage.error_type.value, "_errorClass": error_class.value, "_errorMessage": message}
        if permanent or tries >= (limit or self.policy.limit):
            return transition(
                node.ref,
                expected=stage.working,
                to=State.ERROR,
                token=_token(node),
                expired=expired,
                retry_count=tries,
                retries_left=False,
                properties=error,
            )
        delay = None if at_once else self.policy.delay(tries, self.random)
        return self._back(node, retry_count=tries, delay=delay, properties=error, expired=expired)

    def _loss(self, stuck: Stuck) -> Transition:
        node = stuck.node
        owner = spoken(node.lease.owner) if node.lease else "nobody"
        how = f"its worker, {owner}, disappeared" if stuck.gone else f"the lease of {owner} was over"
        return self._failure(
            node,
            message=f"{how} while the node was {node.state}",
            error_class=ErrorClass.TRANSIENT,
            limit=self.policy.losses,
            expired=stuck.expired,
            at_once=stuck.gone,  # to wait helps against what passes by itself
        )

    def _back(
        self,
        node: NodeRow,
        *,
        retry_count: int,
        delay: float | None = None,
        properties: Mapping[str, Value] | None = None,
        expired: bool = False,
    ) -> Transition:
        stage = states.stage_of(node.state)
        return transition(
            node.ref,
            expected=stage.working,
            to=stage.waiting,
            token=_token(node),
            expired=expired,
            delay=delay,
            retry_count=retry_count,
            properties=properties,
        )

    async def move_what_is_still_so(self, moves: Sequence[Transition]) -> list[Ref]:
        """Commit the moves whose nodes nobody else has moved meanwhile; returns the nodes that somebody has."""
        left: list[Ref] = []
        while moves:
            try:
                await self.transition(moves)
            except TransitionConflict as conflict:
                gone = {Ref(label=each.label, uuid=each.uuid) for each in conflict.conflicts}
                moves = [move for move in moves if move.node not in gone]
                left += sorted(gone)
            else:
                break
        return left


def _completion(result: Result) -> Transition:
    stage = states.stage_of(result.node.state)
    *through, to = result.path or (stage.done,)
    return transition(
        result.node.ref,
        expected=stage.working,
        through=through,
        to=to,
        token=_token(result.node),
        retry_count=0 if result.node.retry_count else None,
        retries_left=to is not State.ERROR,
        properties={**(CLEAN if result.node.error_type else {}), **result.properties},
    )


def _of_its_run(node: Node, source: NodeRow) -> Node:
    """What is made of a source is of the run that found it."""
    run = source.properties.get("_runId")
    return replace(node, initial={**node.initial, "_runId": run}) if run else node


def _check_births(results: Sequence[Result]) -> None:
    """A node is born ready only together with its vector."""
    with_vector = {vector.node for result in results for vector in result.vectors if vector.values is not None}
    for node in (node for result in results for node in result.nodes):
        if node.state == State.READY and node.ref not in with_vector:
            raise states.InvalidTransition(f"{node.label} {node.uuid} cannot start in {node.state} without its vector")


def _retry(node: NodeRow) -> Transition:
    to = states.retry_state(ErrorType(node.error_type or ErrorType.PARSE))
    return transition(node.ref, expected=State.ERROR, to=to, retry_count=0)


def _changed(node: NodeRow, marks: Mapping[str, Value]) -> Transition:
    return transition(
        node.ref,
        expected=State(node.state),
        to=State.PENDING,
        retry_count=0,
        properties={**(CLEAN if node.error_type else {}), **marks},
    )


def _rehashed(node: NodeRow, marks: Mapping[str, Value]) -> Transition:
    """New content has failed nothing yet. Only while it waits: a worker may be about to take what it held before."""
    fresh = {**CLEAN, "_retryCount": 0, **marks}
    if node.label in EXPANDING:
        fresh["retry_count"] = 0
    return step_forward(node, fresh)


def _is_of(node: NodeRow, is_gone: Callable[[str], bool]) -> bool:
    return node.lease is not None and is_gone(node.lease.owner)


def _token(node: NodeRow) -> str | None:
    return node.lease.token if node.lease else None


def _lost(node: NodeRow) -> Conflict:
    return Conflict(label=node.label, uuid=node.uuid, expected=node.state, found=None, lease_lost=True)


def _by_token(nodes: Sequence[NodeRow]) -> dict[str, list[NodeRow]]:
    held: dict[str, list[NodeRow]] = {}
    for node in nodes:
        if node.lease:
            held.setdefault(node.lease.token, []).append(node)
    return held
