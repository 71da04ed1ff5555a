"""A checksum per label and per type of edge that is the same on every engine, in whatever order things are read.

Each node and edge has a digest of everything that it holds; a checksum is their sum. Vectors count in single
precision, which is what every engine keeps of them.
"""

import json
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from graph_stores.model import ExportedEdge, ExportedNode, Value

VECTOR = "embedding"
_BYTES = 16
_MODULUS = 1 << (8 * _BYTES)


@dataclass(slots=True)
class Checksum:
    """Of things of one kind, in any order."""

    count: int = 0
    total: int = 0

    def add(self, content: bytes) -> None:
        self.count += 1
        self.total = (self.total + int.from_bytes(blake2b(content, digest_size=_BYTES).digest())) % _MODULUS

    def document(self) -> dict[str, Any]:
        return {"count": self.count, "checksum": f"{self.total:0{2 * _BYTES}x}"}


@dataclass(slots=True)
class Checksums:
    """Of a whole project."""

    nodes: defaultdict[str, Checksum] = field(default_factory=lambda: defaultdict(Checksum))
    edges: defaultdict[str, Checksum] = field(default_factory=lambda: defaultdict(Checksum))

    def add_node(self, node: ExportedNode) -> int:
        """Returns how much there is in it, in bytes."""
        content = content_of_node(node)
        self.nodes[node.label].add(content)
        return len(content)

    def add_edge(self, edge: ExportedEdge) -> int:
        content = content_of_edge(edge)
        self.edges[edge.type].add(content)
        return len(content)

    def differences(self, found: "Checksums") -> list[str]:
        """What is other in the one that was found, a phrase for each label and type."""
        pairs = [(self.nodes, found.nodes), (self.edges, found.edges)]
        return [
            _difference(name, wanted.get(name, Checksum()), there.get(name, Checksum()))
            for wanted, there in pairs
            for name in sorted({*wanted, *there})
            if wanted.get(name, Checksum()) != there.get(name, Checksum())
        ]


def _difference(name: str, wanted: Checksum, found: Checksum) -> str:
    if wanted.count != found.count:
        return f"{found.count:,} {name} instead of {wanted.count:,}"
    return f"{name} with other content"


def content_of_node(node: ExportedNode) -> bytes:
    """Everything that a node holds, in one form."""
    rest = {name: value for name, value in node.properties.items() if value is not None and name != VECTOR}
    vector: Sequence[float] = node.properties.get(VECTOR) or ()
    return _text([node.label, rest]) + array("f", vector).tobytes()


def content_of_edge(edge: ExportedEdge) -> bytes:
    properties: Mapping[str, Value] = {name: value for name, value in edge.properties.items() if value is not None}
    return _text(
        [edge.type, edge.source.label, edge.source.uuid, edge.target.label, edge.target.uuid, properties],
    )


def _text(value: Any) -> bytes:  # Any: what json takes
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_moment).encode()


def _moment(value: object) -> dict[str, str]:
    # A dict, so that no text can be taken for a time.
    if isinstance(value, datetime):
        return {"$": value.astimezone(UTC).isoformat(timespec="microseconds")}
    raise TypeError(f"a value of type {type(value).__name__} has no place in a graph")
