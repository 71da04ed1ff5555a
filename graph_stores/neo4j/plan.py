"""What a batch becomes: statements with their rows, in an order that is the same for every writer.

Pure: knows no server. Locks are taken in the order of the rows, so everything is sorted by label and uuid; what is
named twice keeps its order, and the later one adds to the earlier.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

import cypher
from graph_stores.errors import Conflict, conflict_error
from graph_stores.model import Batch, Edge, Node, Ref, Transition, Unlink, Update, Value, Vector
from graph_stores.neo4j.connection import DIALECT
from graph_stores.neo4j.values import sendable, sendable_key, sendable_properties, sendable_vector

# Larger lists cost the server more memory and save nothing.
_CHUNK = 5000
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A statement over rows of one label; `needs` are the nodes without which it must not happen.

    `tells` is what its answer says of states: `births` or `deaths`.
    """

    text: str
    label: str
    rows: Sequence[Value]
    needs: tuple[Ref, ...] = ()
    tells: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    locks: Sequence[Step]
    transitions: Sequence[Step]
    changes: Sequence[Step]


def plan(batch: Batch, dimension: int) -> Plan:
    _refuse_repeated(batch.transitions)
    return Plan(
        locks=list(locks(each.node for each in batch.transitions)),
        transitions=list(_transitions(batch.transitions)),
        changes=[
            *_deletions(batch.deletions),
            *_unlinks(batch.unlinks),
            *_nodes(batch.nodes),
            *_updates(batch.updates),
            *_edges(batch.edges),
            *_vectors(batch.vectors, dimension),
        ],
    )


def locks(refs: Iterable[Ref]) -> Iterator[Step]:
    """The write locks of nodes in ascending order: two writers that follow it cannot wait for each other."""
    for label, same in by(sorted(set(refs)), lambda ref: ref.label):
        yield from _steps("lock", label, [ref.uuid for ref in same])


def by(items: Iterable[T], key: Callable[[T], Any]) -> Iterator[tuple[Any, list[T]]]:
    """The items in groups, both in ascending order of the key; items of one group keep their order."""
    return ((found, list(group)) for found, group in groupby(sorted(items, key=key), key))


def _transitions(transitions: Sequence[Transition]) -> Iterator[Step]:
    ordered = sorted(transitions, key=lambda each: each.node)
    for (label, stamp), same in by(ordered, lambda each: (each.node.label, tuple(sorted(set(each.marks.stamp))))):
        rows = [_transition_row(each) for each in same]
        yield from _steps("transition", label, rows, properties=("_stateChangedAt", *stamp), label=label)


def _transition_row(transition: Transition) -> dict[str, Value]:
    return {
        "uuid": transition.node.uuid,
        "expected": transition.expected,
        "to": transition.to,
        "token": transition.token or "",
        "expired": transition.expired,
        "delay": transition.delay,
        "keeps": transition.keeps_lease,
        "marks": sendable_properties(transition.marks.set),
    }


def _deletions(refs: Sequence[Ref]) -> Iterator[Step]:
    for label, same in by(sorted(set(refs)), lambda ref: ref.label):
        yield from _steps("node_delete", label, [ref.uuid for ref in same], tells="deaths")


def _unlinks(unlinks: Sequence[Unlink]) -> Iterator[Step]:
    ordered = sorted(unlinks, key=lambda each: each.source)
    for (label, kind), same in by(ordered, lambda each: (each.source.label, each.type)):
        yield from _steps("unlink", label, [each.source.uuid for each in same], label=label, type=kind)


def _nodes(nodes: Sequence[Node]) -> Iterator[Step]:
    for label, same in by(sorted(nodes, key=lambda node: node.ref), lambda node: node.label):
        rows = [_node_row(node) for node in same]
        yield from _steps("node_upsert", label, rows, needs=[(node.ref,) for node in same], tells="births")


def _node_row(node: Node) -> dict[str, Value]:
    return {
        "uuid": sendable_key(node.uuid),
        "new": {**sendable_properties(node.initial), "_state": node.state, "_depth": node.depth},
        "always": {**sendable_properties(node.properties), "name": sendable(node.name)},
    }


def _updates(updates: Sequence[Update]) -> Iterator[Step]:
    ordered = sorted(updates, key=lambda each: each.node)
    for (label, stamp), same in by(ordered, lambda each: (each.node.label, tuple(sorted(set(each.stamp))))):
        rows = [_update_row(each) for each in same]
        if stamp:
            yield from _steps("node_stamp", label, rows, properties=stamp, label=label)
        else:
            yield from _steps("node_update", label, rows)


def _update_row(update: Update) -> dict[str, Value]:
    name = {} if update.name is None else {"name": sendable(update.name)}
    return {"uuid": update.node.uuid, "properties": {**sendable_properties(update.properties), **name}}


def _edges(edges: Sequence[Edge]) -> Iterator[Step]:
    ordered = sorted(edges, key=lambda edge: (edge.source, edge.target))
    for (kind, source, target), same in by(ordered, lambda edge: (edge.type, edge.source.label, edge.target.label)):
        yield from _steps(
            "edge_upsert",
            source,
            [_edge_row(edge) for edge in same],
            needs=[(edge.source, edge.target) for edge in same],
            type=kind,
            source=source,
            target=target,
        )


def _edge_row(edge: Edge) -> dict[str, Value]:
    return {
        "source": edge.source.uuid,
        "target": edge.target.uuid,
        "properties": sendable_properties(edge.properties),
    }


def _vectors(vectors: Sequence[Vector], dimension: int) -> Iterator[Step]:
    latest = {vector.node: vector for vector in vectors}
    for label, same in by((latest[ref] for ref in sorted(latest)), lambda vector: vector.node.label):
        set_ = [
            ({"uuid": each.node.uuid, "values": sendable_vector(each.values, dimension)}, (each.node,))
            for each in same
            if each.values is not None
        ]
        gone = [(each.node.uuid, (each.node,)) for each in same if each.values is None]
        yield from _steps("vector_set", label, [row for row, _ in set_], needs=[needed for _, needed in set_])
        yield from _steps("vector_remove", label, [row for row, _ in gone], needs=[needed for _, needed in gone])


def _steps(
    name: str,
    at: str,
    rows: Sequence[Value],
    *,
    needs: Sequence[tuple[Ref, ...]] = (),
    properties: tuple[str, ...] = (),
    tells: str = "",
    **identifiers: str,
) -> Iterator[Step]:
    text = cypher.render(DIALECT, name, properties, **(identifiers or {"label": at}))
    for start in range(0, len(rows), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        needed = tuple(ref for refs in needs[chunk] for ref in refs)
        yield Step(text=text, label=at, rows=rows[chunk], needs=needed, tells=tells)


def _refuse_repeated(transitions: Sequence[Transition]) -> None:
    """The second move of a node in one batch finds it where the first has put it."""
    first: dict[Ref, Transition] = {}
    repeated = [each for each in transitions if first.setdefault(each.node, each) is not each]
    if repeated:
        raise conflict_error(
            [
                Conflict(
                    label=each.node.label,
                    uuid=each.node.uuid,
                    expected=each.expected,
                    found=first[each.node].to,
                    lease_lost=each.token is not None,
                )
                for each in repeated
            ]
        )
