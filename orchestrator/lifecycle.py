"""The one writer of states: every move of every node is checked against the table here and then committed.

Owns what claiming, completing, failing, releasing, reclaiming, retrying and "content changed" mean.
Refuses to read a clock: times are the store's; randomness comes in as an argument.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from graph_stores.errors import Conflict, LeaseLost, TransitionConflict
from graph_stores.model import (
    Batch,
    Claim,
    Edge,
    Marks,
    Node,
    NodeRow,
    Ref,
    Select,
    Transition,
    Unlink,
    Value,
    Vector,
)
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.states import ErrorClass, ErrorType, Stage, State

# The labels that also show the expansion vocabulary.
EXPANDING = frozenset({"Article"})
_CLEAN: Mapping[str, Value] = {"_errorType": None, "_errorClass": None, "_errorMessage": None}
_PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a stage of a node may fail, and how long to wait in between: doubling, with jitter, up to a limit."""

    limit: int = 3
    first_delay: float = 1.0
    longest_delay: float = 300.0

    def delay(self, tries: int, random: Random) -> float:
        return min(self.longest_delay, self.first_delay * 2.0 ** min(tries - 1, 200)) * random.uniform(0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a stage made of one claimed node; `to` defaults to the stage's done state."""

    node: NodeRow
    to: State | None = None
    properties: Mapping[str, Value] = field(default_factory=dict)
    also: Sequence[Transition] = ()
    deletions: Sequence[Ref] = ()
    unlinks: Sequence[Unlink] = ()
    nodes: Sequence[Node] = ()
    edges: Sequence[Edge] = ()
    vectors: Sequence[Vector] = ()


def transition(
    node: Ref,
    *,
    expected: State,
    to: State,
    token: str | None = None,
    expired: bool = False,
    delay: float | None = None,
    retry_count: int | None = None,
    retries_left: bool = True,
    properties: Mapping[str, Value] | None = None,
) -> Transition:
    """A legal transition with everything that changes together with the state."""
    states.check(expected, to)
    marks = {**(_CLEAN if expected is State.ERROR else {}), **(properties or {})}
    if retry_count is not None:
        marks["_retryCount"] = retry_count
    stage = states.WORKING.get(expected)
    stamp = [stage.stamp] if stage and stage.done is to else []
    if node.label in EXPANDING:
        marks["expansion_state"] = states.expansion_state(to, retries_left=retries_left).value
        if retry_count is not None:
            marks["retry_count"] = retry_count
        if to is State.LINKED and expected is State.LINKING:
            stamp.append("processed_at")
    return Transition(
        node=node,
        expected=expected.value,
        to=to.value,
        token=token,
        expired=expired,
        delay=delay,
        marks=Marks(set=marks, stamp=tuple(stamp)),
    )


def new_node(
    *,
    label: str,
    uuid: str,
    name: str,
    state: State = State.PENDING,
    depth: int = 0,
    properties: Mapping[str, Value] | None = None,
) -> Node:
    """A node to create or update, with the expansion vocabulary where its label shows it."""
    states.check_birth(state)
    initial: dict[str, Value] = {"_retryCount": 0}
    if label in EXPANDING:
        shown = states.expansion_state(state, retries_left=True).value
        initial |= {"expansion_state": shown, "expansion_depth": depth, "retry_count": 0}
    return Node(
        label=label,
        uuid=uuid,
        name=name,
        state=state.value,
        depth=depth,
        properties=properties or {},
        initial=initial,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """The verbs over one store."""

    store: Store
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    random: Random = field(default_factory=Random)

    async def upsert(self, nodes: Sequence[Node], edges: Sequence[Edge] = ()) -> None:
        await self.store.commit(Batch(nodes=nodes, edges=edges))

    async def transition(self, transitions: Sequence[Transition]) -> None:
        await self.store.commit(Batch(transitions=transitions))

    async def claim(
        self, stage: Stage, *, labels: Sequence[str], limit: int, owner: str, seconds: float
    ) -> list[NodeRow]:
        """Up to `limit` nodes that wait for the stage, for this owner alone until the lease ends."""
        shown = states.expansion_state(stage.working, retries_left=True).value
        marks = Marks(set={"expansion_state": shown}, stamp=("claimed_at",) if stage is states.PARSE else ())
        return await self.store.claim(
            Claim(
                labels=tuple(labels),
                waiting=stage.waiting.value,
                working=stage.working.value,
                owner=owner,
                limit=limit,
                seconds=seconds,
                marks={label: marks for label in labels if label in EXPANDING},
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

    async def complete(self, results: Sequence[Result]) -> None:
        """What the stage produced and the next state, in one commit."""
        await self.store.commit(
            Batch(
                transitions=[move for result in results for move in (_completion(result), *result.also)],
                deletions=[ref for result in results for ref in result.deletions],
                unlinks=[unlink for result in results for unlink in result.unlinks],
                nodes=[node for result in results for node in result.nodes],
                edges=[edge for result in results for edge in result.edges],
                vectors=[vector for result in results for vector in result.vectors],
            )
        )

    async def release(self, nodes: Sequence[NodeRow]) -> None:
        """Give work back that was not begun or not finished; it costs the node no try."""
        await self.transition([self._back(node, retry_count=node.retry_count) for node in nodes])

    async def fail(self, node: NodeRow, *, message: str, error_class: ErrorClass) -> State:
        """Record a failed try: back to waiting while tries are left, else error; returns where the node went."""
        move = self._failure(node, message=message, error_class=error_class)
        await self.transition([move])
        return State(move.to)

    async def reclaim(self) -> int:
        """Take back every lease that has run out; each counts as a try. Returns how many nodes were moved."""
        moved = 0
        page = Select(states=[state.value for state in states.WORKING], expired=True, limit=_PAGE)
        while rows := await self.store.nodes(page):
            moved += len(rows) - len(await self._move_what_is_still_so([self._expiry(row) for row in rows]))
            page = replace(page, after=rows[-1].ref)
        return moved

    async def retry_errors(
        self,
        *,
        labels: Sequence[str] = (),
        uuids: Sequence[str] = (),
        error_type: ErrorType | None = None,
        error_class: ErrorClass | None = None,
    ) -> int:
        """Send nodes in error back to the stage that failed, with all their tries."""
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
            moved += len(rows) - len(await self._move_what_is_still_so([_retry(row) for row in rows]))
            page = replace(page, after=rows[-1].ref)
        return moved

    async def mark_changed(self, hashes: Mapping[Ref, str]) -> list[Ref]:
        """Send nodes whose content is new back to pending; returns those in a worker's hands, to be marked later."""
        busy: list[Ref] = []
        refs = sorted(hashes)
        for start in range(0, len(refs), _PAGE):
            page = refs[start : start + _PAGE]
            rows = await self.store.nodes(
                Select(labels=sorted({ref.label for ref in page}), uuids=[ref.uuid for ref in page], limit=len(page))
            )
            changed = [row for row in rows if row.properties.get("_contentHash") != hashes.get(row.ref)]
            busy += [row.ref for row in changed if row.state in states.WORKING]
            moves = [_changed(row, hashes[row.ref]) for row in changed if row.state in states.CHANGEABLE]
            busy += await self._move_what_is_still_so(moves)
            await self.upsert([_rehashed(row, hashes[row.ref]) for row in changed if row.state == State.PENDING])
        return busy

    async def delete(self, refs: Sequence[Ref]) -> None:
        await self.store.commit(Batch(deletions=refs))

    def _failure(self, node: NodeRow, *, message: str, error_class: ErrorClass, expired: bool = False) -> Transition:
        stage = states.stage_of(node.state)
        permanent = error_class is ErrorClass.PERMANENT
        tries = node.retry_count + (0 if permanent else 1)
        error = {"_errorType": stage.error_type.value, "_errorClass": error_class.value, "_errorMessage": message}
        if permanent or tries >= self.policy.limit:
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
        delay = self.policy.delay(tries, self.random)
        return self._back(node, retry_count=tries, delay=delay, properties=error, expired=expired)

    def _expiry(self, node: NodeRow) -> Transition:
        owner = node.lease.owner if node.lease else "nobody"
        message = f"the lease of {owner} ran out while the node was {node.state}"
        return self._failure(node, message=message, error_class=ErrorClass.TRANSIENT, expired=True)

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

    async def _move_what_is_still_so(self, moves: list[Transition]) -> list[Ref]:
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
    return transition(
        result.node.ref,
        expected=stage.working,
        to=result.to or stage.done,
        token=_token(result.node),
        retry_count=0 if result.node.retry_count else None,
        properties={**(_CLEAN if result.node.error_type else {}), **result.properties},
    )


def _retry(node: NodeRow) -> Transition:
    to = states.retry_state(ErrorType(node.error_type or ErrorType.PARSE))
    return transition(node.ref, expected=State.ERROR, to=to, retry_count=0)


def _changed(node: NodeRow, content_hash: str) -> Transition:
    return transition(
        node.ref,
        expected=State(node.state),
        to=State.PENDING,
        retry_count=0,
        properties={**(_CLEAN if node.error_type else {}), "_contentHash": content_hash},
    )


def _rehashed(node: NodeRow, content_hash: str) -> Node:
    """New content has failed nothing yet."""
    fresh = {**_CLEAN, "_retryCount": 0, "_contentHash": content_hash}
    if node.label in EXPANDING:
        fresh["retry_count"] = 0
    return new_node(label=node.label, uuid=node.uuid, name=node.name, properties=fresh)


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
