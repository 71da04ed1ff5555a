"""The rows that cross the seam between graphmill and an engine.

Owns what a node, an edge and a change look like on both sides; knows no engine and no meaning of a label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from graph_stores.errors import Misuse

# Values are what every engine can hold: str, int, float, bool, an aware datetime, None, or a list of one of these.
Value = Any

# What the store itself writes. Callers name these through typed fields, never as properties.
OWNED = frozenset(
    {
        "uuid",
        "projectId",
        "name",
        "_state",
        "_stateChangedAt",
        "_depth",
        "_detectedAt",
        "_leaseOwner",
        "_leaseToken",
        "_leaseUntil",
        "_notBefore",
        "embedding",
    }
)

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
# What a NodeRow holds in fields of its own.
_TYPED = OWNED | {"_retryCount", "_errorType", "_errorClass", "_errorMessage"}
# What every claimer of a node gets to see.
BOOKKEEPING = _TYPED | {"_runId"}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Ref:
    """A node by name. The order is the order in which locks are taken."""

    label: str
    uuid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node to be there. One that exists keeps its state and depth and gets `name` and `properties`.

    `initial` properties, like state and depth, are for a new node only.
    """

    label: str
    uuid: str
    name: str
    state: str
    depth: int = 0
    properties: Mapping[str, Value] = field(default_factory=dict)
    initial: Mapping[str, Value] = field(default_factory=dict)

    @property
    def ref(self) -> Ref:
        return Ref(label=self.label, uuid=self.uuid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Properties for a node that is there; one that is not is left alone. Of two values for one the later counts.

    The names in `stamp` get the store's own time.
    """

    node: Ref
    properties: Mapping[str, Value] = field(default_factory=dict)
    name: str | None = None
    stamp: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """An edge to be there, one per source, type and target; its properties replace those it had by the same names."""

    type: str
    source: Ref
    target: Ref
    properties: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Properties that change together with a state; the names in `stamp` get the store's own time."""

    set: Mapping[str, Value] = field(default_factory=dict)
    stamp: tuple[str, ...] = ()


LONGEST_LEASE = 3600.0
"""The longest that a lease, a hold or a delay may last, in seconds.

No store gives out a longer one. One that ends later than this from now, by the store's clock, was written by something
else, and does not count: it must not block a node for ever.
"""


def checked_seconds(seconds: float) -> float:
    """How long a lease, a hold or a delay is to last, if it may."""
    if seconds > LONGEST_LEASE:
        raise Misuse(
            f"a lease, hold or delay of {seconds:,.0f} s is too long",
            hint=f"expected at most {LONGEST_LEASE:,.0f} s; renew it while it is needed",
        )
    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A compare-and-set of one node's state. It ends the lease that the node had, unless `keeps_lease`.

    `token` must be the lease's token where a node is leased, and None where it is not.
    `expired` asks that the lease is over, as in `Select`: this is how a lease is taken away.
    `delay` is how many seconds from now, by the store's clock, the node must not be claimed.
    """

    node: Ref
    expected: str
    to: str
    token: str | None = None
    expired: bool = False
    delay: float | None = None
    marks: Marks = field(default_factory=Marks)
    keeps_lease: bool = False
    through: tuple[str, ...] = ()
    """States that it passes on the way, where several steps are one write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """The vector of a node, or None to take it away; which model made it is told by the transition's marks."""

    node: Ref
    values: Sequence[float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlink:
    """All edges of a type that start at a node are to go."""

    source: Ref
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Asks that a hold is still under this token when the batch is committed."""

    name: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What becomes visible together or not at all, applied in the order of the fields once the fence was looked at."""

    transitions: Sequence[Transition] = ()
    deletions: Sequence[Ref] = ()
    unlinks: Sequence[Unlink] = ()
    nodes: Sequence[Node] = ()
    updates: Sequence[Update] = ()
    edges: Sequence[Edge] = ()
    vectors: Sequence[Vector] = ()
    fence: Fence | None = None


class Move(NamedTuple):
    """A change of state as it was committed: `before` is None for a new node, `after` for one that is gone.

    Times are the store's own, in microseconds since 1970, and `tries` the failed or lost ones of the stage before this
    change. A tuple, because several are made of every node, at a sixth of what a frozen dataclass costs.
    """

    node: Ref
    before: str | None
    after: str | None
    at: int
    since: int | None = None
    through: tuple[str, ...] = ()
    tries: int = 0
    run: str | None = None
    error_type: str | None = None
    error_message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A wish for up to `limit` nodes waiting in one state, lowest depth first, then oldest.

    Nodes whose source is one of `away` are left to others, unless they have their `_content` with them; `source` is the
    property that names it.
    `properties` are those that the claimer looks at, or None for all: others may be missing from the answer, because
    what an embedded engine reads it pays for by the column.
    """

    labels: Sequence[str]
    waiting: str
    working: str
    owner: str
    limit: int
    seconds: float
    marks: Mapping[str, Marks] = field(default_factory=dict)
    away: Sequence[str] = ()
    source: str = "root"
    properties: Sequence[str] | None = None

    def __post_init__(self) -> None:
        checked_seconds(self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    owner: str
    token: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """A node as the graph holds it: bookkeeping typed, everything else (without the vector) in `properties`."""

    label: str
    uuid: str
    project: str
    name: str
    state: str
    depth: int
    retry_count: int
    detected_at: datetime
    state_changed_at: datetime
    not_before: datetime | None
    error_type: str | None
    error_class: str | None
    error_message: str | None
    lease: Lease | None
    properties: Mapping[str, Value]

    @property
    def ref(self) -> Ref:
        return Ref(label=self.label, uuid=self.uuid)

    @classmethod
    def from_row(cls, label: str, row: Mapping[str, Value]) -> "NodeRow":
        """The one place where an engine's property map becomes a NodeRow."""
        token = row.get("_leaseToken")
        return cls(
            label=label,
            uuid=row["uuid"],
            project=row["projectId"],
            name=row.get("name") or "",
            state=row.get("_state") or "",
            depth=row.get("_depth") or 0,
            retry_count=row.get("_retryCount") or 0,
            # A node that a person made by hand may lack what the store always writes.
            detected_at=row.get("_detectedAt") or _LONG_AGO,
            state_changed_at=row.get("_stateChangedAt") or _LONG_AGO,
            not_before=row.get("_notBefore"),
            error_type=row.get("_errorType"),
            error_class=row.get("_errorClass"),
            error_message=row.get("_errorMessage"),
            lease=_lease(row, token) if token else None,
            properties={key: value for key, value in row.items() if key not in _TYPED and value is not None},
        )


def _lease(row: Mapping[str, Value], token: str) -> Lease:
    return Lease(owner=row.get("_leaseOwner") or "", token=token, until=row.get("_leaseUntil") or _LONG_AGO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """Which nodes of the project to read; an empty filter lets everything through.

    `expired` keeps only nodes whose lease is over by the store's clock: it has ended, a part of it is missing, or it
    ends later than any lease can (`LONGEST_LEASE`).
    `after` is the last node of the page before: pages are ordered by label and uuid.
    """

    labels: Sequence[str] = ()
    states: Sequence[str] = ()
    uuids: Sequence[str] = ()
    error_type: str | None = None
    error_class: str | None = None
    expired: bool = False
    after: Ref | None = None
    limit: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCount:
    label: str
    state: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCount:
    label: str
    error_type: str
    message: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What `status` shows, all of it counted from the states when it was asked for.

    `finished` nodes came to rest lately.
    """

    counts: Sequence[StateCount]
    errors: Sequence[ErrorCount]
    finished: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSpace:
    """Vectors of two spaces are never compared; a project's graph holds one at a time."""

    provider: str
    model: str
    dimension: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A node near a vector; score is the cosine of the angle between them."""

    node: NodeRow
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The answer to a query. Nodes are objects with `_label`, edges objects with `_type`."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What a project has beyond graphmill's own schema since a migration: labels, properties and relationships.

    A type is STRING, INT64, DOUBLE, BOOL, TIMESTAMP or DATE, or a list of one of them: STRING[]. `untyped` says what
    has no such type, so that an engine whose columns have types cannot hold it; `lost`, what no copy could keep.
    """

    labels: Sequence[str] = ()
    nodes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    edges: Mapping[tuple[str, str, str], Mapping[str, str]] = field(default_factory=dict)
    """Properties and their types by type of relationship, source and target."""
    untyped: Sequence[str] = ()
    lost: Sequence[str] = ()
    left: Mapping[str, int] = field(default_factory=dict)
    """How many nodes are not copied, by label: they are in no project, or have no state in this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedNode:
    """A node with every property it has, vector included; times are aware and in UTC."""

    label: str
    properties: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedEdge:
    type: str
    source: Ref
    target: Ref
    properties: Mapping[str, Value]
