"""A page of articles of an older expansion, with their sections in order and what is to become of each."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from graph_stores.legacy import Held, TableGraph
from orchestrator.migration.articles import Facts, Fate, fate, fate_of_section, has_gap, place_of
from orchestrator.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class OldSection:
    """`row` is where its columns are in what the page holds."""

    row: int
    index: int
    title: str
    state: State
    has_vector: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OldArticle:
    row: int
    title: str
    word: str | None
    fate: Fate
    sections: Sequence[OldSection]
    links: Counter[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticlePage:
    articles: Sequence[OldArticle]
    held: Held
    sections: Held | None


def read_page(
    graph: TableGraph, first: int, last: int, *, kept: bool, retry_empty: bool, whole: bool = False
) -> ArticlePage:
    """`kept` says that vectors are of a known model; without `whole` only what decides is read."""
    within = {"first": first, "last": last}
    columns = list(graph.tables.nodes["Article"])
    held = graph.held("node_page", within, columns if whole else ["title", "expansion_state"], label="Article")
    parts = _sections(graph, within, whole=whole)
    links = _links(graph, within)
    articles: list[OldArticle] = []
    for row, (title, word) in enumerate(zip(held.column("title"), held.column("expansion_state"), strict=True)):
        own = parts.of.get(title, [])
        places = [index for index, _, _, _ in own]
        decided = fate(
            Facts(
                word=word,
                sections=len(own),
                gap=has_gap(places),
                links=links[title].total() if title in links else 0,
                vectors=kept and all(has_vector for _, _, _, has_vector in own),
            ),
            retry_empty=retry_empty,
        )
        sections = [
            OldSection(
                row=place,
                index=number,
                title=name,
                has_vector=has_vector,
                state=fate_of_section(decided.state, vector=kept and has_vector),
            )
            for number, place, name, has_vector in own
        ]
        articles.append(
            OldArticle(
                row=row, title=title, word=word, fate=decided, sections=sections, links=links.get(title, Counter())
            )
        )
    return ArticlePage(articles=articles, held=held, sections=parts.held)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    of: dict[str, list[tuple[int, int, str, bool]]]
    held: Held | None


def _sections(graph: TableGraph, within: dict[str, int], *, whole: bool) -> _Parts:
    """By article, in their order: number, row, title, and whether there is a vector."""
    if "Section" not in graph.tables.nodes or "HAS_SECTION" not in graph.tables.edges:
        return _Parts(of={}, held=None)
    columns = list(graph.tables.nodes["Section"]) if whole else ["section_id", "title"]
    held = graph.held("section_page", within, columns)
    of: dict[str, list[tuple[int, int, str, bool]]] = {}
    read = (held.column(name) for name in ("article", "section_index", "section_id", "title", "has_vector"))
    for row, (article, index, key, title, has_vector) in enumerate(zip(*read, strict=True)):
        of.setdefault(article, []).append((place_of(key, index), row, title or "", bool(has_vector)))
    for own in of.values():
        own.sort()
    return _Parts(of=of, held=held)


def _links(graph: TableGraph, within: dict[str, int]) -> dict[str, Counter[str]]:
    links: dict[str, Counter[str]] = {}
    if "LINKS_TO" in graph.tables.edges:
        for source, target in graph.rows("link_page", within):
            links.setdefault(source, Counter())[target] += 1
    return links
