"""The link step for articles, and what redirects do to links.

An edge leads to the article itself, whichever of its titles was written, with the number of all of them. What is not
yet known to be a redirect is taken for an article; once it is known, the edges to it are led on.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial

from graph_stores.model import Batch, Edge, Fence, NodeRow, Ref, Unlink, Update, Value
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import transition
from orchestrator.paging import paged
from orchestrator.states import LINK, State
from orchestrator.tally import Tally
from orchestrator.wikipedia.ends import Ends
from orchestrator.wikipedia.page_sources import PageSources
from orchestrator.wikipedia.parse import new_stub
from orchestrator.worker import Outcome
from pipelines.wikipedia.identity import article_uuid, section_uuid
from pipelines.wikipedia.model import Site

_PAGE = 200


class LinkArticles:
    stage = LINK
    labels: Sequence[str] = ("Article",)
    source = "wiki"
    limit = 100
    runners = 1
    needs: Sequence[str] | None = ("wiki", "expansion_depth", "_links", "_sections", "_linkedAt")

    def __init__(self, store: Store, tally: Tally, sources: PageSources) -> None:
        self._store = store
        self._tally = tally
        self._sources = sources

    @property
    def away(self) -> Sequence[str]:
        return sorted(self._sources.lost)

    async def is_ready(self) -> bool:
        await self._sources.look()
        return True

    async def work(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        outcomes: list[Outcome] = []
        for wiki in sorted({node.properties.get("wiki", "") for node in nodes}):
            same = [node for node in nodes if node.properties.get("wiki", "") == wiki]
            if pages := await self._sources.for_step(wiki):
                outcomes += await self._results(pages.site, same)
        return outcomes

    def fence(self) -> Fence | None:
        return None

    async def done(self, results: Sequence[Result]) -> None:
        self._tally.linked += len(results)

    async def undone(self) -> None: ...

    async def _results(self, site: Site, nodes: Sequence[NodeRow]) -> list[Outcome]:
        links = {node.uuid: links_in(node.properties.get("_links")) for node in nodes}
        titles = {title for each in links.values() for title in each}
        ends = await Ends.of(self._store, site.wiki, titles)
        return [self._result(site, node, links[node.uuid], ends) for node in nodes]

    def _result(self, site: Site, node: NodeRow, links: Mapping[str, int], ends: Ends) -> Result:
        depth = (node.properties.get("expansion_depth") or 0) + 1
        return Result(
            node=node,
            also=[
                transition(
                    Ref(label="Section", uuid=section_uuid(node.uuid, key)),
                    expected=State.PARSED,
                    through=(State.LINKING,),
                    to=State.LINKED,
                )
                for key, fresh in json.loads(node.properties.get("_sections") or "[]")
                if fresh
            ],
            unlinks=[Unlink(source=node.ref, type="LINKS_TO")] if "_linkedAt" in node.properties else [],
            nodes=[new_stub(self._store.project, site, title, depth) for title in links if title not in ends],
            edges=_edges(node.ref, links, ends, partial(article_uuid, self._store.project, site.wiki)),
        )


def _edges(source: Ref, links: Mapping[str, int], ends: Ends, article: Callable[[str], str]) -> list[Edge]:
    """One for each article that is linked to, with the number of all the ways in which its title was written."""
    counts: Counter[str] = Counter()
    for title, count in links.items():
        counts[article(ends.end_of(title))] += count
    return [
        Edge(type="LINKS_TO", source=source, target=_ref(uuid), properties={"count": count})
        for uuid, count in counts.items()
        if uuid != source.uuid
    ]


async def lead_through_redirects(lifecycle: Lifecycle) -> None:
    """Lead every edge to a redirect on to its end, and those back that a redirect no longer leads on.

    To be called while nobody reads or links articles.
    """
    store = lifecycle.store
    async for rows in paged(store, "through-redirects", limit=_PAGE):
        for wiki in sorted({row[1] for row in rows}):
            await _relink(store, wiki, {uuid: links for uuid, each, links in rows if each == wiki})
    anew = (await store.ask("redirected-anew")).rows
    for wiki in sorted({row[2] for row in anew}):
        titles = await _leading_to(store, wiki, {row[1] for row in anew if row[2] == wiki})
        await _relink_sources(store, wiki, titles)
    await lifecycle.update([Update(node=_ref(uuid), properties={"_relink": None}) for uuid, *_ in anew])


async def _leading_to(store: Store, wiki: str, titles: set[str]) -> set[str]:
    """The titles, and the redirects that lead to them or through them."""
    sources: dict[str, list[str]] = {}
    async for rows in paged(store, "remembered", limit=_PAGE, wiki=wiki):
        for _, title, _, _, target, *_ in rows:
            if target:
                sources.setdefault(target, []).append(title)
    leading: set[str] = set()
    following = titles
    while following:
        leading |= following
        following = {source for title in following for source in sources.get(title, ())} - leading
    return leading


async def _relink_sources(store: Store, wiki: str, titles: set[str]) -> None:
    """Only the articles themselves know which of a target's titles they wrote."""
    async for page in linking(store, wiki):
        await _relink(store, wiki, {uuid: links for uuid, _, links in page if titles & links_in(links).keys()})


async def _relink(store: Store, wiki: str, sources: Mapping[str, str | None]) -> None:
    if not sources:
        return
    links = {uuid: links_in(text) for uuid, text in sources.items()}
    ends = await Ends.of(store, wiki, {title for each in links.values() for title in each})
    article = partial(article_uuid, store.project, wiki)
    await store.commit(
        Batch(
            unlinks=[Unlink(source=_ref(uuid), type="LINKS_TO") for uuid in links],
            edges=[edge for uuid, each in links.items() for edge in _edges(_ref(uuid), each, ends, article)],
        )
    )


def linking(store: Store, wiki: str) -> AsyncIterator[Sequence[Sequence[Value]]]:
    """Every article with its links, in pages: uuid, title, and the links as JSON."""
    return paged(store, "linking", limit=_PAGE, wiki=wiki)


def links_in(text: str | None) -> dict[str, int]:
    links: dict[str, int] = json.loads(text or "{}")
    return links


def _ref(uuid: str) -> Ref:
    return Ref(label="Article", uuid=uuid)
