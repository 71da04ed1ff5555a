"""Answers that are too long for one: asked for in pages, each after the last key of the one before."""

from collections.abc import AsyncIterator, Sequence

from graph_stores.model import Value
from graph_stores.protocol import Store


async def paged(
    store: Store, question: str, *, limit: int, **parameters: Value
) -> AsyncIterator[Sequence[Sequence[Value]]]:
    """The rows of a question that takes `$after` and `$limit`, in the order of its first column."""
    after, is_full = "", True
    # A page that is not full is the last one.
    while is_full and (rows := (await store.ask(question, {**parameters, "after": after, "limit": limit})).rows):
        yield rows
        after, is_full = rows[-1][0], len(rows) >= limit
