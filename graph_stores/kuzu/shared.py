"""A store for the length of one command, on a database that others may own: asked of its owner, or owned for now.

Which of the two may change between any two calls: an owner that ends leaves the file, and a job that comes wants it.
A read is repeated where that happens during it; a change is not, unless nobody can have heard of it. What only a job
does (claims, migrations, exports, copies) is refused: a job owns its file.
"""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from graph_stores.errors import DeadlineExceeded, Misuse, QueryTimeout, StoreClosed, StoreOwned
from graph_stores.kuzu import wire
from graph_stores.kuzu.ownership import owner_of
from graph_stores.kuzu.remote import OwnerGone, ask
from graph_stores.kuzu.store import CAPABILITIES, EmbeddedStore
from graph_stores.listening import Ear
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
from graph_stores.protocol import Listener, SchemaStatus

Own = Callable[[Callable[[], None]], Awaitable[EmbeddedStore]]
"""Owns the file and opens it; the argument is called when a job wants it."""

# How long to wait for an owner that is just opening or closing, and how often to look.
PATIENCE = 20.0
_LOOK = 0.02
# A job that was given way to takes the file within this time.
_BEHIND_A_JOB = 0.3


class SharedStore:
    def __init__(self, *, url: str, project: str, path: Path, own: Own, deadline: float) -> None:
        self.url = url
        self.project = project
        self.capabilities = CAPABILITIES
        self._path = path
        self._own = own
        self._deadline = deadline
        self._owned: EmbeddedStore | None = None
        self._opening = asyncio.Lock()
        self._calls = 0
        self._idle = asyncio.Event()
        self._leaving: asyncio.Task[None] | None = None
        self._closed = False
        self._ear = Ear()

    async def schema(self) -> SchemaStatus:
        status: SchemaStatus = await self._call("schema")
        return status

    async def migrate(self) -> SchemaStatus:
        _refuse("migrate")

    def listen(self, listener: Listener | None) -> None:
        """What the owner of the file commits for us, it tells its own listener."""
        self._ear.listener = listener

    async def commit(self, batch: Batch) -> None:
        await self._call("commit", batch=batch)

    async def claim(self, claim: Claim) -> list[NodeRow]:
        _refuse("claim")

    async def heartbeat(self, nodes: Sequence[Ref], *, token: str, seconds: float) -> frozenset[str]:
        _refuse("heartbeat")

    async def hold(self, name: str, *, owner: str, seconds: float) -> str | None:
        token: str | None = await self._call("hold", name=name, owner=owner, seconds=seconds)
        return token

    async def renew(self, name: str, *, token: str, seconds: float) -> bool:
        renewed: bool = await self._call("renew", name=name, token=token, seconds=seconds)
        return renewed

    async def let_go(self, name: str, *, token: str) -> None:
        await self._call("let_go", name=name, token=token)

    async def nodes(self, select: Select) -> list[NodeRow]:
        rows: list[NodeRow] = await self._call("nodes", select=select)
        return rows

    async def progress(self, *, finished: Sequence[str], window: float) -> Progress:
        progress: Progress = await self._call("progress", finished=finished, window=window)
        return progress

    async def vector_space(self) -> VectorSpace | None:
        space: VectorSpace | None = await self._call("vector_space")
        return space

    async def use_vector_space(self, space: VectorSpace) -> None:
        _refuse("use_vector_space")

    async def index_vectors(self) -> None:
        await self._call("index_vectors")

    async def give_space_back(self) -> int:
        """Only where this process has the file for now: another owner is at work, and would have to stand still."""
        if self._owned is None or self._leaving:
            return 0
        freed: int = await self._ask_own(self._owned, "give_space_back", {})
        return freed

    async def search(self, vector: Sequence[float], *, limit: int, labels: Sequence[str] = ()) -> list[Hit]:
        hits: list[Hit] = await self._call("search", vector=vector, limit=limit, labels=labels)
        return hits

    async def ask(self, question: str, parameters: Mapping[str, Value] | None = None) -> Table:
        table: Table = await self._call("ask", question=question, parameters=parameters)
        return table

    async def query(
        self, text: str, parameters: Mapping[str, Value], *, write: bool = False, timeout: float | None = None
    ) -> Table:
        arguments = {"text": text, "parameters": parameters, "write": write, "timeout": timeout}
        try:
            table: Table = await self._call("query", deadline=timeout, **arguments)
        except DeadlineExceeded as error:
            if write:
                raise
            raise QueryTimeout(error.message, hint="give it more time with --timeout") from error
        return table

    def export_nodes(self) -> AsyncIterator[ExportedNode]:
        _refuse("export_nodes")

    def export_edges(self) -> AsyncIterator[ExportedEdge]:
        _refuse("export_edges")

    def node_pages(self) -> AsyncIterator[NodePage]:
        _refuse("node_pages")

    def edge_pages(self) -> AsyncIterator[EdgePage]:
        _refuse("edge_pages")

    async def exported(self, label: str, uuids: Sequence[str]) -> list[ExportedNode]:
        _refuse("exported")

    async def restore(
        self, nodes: Sequence[ExportedNode], edges: Sequence[ExportedEdge] = (), *, new: bool = False
    ) -> None:
        _refuse("restore")

    async def restore_page(self, page: Page) -> None:
        _refuse("restore_page")

    async def brought(self) -> Brought:
        _refuse("brought")

    async def adopt(self, brought: Brought) -> None:
        _refuse("adopt")

    async def note(self, name: str) -> str | None:
        _refuse("note")

    async def leave_note(self, name: str, text: str) -> None:
        _refuse("leave_note")

    async def close(self, *, quickly: bool = False) -> None:
        self._closed = True
        if self._leaving:
            await self._leaving
        if self._owned:
            await self._owned.close(quickly=quickly)
        await self._ear.close()

    async def _call(self, call: str, *, deadline: float | None = None, **arguments: Any) -> Any:
        """Asked of whoever owns the file, until one answers; bounded, because each who did not answer is gone."""
        until = time.monotonic() + PATIENCE
        while True:
            await self._let_a_job_pass()
            if self._owned is None and (place := self._place_of_owner()):
                with suppress(OwnerGone):
                    return await ask(place, self.project, call, arguments, deadline=deadline or self._deadline)
            try:
                store = await self._owner()
            except StoreOwned:
                if time.monotonic() > until or not self._may_answer():
                    raise
                await asyncio.sleep(_LOOK)
            else:
                return await self._ask_own(store, call, arguments)

    def _place_of_owner(self) -> Path | None:
        """Where an owner answers, if the lock file names one; it may be gone."""
        owner = owner_of(self._path)
        return owner.socket if owner and owner.host == socket.gethostname() else None

    def _may_answer(self) -> bool:
        """Whether it can help to wait for the owner; one without a name has just come, or is just going."""
        owner = owner_of(self._path)
        return owner is None or (owner.answers and owner.host == socket.gethostname())

    async def _owner(self) -> EmbeddedStore:
        """Own the file; with StoreOwned where somebody else does."""
        async with self._opening:
            if self._closed:
                raise StoreClosed(f"{self._path} is closed", hint="open the store again")
            if self._owned is None:
                self._owned = await self._own(self._give_way)
                if self._ear.listener:
                    self._owned.listen(_Lent(self._ear.listener))
            return self._owned

    async def _ask_own(self, store: EmbeddedStore, call: str, arguments: Mapping[str, Any]) -> Any:
        self._calls += 1
        try:
            return await getattr(store, call)(**arguments)
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle.set()

    def _give_way(self) -> None:
        if self._owned and not self._leaving and not self._closed:
            self._leaving = asyncio.create_task(self._leave(self._owned))

    async def _leave(self, owned: EmbeddedStore) -> None:
        while self._calls:
            self._idle.clear()
            await self._idle.wait()
        self._owned = None
        await owned.close()

    async def _let_a_job_pass(self) -> None:
        if leaving := self._leaving:
            await asyncio.wait([leaving])
            await asyncio.sleep(_BEHIND_A_JOB)
            self._leaving = None if self._leaving is leaving else self._leaving


async def ask_to_leave(path: Path) -> bool:
    """Whether the owner of a file is a command that was asked to make room, and will; or is gone already."""
    owner = owner_of(path)
    if owner and not (owner.guest and owner.host == socket.gethostname()):
        return False
    if owner and owner.socket:
        with suppress(OwnerGone):
            await ask(owner.socket, "", wire.GIVE_WAY, {}, deadline=PATIENCE)
    return True


@dataclass(frozen=True, slots=True)
class _Lent:
    """A file may be owned several times by one command; its listener outlasts them all."""

    listener: Listener

    def hear(self, moves: Sequence[Move]) -> None:
        self.listener.hear(moves)

    def close(self) -> None:
        """By whoever lent it."""


def _refuse(call: str) -> NoReturn:
    raise Misuse(f"{call} needs a graph of one's own, and this one is shared", hint="open the store without share")
