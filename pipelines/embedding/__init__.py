"""Vectors for texts: which model, what is remembered, what a failure of it means. Knows no node and no graph."""

from pipelines.embedding.cache import VectorCache
from pipelines.embedding.embedder import Appetite, Embedder, EmbedderChoice, name_of, open_embedder
from pipelines.embedding.errors import (
    EmbedderError,
    EmbedderMisuse,
    EmbedderUnavailable,
    RequestFailed,
    TextRefused,
    WrongVector,
)
from pipelines.embedding.texts import Embedded, Piece, Texts, text_hash, too_short

__all__ = [
    "Appetite",
    "Embedded",
    "Embedder",
    "EmbedderChoice",
    "EmbedderError",
    "EmbedderMisuse",
    "EmbedderUnavailable",
    "Piece",
    "RequestFailed",
    "TextRefused",
    "Texts",
    "VectorCache",
    "WrongVector",
    "name_of",
    "open_embedder",
    "text_hash",
    "too_short",
]
