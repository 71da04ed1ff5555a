"""What is too long for one time: answers in pages, each after the last key of the one before, and lists in portions."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TypeVar

from graph_stores.model import Value
from graph_stores.protocol import Store

T = TypeVar("T")


async def paged(
    store: Store, question: str, *, limit: int, **parameters: Value
) -> AsyncIterator[Sequence[Sequence[Value]]]:
    """The rows of a question that takes `$after` and `$limit`, in the order of its first column."""
    after, is_full = "", True
    # A page that is not full is the last one.
    while is_full and (rows := (await store.ask(question, {**parameters, "after": after, "limit": limit})).rows):
        yield rows
        after, is_full = rows[-1][0], len(rows) >= limit


def portions(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
