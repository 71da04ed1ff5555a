"""Wikis against the graph: which pages have another revision than the one that was read. Asks wikis and dumps."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from graph_stores.model import Ref
from graph_stores.protocol import Store
from orchestrator.checking import Check, Example
from orchestrator.lifecycle import Lifecycle
from orchestrator.tally import Tally
from orchestrator.wikipedia.refresh import changed_pages
from orchestrator.wikipedia.wikis import read_wikis


class WikiDifferences:
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._changed: dict[Ref, tuple[str, str]] | None = None

    @property
    def checks(self) -> Sequence[Check]:
        return [
            Check(
                name="changed-article",
                about="have another revision in their wiki",
                hint="read them: graphmill expand, or graphmill verify --wikis --repair, then graphmill worker --drain",
                find=self._find,
            )
        ]

    async def mend(self, store: Store, _: Sequence[Example]) -> str:
        changed = {ref: digest for ref, (_, digest) in (self._changed or {}).items()}
        await Lifecycle(store=store).mark_changed(changed)
        self._changed = None
        return "sent back to pending, to be read again"

    async def _find(self, store: Store) -> AsyncIterator[Example]:
        if self._changed is None:
            self._changed = await self._compared(store)
        for ref, (wiki, digest) in self._changed.items():
            yield Example(label=ref.label, uuid=ref.uuid, found=f"{wiki}: {digest}")

    async def _compared(self, store: Store) -> dict[Ref, tuple[str, str]]:
        changed: dict[Ref, tuple[str, str]] = {}
        for wiki in (await read_wikis(store)).values():
            pages = await wiki.source.open(self._say, asyncio.sleep, store)
            try:
                found = await changed_pages(Lifecycle(store=store), pages, Tally(), is_another_source=wiki.is_moved)
            finally:
                await pages.close()
            changed |= {ref: (wiki.name, digest) for ref, digest in found.pages.items()}
        return changed
