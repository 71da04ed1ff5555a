"""A real store with something around one of its calls: counted, delayed, or failing as a script says."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, cast

from graph_stores.model import Batch
from graph_stores.protocol import Store
from orchestrator.states import RECORDS

Call = Callable[..., Awaitable[Any]]
Around = Callable[..., Awaitable[Any]]


class Wrapped:
    """Each call goes through the function of its name, which gets the real call first; others go straight through."""

    def __init__(self, real: Store, **around: Around) -> None:
        self._real = real
        self.around = around
        self.calls: Counter[str] = Counter()
        self.batches: list[Batch] = []

    @property
    def changes(self) -> list[Batch]:
        """The commits that touched anything but the records of the work itself."""
        return [batch for batch in self.batches if not _labels(batch) <= RECORDS]

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)
        if not callable(real) or name.startswith("export") or name.endswith("_pages"):
            return real

        async def call(*arguments: Any, **options: Any) -> Any:
            self.calls[name] += 1
            if name == "commit":
                self.batches.append(arguments[0])
            if name in self.around:
                return await self.around[name](real, *arguments, **options)
            return await real(*arguments, **options)

        return call


def _labels(batch: Batch) -> set[str]:
    touched = [
        *(each.node for each in batch.transitions),
        *(each.node for each in batch.updates),
        *(each.node for each in batch.vectors),
        *(each.source for each in batch.edges),
        *(each.source for each in batch.unlinks),
        *batch.deletions,
        *(node.ref for node in batch.nodes),
    ]
    return {each.label for each in touched}


def wrapped(real: Store, **around: Around) -> tuple[Store, Wrapped]:
    """The wrapper as the store that it is to everybody else, and as itself."""
    wrapper = Wrapped(real, **around)
    return cast(Store, wrapper), wrapper
