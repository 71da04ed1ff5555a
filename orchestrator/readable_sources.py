"""Which nodes could be made again right now, because what they were read from can be read.

A repair asks this before it removes anything. A file must be in a folder of the project, on this machine, and open for
reading; an article must be in its wiki or dump, which answers. What a migration brought has no such source.
"""

import asyncio
import os
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence

from graph_stores.errors import GraphmillError
from graph_stores.model import ExportedNode, Ref
from graph_stores.protocol import Store
from orchestrator.checking import Example
from orchestrator.files.roots import Root, read_roots
from orchestrator.stages import SOURCES
from orchestrator.wikipedia.wikis import Wiki, read_wikis
from pipelines.wikipedia.model import Page, Redirect

_OF_FILES = frozenset({"File", "Directory", "MarkdownSection", "TextSection", "Scope"})
_OF_WIKIS = frozenset({"Article", "Category", "Section"})
_ITEMS = frozenset({"File", "Article"})
_GROUPS = frozenset({"Directory", "Category"})
# A wiki that does not answer is asked again for a minute.
_PATIENCE = 90.0


class ReadableSources:
    """Looks at each folder, file and article once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._roots: dict[str, Root] | None = None
        self._wikis: dict[str, Wiki] | None = None
        self._known: dict[Ref, bool] = {}
        self._answering: dict[str, bool] = {}

    async def has(self, ref: Ref) -> bool:
        """Whether a file, article, folder or category can be read again."""
        if ref not in self._known:
            await self.look_at([ref])
        return self._known[ref]

    async def has_those_of(self, text: Ref) -> bool:
        """Whether what a text is in can be read again."""
        rows = (await self._store.ask("sources-of-text", {"uuid": text.uuid})).rows
        return bool(rows) and all([await self.has(Ref(label=label, uuid=uuid)) for label, uuid, _ in rows])

    async def knows(self, ref: Ref) -> bool:
        """Whether a file or article, or what a text is in, is of a folder or wiki of the project, readable or not."""
        if ref.label not in _ITEMS | _GROUPS:
            rows = (await self._store.ask("sources-of-text", {"uuid": ref.uuid})).rows
            return any([await self.knows(Ref(label=label, uuid=uuid)) for label, uuid, _ in rows])
        name = "root" if ref.label in _OF_FILES else "wiki"
        known = await self._read_roots() if ref.label in _OF_FILES else await self._read_wikis()
        nodes = await self._store.exported(ref.label, [ref.uuid])
        return any(node.properties.get(name) in known for node in nodes)

    async def has_all(self, ref: Ref) -> bool:
        """Whether all folders, or all wikis, can be read: nothing says of which of them the node was."""
        roots = list((await self._read_roots()).values()) if ref.label not in _OF_WIKIS else []
        wikis = list((await self._read_wikis()).values()) if ref.label not in _OF_FILES else []
        return (
            bool(roots or wikis)
            and all(map(_is_readable, roots))
            and all([await self._answers(wiki) for wiki in wikis])
        )

    async def has_words_of(self, text: Ref) -> bool:
        """Whether the graph has what a text, or the text that a piece is of, can be embedded from."""
        if text.label == "Chunk":
            return True
        return any(node.properties.get("content") for node in await self._store.exported(text.label, [text.uuid]))

    async def look_at(self, refs: Sequence[Ref]) -> None:
        """All at once costs a wiki fewer requests."""
        by_label: dict[str, list[str]] = defaultdict(list)
        for ref in refs:
            if ref.label in _ITEMS | _GROUPS and ref not in self._known:
                by_label[ref.label].append(ref.uuid)
            self._known.setdefault(ref, False)
        for label, uuids in by_label.items():
            nodes = await self._store.exported(label, uuids)
            if label in _OF_FILES:
                roots = await self._read_roots()
                self._known |= {_ref(node): _is_at_hand(node, roots) for node in nodes}
            else:
                await self._look_in_wikis(nodes)

    async def _look_in_wikis(self, nodes: Sequence[ExportedNode]) -> None:
        by_wiki: dict[str, list[ExportedNode]] = defaultdict(list)
        for node in nodes:
            by_wiki[node.properties.get("wiki") or ""].append(node)
        wikis = await self._read_wikis()
        for name, same in by_wiki.items():
            titles = [
                node.properties["title"] for node in same if node.label in _ITEMS and node.properties.get("title")
            ]
            there = await self._titles_in(wikis[name], titles) if name in wikis else None
            for node in same:
                is_there = there is not None and (node.label in _GROUPS or node.properties.get("title") in there)
                self._known[_ref(node)] = is_there

    async def _answers(self, wiki: Wiki) -> bool:
        if wiki.name not in self._answering:
            self._answering[wiki.name] = await self._titles_in(wiki, []) is not None
        return self._answering[wiki.name]

    async def _titles_in(self, wiki: Wiki, titles: Sequence[str]) -> set[str] | None:
        """Those of the titles under which there is a page; None where the wiki does not answer."""
        try:
            async with asyncio.timeout(_PATIENCE):
                pages = await wiki.source.open(lambda _: None, asyncio.sleep, self._store)
                try:
                    reading = await pages.look(titles) if titles else None
                finally:
                    await pages.close()
        except (GraphmillError, OSError, TimeoutError):
            return None
        found = reading.found if reading else {}
        names = reading.titles if reading else {}
        return {title for title in titles if isinstance(found.get(names.get(title, title)), Page | Redirect)}

    async def _read_roots(self) -> dict[str, Root]:
        if self._roots is None:
            self._roots = await read_roots(self._store)
        return self._roots

    async def _read_wikis(self) -> dict[str, Wiki]:
        if self._wikis is None:
            try:
                self._wikis = await read_wikis(self._store)
            except ValueError:  # one of them is in no state that there is
                return {}
        return self._wikis


Rule = Callable[[ReadableSources, Example], Awaitable[bool]]


async def is_known(sources: ReadableSources, found: Example) -> bool:
    return await sources.knows(found.ref)


async def can_be_read(sources: ReadableSources, found: Example) -> bool:
    return await sources.has(found.ref)


async def can_wait_to_be_read(sources: ReadableSources, found: Example) -> bool:
    """Only files and articles begin by being read, and nothing of them is removed before."""
    return found.label not in SOURCES or await sources.knows(found.ref)


async def can_its_source_be_read(sources: ReadableSources, found: Example) -> bool:
    """A piece is cut from its text, which is in the graph."""
    return found.label == "Chunk" or await sources.has_those_of(found.ref)


async def has_its_words(sources: ReadableSources, found: Example) -> bool:
    return await sources.has_words_of(found.ref)


async def can_all_sources_be_read(sources: ReadableSources, found: Example) -> bool:
    return await sources.has_all(found.ref)


def _is_at_hand(node: ExportedNode, roots: dict[str, Root]) -> bool:
    root, path = roots.get(node.properties.get("root") or ""), node.properties.get("path")
    if root is None or not path or not _is_readable(root):
        return False
    return node.label in _GROUPS or os.access(root.place_of(path), os.R_OK)


def _is_readable(root: Root) -> bool:
    if root.is_away or not root.location.exists():
        return False
    return os.access(root.location, os.R_OK | os.X_OK if root.location.is_dir() else os.R_OK)


def _ref(node: ExportedNode) -> Ref:
    return Ref(label=node.label, uuid=node.properties["uuid"])
