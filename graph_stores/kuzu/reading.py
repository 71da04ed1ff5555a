"""What can be asked of an embedded database without changing it; runs on the reading threads."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import cypher
from graph_stores.kuzu.columns import plain, restored
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.errors import translate
from graph_stores.kuzu.frontier import Clock, Frontier, Waiting
from graph_stores.kuzu.session import DIALECT, Rows
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
    Value,
)
from graph_stores.pages import EdgePage, NodePage, whole

# For nodes that were made by hand and lack their bookkeeping.
_LONG_AGO = datetime(1970, 1, 1)  # noqa: DTZ001 as the engine has it
_PAGE = 10_000
_ERRORS_SHOWN = 20
_FAILED = "error"
Ends = tuple[str, str, str]
"""Of edges: their type, and the labels of source and target."""


class Reading:
    def __init__(self, engine: Engine, project: str, frontier: Frontier, clock: Clock) -> None:
        self._engine = engine
        self._project = project
        self._frontier = frontier
        self._clock = clock

    def rows(self, label: str, columns: Sequence[str], answers: Iterable[Sequence[Value]]) -> list[NodeRow]:
        """Nodes from the values of their columns."""
        return [
            NodeRow.from_row(
                label,
                {
                    name: value.replace(tzinfo=UTC) if type(value) is datetime else value
                    for name, value in zip(columns, answer, strict=True)
                    if value is not None
                },
            )
            for answer in answers
        ]

    def nodes(self, select: Select) -> list[NodeRow]:
        rows: list[NodeRow] = []
        after = select.after or Ref(label="", uuid="")
        for label in self._labels_of(select):
            self._engine.tables.node(label)
            if label < after.label or len(rows) >= select.limit or not self._engine.holds_any(label):
                continue
            start = after.uuid if label == after.label else ""
            rows += self._nodes_of(label, replace(select, limit=select.limit - len(rows)), start)
        return rows

    def _labels_of(self, select: Select) -> list[str]:
        if select.labels or select.uuids or not select.states:
            return sorted(select.labels or self._engine.tables.labels)
        found = {row[0] for row in self._run("labels_in_states", {"states": list(select.states)})}
        return sorted(found.intersection(self._engine.tables.labels))

    def by_uuid(self, label: str, uuids: Sequence[str]) -> list[NodeRow]:
        return self.nodes(Select(labels=[label], uuids=uuids, limit=len(uuids))) if uuids else []

    def waiting(self, label: str, state: str) -> Iterator[tuple[Waiting, float]]:
        """Everything that waits in a state, with the seconds it must still wait; none where they are too many."""
        if not self._engine.holds_any(label):
            return
        now = self._clock.now()
        for uuid, depth, detected_at, not_before in self._run("claimable", {"waiting": state}, label=label):
            delay = (restored(not_before) - now).total_seconds() if not_before else 0.0
            waiting = Waiting(depth or 0, restored(detected_at or _LONG_AGO), uuid, label)
            yield waiting, delay if delay <= LONGEST_LEASE else 0.0

    def away(self, label: str, uuids: Sequence[str], sources: Sequence[str], *, source: str) -> set[str]:
        """Which of the nodes are of these sources and do not have their content with them."""
        columns = self._engine.tables.nodes[label]
        if source not in columns:
            return set()
        question = "claim_away" if "_content" in columns else "claim_away_parts"
        asked = {"uuids": list(uuids), "away": list(sources)}
        return {row[0] for row in self._run(question, asked, label=label, source=source)}

    def progress(self, finished: Sequence[str], window: float) -> Progress:
        counts: list[StateCount] = []
        errors: Counter[tuple[str, str, str]] = Counter()
        recent = 0
        since = plain(self._clock.now() - timedelta(seconds=window))
        # One scan of each table that holds anything, and more only for what it found: who asks while a job writes waits
        # for the interpreter with each statement.
        for label in filter(self._engine.holds_any, self._engine.tables.labels):
            states = self._run("count_states", {"since": since}, label=label)
            counts += sorted(
                (StateCount(label=label, state=row[0], count=row[1]) for row in states), key=lambda each: each.state
            )
            recent += sum(changed for state, _, changed in states if state in finished)
            if any(state == _FAILED for state, *_ in states):
                for kind, message, count in self._run("count_errors", label=label):
                    errors[label, kind or "", message or ""] += count
        top = [
            ErrorCount(label=label, error_type=kind, message=message, count=count)
            for (label, kind, message), count in errors.most_common(_ERRORS_SHOWN)
        ]
        return Progress(counts=counts, errors=top, finished=recent)

    def labels(self) -> list[str]:
        return self._engine.tables.labels

    def ends(self) -> list[Ends]:
        """Each type of edge with the labels that it goes between; only what has a state is in a project."""
        tables = self._engine.tables
        there = frozenset(tables.labels)
        return [
            (kind, *ends) for kind in sorted(tables.pairs) for ends in sorted(tables.pairs[kind]) if there >= {*ends}
        ]

    def _exported_nodes(self, label: str, places: Mapping[str, int]) -> list[ExportedNode]:
        nodes = [restored(row[0]) for row in self._run("export_nodes", places, label=label)]
        return [ExportedNode(label=node.pop("_label"), properties=node) for node in nodes]

    def _exported_edges(self, ends: Ends, places: Mapping[str, int]) -> list[ExportedEdge]:
        kind, source, target = ends
        rows = self._run("export_edges", places, type=kind, source=source, target=target)
        return [
            ExportedEdge(
                type=kind,
                source=Ref(label=source, uuid=row[0]),
                target=Ref(label=target, uuid=row[1]),
                properties={name: value for name, value in restored(row[2]).items() if name != "_type"},
            )
            for row in rows
        ]

    def places(self, label: str) -> int:
        """One more than the last place in a table that a node of the label has."""
        last = self._run("last_offset", {}, project=False, label=label)[0][0]
        return 0 if last is None else int(last) + 1

    def node_columns(self, label: str, first: int, beyond: int) -> list[NodePage]:
        """The nodes in some places of a table."""
        tables, places = self._engine.tables, {"first": first, "beyond": beyond}
        if label in tables.odd:
            return NodePage.of(self._exported_nodes(label, places))
        table = self._columns("export_node_columns", places, tuple(tables.nodes[label]), label=label)
        return [NodePage(label=label, table=table)] if table.num_rows else []

    def edge_columns(self, ends: Ends, first: int, beyond: int) -> list[EdgePage]:
        """The edges of one type from nodes in some places of a table to nodes of a label."""
        (kind, source, target), places = ends, {"first": first, "beyond": beyond}
        tables = self._engine.tables
        if kind in tables.odd:
            return EdgePage.of(self._exported_edges(ends, places))
        names = {"type": kind, "source": source, "target": target}
        table = self._columns("export_edge_columns", places, tuple(tables.edges[kind]), **names)
        return [EdgePage(**names, table=table)] if table.num_rows else []

    def _columns(self, name: str, parameters: Mapping[str, Value], columns: tuple[str, ...], **names: str) -> Any:
        text = cypher.render(DIALECT, name, columns=columns, **names)
        try:
            answer = self._engine.columns(text, {"project": self._project, **parameters}, rows=_PAGE)
        except RuntimeError as error:
            raise translate(error, f"the query {name} failed") from error
        return whole(answer)

    def _nodes_of(self, label: str, select: Select, after: str) -> list[NodeRow]:
        parameters = {
            "after": after,
            "anyState": not select.states,
            "states": list(select.states) or [""],
            "errorType": select.error_type or "",
            "errorClass": select.error_class or "",
            # Which leases have run out only the frontier knows, so it filters all that could have.
            "limit": select.limit if not select.expired else 1 << 40,
        }
        columns = self._engine.tables.readable[label]
        if select.uuids:
            found = self._by_key(label, sorted(set(select.uuids)), parameters)
        else:
            found = self.rows(label, columns, self._run("select", parameters, columns, label=label))
        if select.expired:
            found = [
                row for row in found if not self._frontier.is_live(row.uuid, row.lease.token if row.lease else None)
            ]
        return found[: select.limit]

    def _by_key(self, label: str, uuids: list[str], parameters: Mapping[str, Value]) -> list[NodeRow]:
        """In the order of their keys, one by one, or together where that means reading a small table."""
        columns = self._engine.tables.readable[label]
        if not self._engine.prefers_keys(label, len(uuids), len(columns)):
            asked = {**parameters, "uuids": uuids}
            return self.rows(label, columns, self._run("select_by_key", asked, columns, label=label))
        shared = {name: value for name, value in parameters.items() if name != "limit"}
        text = cypher.render(DIALECT, "select_one", (), columns, label=label)
        each = [{**shared, "project": self._project, "uuid": uuid} for uuid in uuids]
        return self.rows(label, columns, self._answer("select_one", text, each))

    def _run(
        self,
        name: str,
        parameters: Mapping[str, Value] | None = None,
        columns: tuple[str, ...] = (),
        *,
        project: bool = True,
        **identifiers: str,
    ) -> Rows:
        scoped = {**({"project": self._project} if project else {}), **(parameters or {})}
        return self._answer(name, cypher.render(DIALECT, name, columns=columns, **identifiers), [scoped])

    def _answer(self, name: str, text: str, asked: Sequence[Mapping[str, Value]]) -> Rows:
        try:
            return self._engine.answer(text, *asked)
        except RuntimeError as error:
            raise translate(error, f"the query {name} failed") from error
