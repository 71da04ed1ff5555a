"""A crawl over a wiki's own table of links, against a graph: `… reference_crawl API_URL TITLE DEPTH STORE_URL`.

Prints which articles, depths and links are other than in the graph; docs/wikipedia-proof.md says why they are. Shares
nothing with what it is compared to: another HTTP client, no wikitext, no titles of our own.
"""

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from graph_stores import open_store

_TITLES = 50


@dataclass(slots=True)
class Crawled:
    depths: dict[str, int] = field(default_factory=dict)
    links: dict[str, set[str]] = field(default_factory=dict)
    """Titles as the wiki holds them, redirects not followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiki:
    api_url: str

    def crawl(self, seed: str, depth: int) -> Crawled:
        crawled = Crawled()
        ends: dict[str, str | None] = {}
        level = {seed}
        for at in range(depth + 1):
            ends |= self._ends(sorted(level - ends.keys()))
            articles = sorted({end for title in level if (end := ends[title])} - crawled.depths.keys())
            crawled.depths |= dict.fromkeys(articles, at)
            found = self._links(articles)
            crawled.links |= found
            level = {title for titles in found.values() for title in titles}
        return crawled

    def _ends(self, titles: Sequence[str]) -> dict[str, str | None]:
        """The article behind each title; None where there is none."""
        ends: dict[str, str | None] = {}
        for some in _parts(titles):
            onward: dict[str, str] = {}
            articles: set[str] = set()
            for answer in self._ask(titles="|".join(some), redirects="1"):
                for each in (*answer.get("normalized", ()), *answer.get("redirects", ())):
                    onward[each["from"]] = each["to"]
                for page in answer.get("pages", ()):
                    if page.get("ns") == 0 and not page.get("missing") and not page.get("invalid"):
                        articles.add(page["title"])
            for title in some:
                end = title
                for _ in onward:
                    end = onward.get(end, end)
                ends[title] = end if end in articles else None
        return ends

    def _links(self, titles: Sequence[str]) -> dict[str, set[str]]:
        links: dict[str, set[str]] = {title: set() for title in titles}
        for some in _parts(titles):
            for answer in self._ask(titles="|".join(some), prop="links", pllimit="max", plnamespace="0"):
                for page in answer["pages"]:
                    links[page["title"]] |= {link["title"] for link in page.get("links", ())}
        return links

    def _ask(self, **asked: str) -> Iterator[dict[str, Any]]:
        further: dict[str, str] | None = {}
        while further is not None:
            form = {"action": "query", "format": "json", "formatversion": "2", **asked, **further}
            with urlopen(self.api_url, data=urlencode(form).encode()) as response:
                answer = json.load(response)
            yield answer["query"]
            further = answer.get("continue")


def _parts(titles: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(titles), _TITLES):
        yield titles[start : start + _TITLES]


async def read_graph(url: str) -> Crawled:
    graph = Crawled()
    store = await open_store(url, project="default", create=False)
    async for node in store.export_nodes():
        if node.label == "Article" and node.properties["_state"] == "ready":
            title = node.properties["title"]
            graph.depths[title] = node.properties["expansion_depth"]
            graph.links[title] = set(json.loads(node.properties["_links"]))
    await store.close()
    return graph


def compare(graph: Crawled, wiki: Crawled) -> None:
    both = sorted(graph.depths.keys() & wiki.depths.keys())
    print(f"articles in both: {len(both):,}")
    print(f"  of another depth: {[title for title in both if graph.depths[title] != wiki.depths[title]]}")
    print(f"only in the graph: {sorted(graph.depths.keys() - wiki.depths.keys())}")
    print(f"only in the wiki: {sorted(wiki.depths.keys() - graph.depths.keys())}")
    ours, theirs = ({(title, link) for title in both for link in each.links[title]} for each in (graph, wiki))
    print(f"links in both: {len(ours & theirs):,}")
    for name, more in (("graph", ours - theirs), ("wiki", theirs - ours)):
        print(f"links only in the {name}: {len(more):,}")
        for title, link in sorted(more):
            print(f"  {title} -> {link}")


def main(api_url: str, seed: str, depth: str, store_url: str) -> None:
    compare(asyncio.run(read_graph(store_url)), Wiki(api_url=api_url).crawl(seed, int(depth)))


if __name__ == "__main__":
    main(*sys.argv[1:])
