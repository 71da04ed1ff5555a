"""Cutting a text that a model would not read to its end, on natural boundaries: nothing but whitespace is lost.

A length is counted by the model's own tokenizer, or in characters where the tokenizer is somewhere else.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

# Counting tokens again and again over one huge line takes minutes; over slabs of it, seconds.
_SLAB = 20_000


class TokenSplitter:
    """Pieces of at most `limit` tokens, special ones not counted."""

    def __init__(self, tokenizer: "Tokenizer", limit: int) -> None:
        from semantic_text_splitter import TextSplitter
        from tokenizers import Tokenizer

        self.limit = limit
        # A copy: truncation would hide what is lost, and padding what is there.
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._slabs = TextSplitter(_SLAB)
        self._splitter = TextSplitter.from_huggingface_tokenizer(self._tokenizer, limit)

    def encode(self, texts: Sequence[str]) -> "list[Encoding]":
        return self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)

    def cut(self, text: str) -> list[str]:
        """The pieces of a text that is too long."""
        return [piece for slab in self._slabs.chunks(text) for piece in self._splitter.chunks(slab)]

    def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        lengths = [len(encoding.ids) for encoding in self.encode(texts)]
        return [[text] if length <= self.limit else self.cut(text) for text, length in zip(texts, lengths, strict=True)]


class CharacterSplitter:
    """Pieces of at most `limit` characters."""

    def __init__(self, limit: int) -> None:
        from semantic_text_splitter import TextSplitter

        self.limit = limit
        self._splitter = TextSplitter(limit)

    def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        return [[text] if len(text) <= self.limit else self._splitter.chunks(text) for text in texts]
