"""Applies a batch inside a transaction of an embedded engine.

Chooses between a statement per key and one statement for all: the first costs the same however large the table is,
the second reads the table's keys once. Refuses to commit: the transaction is its caller's.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import cypher
from graph_stores.errors import Conflict, MissingNode, conflict_error, conflict_with
from graph_stores.kuzu.columns import Tables, arrow, plain
from graph_stores.kuzu.session import DIALECT, Session
from graph_stores.model import Batch, Edge, Node, Ref, Transition, Unlink, Value, Vector

_TRANSITION_TYPES = {
    "uuid": "STRING",
    "expected": "STRING",
    "token": "STRING",
    "to_state": "STRING",
}
_LEASE = ("_leaseOwner", "_leaseToken", "_leaseUntil", "_notBefore")
_NEW_TYPES = {"uuid": "STRING", "name": "STRING", "state": "STRING", "depth": "INT64"}
# Below this, rows that are alike are cheaper among the odd ones than in a statement of their own.
_WORTH_A_STATEMENT = 16
T = TypeVar("T")
K = TypeVar("K")
_KEY = {"uuid": "STRING"}
_ENDS = {"source": "STRING", "target": "STRING"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A transition that happened, with what its place in the queue depends on."""

    transition: Transition
    depth: int
    detected_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    session: Session
    tables: Tables
    project: str
    now: datetime
    prefers_keys: Callable[[str, int], bool]
    """Whether that many statements by key are cheaper than reading the keys of the label's table."""

    def apply(self, batch: Batch) -> tuple[list[Moved], list[Node]]:
        """Everything in the batch; returns the moves and the nodes that are new."""
        moved = self._transitions(batch.transitions)
        self._deletions(batch.deletions)
        self._unlinks(batch.unlinks)
        created = self._nodes(batch.nodes)
        self._edges(batch.edges)
        self._vectors(batch.vectors)
        return moved, created

    def _transitions(self, transitions: Sequence[Transition]) -> list[Moved]:
        moved: list[Moved] = []
        for (label, columns), same in _by(transitions, _shape).items():
            types = self.tables.node(label, columns)
            found = {row[0]: row for row in self._move(label, columns, types, same)}
            moved += [
                Moved(transition=each, depth=found[each.node.uuid][1], detected_at=found[each.node.uuid][2])
                for each in same
                if each.node.uuid in found
            ]
        if len(moved) < len(transitions):
            done = {each.transition.node for each in moved}
            raise conflict_error(self._conflicts([each for each in transitions if each.node not in done]))
        return moved

    def _move(
        self, label: str, columns: tuple[str, ...], types: Mapping[str, str], transitions: list[Transition]
    ) -> list[Sequence[Value]]:
        """By key, or all that move alike in one statement and the odd ones in another."""
        fixed = {"project": self.project, "now": plain(self.now)}
        if self.prefers_keys(label, len(transitions)):
            text = cypher.render(DIALECT, "transition_one", columns, label=label)
            keyed = [{**fixed, **self._values(each), "uuid": each.node.uuid} for each in transitions]
            return [row for parameters in keyed for row in self.session.run(text, parameters)]
        rows: list[Sequence[Value]] = []
        odd: list[Transition] = []
        for alike in _by(transitions, _likeness).values():
            if len(alike) < _WORTH_A_STATEMENT:
                odd += alike
                continue
            text = cypher.render(DIALECT, "transition_many", columns, label=label)
            parameters = {**fixed, **self._values(alike[0]), "uuids": [each.node.uuid for each in alike]}
            rows += self.session.run(text, parameters)
        if odd:
            text = cypher.render(DIALECT, "transition_rows", columns, label=label)
            values = [{**self._values(each), "uuid": each.node.uuid} for each in odd]
            of_columns = {**_TRANSITION_TYPES, **{f"v_{name}": types[name] for name in columns}}
            rows += self.session.run(text, {**fixed, "rows": _arrow_of(values, of_columns)})
        return rows

    def _values(self, transition: Transition) -> dict[str, Value]:
        later = None if transition.delay is None else self.now + timedelta(seconds=transition.delay)
        marks = {
            **dict.fromkeys(_ended(transition)),
            **transition.marks.set,
            **dict.fromkeys(transition.marks.stamp, self.now),
            "_notBefore": later,
        }
        return {
            "expected": transition.expected,
            "token": transition.token or "",
            "to_state": transition.to,
            **{f"v_{name}": plain(value) for name, value in marks.items()},
        }

    def _conflicts(self, transitions: list[Transition]) -> list[Conflict]:
        found: dict[Ref, tuple[str, str | None]] = {}
        for label, same in _by(transitions, lambda each: each.node.label).items():
            rows = self.session.run(
                cypher.render(DIALECT, "found", label=label),
                {"uuids": [each.node.uuid for each in same], "project": self.project},
            )
            found |= {Ref(label=label, uuid=row[0]): (row[1], row[2]) for row in rows}
        return [conflict_with(each, found.get(each.node)) for each in transitions]

    def _deletions(self, refs: Sequence[Ref]) -> None:
        for label, same in _by(sorted(set(refs)), lambda ref: ref.label).items():
            self.tables.node(label)
            self._each(label, "delete", [{"uuid": ref.uuid} for ref in same], _KEY, label=label)

    def _unlinks(self, unlinks: Sequence[Unlink]) -> None:
        for (label, kind), same in _by(unlinks, lambda each: (each.source.label, each.type)).items():
            self.tables.node(label)
            rows = [{"uuid": each.source.uuid} for each in same]
            self._each(label, "unlink", rows, _KEY, label=label, type=kind)

    def _nodes(self, nodes: Sequence[Node]) -> list[Node]:
        created: list[Node] = []
        for label, same in _by(_once(nodes), lambda node: node.label).items():
            there = self._existing(label, [node.uuid for node in same])
            new = [node for node in same if node.uuid not in there]
            self._create(label, new)
            self._update(label, [node for node in same if node.uuid in there])
            created += new
        return created

    def _existing(self, label: str, uuids: list[str]) -> set[str]:
        self.tables.node(label)
        if self.prefers_keys(label, len(uuids)):
            text = cypher.render(DIALECT, "exists_one", label=label)
            return {uuid for uuid in uuids if self.session.run(text, {"uuid": uuid})}
        return {
            row[0] for row in self.session.run(cypher.render(DIALECT, "exists_many", label=label), {"uuids": uuids})
        }

    def _create(self, label: str, nodes: list[Node]) -> None:
        if not nodes:
            return
        values = [{**node.initial, **node.properties} for node in nodes]
        properties = tuple(sorted({name for each in values for name in each}))
        types = self.tables.node(label, properties)
        table = arrow(
            {
                "uuid": [node.uuid for node in nodes],
                "name": [node.name for node in nodes],
                "state": [node.state for node in nodes],
                "depth": [node.depth for node in nodes],
                **{f"v_{name}": [each.get(name) for each in values] for name in properties},
            },
            {**_NEW_TYPES, **{f"v_{name}": types[name] for name in properties}},
        )
        text = cypher.render(DIALECT, "create", properties, label=label)
        self.session.run(text, {"rows": table, "project": self.project, "now": plain(self.now)})

    def _update(self, label: str, nodes: list[Node]) -> None:
        for columns, same in _by(nodes, lambda node: tuple(sorted({*node.properties, "name"}))).items():
            types = {**_KEY, **_prefixed_types(self.tables.node(label, columns), columns)}
            rows = [{"uuid": node.uuid, **_prefixed({**node.properties, "name": node.name})} for node in same]
            done = self._each(label, "update", rows, types, columns, label=label)
            self._refuse_missing(label, [node.uuid for node in same], {row[0] for row in done})

    def _edges(self, edges: Sequence[Edge]) -> None:
        latest = {(edge.type, edge.source, edge.target): edge for edge in edges}
        shape = _by(
            latest.values(),
            lambda edge: (edge.type, edge.source.label, edge.target.label, tuple(sorted(edge.properties))),
        )
        for (kind, source, target, columns), same in shape.items():
            types = {**_ENDS, **_prefixed_types(self.tables.edge(kind, source, target, columns), columns)}
            rows = [
                {"source": edge.source.uuid, "target": edge.target.uuid, **_prefixed(edge.properties)} for edge in same
            ]
            larger = max(source, target, key=lambda label: self.prefers_keys(label, len(rows)))
            done = self._each(larger, "edge", rows, types, columns, source=source, target=target, type=kind)
            if len(done) < len(rows):
                self._refuse_missing(source, [edge.source.uuid for edge in same], self._present(source, same, "source"))
                self._refuse_missing(target, [edge.target.uuid for edge in same], self._present(target, same, "target"))

    def _present(self, label: str, edges: Sequence[Edge], end: str) -> set[str]:
        uuids = [getattr(edge, end).uuid for edge in edges]
        rows = self.session.run(cypher.render(DIALECT, "found", label=label), {"uuids": uuids, "project": self.project})
        return {row[0] for row in rows}

    def _vectors(self, vectors: Sequence[Vector]) -> None:
        for label, same in _by(vectors, lambda vector: vector.node.label).items():
            types = {**_KEY, "embedding": self.tables.node(label, ["embedding"])["embedding"]}
            text = cypher.render(DIALECT, "write_vectors", label=label)
            rows: dict[str, list[Value]] = {
                "uuid": [each.node.uuid for each in same],
                "embedding": [each.values for each in same],
            }
            done = self.session.run(text, {"rows": arrow(rows, types), "project": self.project})
            self._refuse_missing(label, [vector.node.uuid for vector in same], {row[0] for row in done})

    def _each(
        self,
        table: str,
        name: str,
        rows: list[dict[str, Value]],
        types: Mapping[str, str],
        columns: tuple[str, ...] = (),
        **identifiers: str,
    ) -> list[Sequence[Value]]:
        """The rows through `name`_one or `name`_many, whichever is cheaper."""
        if self.prefers_keys(table, len(rows)):
            text = cypher.render(DIALECT, f"{name}_one", columns, **identifiers)
            return [answer for row in rows for answer in self.session.run(text, {"project": self.project, **row})]
        text = cypher.render(DIALECT, f"{name}_many", columns, **identifiers)
        return self.session.run(text, {"project": self.project, "rows": _arrow_of(rows, types)})

    def _refuse_missing(self, label: str, wanted: Iterable[str], there: set[str]) -> None:
        if missing := next((uuid for uuid in wanted if uuid not in there), None):
            raise MissingNode(
                f"{label} {missing} is not in project {self.project}", hint="write the node in the same batch or before"
            )


def _prefixed(values: Mapping[str, Value]) -> dict[str, Value]:
    """Values under names that cannot meet a variable of the query."""
    return {f"v_{name}": plain(value) for name, value in values.items()}


def _once(nodes: Sequence[Node]) -> Iterable[Node]:
    """Each node once, with the properties of all that name it; of two values the later counts."""
    latest: dict[Ref, Node] = {}
    for node in nodes:
        there = latest.get(node.ref)
        latest[node.ref] = node if there is None else replace(node, properties={**there.properties, **node.properties})
    return latest.values()


def _prefixed_types(types: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {f"v_{name}": types[name] for name in names}


def _arrow_of(rows: list[dict[str, Value]], types: Mapping[str, str]) -> Any:
    return arrow({name: [row[name] for row in rows] for name in types}, types)


def _ended(transition: Transition) -> tuple[str, ...]:
    """What a transition clears or sets beside its marks. Every column costs, so only where there was a lease."""
    return _LEASE if transition.token else ("_notBefore",)


def _shape(transition: Transition) -> tuple[str, tuple[str, ...]]:
    """Transitions of one shape set the same properties."""
    columns = {*transition.marks.set, *transition.marks.stamp, *_ended(transition)}
    return transition.node.label, tuple(sorted(columns))


def _likeness(transition: Transition) -> tuple[Value, ...]:
    """Transitions that are alike set them to the same values."""
    marks = repr(sorted(transition.marks.set.items(), key=lambda item: item[0]))
    return transition.expected, transition.to, transition.token, transition.delay, marks, transition.marks.stamp


def _by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    groups: dict[K, list[T]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups
