"""Wikis against the graph: which pages have another revision than the one that was read. Asks wikis and dumps."""

import asyncio
import shlex
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from graph_stores.model import Ref
from graph_stores.protocol import Store
from orchestrator.checking import Check, Example, Mend
from orchestrator.lifecycle import Lifecycle
from orchestrator.runs.sources import MassDeletion
from orchestrator.tally import Tally
from orchestrator.wikipedia.refresh import changed_pages
from orchestrator.wikipedia.wikis import read_wikis


class WikiDifferences:
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._changed: dict[Ref, tuple[str, str]] | None = None
        self._emptied: list[Example] = []
        self._refused: dict[str, MassDeletion] = {}

    @property
    def checks(self) -> Sequence[Check]:
        return [
            Check(
                name="changed-article",
                about="have another revision in their wiki",
                hint="read them: graphmill verify --wikis --repair, then graphmill worker --drain",
                find=self._find,
            ),
            Check(
                name="emptied-wiki",
                about="are wikis that lack most of the articles that were read from them",
                hint=self._how_to_delete,
                find=self._find_emptied,
            ),
        ]

    @property
    def menders(self) -> Mapping[str, Mend]:
        return {"changed-article": self._mend}

    async def _mend(self, store: Store, _: Sequence[Example]) -> str:
        changed = {ref: digest for ref, (_, digest) in (self._changed or {}).items()}
        await Lifecycle(store=store).mark_changed(changed)
        self._changed = None
        return "sent back to pending, to be read again"

    async def _find(self, store: Store) -> AsyncIterator[Example]:
        for ref, (wiki, digest) in (await self._compared(store)).items():
            yield Example(label=ref.label, uuid=ref.uuid, found=f"{wiki}: {digest}")

    async def _find_emptied(self, store: Store) -> AsyncIterator[Example]:
        await self._compared(store)
        for each in self._emptied:
            yield each

    async def _how_to_delete(self, _: Store, found: Sequence[Example]) -> str:
        commands = [shlex.join(["graphmill", *self._refused[each.uuid].command]) for each in found]
        return f"if the articles are to be deleted: {'; '.join(commands)}"

    async def _compared(self, store: Store) -> dict[Ref, tuple[str, str]]:
        if self._changed is None:
            self._emptied.clear()
            self._refused.clear()
            self._changed = await self._differences(store)
        return self._changed

    async def _differences(self, store: Store) -> dict[Ref, tuple[str, str]]:
        changed: dict[Ref, tuple[str, str]] = {}
        for wiki in (await read_wikis(store)).values():
            pages = await wiki.source.open(self._say, asyncio.sleep, store)
            try:
                found = await changed_pages(Lifecycle(store=store), pages, Tally(), is_another_source=wiki.is_moved)
            finally:
                await pages.close()
            kept: Mapping[Ref, str] = {}
            if refusal := found.refusal(wiki):
                kept = found.gone
                ref = wiki.ref(store.project)
                self._refused[ref.uuid] = refusal
                self._emptied.append(Example(label=ref.label, uuid=ref.uuid, found=refusal.message))
            changed |= {ref: (wiki.name, digest) for ref, digest in found.pages.items() if ref not in kept}
        return changed
