"""Reads nodes, counts and whole graphs. Refuses to write."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

from neo4j import AsyncManagedTransaction, Record

import cypher
from graph_stores.model import (
    LONGEST_LEASE,
    ErrorCount,
    ExportedEdge,
    ExportedNode,
    NodeRow,
    Progress,
    Ref,
    Select,
    StateCount,
)
from graph_stores.neo4j.claims import SHALLOWEST
from graph_stores.neo4j.connection import DIALECT, Connection, fetch
from graph_stores.neo4j.schema import Schema
from graph_stores.neo4j.values import first_label, node_row, plain_properties

_MESSAGES = 20
# Of each label; messages of several labels are added up, so a few more than are shown.
_MESSAGES_READ = 1000


class Reading:
    def __init__(self, connection: Connection, project: str, schema: Schema) -> None:
        self._connection = connection
        self._project = project
        self._schema = schema

    async def nodes(self, select: Select) -> list[NodeRow]:
        self._schema.shape.check_labels(select.labels)
        after = select.after or Ref(label="", uuid="")
        parameters = self._filters(select)

        async def page(tx: AsyncManagedTransaction) -> list[NodeRow]:
            rows: list[NodeRow] = []
            labels = await self._labels_of(tx, select)
            # A node of a graph that was migrated may have several labels, and is returned under the first.
            several = [each for each in labels if self._schema.shape.adopted]
            for label in labels:
                if label >= after.label and len(rows) < select.limit:
                    text = cypher.render(DIALECT, _form(select), label=label)
                    beyond = after.uuid if label == after.label else ""
                    asked = {"after": beyond, "before": [each for each in several if each < label]}
                    answer = await fetch(tx, text, **parameters, **asked, limit=select.limit - len(rows))
                    rows += [node_row(label, each["row"]) for each in answer]
            return rows

        return await self._connection.read(page)

    async def _labels_of(self, tx: AsyncManagedTransaction, select: Select) -> list[str]:
        labels = self._schema.shape.labels
        if select.labels or select.uuids or not select.states:
            return sorted(set(select.labels) or labels)
        asked = {"project": self._project, "states": list(select.states), "shallowest": SHALLOWEST}
        found = await fetch(tx, self._schema.shape.naming(cypher.load(DIALECT, "labels_in_states")), **asked)
        return sorted({each["label"] for each in found}.intersection(labels))

    async def progress(self, *, finished: Sequence[str], window: float) -> Progress:
        labels = sorted(self._schema.shape.labels)

        async def count(tx: AsyncManagedTransaction) -> Progress:
            counts: list[tuple[str, Record]] = []
            errors: Counter[tuple[str, str, str]] = Counter()
            for label in labels:
                # A node of a graph that was migrated may have several labels, and is counted under the first.
                form = "progress_counts_once" if self._schema.shape.adopted else "progress_counts"
                text = cypher.render(DIALECT, form, label=label)
                asked = {"project": self._project, "finished": list(finished), "window": window}
                if self._schema.shape.adopted:
                    asked["before"] = [each for each in labels if each < label]
                counts += [(label, row) for row in await fetch(tx, text, **asked)]
                text = cypher.render(DIALECT, "progress_errors", label=label)
                asked = {"project": self._project, "shallowest": SHALLOWEST, "limit": _MESSAGES_READ}
                for row in await fetch(tx, text, **asked):
                    errors[label, row["errorType"], row["message"]] += row["count"]
            return _progress(counts, errors)

        return await self._connection.read(count)

    async def export_nodes(self) -> AsyncIterator[ExportedNode]:
        ours = self._schema.shape.labels
        for label in sorted(ours):
            text = cypher.render(DIALECT, "export_nodes", label=label)
            async for portion in self._connection.stream(text, {"project": self._project}):
                for row in portion:
                    if first_label(row["labels"], ours) == label:
                        yield ExportedNode(label=label, properties=plain_properties(row["properties"]))

    async def export_edges(self) -> AsyncIterator[ExportedEdge]:
        ours = self._schema.shape.labels
        for label in sorted(ours):
            text = cypher.render(DIALECT, "export_edges", label=label)
            async for portion in self._connection.stream(text, {"project": self._project}):
                for row in portion:
                    target = first_label(row["targetLabels"], ours)
                    if first_label(row["sourceLabels"], ours) == label and target in ours:
                        yield ExportedEdge(
                            type=row["type"],
                            source=Ref(label=label, uuid=row["source"]),
                            target=Ref(label=str(target), uuid=row["target"]),
                            properties=plain_properties(row["properties"]),
                        )

    def _filters(self, select: Select) -> dict[str, Any]:
        return {
            "project": self._project,
            "uuids": sorted(set(select.uuids)),
            "states": list(select.states) or None,
            "errorType": select.error_type,
            "errorClass": select.error_class,
            "expired": select.expired,
            "longest": LONGEST_LEASE,
            "shallowest": SHALLOWEST,
        }


def _form(select: Select) -> str:
    """Which of the indexes leads to few nodes."""
    if select.uuids:
        return "nodes_by_uuid"
    return "nodes_by_state" if select.states else "nodes_all"


def _progress(counts: Sequence[tuple[str, Record]], errors: Counter[tuple[str, str, str]]) -> Progress:
    frequent = sorted(errors.items(), key=lambda item: (-item[1], item[0]))[:_MESSAGES]
    return Progress(
        counts=[
            StateCount(label=label, state=row["state"], count=row["count"])
            for label, row in sorted(counts, key=lambda item: (item[0], item[1]["state"]))
        ],
        errors=[
            ErrorCount(label=label, error_type=kind, message=message, count=count)
            for (label, kind, message), count in frequent
        ],
        finished=sum(row["finished"] for _, row in counts),
    )
