"""The store over a Neo4j server: checks what it is asked, and passes it to the part that does it."""

from collections.abc import AsyncIterator, Mapping, Sequence

from neo4j import Record

import cypher
from graph_stores.errors import Misuse, UnknownDatabase
from graph_stores.listening import Ear
from graph_stores.model import (
    Batch,
    Brought,
    Claim,
    ExportedEdge,
    ExportedNode,
    Hit,
    NodeRow,
    Progress,
    Ref,
    Select,
    Table,
    Value,
    VectorSpace,
)
from graph_stores.neo4j.adopting import Adopting
from graph_stores.neo4j.claims import Claims
from graph_stores.neo4j.commits import Commits
from graph_stores.neo4j.connection import DIALECT, Connection
from graph_stores.neo4j.holds import Holds
from graph_stores.neo4j.indexes import VectorIndexes
from graph_stores.neo4j.reading import Reading
from graph_stores.neo4j.restoring import Restoring
from graph_stores.neo4j.schema import Schema
from graph_stores.neo4j.search import Search
from graph_stores.neo4j.spaces import Spaces
from graph_stores.neo4j.values import plain, sendable
from graph_stores.pages import EdgePage, NodePage, Page, portions
from graph_stores.protocol import Capabilities, Listener, SchemaStatus
from graph_stores.questions import Question
from graph_stores.values import check_batch, checked_name


class Neo4jStore:
    capabilities = Capabilities(many_processes=True, vector_index=True)

    def __init__(self, connection: Connection, project: str) -> None:
        self.url = connection.place.url
        self.project = project
        self._connection = connection
        self._ear = Ear()
        self._schema = Schema(connection)
        self._indexes = VectorIndexes(connection, self._schema)
        self._spaces = Spaces(connection, project, self._indexes)
        self._commits = Commits(connection, project, self._spaces, ear=self._ear)
        self._holds = Holds(connection, project)
        self._claims = Claims(connection, project, ear=self._ear)
        self._reading = Reading(connection, project, self._schema)
        self._restoring = Restoring(connection, project, self._schema, self._spaces)
        self._adopting = Adopting(connection, project, self._schema)
        self._search = Search(connection, project, self._spaces, self._indexes)

    async def connect(self) -> None:
        """Reach the server, prove who we are, and learn what the database looks like."""
        try:
            await self._connection.verify()
            await self._schema.look()
        except UnknownDatabase as error:
            there = await self._connection.databases(cypher.load(DIALECT, "databases"))
            raise UnknownDatabase(error.message, hint=f"it has {', '.join(there)}") from error

    async def schema(self) -> SchemaStatus:
        return (await self._schema.look()).status()

    async def migrate(self) -> SchemaStatus:
        status = await self._schema.migrate()
        await self._commits.sweep()
        return status

    def listen(self, listener: Listener | None) -> None:
        self._ear.listener = listener

    async def commit(self, batch: Batch) -> None:
        check_batch(batch)
        shape = self._schema.shape
        shape.check_labels(ref.label for ref in _refs(batch))
        shape.check_edge_types({edge.type for edge in batch.edges} | {unlink.type for unlink in batch.unlinks})
        await self._commits.commit(batch)

    async def claim(self, claim: Claim) -> list[NodeRow]:
        self._schema.shape.check_labels(claim.labels)
        for marks in claim.marks.values():
            for name in (*marks.set, *marks.stamp):
                checked_name(name, "property")
        return await self._claims.claim(claim)

    async def heartbeat(self, nodes: Sequence[Ref], *, token: str, seconds: float) -> frozenset[str]:
        self._schema.shape.check_labels(node.label for node in nodes)
        return await self._claims.heartbeat(nodes, token=token, seconds=seconds)

    async def hold(self, name: str, *, owner: str, seconds: float) -> str | None:
        return await self._holds.take(name, owner=owner, seconds=seconds)

    async def renew(self, name: str, *, token: str, seconds: float) -> bool:
        return await self._holds.renew(name, token=token, seconds=seconds)

    async def let_go(self, name: str, *, token: str) -> None:
        await self._holds.let_go(name, token=token)

    async def nodes(self, select: Select) -> list[NodeRow]:
        return await self._reading.nodes(select)

    async def progress(self, *, finished: Sequence[str], window: float) -> Progress:
        return await self._reading.progress(finished=finished, window=window)

    async def vector_space(self) -> VectorSpace | None:
        return await self._spaces.current()

    async def use_vector_space(self, space: VectorSpace) -> None:
        if space.dimension < 1:
            raise Misuse(f"a vector space cannot have {space.dimension} dimensions", hint="use at least 1")
        await self._spaces.use(space)

    async def index_vectors(self) -> None:
        if space := await self._spaces.current():
            await self._indexes.build(self._spaces.key, space.dimension)

    async def give_space_back(self) -> int:
        return 0  # a server uses it again

    async def search(self, vector: Sequence[float], *, limit: int, labels: Sequence[str] = ()) -> list[Hit]:
        self._schema.shape.check_labels(labels)
        return await self._search.nearest(vector, limit=limit, labels=labels)

    async def ask(self, question: str, parameters: Mapping[str, Value] | None = None) -> Table:
        asked = Question.of(DIALECT, question, project=self.project, parameters=parameters or {})
        text = self._schema.shape.naming(asked.text)
        columns, records = await self._connection.answer(text, sendable(asked.parameters))
        return self._table(columns, records)

    async def query(
        self, text: str, parameters: Mapping[str, Value], *, write: bool = False, timeout: float | None = None
    ) -> Table:
        asked = sendable({"project": self.project, **parameters})
        columns, records = await self._connection.ask(text, asked, write=write, seconds=timeout)
        return self._table(columns, records)

    def export_nodes(self) -> AsyncIterator[ExportedNode]:
        return self._reading.export_nodes()

    def export_edges(self) -> AsyncIterator[ExportedEdge]:
        return self._reading.export_edges()

    async def node_pages(self) -> AsyncIterator[NodePage]:
        async for nodes in portions(self.export_nodes()):
            for page in NodePage.of(nodes):
                yield page

    async def edge_pages(self) -> AsyncIterator[EdgePage]:
        async for edges in portions(self.export_edges()):
            for page in EdgePage.of(edges):
                yield page

    async def exported(self, label: str, uuids: Sequence[str]) -> list[ExportedNode]:
        return await self._restoring.exported(label, uuids)

    async def restore(
        self, nodes: Sequence[ExportedNode], edges: Sequence[ExportedEdge] = (), *, new: bool = False
    ) -> None:
        await self._restoring.restore(nodes, edges, new=new)

    async def restore_page(self, page: Page) -> None:
        await self._restoring.restore_page(page)

    async def brought(self) -> Brought:
        return await self._adopting.brought(was_migrated=bool((await self.ask("was-migrated")).rows))

    async def adopt(self, brought: Brought) -> None:
        await self._adopting.adopt(brought)

    async def note(self, name: str) -> str | None:
        return await self._restoring.note(name)

    async def leave_note(self, name: str, text: str) -> None:
        await self._restoring.leave_note(name, text)

    async def close(self, *, quickly: bool = False) -> None:
        await self._commits.close()
        await self._connection.close()
        await self._ear.close()

    def _table(self, columns: Sequence[str], records: Sequence[Record]) -> Table:
        labels = self._schema.shape.labels
        return Table(
            columns=tuple(columns), rows=[[plain(value, labels) for value in record.values()] for record in records]
        )


def _refs(batch: Batch) -> list[Ref]:
    return [
        *(each.node for each in batch.transitions),
        *batch.deletions,
        *(each.source for each in batch.unlinks),
        *(each.ref for each in batch.nodes),
        *(each.node for each in batch.updates),
        *(ref for each in batch.edges for ref in (each.source, each.target)),
        *(each.node for each in batch.vectors),
    ]
