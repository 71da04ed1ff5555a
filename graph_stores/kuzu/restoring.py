"""Writes into an embedded database what was exported from a graph, exactly as it was; runs on the writing thread.

The one way past the compare-and-set of states: for copies of graphs and for repairs, while nobody works on them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import cypher
from graph_stores.errors import MissingNode
from graph_stores.kuzu.columns import arrow, restored, typed
from graph_stores.kuzu.edges import Edges
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.errors import translate
from graph_stores.kuzu.session import DIALECT, Session
from graph_stores.kuzu.statements import Statements, by, prefixed, prefixed_types
from graph_stores.model import Edge, ExportedEdge, ExportedNode, Value
from graph_stores.pages import SOURCE, TARGET, EdgePage, NodePage, Page, named

_KEY = {"uuid": "STRING"}
_ENDS = {SOURCE: "STRING", TARGET: "STRING"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoring:
    engine: Engine
    project: str

    def restore(self, nodes: Sequence[ExportedNode], edges: Sequence[ExportedEdge], *, new: bool) -> None:
        """In one transaction. With `new`, nothing of it is looked for."""
        with self.engine.transaction("what was exported could not be written") as session:
            writing = self._writing(session)
            created = [node for label, same in by(nodes, _label).items() for node in writing.nodes(label, same, new)]
            writing.edges(edges, new)
        self.engine.count_rows(Counter(map(_label, created)))
        self.engine.lists.note(created=map(_uuid, created), changed=map(_uuid, nodes))

    def restore_page(self, page: Page) -> None:
        """In one transaction; nothing of it is looked for."""
        with self.engine.transaction("what was exported could not be written") as session:
            self._writing(session).page(page)
        if isinstance(page, NodePage):
            self.engine.count_rows({page.label: len(page)})
            self.engine.lists.note(created=page.uuids)

    def exported(self, label: str, uuids: Sequence[str]) -> list[ExportedNode]:
        self.engine.tables.node(label)
        if not uuids:
            return []
        text = cypher.render(DIALECT, "exported", label=label)
        try:
            rows = self.engine.answer(text, {"uuids": list(uuids), "project": self.project})
        except RuntimeError as error:
            raise translate(error, "the query exported failed") from error
        found = [restored(row[0]) for row in rows]
        return [ExportedNode(label=node.pop("_label"), properties=node) for node in found]

    def note(self, name: str) -> str | None:
        rows = self.engine.answer(cypher.load(DIALECT, "note"), {"key": self._key(name)})
        return rows[0][0] if rows else None

    def leave_note(self, name: str, text: str) -> None:
        with self.engine.transaction("the note could not be written") as session:
            session.run(cypher.load(DIALECT, "set_note"), {"key": self._key(name), "text": text})

    def _key(self, name: str) -> str:
        return f"{name}:{self.project}"

    def _writing(self, session: Session) -> "_Writing":
        return _Writing(
            session=session,
            tables=self.engine.tables,
            project=self.project,
            prefers_keys=self.engine.prefers_keys,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writing(Statements):
    def nodes(self, label: str, nodes: list[ExportedNode], new: bool) -> list[ExportedNode]:
        """Returns those that were not there."""
        self.tables.node(label)
        there = set() if new else self._there(label, [_uuid(node) for node in nodes])
        absent = [node for node in nodes if _uuid(node) not in there]
        self._create(label, absent)
        self._replace(label, [node for node in nodes if _uuid(node) in there])
        return absent

    def edges(self, edges: Sequence[ExportedEdge], new: bool) -> None:
        written = [
            Edge(type=each.type, source=each.source, target=each.target, properties=dict(each.properties))
            for each in edges
        ]
        if not new:
            written = [replace(edge, properties={**self._nothing(edge.type), **edge.properties}) for edge in written]
        Edges(statements=self, new={edge.source for edge in written} if new else set()).write(written)

    def page(self, page: Page) -> None:
        if isinstance(page, NodePage):
            self._create_page(page)
        elif any(self.prefers_keys(label, len(page)) for label in (page.source, page.target)):
            self.edges(page.edges(), new=True)
        else:
            self._create_edges(page)

    def _create_page(self, page: NodePage) -> None:
        names = tuple(page.table.column_names)
        types = prefixed_types(self.tables.node(page.label, names), names)
        text = cypher.render(DIALECT, "restore", names, label=page.label)
        self.session.run(text, {"rows": typed(page.table.rename_columns(named(names)), types)})

    def _create_edges(self, page: EdgePage) -> None:
        ends = {"type": page.type, "source": page.source, "target": page.target}
        types = self.tables.edge(page.type, page.source, page.target, page.names)
        text = cypher.render(DIALECT, "edge_create", page.names, **ends)
        rows = typed(page.table, {**_ENDS, **prefixed_types(types, page.names)})
        [[done]] = self.session.run(text, {"rows": rows, "project": self.project})
        if done < len(page):
            for label, uuids in ((page.source, page.table[SOURCE]), (page.target, page.table[TARGET])):
                wanted = uuids.unique().to_pylist()
                self.refuse_missing(label, wanted, {row[0] for row in self.found(label, wanted)})

    def _there(self, label: str, uuids: list[str]) -> set[str]:
        if self.prefers_keys(label, len(uuids)):
            text = cypher.render(DIALECT, "exists_one", label=label)
            return {uuid for uuid in uuids if self.session.run(text, {"uuid": uuid})}
        text = cypher.render(DIALECT, "exists_many", label=label)
        return {row[0] for row in self.session.run(text, {"uuids": uuids})}

    def _create(self, label: str, nodes: list[ExportedNode]) -> None:
        if not nodes:
            return
        names = tuple(sorted({name for node in nodes for name in node.properties}))
        types = self.tables.node(label, names)
        columns = {f"v_{name}": [node.properties.get(name) for node in nodes] for name in names}
        text = cypher.render(DIALECT, "restore", names, label=label)
        self.session.run(text, {"rows": arrow(columns, prefixed_types(types, names))})

    def _replace(self, label: str, nodes: list[ExportedNode]) -> None:
        """All that the label has, so that what is not given is gone."""
        if not nodes:
            return
        types = self.tables.node(label, {name for node in nodes for name in node.properties})
        names = tuple(sorted(types.keys() - _KEY.keys()))
        values = [{name: node.properties.get(name) for name in names} for node in nodes]
        rows = [{"uuid": _uuid(node), **prefixed(each)} for node, each in zip(nodes, values, strict=True)]
        done = self.together("update_many", rows, {**_KEY, **prefixed_types(types, names)}, names, label=label)
        if missing := {_uuid(node) for node in nodes} - {row[0] for row in done}:
            raise MissingNode(
                f"{label} {min(missing)} is of another project than {self.project}",
                hint="one database holds a uuid once: copy into another one",
            )

    def _nothing(self, kind: str) -> dict[str, Value]:
        return dict.fromkeys(self.tables.edges.get(kind, ()))


def _label(node: ExportedNode) -> str:
    return node.label


def _uuid(node: ExportedNode) -> str:
    return str(node.properties["uuid"])
