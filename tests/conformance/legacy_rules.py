"""What must become of a node, told once more in another way: the table of rules as plain Python, and random nodes."""

from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import Any

PENDING = ("pending", "mentioned", "discovered", "parsing")
PARSED = ("parsed", "relations", "linking")
LINKED = ("linked", "entities", "embedding")
READY = ("ready", "embedded")
TEXTS = ("MarkdownSection", "Scope", "TextSection", "Section")
NEVER = ("Directory", "Project", "PackageJson", "ExternalLibrary")
NO_TEXT_OF_ITS_OWN = (*NEVER, "File", "Entity", "WebPage")
MODEL = ("openai", "small")
DIMENSION = 3


def hashed(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


@dataclass(slots=True)
class OldNode:
    labels: list[str]
    properties: dict[str, Any] = field(default_factory=dict)
    linked: bool = False
    chunks: int = 0

    @property
    def label(self) -> str:
        ours = [label for label in sorted(self.labels) if label in (*TEXTS, "File", "Directory")]
        return (ours or sorted(self.labels))[0]


def nodes_of_models() -> list[OldNode]:
    """Nodes whose vectors are of several models, of which some say so and some do not."""
    made = [("openai", "small", 3, 4), ("gemini", "embedding-001", 2, 3), (None, None, 2, 2), ("openai", "large", 3, 1)]
    nodes = [OldNode(labels=["Scope"], properties={"uuid": "none", "content": "nothing is made of this yet"})]
    for provider, model, dimension, count in made:
        named = {"embedding_provider": provider, "embedding_model": model} if provider else {}
        for number in range(count):
            own = {"uuid": f"{model} {number}", "content": "some words", "embedding_content": [0.5] * dimension}
            nodes.append(OldNode(labels=["Scope"], properties={**own, **named}))
    return nodes


VECTORS_OF_MODELS = [
    {"provider": "openai", "model": "small", "dimension": 3, "count": 4},
    {"provider": "gemini", "model": "embedding-001", "dimension": 2, "count": 3},
    {"provider": None, "model": None, "dimension": 2, "count": 2},
    {"provider": "openai", "model": "large", "dimension": 3, "count": 1},
]
"""What `detect` says of them, on every engine; and what `plan` says: how many are kept, and how many would be."""
KEPT_OF_MODELS = ("openai:small", 4, [("gemini:embedding-001", 5)])


def decide(node: OldNode, needs: dict[str, set[str]]) -> tuple[str, str]:
    """Number of the rule, and the state."""
    own = node.properties
    word = own.get("_state") or (own.get("state") if "File" in node.labels else None)
    if own.get("_pending") is True:
        return "1", "pending"
    if own.get("schemaDirty") is True:
        return "2", "pending"
    if word == "error":
        return "3", "error"
    if word is not None and word not in (*PENDING, *PARSED, *LINKED, *READY, "skip"):
        return "10", "pending"
    for words, state in ((PENDING, "pending"), (PARSED, "parsed"), (LINKED, "linked")):
        if word in words:
            return "4", state
    dirty = own.get("embeddingsDirty") is True
    trusted = "_state" in own and "_embeddedAt" in own
    if word == "skip" and (trusted or not dirty):
        return "4", "skip"
    return _by_vectors(node, needs.get(node.label, set()), word, dirty=dirty, trusted=trusted)


def _by_vectors(node: OldNode, needed: set[str], word: str | None, *, dirty: bool, trusted: bool) -> tuple[str, str]:
    own = node.properties
    texts = {"name": own.get("name"), "content": own.get("content"), "description": own.get("docstring")}
    vectors = {slot: own.get(f"embedding_{slot}") for slot in texts}
    vectors["content"] = vectors["content"] or own.get("embedding")
    hashes = {slot: own.get(f"embedding_{slot}_hash") for slot in texts}
    chunked = own.get("chunkCount") or 0
    has_any = any(vectors.values()) or (chunked and node.chunks)
    missing = [
        slot
        for slot in needed
        if not vectors[slot]
        and not (slot == "content" and chunked and node.chunks == chunked)
        and (len(texts[slot] or "") >= 5 or hashes[slot])
    ]
    incomplete = bool(missing) or (chunked and node.chunks != chunked)
    wrong_length = any(vector and len(vector) != DIMENSION for vector in vectors.values())
    stale = any(hashes[slot] and texts[slot] and hashes[slot] != hashed(str(texts[slot])) for slot in texts)
    other_model = (own.get("embedding_provider"), own.get("embedding_model")) != MODEL
    searched = node.label in TEXTS
    if dirty and not (trusted and word in READY):
        return "5", "linked"
    if dirty and not (incomplete or wrong_length or (stale and has_any) or (searched and (other_model or not has_any))):
        return "5", "ready"
    if has_any and (stale or other_model):
        return "6", "linked"
    if has_any and not incomplete and not wrong_length:
        return "7", "ready"
    if word in READY and not has_any and not incomplete and node.label in NO_TEXT_OF_ITS_OWN:
        return "7", "ready"
    if (not has_any and node.label in NEVER) or max(len(own.get("content") or ""), len(own.get("docstring") or "")) < 5:
        return "8", "skip"
    return ("9", "linked") if node.linked or node.chunks else ("9", "pending")


def random_node(random: Random, number: int) -> OldNode:
    """Any combination of marks, likely and unlikely."""
    kinds = "Scope File MarkdownSection Entity Directory CodeBlock File:WebPage Entity:Scope Person:Entity"
    node = OldNode(labels=random.choice(kinds.split()).split(":"))
    own: dict[str, Any] = {"uuid": f"n{number}", "name": random.choice(["f", "a_longer_name"])}
    if random.random() < 0.8:
        own["content"] = random.choice(["abc", "the text of a node", "another text, longer"])
    if random.random() < 0.3:
        own["docstring"] = "what it is for"
    if random.random() < 0.1:
        own["_pending"] = random.choice([True, False])
    if random.random() < 0.1:
        own["schemaDirty"] = random.choice([True, False])
    if random.random() < 0.5:
        own["embeddingsDirty"] = random.choice([True, True, False])
    words = [*PENDING, *PARSED, *LINKED, *READY, "skip", "error", "frobbing"]
    if random.random() < 0.4:
        own[random.choice(["_state", "state"])] = random.choice([*words, *READY * 4])
    if random.random() < 0.3:
        own["_embeddedAt"] = "2025-06-01T00:00:00+02:00"
    if random.random() < 0.6:
        _embed(own, random)
    if random.random() < 0.2:
        own["chunkCount"], own["usesChunks"] = 2, True
        own.pop("embedding_content", None)
        node.chunks = random.choice([0, 1, 2, 2])
    node.properties, node.linked = own, random.random() < 0.6
    return node


def _embed(own: dict[str, Any], random: Random) -> None:
    texts = {"name": own.get("name"), "content": own.get("content"), "description": own.get("docstring")}
    for slot, text in texts.items():
        if text and random.random() < 0.85:
            own[f"embedding_{slot}"] = [0.1, 0.2, 0.3] if random.random() < 0.95 else [0.1]
            if random.random() < 0.7:
                own[f"embedding_{slot}_hash"] = hashed(text if random.random() < 0.9 else "an older text")
    if random.random() < 0.85:
        own["embedding_provider"], own["embedding_model"] = MODEL if random.random() < 0.9 else ("openai", "large")
