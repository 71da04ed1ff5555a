"""A checksum per label and per type of edge that is the same on every engine, in whatever order things are read.

Each node and edge has a digest of everything that it holds; a checksum is their sum. Vectors count in single
precision, which is what every engine keeps of them.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from graph_stores.pages import NodePage, Page

_BYTES = 16
_MODULUS = 1 << (8 * _BYTES)


@dataclass(slots=True)
class Checksum:
    """Of things of one kind, in any order."""

    count: int = 0
    total: int = 0

    def add(self, contents: Iterable[bytes]) -> None:
        digests = [blake2b(each, digest_size=_BYTES).digest() for each in contents]
        self.count += len(digests)
        self.total = (self.total + sum(map(int.from_bytes, digests))) % _MODULUS

    def document(self) -> dict[str, Any]:
        return {"count": self.count, "checksum": f"{self.total:0{2 * _BYTES}x}"}


@dataclass(slots=True)
class Checksums:
    """Of a whole project."""

    nodes: defaultdict[str, Checksum] = field(default_factory=lambda: defaultdict(Checksum))
    edges: defaultdict[str, Checksum] = field(default_factory=lambda: defaultdict(Checksum))

    def add(self, page: Page) -> None:
        checksum = self.nodes[page.label] if isinstance(page, NodePage) else self.edges[page.type]
        checksum.add(page.contents())

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
