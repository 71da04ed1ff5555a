"""The seam to a model that makes vectors of texts, and the names that people call models by.

A model is imported only when its name is used. What is sent in which order, how often, and what is remembered is
decided above this seam (`pipelines.embedding.texts`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol

from pipelines.embedding.errors import EmbedderMisuse

if TYPE_CHECKING:
    from pipelines.embedding.vectors import Row

_FORMS = {
    "wordllama": "wordllama",
    "sentence-transformers": "sentence-transformers:<model or folder>",
    "openai": "openai:<model>",
    "none": "none",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderChoice:
    """Which embedder, as a person names it. The key never shows in a repr."""

    name: str = "wordllama"
    url: str | None = None
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Appetite:
    """How much an embedder wants to be given in one call, and how many calls at the same time."""

    texts: int
    characters: int
    calls: int


class Embedder(Protocol):
    """`provider`, `model` and `dimension` name the space of its vectors."""

    provider: str
    model: str
    dimension: int
    appetite: Appetite

    async def embed(self, texts: Sequence[str]) -> "Sequence[Row]":
        """One row of float32 per text, in their order; TextRefused where one of them spoils it for all."""
        ...

    async def pieces(self, texts: Sequence[str]) -> list[list[str]]:
        """What each text must be cut into to be read to its end: the text alone where it is read whole."""
        ...

    async def close(self) -> None: ...


async def open_embedder(choice: EmbedderChoice) -> Embedder | None:
    """The embedder of that name, ready to be asked; None for `none`."""
    provider, colon, model = choice.name.partition(":")
    if provider not in _FORMS:
        raise _unknown(choice.name, provider)
    wants_model = "<" in _FORMS[provider]
    if wants_model != bool(model) or (colon and not model):
        raise EmbedderMisuse(
            f"the embedder {choice.name!r} {'names no model' if wants_model else 'takes no model'}",
            hint=f"write it as {_FORMS[provider]}",
        )
    match provider:
        case "none":
            return None
        case "wordllama":
            from pipelines.embedding.word_llama import open_word_llama

            return await open_word_llama()
        case "sentence-transformers":
            from pipelines.embedding.sentence_transformer import open_sentence_transformer

            return await open_sentence_transformer(model)
        case _:
            from pipelines.embedding.endpoint import open_endpoint

            return await open_endpoint(model, url=choice.url, key=choice.key)


def model_of(name: str) -> tuple[str, str]:
    """The provider and the model that an embedder of that name writes on what it embedded."""
    provider, _, model = name.partition(":")
    if provider == "wordllama":
        from pipelines.embedding.word_llama import MODEL

        return provider, MODEL
    return provider, model


def can_open(choice: EmbedderChoice) -> bool:
    """Whether there is an embedder of that name; not whether it answers."""
    provider, _, model = choice.name.partition(":")
    return provider in _FORMS and provider != "none" and bool(model) == ("<" in _FORMS[provider])


def name_of(*, provider: str, model: str) -> str:
    """The name that opens the embedder of a space again."""
    return f"{provider}:{model}" if "<" in _FORMS.get(provider, "<") else provider


def _unknown(name: str, provider: str) -> EmbedderMisuse:
    near = get_close_matches(provider.lower(), _FORMS, n=1)
    expected = ", ".join(_FORMS.values())
    return EmbedderMisuse(
        f"there is no embedder {name[:80]!r}; expected one of {expected}",
        hint=f"did you mean {_FORMS[near[0]]}?" if near else "take wordllama: it works offline and needs no key",
    )
