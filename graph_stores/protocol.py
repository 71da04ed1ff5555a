"""The seam: everything graphmill asks of an engine.

A store is opened for one project and sees only that project's nodes, except for `query`, which is a person's own.
A uuid names one node of the project, whatever its label; the label says where to look for it.
States arrive as words; which moves between them are legal is decided before this seam, in one place.
Every call ends by its deadline, with an answer or with an error from `graph_stores.errors`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from graph_stores.model import (
    Batch,
    Brought,
    Claim,
    ExportedEdge,
    ExportedNode,
    Hit,
    Move,
    NodeRow,
    Progress,
    Ref,
    Select,
    Table,
    Value,
    VectorSpace,
)
from graph_stores.pages import EdgePage, NodePage, Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What differs between engines and matters to a caller."""

    many_processes: bool
    """Several processes may open the same graph at once."""
    vector_index: bool
    """`index_vectors` makes an index; without one, search compares with every vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedMigration:
    """A migration of an older graph that was begun and not finished: of one project, or of all."""

    project: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaStatus:
    """`found` is None for a graph that graphmill never touched; `missing` names what a repair would create."""

    found: int | None
    newest: int
    missing: Sequence[str] = ()
    backup: str | None = None
    """Where `migrate` put a copy of what it changed."""
    unfinished: UnfinishedMigration | None = None

    @property
    def is_current(self) -> bool:
        return self.found == self.newest and not self.missing


class Listener(Protocol):
    """Hears of every change of a state once it is committed, in the order of the commits; on any thread."""

    def hear(self, moves: Sequence[Move]) -> None:
        """Must not wait for anything: commits go on only when it returns."""
        ...

    def close(self) -> None:
        """Nothing more will come; may take its time."""
        ...


class Store(Protocol):
    url: str
    project: str
    capabilities: Capabilities

    async def schema(self) -> SchemaStatus: ...

    async def migrate(self) -> SchemaStatus:
        """Create the schema, bring it up to the newest version, and repair what is missing; safe to repeat."""
        ...

    def listen(self, listener: Listener | None) -> None:
        """Have it, or nobody, hear of what this store commits from now on; it is closed after the store."""
        ...

    async def commit(self, batch: Batch) -> None:
        """All of it or nothing; TransitionConflict or LeaseLost names every node that was not as expected.

        HoldLost where the batch has a fence and the hold has run out, was let go, or is somebody else's.
        """
        ...

    async def claim(self, claim: Claim) -> list[NodeRow]:
        """Take nodes for their worker alone, under one new token, until their leases end."""
        ...

    async def heartbeat(self, nodes: Sequence[Ref], *, token: str, seconds: float) -> frozenset[str]:
        """Let the leases last that long from now; returns the uuids that were still held."""
        ...

    async def hold(self, name: str, *, owner: str, seconds: float) -> str | None:
        """A new token if nobody in the project has the hold, or it has run out; None if somebody has it."""
        ...

    async def renew(self, name: str, *, token: str, seconds: float) -> bool:
        """Let the hold last that long from now; False if it is under another token, or under none."""
        ...

    async def let_go(self, name: str, *, token: str) -> None:
        """End the hold if it is under this token."""
        ...

    async def nodes(self, select: Select) -> list[NodeRow]: ...

    async def progress(self, *, finished: Sequence[str], window: float) -> Progress:
        """Count everything; `finished` counts nodes that came into one of these states in the last `window` seconds."""
        ...

    async def vector_space(self) -> VectorSpace | None: ...

    async def use_vector_space(self, space: VectorSpace) -> None:
        """Declare what vectors will be written; a change of space removes the vectors and index of the former one."""
        ...

    async def index_vectors(self) -> None:
        """Build the index over the vectors that are stored; a no-op without the capability or when it is there."""
        ...

    async def give_space_back(self) -> int:
        """Have the disk space that deleted nodes leave behind freed, where that is this process's business and worth
        it; returns how many bytes."""
        ...

    async def search(self, vector: Sequence[float], *, limit: int, labels: Sequence[str] = ()) -> list[Hit]:
        """The nearest first, in whatever state they are: a node that waits for its new vector still has the old one."""
        ...

    async def ask(self, question: str, parameters: Mapping[str, Value] | None = None) -> Table:
        """One of graphmill's own questions, of `cypher/<dialect>/asked/`; the project is filled in."""
        ...

    async def query(
        self, text: str, parameters: Mapping[str, Value], *, write: bool = False, timeout: float | None = None
    ) -> Table:
        """A person's Cypher in the engine's own read mode, unless `write`."""
        ...

    def export_nodes(self) -> AsyncIterator[ExportedNode]: ...

    def export_edges(self) -> AsyncIterator[ExportedEdge]: ...

    def node_pages(self) -> AsyncIterator[NodePage]:
        """All nodes as `export_nodes` has them, in pages that together take little memory."""
        ...

    def edge_pages(self) -> AsyncIterator[EdgePage]: ...

    async def exported(self, label: str, uuids: Sequence[str]) -> list[ExportedNode]:
        """Those of the nodes that are there, as `export_nodes` has them."""
        ...

    async def restore(
        self, nodes: Sequence[ExportedNode], edges: Sequence[ExportedEdge] = (), *, new: bool = False
    ) -> None:
        """Have nodes and edges exactly as they were exported, states and times included; all of it or nothing.

        What is there under the same uuid becomes so; `new` says that nothing is. No state is compared, so this is for
        graphs that nobody works on: a copy, or a repair.
        """
        ...

    async def brought(self) -> Brought:
        """What the project has beyond graphmill's own schema; what is of that schema may be in it too."""
        ...

    async def adopt(self, brought: Brought) -> None:
        """Make the schema for it, beside what there is; refused before anything is made where a type does not fit."""
        ...

    async def restore_page(self, page: Page) -> None:
        """The same of a page of nodes or edges, of which nothing is there; in parts, where the engine likes that."""
        ...

    async def note(self, name: str) -> str | None:
        """What was last noted about the project under this name, beside its nodes."""
        ...

    async def leave_note(self, name: str, text: str) -> None: ...

    async def close(self, *, quickly: bool = False) -> None:
        """Finish what is queued, and let go of the graph. `quickly` leaves tidying up to the next owner."""
        ...
