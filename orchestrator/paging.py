"""Answers that are too long for one: asked for in pages, each after the last key of the one before."""

from collections.abc import AsyncIterator, Sequence

from graph_stores.model import Value
from graph_stores.protocol import Store


async def paged(
    store: Store, question: str, *, limit: int, **parameters: Value
) -> AsyncIterator[Sequence[Sequence[Value]]]:
    """The rows of a question that takes `$after` and `$limit`, in the order of its first column."""
    after = ""
    while rows := (await store.ask(question, {**parameters, "after": after, "limit": limit})).rows:
        yield rows
        after = rows[-1][0]
