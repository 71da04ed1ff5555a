"""Texts in, vectors out: what is remembered, what is asked for, in which batches, and whose fault a failure is.

No text is given to the model twice: not when it was seen before, not within one call, not between calls that run at the
same time. One bad text costs its own vector and nobody else's. Whether and when to try again is decided by the caller.
"""

import asyncio
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graph_stores.model import VectorSpace
from pipelines.embedding import vectors
from pipelines.embedding.cache import VectorCache
from pipelines.embedding.embedder import Appetite, Embedder
from pipelines.embedding.errors import EmbedderError, EmbedderMisuse, EmbedderUnavailable, RequestFailed, TextRefused

if TYPE_CHECKING:
    from pipelines.embedding.vectors import Row

_MARKUP = re.compile(r"<[^<>]*>|&#?\w{1,32};")
_WORD = re.compile(r"[^\W_]")
# How many bytes of vectors are remembered here, with or without a file.
_REMEMBERED = 64 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    text: str
    vector: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """`pieces` are there where the model does not read the text to its end: then `vector` is their mean, of length 1.

    `cached` says that nothing had to be asked of the model.
    """

    vector: Sequence[float]
    pieces: tuple[Piece, ...] = ()
    cached: bool = False


def text_hash(text: str) -> str:
    """Names exactly what is embedded."""
    return hashlib.sha256(_whole_characters(text).encode()).hexdigest()


def too_short(text: str) -> bool:
    """No letter and no digit is left when tags and entities are taken away: there is nothing to find it by."""
    return _WORD.search(_MARKUP.sub("", text)) is None


class Texts:
    """`embedded` counts the texts and pieces that the model was given and made vectors of."""

    def __init__(self, embedder: Embedder, cache: VectorCache | None = None) -> None:
        self.embedded = 0
        self._embedder = embedder
        self._cache = cache
        self._space = VectorSpace(provider=embedder.provider, model=embedder.model, dimension=embedder.dimension)
        self._recent = vectors.Recent(_REMEMBERED)
        self._under_way: dict[str, asyncio.Future[Row | EmbedderError | None]] = {}
        self._misuse: EmbedderMisuse | None = None
        self._turns = asyncio.Semaphore(embedder.appetite.calls)

    async def embed(self, texts: Sequence[str]) -> list[Embedded | EmbedderError]:
        """For each text its vector, or why it has none; EmbedderMisuse where no text can be embedded at all."""
        hashes = [text_hash(text) for text in texts]
        wanted = {each: _whole_characters(text) for each, text in zip(hashes, texts, strict=True)}
        known = await self._known(wanted)
        cuts = {each: [(each, text)] for each, text in wanted.items() if each in known}
        cuts |= await self._cut({each: text for each, text in wanted.items() if each not in known})
        units = {each: text for cut in cuts.values() for each, text in cut if each not in known}
        known |= await self._known([each for each in units if each not in wanted])
        made = await self._made({each: text for each, text in units.items() if each not in known})
        answers = {each: _answer(cut, known, made) for each, cut in cuts.items()}
        return [answers[each] for each in hashes]

    async def _known(self, hashes: Iterable[str]) -> "dict[str, Row]":
        found = {each: row for each in hashes if (row := self._recent.get(each)) is not None}
        if self._cache is not None:
            stored = await self._cache.get_many(self._space, [each for each in hashes if each not in found])
            for each, numbers in stored.items():
                row = vectors.from_bytes(numbers)
                if vectors.flaw(row, self._space.dimension) is None:
                    found[each] = row
                    self._recent.put(each, row)
        return found

    async def _cut(self, texts: Mapping[str, str]) -> dict[str, list[tuple[str, str]]]:
        """The pieces of each text with their hashes; a text that is read whole is its own piece."""
        if not texts:
            return {}
        cuts = await self._embedder.pieces(list(texts.values()))
        return {
            each: [(text_hash(piece), piece) for piece in cut or [text]]
            for (each, text), cut in zip(texts.items(), cuts, strict=True)
        }

    async def _made(self, texts: Mapping[str, str]) -> "dict[str, Row | EmbedderError]":
        """Embed what nobody is embedding already, and wait for the rest."""
        made: dict[str, Row | EmbedderError] = {}
        while left := {each: text for each, text in texts.items() if each not in made}:
            # What another call finished since it was looked up.
            made |= {each: row for each in left if (row := self._recent.get(each)) is not None}
            theirs = {each: self._under_way[each] for each in left if each in self._under_way and each not in made}
            mine = {each: text for each, text in left.items() if each not in made and each not in theirs}
            made |= await self._embed(mine)
            if theirs:
                await asyncio.wait(theirs.values())
            made |= {each: outcome for each, future in theirs.items() if (outcome := future.result()) is not None}
        return made

    async def _embed(self, texts: Mapping[str, str]) -> "dict[str, Row | EmbedderError]":
        loop = asyncio.get_running_loop()
        self._under_way |= {each: loop.create_future() for each in texts}
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._settle(batch)) for batch in _batches(texts, self._embedder.appetite)]
            return {each: outcome for task in tasks for each, outcome in task.result().items()}
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            # Cancelled or stopped: those who wait learn that they have to ask themselves.
            for each in texts:
                self._resolve(each, None)

    async def _settle(self, batch: Mapping[str, str]) -> "dict[str, Row | EmbedderError]":
        answer = await self._ask(batch)
        settled = await self._isolate(batch, answer) if isinstance(answer, EmbedderError) else answer
        for each, outcome in settled.items():
            self._resolve(each, outcome)
        return settled

    async def _ask(self, batch: Mapping[str, str]) -> "dict[str, Row | EmbedderError] | EmbedderError":
        """An outcome for each text, or what happened to all of them together."""
        async with self._turns:
            if self._misuse is not None:
                raise self._misuse
            try:
                rows = await self._embedder.embed(list(batch.values()))
            except EmbedderError as error:
                return error
            except EmbedderMisuse as error:
                self._misuse = error  # nobody who waits for a turn needs to hear it from the server again
                raise
            if len(rows) != len(batch):
                return EmbedderUnavailable(f"{self._embedder.model} gave {len(rows)} vectors for {len(batch)} texts")
            outcomes = {each: vectors.checked(row, self._space) for each, row in zip(batch, rows, strict=True)}
            # Before the next turn, so that whoever breaks off loses no more than what is under way.
            await self._remember({each: row for each, row in outcomes.items() if not isinstance(row, EmbedderError)})
            return outcomes

    async def _remember(self, rows: "Mapping[str, Row]") -> None:
        self.embedded += len(rows)
        for each, row in rows.items():
            self._recent.put(each, row)
        if self._cache is not None:
            await self._cache.put_many(self._space, {each: vectors.to_bytes(row) for each, row in rows.items()})

    async def _isolate(self, batch: Mapping[str, str], error: EmbedderError) -> "dict[str, Row | EmbedderError]":
        """Find the texts that spoiled it for the others, by halves."""
        if len(batch) == 1 or not isinstance(error, TextRefused | RequestFailed):
            return dict.fromkeys(batch, error)
        items = list(batch.items())
        halves = [dict(items[: len(items) // 2]), dict(items[len(items) // 2 :])]
        answers = [await self._ask(half) for half in halves]
        if all(isinstance(answer, RequestFailed) for answer in answers):
            return dict.fromkeys(batch, error)  # no single text is to blame
        outcomes: dict[str, Row | EmbedderError] = {}
        for half, answer in zip(halves, answers, strict=True):
            outcomes |= await self._isolate(half, answer) if isinstance(answer, EmbedderError) else answer
        return outcomes

    def _resolve(self, each: str, outcome: "Row | EmbedderError | None") -> None:
        if future := self._under_way.pop(each, None):
            future.set_result(outcome)


def _batches(texts: Mapping[str, str], appetite: Appetite) -> Iterator[dict[str, str]]:
    """Longest first: texts of like length need little padding, and what does not fit into memory shows at once."""
    batch: dict[str, str] = {}
    characters = 0
    for each, text in sorted(texts.items(), key=lambda item: -len(item[1])):
        if batch and (len(batch) == appetite.texts or characters + len(text) > appetite.characters):
            yield batch
            batch, characters = {}, 0
        batch[each] = text
        characters += len(text)
    if batch:
        yield batch


def _answer(
    cut: Sequence[tuple[str, str]], known: "Mapping[str, Row]", made: "Mapping[str, Row | EmbedderError]"
) -> Embedded | EmbedderError:
    cached = all(each in known for each, _ in cut)
    rows: list[Row] = []
    failures: list[EmbedderError] = []
    for each, _ in cut:
        outcome = known[each] if each in known else made[each]
        if isinstance(outcome, EmbedderError):
            failures.append(outcome)
        else:
            rows.append(outcome)
    if failures:
        # Trying again does not help a text of which one piece is refused for good.
        return next((failure for failure in failures if not failure.transient), failures[0])
    if len(rows) == 1:
        return Embedded(vector=rows[0].tolist(), cached=cached)
    mean = vectors.mean(rows)
    if isinstance(mean, EmbedderError):
        return mean
    pieces = tuple(Piece(text=text, vector=row.tolist()) for (_, text), row in zip(cut, rows, strict=True))
    return Embedded(vector=mean.tolist(), pieces=pieces, cached=cached)


def _whole_characters(text: str) -> str:
    """Half a character of a surrogate pair cannot be sent anywhere."""
    return text if text.isascii() else text.encode(errors="replace").decode()
