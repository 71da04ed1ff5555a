"""The whole graph of a project as something that can be compared with another: only times, leases and the records of
the work itself are left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from graph_stores.protocol import Store
from orchestrator.states import RECORDS

_OF_THE_WORK = frozenset({"_leaseOwner", "_leaseToken", "_leaseUntil", "_notBefore", "_depth", "_runId"})
_DIGITS = 5

NodeKey = tuple[str, str]
EdgeKey = tuple[str, NodeKey, NodeKey]
Properties = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    nodes: Mapping[NodeKey, Properties]
    edges: Mapping[EdgeKey, Properties]
    names: Mapping[NodeKey, str]

    def of(self, label: str) -> dict[str, Properties]:
        """The nodes of a label by name, files and folders by path; two of one name are an error of the test."""
        found = [key for key in self.nodes if key[0] == label]
        by_name = {self.names[key]: self.nodes[key] for key in found}
        assert len(by_name) == len(found), f"two {label} have one name"
        return by_name

    def states(self, label: str) -> dict[str, str]:
        return {name: node["_state"] for name, node in self.of(label).items()}

    @property
    def all_states(self) -> set[str]:
        return {node["_state"] for node in self.nodes.values()}

    def links(self, type: str) -> dict[tuple[str, str], Properties]:
        """The edges of a type by the names of their ends."""
        return {
            (self.names[source], self.names[target]): properties
            for (kind, source, target), properties in self.edges.items()
            if kind == type
        }


async def picture(store: Store) -> Picture:
    nodes = {
        (node.label, node.properties["uuid"]): _lasting(node.properties)
        async for node in store.export_nodes()
        if node.label not in RECORDS
    }
    edges: dict[EdgeKey, Properties] = {}
    async for edge in store.export_edges():
        if edge.source.label in RECORDS:
            continue
        key = (edge.type, (edge.source.label, edge.source.uuid), (edge.target.label, edge.target.uuid))
        assert key not in edges, f"{key} is there twice"
        edges[key] = _lasting(edge.properties)
    return Picture(nodes=nodes, edges=edges, names={key: _name(key, node) for key, node in nodes.items()})


def differences(found: Picture, expected: Picture) -> list[str]:
    """What is other than expected, a line for each; empty where nothing is."""
    names = {**expected.names, **found.names}
    nodes = _compared(found.nodes, expected.nodes, lambda key: f"{key[0]} {names[key]!r}")
    edges = _compared(
        found.edges,
        expected.edges,
        lambda key: f"({names.get(key[1], key[1])!r})-[{key[0]}]->({names.get(key[2], key[2])!r})",
    )
    return [*nodes, *edges]


def _compared(found: Mapping[Any, Properties], expected: Mapping[Any, Properties], shown: Any) -> Iterator[str]:
    for key in sorted({*found, *expected}):
        if key not in found:
            yield f"missing: {shown(key)}"
        elif key not in expected:
            yield f"too much: {shown(key)}"
        elif found[key] != expected[key]:
            both = {name for name in {*found[key], *expected[key]} if found[key].get(name) != expected[key].get(name)}
            changed = [f"{name} is {found[key].get(name)!r}, not {expected[key].get(name)!r}" for name in sorted(both)]
            yield f"{shown(key)}: {'; '.join(each[:600] for each in changed)}"


def _lasting(properties: Properties) -> dict[str, Any]:
    return {
        name: [round(number, _DIGITS) for number in value] if name == "embedding" else value
        for name, value in properties.items()
        if value is not None and name not in _OF_THE_WORK and not isinstance(value, datetime)
    }


def _name(key: NodeKey, node: Properties) -> str:
    return str(node["path"]) if key[0] in ("File", "Directory") else str(node["name"])
