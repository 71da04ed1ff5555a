"""Nodes and edges as a graph exports them: of every label, with values that are hard to keep."""

from array import array
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from graph_stores.model import ExportedEdge, ExportedNode, Ref, Value, VectorSpace
from tests.conformance.test_hostile_values import HOSTILE_VALUES

SPACE = VectorSpace(provider="letters", model="vowels", dimension=5)
TEXT, NUMBER, TRUTH, TIME, TEXTS = "text", "number", "truth", "time", "texts"
_EVERYWHERE = {
    "name": TEXT,
    "_depth": NUMBER,
    "_detectedAt": TIME,
    "_stateChangedAt": TIME,
    "_notBefore": TIME,
    "_errorType": TEXT,
    "_errorClass": TEXT,
    "_errorMessage": TEXT,
    "_retryCount": NUMBER,
    "_parsedAt": TIME,
    "_contentHash": TEXT,
    "_embeddingModel": TEXT,
    "_runId": TEXT,
}
_OWN: dict[str, dict[str, str]] = {
    "File": {"root": TEXT, "path": TEXT, "size": NUMBER, "brokenLinks": TEXTS, "_manifest": TEXT, "_content": TEXT},
    "Directory": {"root": TEXT, "path": TEXT, "location": TEXT, "rules": TEXT},
    "MarkdownSection": {"title": TEXT, "level": NUMBER, "content": TEXT, "_chunks": NUMBER, "brokenLinks": TEXTS},
    "Scope": {"kind": TEXT, "content": TEXT, "docstring": TEXT},
    "TextSection": {"content": TEXT, "startLine": NUMBER},
    "Chunk": {"content": TEXT},
    "Article": {"title": TEXT, "revisionTimestamp": TIME, "redirects": TEXTS, "_relink": TRUTH, "claimed_at": TIME},
    "Section": {"title": TEXT, "content": TEXT, "word_count": NUMBER},
    "Category": {"title": TEXT, "wiki": TEXT},
    "Wiki": {"lang": TEXT, "location": TEXTS, "rate": NUMBER, "_stale": TRUTH},
    "IngestionRun": {"type": TEXT, "options": TEXT, "watermarkAfter": TIME},
    "Partition": {"key": TEXT, "nextOffset": NUMBER, "finishedAt": TIME},
}
LABELS = tuple(_OWN)
_WITH_VECTORS = ("MarkdownSection", "Scope", "TextSection", "Chunk", "Section")
_ENDS = [
    ("HAS_SECTION", "File", "MarkdownSection", ("index",)),
    ("HAS_SECTION", "Article", "Section", ("section_index",)),
    ("IN_DIRECTORY", "File", "Directory", ()),
    ("LINKS_TO", "Article", "Article", ("count",)),
    ("LINKS_TO", "MarkdownSection", "File", ("count",)),
    ("CONSUMES", "Scope", "Scope", ("count",)),
    ("HAS_CHUNK", "TextSection", "Chunk", ("index",)),
    ("HAS_PARTITION", "IngestionRun", "Partition", ("index",)),
    ("REDIRECTS_TO", "Article", "Article", ()),
]
_STATES = ("pending", "parsed", "linked", "ready", "skip", "error")
# No column has both ends of what 64 bits hold: Kuzu packs numbers by their range, and that one it packs wrongly.
_NUMBERS = (0, 1, -1, 2**53 + 1, -(2**53) - 1, 2**62)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def random_nodes(project: str, random: Random, count: int) -> list[ExportedNode]:
    return [_node(project, random, label, number) for label in LABELS for number in range(count)]


def random_edges(nodes: Sequence[ExportedNode], random: Random, count: int) -> list[ExportedEdge]:
    """One at most from one node to another."""
    by_label: dict[str, list[Ref]] = {}
    for node in nodes:
        by_label.setdefault(node.label, []).append(Ref(label=node.label, uuid=node.properties["uuid"]))
    edges: dict[Any, ExportedEdge] = {}
    for kind, source, target, names in _ENDS:
        for _ in range(count):
            ends = random.choice(by_label[source]), random.choice(by_label[target])
            properties = {name: random.choice(_NUMBERS) for name in names if random.random() < 0.8}
            edges[(kind, *ends)] = ExportedEdge(type=kind, source=ends[0], target=ends[1], properties=properties)
    return list(edges.values())


def _node(project: str, random: Random, label: str, number: int) -> ExportedNode:
    kinds = {**_EVERYWHERE, **_OWN[label]}
    chosen = {name: _value(random, kind) for name, kind in kinds.items() if random.random() < 0.7}
    uuid = f"{project} {label} {number} {random.choice(list(HOSTILE_VALUES.values()))[:40]}"
    properties = {**chosen, "uuid": uuid, "projectId": project, "_state": random.choice(_STATES)}
    if label in _WITH_VECTORS and random.random() < 0.7:
        # In single precision, as every engine has it.
        properties["embedding"] = array("f", [random.uniform(-1, 1) for _ in range(SPACE.dimension)]).tolist()
    return ExportedNode(label=label, properties=properties)


def _value(random: Random, kind: str) -> Value:
    match kind:
        case "text":
            return random.choice(list(HOSTILE_VALUES.values()))
        case "number":
            return random.choice(_NUMBERS)
        case "truth":
            return random.random() < 0.5
        case "time":
            return _EPOCH + timedelta(microseconds=random.randrange(-(10**15), 4 * 10**15))
        case _:
            return [random.choice(list(HOSTILE_VALUES.values())) for _ in range(random.randrange(3))]
