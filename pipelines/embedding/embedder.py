"""The seam to a model that makes vectors of texts, and the names that people call models by.

A model is imported only when its name is used. What is sent in which order, how often, and what is remembered is
decided above this seam (`pipelines.embedding.texts`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol

from pipelines.embedding.errors import EmbedderMisuse, EmbedderUnavailable

if TYPE_CHECKING:
    from pipelines.embedding.vectors import Row

_FORMS = {
    "wordllama": "wordllama",
    "sentence-transformers": "sentence-transformers:<model or folder>",
    "openai": "openai:<model>",
    "ollama": "ollama:<model>",
    "none": "none",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderChoice:
    """Which embedder, as a person names it. The key never shows in a repr.

    `of_graph` says that the vectors in a graph are of this name: then it may be of a provider that graphmill does not
    know, whose model an OpenAI-compatible endpoint at `url` serves.
    """

    name: str = "wordllama"
    url: str | None = None
    key: str | None = field(default=None, repr=False)
    of_graph: bool = False


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
    try:
        return await _opened(choice)
    except (EmbedderMisuse, EmbedderUnavailable) as error:
        if choice.of_graph:
            error.message = f"the vectors of this graph are of {choice.name}: {error.message}"
            error.args = (error.message,)
        raise


async def _opened(choice: EmbedderChoice) -> Embedder | None:
    provider, colon, model = choice.name.partition(":")
    if provider not in _FORMS and not (choice.of_graph and model):
        raise _unknown(choice.name, provider)
    wants_model = _wants_model(provider)
    if wants_model != bool(model) or (colon and not model):
        raise EmbedderMisuse(
            f"the embedder {choice.name!r} {'names no model' if wants_model else 'takes no model'}",
            hint=f"write it as {_FORMS[provider]}",
        )
    if provider not in _FORMS and not choice.url:
        raise EmbedderMisuse(
            f"graphmill has no embedder for {provider}",
            hint=f"run the same command with --embedder-url URL, where an OpenAI-compatible endpoint serves {model}",
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

            return await open_endpoint(model, provider=provider, url=choice.url, key=choice.key)


def model_of(name: str) -> tuple[str, str]:
    """The provider and the model that an embedder of that name writes on what it embedded."""
    provider, _, model = name.partition(":")
    if provider == "wordllama":
        from pipelines.embedding.word_llama import MODEL

        return provider, MODEL
    return provider, model


def can_open(choice: EmbedderChoice) -> bool:
    """Whether there is an embedder of that name; not whether it answers."""
    return choice.name.partition(":")[0] in _FORMS and names_space(choice.name)


def names_space(name: str) -> bool:
    """Whether vectors can be said to be of that name, whoever made them: `wordllama`, or a provider and its model."""
    provider, _, model = name.partition(":")
    return provider not in ("", "none") and bool(model) == _wants_model(provider)


def name_of(*, provider: str, model: str) -> str:
    """The name that opens the embedder of a space again."""
    return f"{provider}:{model}" if _wants_model(provider) else provider


def _wants_model(provider: str) -> bool:
    return "<" in _FORMS.get(provider, "<")


def _unknown(name: str, provider: str) -> EmbedderMisuse:
    near = get_close_matches(provider.lower(), _FORMS, n=1)
    expected = ", ".join(_FORMS.values())
    return EmbedderMisuse(
        f"there is no embedder {name[:80]!r}; expected one of {expected}",
        hint=f"did you mean {_FORMS[near[0]]}?" if near else "take wordllama: it works offline and needs no key",
    )
