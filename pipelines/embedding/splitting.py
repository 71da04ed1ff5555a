"""Cutting a text that a model would not read to its end, on natural boundaries: nothing but whitespace is lost.

A length is counted by the model's own tokenizer, or in characters where the tokenizer is somewhere else.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

# Finding the tokens of one huge word takes minutes; of slabs of it, seconds.
_SLAB = 20_000
_BOUNDARIES = (("\n\n",), ("\n",), (". ", "? ", "! ", "; "), (" ",))


class TokenSplitter:
    """Pieces of at most `limit` tokens, special ones not counted."""

    def __init__(self, tokenizer: "Tokenizer", limit: int) -> None:
        from tokenizers import Tokenizer

        self.limit = limit
        # A copy: truncation would hide what is lost, and padding what is there.
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> "list[Encoding]":
        return self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)

    def cut(self, text: str) -> list[str]:
        """The pieces of a text that is too long."""
        return [piece for slab in _slabs(text) for piece in self._cut(slab, self.limit)]

    def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        lengths = [len(encoding.ids) for encoding in self.encode(texts)]
        return [[text] if length <= self.limit else self.cut(text) for text, length in zip(texts, lengths, strict=True)]

    def _cut(self, text: str, room: int) -> list[str]:
        """By where the tokens of the whole begin. A piece alone may have a token more: it is cut again, smaller."""
        pieces = [piece for piece in _cut_at(text, self._starts(text), room) if piece]
        lengths = [len(encoding.ids) for encoding in self.encode(pieces)]
        smaller = max(1, room - max(1, room // 8))
        return [
            part
            for piece, length in zip(pieces, lengths, strict=True)
            for part in ([piece] if length <= self.limit or room == 1 else self._cut(piece, smaller))
        ]

    def _starts(self, text: str) -> list[int]:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return [start for start, _ in encoding.offsets]


def _slabs(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _SLAB:
        end = _boundary(text, start, start + _SLAB)
        yield text[start:end]
        start = end
    yield text[start:]


def _cut_at(text: str, starts: Sequence[int], room: int) -> Iterator[str]:
    start, first = 0, 0
    while len(starts) - first > room:
        end = _boundary(text, start, max(starts[first + room], start + 1))
        yield text[start:end].strip()
        start, first = end, bisect_left(starts, end)
    yield text[start:].strip()


def _boundary(text: str, start: int, end: int) -> int:
    """The last natural place before the end: between paragraphs, lines, sentences or words, not too near the start."""
    half = start + (end - start) // 2
    for signs in _BOUNDARIES:
        places = [place + len(sign) for sign in signs if (place := text.rfind(sign, half, end)) > half]
        if places:
            return max(places)
    return end


class CharacterSplitter:
    """Pieces of at most `limit` characters."""

    def __init__(self, limit: int) -> None:
        from semantic_text_splitter import TextSplitter

        self.limit = limit
        self._splitter = TextSplitter(limit)

    def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        return [[text] if len(text) <= self.limit else self._splitter.chunks(text) for text in texts]
