"""Applies a batch inside a transaction of an embedded engine. Refuses to commit: the transaction is its caller's."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import cypher
from graph_stores.errors import Conflict, conflict_error, conflict_with
from graph_stores.kuzu.columns import arrow, plain
from graph_stores.kuzu.edges import Edges
from graph_stores.kuzu.session import DIALECT
from graph_stores.kuzu.statements import Statements, arrow_of, by, prefixed, prefixed_types
from graph_stores.model import Batch, Node, Ref, Transition, Unlink, Update, Value, Vector

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
_ENDS = {"source": "STRING", "target": "STRING"}
_KEY = {"uuid": "STRING"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A transition that happened, with what its place in the queue depends on, and what was so before."""

    transition: Transition
    depth: int
    detected_at: datetime
    since: datetime | None
    tries: int | None
    run: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """A node that was there, as it was in the end."""

    node: Ref
    state: str
    since: datetime | None
    tries: int | None
    run: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What a batch did to states."""

    moved: Sequence[Moved]
    removed: Sequence[Removed]
    created: Sequence[Node]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes(Statements):
    now: datetime

    def apply(self, batch: Batch) -> Applied:
        """Everything in the batch."""
        moved = self._transitions(batch.transitions)
        removed = self._deletions(batch.deletions)
        self._unlinks(batch.unlinks)
        created = self._nodes(batch.nodes)
        self._updates(batch.updates)
        Edges(statements=self, new={node.ref for node in created}).write(batch.edges)
        self._vectors(batch.vectors)
        return Applied(moved=moved, removed=removed, created=created)

    def _transitions(self, transitions: Sequence[Transition]) -> list[Moved]:
        moved: list[Moved] = []
        for (label, columns), same in by(transitions, _shape).items():
            types = self.tables.node(label, columns)
            found = {row[0]: row for row in self._move(label, columns, types, same)}
            moved += [_moved(each, found[each.node.uuid]) for each in same if each.node.uuid in found]
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
        for alike in by(transitions, _likeness).values():
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
            rows += self.session.run(text, {**fixed, "rows": arrow_of(values, of_columns)})
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
        for label, same in by(transitions, lambda each: each.node.label).items():
            rows = self.found(label, [each.node.uuid for each in same])
            found |= {Ref(label=label, uuid=row[0]): (row[1], row[2]) for row in rows}
        return [conflict_with(each, found.get(each.node)) for each in transitions]

    def _deletions(self, refs: Sequence[Ref]) -> list[Removed]:
        removed: list[Removed] = []
        for label, same in by(sorted(set(refs)), lambda ref: ref.label).items():
            self.tables.node(label)
            rows = [{"uuid": ref.uuid} for ref in same]
            self._cut(label, [ref.uuid for ref in same])
            for uuid, state, since, tries, run in self.each(label, "delete", rows, _KEY, label=label):
                node = Ref(label=label, uuid=uuid)
                removed.append(Removed(node=node, state=state, since=since, tries=tries, run=run))
        return removed

    def _cut(self, label: str, uuids: list[str]) -> None:
        """Remove every edge of the nodes."""
        for kind, pairs in sorted(self.tables.pairs.items()):
            for source, target in sorted(pair for pair in pairs if label in pair):
                names = {"type": kind, "source": source, "target": target}
                found: set[tuple[str, str]] = set()
                for end, side in ((source, "edges_out"), (target, "edges_in")):
                    if end == label:
                        text = cypher.render(DIALECT, side, **names)
                        rows = self.session.run(text, {"uuids": uuids, "project": self.project})
                        found |= {(row[0], row[1]) for row in rows}
                if found:
                    ends = [{"source": each[0], "target": each[1]} for each in sorted(found)]
                    self.each(source, "cut", ends, _ENDS, type=kind, source=source, target=target)

    def _unlinks(self, unlinks: Sequence[Unlink]) -> None:
        for (label, kind), same in by(unlinks, lambda each: (each.source.label, each.type)).items():
            self.tables.node(label)
            rows = [{"uuid": each.source.uuid} for each in same]
            self.each(label, "unlink", rows, _KEY, label=label, type=kind)

    def _nodes(self, nodes: Sequence[Node]) -> list[Node]:
        created: list[Node] = []
        for label, same in by(_once(nodes), lambda node: node.label).items():
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
        for columns, same in by(nodes, lambda node: tuple(sorted({*node.properties, "name"}))).items():
            types = {**_KEY, **prefixed_types(self.tables.node(label, columns), columns)}
            there = self._values_of(label, columns, [node.uuid for node in same])
            wanted = {node.uuid: {**node.properties, "name": node.name} for node in same}
            self.refuse_missing(label, wanted, set(there))
            # What is so already is not written: an update keeps thousands of rows in memory until the next checkpoint.
            rows = [
                {"uuid": uuid, **prefixed(values)}
                for uuid, values in wanted.items()
                if [plain(values[name]) for name in columns] != there[uuid]
            ]
            if rows:
                self.each(label, "update", rows, types, columns, label=label)

    def _values_of(self, label: str, columns: tuple[str, ...], uuids: list[str]) -> dict[str, list[Value]]:
        """What nodes have in some columns now, by uuid; those of other projects are left out."""
        if self.prefers_keys(label, len(uuids)):
            text = cypher.render(DIALECT, "values_one", (), columns, label=label)
            asked = ({"uuid": uuid, "project": self.project} for uuid in uuids)
            found = [row for parameters in asked for row in self.session.run(text, parameters)]
        else:
            text = cypher.render(DIALECT, "values_many", (), columns, label=label)
            found = list(self.session.run(text, {"uuids": uuids, "project": self.project}))
        return {row[0]: list(row[1:]) for row in found}

    def _updates(self, updates: Sequence[Update]) -> None:
        values: dict[Ref, dict[str, Value]] = defaultdict(dict)
        for each in updates:
            values[each.node] |= each.properties if each.name is None else {**each.properties, "name": each.name}
            values[each.node] |= dict.fromkeys(each.stamp, self.now)
        for (label, columns), same in by(values.items(), lambda item: (item[0].label, tuple(sorted(item[1])))).items():
            types = {**_KEY, **prefixed_types(self.tables.node(label, columns), columns)}
            rows = [{"uuid": node.uuid, **prefixed(changed)} for node, changed in same]
            if columns:
                self.each(label, "update", rows, types, columns, label=label)

    def _vectors(self, vectors: Sequence[Vector]) -> None:
        latest = {vector.node: vector for vector in vectors}
        for (label, gone), same in by(latest.values(), lambda each: (each.node.label, each.values is None)).items():
            there = self._remove_vectors(label, same) if gone else self._write_vectors(label, same)
            self.refuse_missing(label, [vector.node.uuid for vector in same], there)

    def _write_vectors(self, label: str, vectors: list[Vector]) -> set[str]:
        types = {**_KEY, "embedding": self.tables.node(label, ["embedding"])["embedding"]}
        text = cypher.render(DIALECT, "write_vectors", label=label)
        rows: dict[str, list[Value]] = {
            "uuid": [each.node.uuid for each in vectors],
            "embedding": [each.values for each in vectors],
        }
        done = self.session.run(text, {"rows": arrow(rows, types), "project": self.project})
        return {row[0] for row in done}

    def _remove_vectors(self, label: str, vectors: list[Vector]) -> set[str]:
        """Until the first vector space was declared there is no column, and nothing to remove."""
        uuids = [each.node.uuid for each in vectors]
        if "embedding" not in self.tables.node(label):
            return {row[0] for row in self.found(label, uuids)}
        text = cypher.render(DIALECT, "remove_vectors", label=label)
        parameters = {"uuids": uuids, "project": self.project}
        return {row[0] for row in self.session.run(text, parameters)}


def _moved(transition: Transition, row: Sequence[Value]) -> Moved:
    _, depth, detected_at, since, tries, run = row
    return Moved(transition=transition, depth=depth, detected_at=detected_at, since=since, tries=tries, run=run)


def _once(nodes: Sequence[Node]) -> Iterable[Node]:
    """Each node once, with the properties of all that name it; of two values the later counts."""
    latest: dict[Ref, Node] = {}
    for node in nodes:
        there = latest.get(node.ref)
        latest[node.ref] = node if there is None else replace(node, properties={**there.properties, **node.properties})
    return latest.values()


def _ended(transition: Transition) -> tuple[str, ...]:
    """What a transition clears or sets beside its marks. Every column costs, so only where there was a lease."""
    return _LEASE if transition.token and not transition.keeps_lease else ("_notBefore",)


def _shape(transition: Transition) -> tuple[str, tuple[str, ...]]:
    """Transitions of one shape set the same properties."""
    columns = {*transition.marks.set, *transition.marks.stamp, *_ended(transition)}
    return transition.node.label, tuple(sorted(columns))


def _likeness(transition: Transition) -> tuple[Value, ...]:
    """Transitions that are alike set them to the same values."""
    marks = repr(sorted(transition.marks.set.items(), key=lambda item: item[0]))
    return transition.expected, transition.to, transition.token, transition.delay, marks, transition.marks.stamp
