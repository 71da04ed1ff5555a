"""What older graphs say of themselves: the names of their marks, and what their words mean.

Owns the shapes that are recognised unasked; a mapping file makes others of the same kind (`migration.mapping`).
Pure: it reads no graph. What it makes of a node is told by the rules in `cypher/<dialect>/migration/`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from orchestrator.stages import TEXTS
from orchestrator.states import RECORDS, State, expansion_state

RULES = MappingProxyType(
    {
        "1-placeholder": "a placeholder without content",
        "2-schema-dirty": "its schema was marked as changed",
        "3-error": "it had failed",
        "4-state-word": "its own word says so; work that was under way goes back to where it began",
        "5-embeddings-dirty": "its vector was marked as out of date",
        "5-leftover-flag": "a flag that was never taken back: its state is younger",
        "6-stale-vector": "its vector is of another text or model, or nobody knows of which model",
        "7-vectors-complete": "every vector that it needs is there",
        "8-nothing-to-embed": "there is nothing in it to embed",
        "9-structure": "it has its relationships and no vector",
        "9-no-structure": "it has neither relationships nor a vector",
        "10-unknown-word": "its state is a word that nobody knows",
    }
)

# Shorter texts were never embedded.
SHORTEST = 5
CONTENT = "content"

_WORDS = {
    **dict.fromkeys(("pending", "mentioned", "discovered", "parsing"), State.PENDING),
    **dict.fromkeys(("parsed", "relations", "linking"), State.PARSED),
    **dict.fromkeys(("linked", "entities", "embedding"), State.LINKED),
    **dict.fromkeys(("ready", "embedded"), State.READY),
    "skip": State.SKIP,
    "error": State.ERROR,
}
_ERROR_TYPES = {
    **dict.fromkeys(("parse", "parsing", "read"), "parse"),
    **dict.fromkeys(("link", "linking", "relations"), "link"),
    **dict.fromkeys(("embed", "embedding", "embeddings", "entities"), "embed"),
}
_PARTS = ("Scope", "MarkdownSection", "CodeBlock", "DataSection", "EmbeddingChunk")
_NEVER_EMBEDDED = ("Directory", "Project", "PackageJson", "ExternalLibrary")
# Whole things: what is ready of them is what they hold, unless their label has vectors of its own.
_WHOLES = (
    *_NEVER_EMBEDDED, "File", "MarkdownDocument", "DataFile", "MediaFile", "ImageFile", "ThreeDFile", "DocumentFile",
    "WebPage", "Stylesheet", "GenericFile", "Entity",
)  # fmt: skip
_BOOKKEEPING = ("GraphmillMeta", "GraphmillCommit", "GraphmillHold", "Wiki", *sorted(RECORDS))
# What graphmill writes on a node beside its state; what was there before is kept until a migration is final.
_WRITTEN = (
    "_state", "_stateChangedAt", "_depth", "_detectedAt", "_retryCount", "_errorType", "_errorClass", "_errorMessage",
    "_contentHash", "_embeddingProvider", "_embeddingModel", "_embeddingHash", "_parsedAt", "_linkedAt", "_embeddedAt",
    "_leaseOwner", "_leaseToken", "_leaseUntil", "_notBefore", "_runId", "_chunks",
)  # fmt: skip
# The same of an article, under names that on another node may be anything.
_WRITTEN_ON_ARTICLES = ("expansion_state", "claimed_at", "processed_at", "retry_count")
# ISO 8601, and only days that there are: the server refuses a whole page for one that there is not.
_MOMENT = (
    r"(\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))"
    r"|\d\d(0[48]|[2468][048]|[13579][26])-02-29|(0[48]|[2468][048]|[13579][26])00-02-29)"
    r"(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-](0\d|1[0-7]):?[0-5]\d)?)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One of the vectors of a node: where it may be, its hash, and the texts it may be of."""

    name: str
    vectors: tuple[str, ...]
    hashes: tuple[str, ...]
    texts: tuple[str, ...]


_SLOTS = (
    Slot(
        name="name",
        vectors=("embedding_name",),
        hashes=("embedding_name_hash",),
        texts=("_name", "name", "signature", "title", "path"),
    ),
    Slot(
        name=CONTENT,
        vectors=("embedding_content", "embedding"),
        hashes=("embedding_content_hash", "embedding_hash"),
        texts=("_content", "content", "source", "text", "textContent", "code"),
    ),
    Slot(
        name="description",
        vectors=("embedding_description",),
        hashes=("embedding_description_hash",),
        texts=("_description", "description", "docstring"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Names of properties by what they say; of several the first that a node has counts."""

    state: tuple[str, ...] = ("_state",)
    file_state: tuple[str, ...] = ("state",)
    """The state of files alone: on another node such a name may be anything."""
    words: Mapping[str, str] = field(default_factory=lambda: {word: state.value for word, state in _WORDS.items()})
    placeholder: tuple[str, ...] = ("_pending",)
    unread: tuple[str, ...] = ("schemaDirty",)
    dirty: tuple[str, ...] = ("embeddingsDirty",)
    trusted_by: tuple[str, ...] = ("_embeddedAt",)
    """Who has one of these and a state of its own is believed more than a flag."""
    slots: tuple[Slot, ...] = _SLOTS
    id: tuple[str, ...] = ("uuid",)
    name: tuple[str, ...] = ("_name", "title", "path", "url")
    provider: tuple[str, ...] = ("embedding_provider", "_embeddingProvider")
    model: tuple[str, ...] = ("embedding_model", "_embeddingModel")
    chunk_count: tuple[str, ...] = ("chunkCount",)
    chunk_type: str = "HAS_EMBEDDING_CHUNK"
    content_hash: tuple[str, ...] = ("_contentHash", "contentHash", "hash", "rawContentHash", "parsedContentHash")
    detected: tuple[str, ...] = ("_detectedAt", "createdAt")
    changed: tuple[str, ...] = ("_stateChangedAt", "stateUpdatedAt", "updatedAt")
    error_type: tuple[str, ...] = ("_errorType", "errorType")
    error_message: tuple[str, ...] = ("_errorMessage", "errorMessage")
    retries: tuple[str, ...] = ("_retryCount", "retryCount")
    labels: tuple[str, ...] = (*_PARTS, *_WHOLES)
    wholes: tuple[str, ...] = _WHOLES
    never_embedded: tuple[str, ...] = _NEVER_EMBEDDED
    leftovers: tuple[str, ...] = ("entitiesDirty", "_wasCreated", "_wasUpdated", "_previousState", "_action")
    g3: tuple[str, ...] = ("_name", "_content", "_description", "entitiesDirty", "_pending")
    g1: tuple[str, ...] = ("embedding_name", "embedding_content", "embedding_description", "schemaDirty", "usesChunks")
    g0: tuple[str, ...] = ("embedding", "embedding_hash", "embeddingsDirty")

    @property
    def content(self) -> Slot:
        return next(slot for slot in self.slots if slot.name == CONTENT)

    @property
    def telling(self) -> tuple[str, ...]:
        """The names of which one is enough to know a node for one of these graphs."""
        names = [
            *self.state, *self.placeholder, *self.unread, *self.dirty, *self.leftovers, *self.g3, *self.g1, *self.g0,
            *(name for slot in self.slots for name in (*slot.vectors, *slot.hashes)), *self.chunk_count,
        ]  # fmt: skip
        return tuple(dict.fromkeys(names))

    @property
    def gone(self) -> tuple[str, ...]:
        """What is of no use once `_state` says it."""
        names = [*self.placeholder, *self.unread, *self.dirty, *self.leftovers, *self.state]
        return tuple(name for name in dict.fromkeys(names) if name != "_state")

    @property
    def gone_from_files(self) -> tuple[str, ...]:
        return (
            (*self.file_state, "stateUpdatedAt", "errorType", "errorMessage", "retryCount") if self.file_state else ()
        )

    def dump(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> "Marks":
        known = json.loads(text)
        slots = tuple(Slot(**_with_tuples(slot)) for slot in known.pop("slots"))
        return cls(**_with_tuples(known), slots=slots)

    def names(self) -> dict[str, Sequence[str]]:
        """What the queries are made of."""
        texts = [text for slot in reversed(self.slots) if slot.name != "name" for text in slot.texts]
        of_slots = {
            f"{slot.name}{kind}": names
            for slot in self.slots
            for kind, names in (("Vectors", slot.vectors), ("Hashes", slot.hashes), ("Texts", slot.texts))
        }
        return {
            **of_slots,
            "vectors": [name for slot in self.slots for name in slot.vectors],
            "hashes": [name for slot in self.slots for name in slot.hashes],
            "texts": list(dict.fromkeys([*self.content.texts, *texts])),
            "marks": self.telling,
            "state": self.state,
            "fileState": self.file_state,
            "placeholder": self.placeholder,
            "unread": self.unread,
            "dirty": self.dirty,
            "trustedBy": self.trusted_by,
            "id": self.id,
            "name": self.name,
            "provider": self.provider,
            "model": self.model,
            "chunkCount": self.chunk_count,
            "contentHash": self.content_hash,
            "detected": self.detected,
            "changed": self.changed,
            "errorType": self.error_type,
            "errorMessage": self.error_message,
            "retries": self.retries,
            "g3": self.g3,
            "g1": self.g1,
            "g0": self.g0,
            "bookkeeping": _WRITTEN,
            "articleMarks": _WRITTEN_ON_ARTICLES,
        }

    def parameters(self) -> dict[str, Any]:
        """As the queries take them."""
        return {
            "words": dict(self.words),
            "shortest": SHORTEST,
            "chunkType": self.chunk_type,
            "moment": _MOMENT,
            "errorTypes": _ERROR_TYPES,
            "known": list(self.labels),
            "wholes": list(self.wholes),
            "neverEmbedded": list(self.never_embedded),
            "searched": list(TEXTS),
            "marks": list(self.telling),
            "states": [state.value for state in State],
            "bookkeeping": list(_BOOKKEEPING),
            "expansionStates": {state.value: expansion_state(state, retries_left=True) for state in State},
        }


def _with_tuples(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in document.items()}


def is_stale(hashed: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a stored hash is of none of the texts that it may be of; where there is no text nothing can be said."""
    return any(_is_of_another(each["hash"], each["texts"]) for each in hashed)


def _is_of_another(stored: str, texts: Sequence[str | None]) -> bool:
    from hashlib import sha256

    known = [text for text in texts if text is not None]
    if not stored or not known:
        return False
    return not any(sha256(text.encode(errors="replace")).hexdigest().startswith(stored.lower()) for text in known)
