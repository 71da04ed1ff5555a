"""A graph as an older tool left it in a server: written, looked at and compared with the plain driver."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import neo4j

from graph_stores import Credentials
from graph_stores.legacy import open_legacy
from orchestrator.migration.marked import MarkedMigration, Wishes
from orchestrator.migration.survey import Model, Scope
from tests.conformance.legacy_rules import MODEL, TEXTS, OldNode

HOME = "home"


@dataclass(frozen=True, slots=True, kw_only=True)
class OldGraph:
    """With a project, its nodes are those of the project; without one, all there are."""

    server: Any
    project: str | None

    def run(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        auth = (self.server.user, self.server.password)
        with neo4j.GraphDatabase.driver(self.server.uri, auth=auth, notifications_min_severity="OFF") as driver:
            answer = driver.execute_query(text, {"project": self.project, **parameters})
            return [dict(record) for record in answer.records]

    def write(self, nodes: Sequence[OldNode]) -> None:
        own = {"projectId": self.project} if self.project else {}
        by_labels: dict[str, list[dict[str, Any]]] = {}
        for node in nodes:
            row = {"own": {**node.properties, **own}, "linked": node.linked, "chunks": node.chunks}
            by_labels.setdefault(":".join(node.labels), []).append(row)
        for labels, rows in by_labels.items():
            self.run(
                f"UNWIND $rows AS row CREATE (n:{labels}) SET n = row.own "
                "FOREACH (_ IN CASE WHEN row.linked THEN [1] ELSE [] END | "
                "CREATE (n)-[:BELONGS_TO]->(:Project:Old $own)) "
                "FOREACH (i IN range(1, row.chunks) | CREATE (n)-[:HAS_EMBEDDING_CHUNK {at: i}]->(c:EmbeddingChunk "
                "{uuid: randomUUID(), content: 'a piece', parentUuid: n.uuid, "
                "embedding_content: [0.1, 0.2, 0.3]}) SET c += $own)",
                rows=rows,
                own=own,
            )

    def nodes(self) -> list[Any]:
        rows = self.run("MATCH (n) WHERE n.projectId = $project OR $project IS NULL RETURN n")
        return [row["n"] for row in rows]

    def node(self, uuid: str) -> Any:
        return next(row for row in self.nodes() if row["uuid"] == uuid)

    def decisions(self) -> dict[str, tuple[str, str]]:
        return {row["uuid"]: (row["_migratedBy"], row["_state"]) for row in self.nodes() if row["_migratedBy"]}

    def needs(self, nodes: Sequence[OldNode]) -> dict[str, set[str]]:
        """One node of a label with a vector has all of them need it; and what is searched needs that of its text."""
        needs: dict[str, set[str]] = {}
        for node in nodes:
            held = {slot for slot in ("name", "content", "description") if f"embedding_{slot}" in node.properties}
            if held:
                needs.setdefault(node.label, {"content"} if node.label in TEXTS else set()).update(held)
        return needs

    def picture(self) -> Any:
        """Every node with its labels and properties and their types, and every edge."""
        nodes = {
            row["n"].element_id: (
                sorted(row["n"].labels),
                {key: (type(value), value) for key, value in row["n"].items()},
            )
            for row in self.run("MATCH (n) WHERE n.projectId = $project OR $project IS NULL RETURN n")
        }
        edges = sorted(
            (row["a"], row["t"], row["b"], str(row["p"]))
            for row in self.run(
                "MATCH (a)-[r]->(b) WHERE a.projectId = $project OR $project IS NULL "
                "RETURN elementId(a) AS a, type(r) AS t, elementId(b) AS b, properties(r) AS p"
            )
        )
        return nodes, edges

    def schema(self) -> list[str]:
        found = [row["createStatement"] for row in self.run("SHOW CONSTRAINTS YIELD createStatement")]
        found += [
            row["createStatement"]
            for row in self.run("SHOW INDEXES YIELD createStatement, owningConstraint, type")
            if row["owningConstraint"] is None and row["type"] != "LOOKUP"
        ]
        return sorted(found)

    def wipe(self) -> None:
        self.run("MATCH (n) WHERE n.projectId = $project DETACH DELETE n")
        self.run("MATCH (n:GraphmillMeta) WHERE n.key = 'migration' OR n.kind = 'migrated page' DETACH DELETE n")

    @asynccontextmanager
    async def migration(self, **wishes: Any) -> AsyncIterator[MarkedMigration]:
        credentials = Credentials(user=self.server.user, password=self.server.password)
        home = self.project or HOME
        graph = await open_legacy(self.server.uri, project=home, credentials=credentials)
        try:
            configured = Model(provider=MODEL[0], model=MODEL[1])
            asked = {"scope": Scope(project=self.project, home=home), "configured": configured, **wishes}
            yield MarkedMigration(graph, Wishes(**asked))
        finally:
            await graph.close()
