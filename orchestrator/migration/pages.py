"""A page of articles of an older expansion, with their sections in order and what is to become of each.

Any column that is not a key may be missing: it is read as if it were empty everywhere.
"""

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass

from graph_stores.legacy import Held, TableGraph
from orchestrator.migration.articles import Facts, Fate, fate, fate_of_section, has_gap, place_of
from orchestrator.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class OldArticle:
    """`sections` are rows of what the page holds of sections, in their order; `links` are rows of its links."""

    title: str
    word: str | None
    fate: Fate
    sections: Sequence[int]
    links: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """In the order in which they were read: their titles, numbers, states, and whether there is a vector."""

    held: Held
    titles: Sequence[str]
    places: Sequence[int]
    vectors: Sequence[bool]
    states: list[State]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticlePage:
    articles: Sequence[OldArticle]
    held: Held
    sections: Sections | None
    links: Held | None
    targets: Sequence[str]
    """The titles that its links go to."""

    def states_of_sections(self) -> Counter[State]:
        return Counter(self.sections.states) if self.sections else Counter()


def read_page(
    graph: TableGraph, first: int, last: int, *, kept: bool, retry_empty: bool, whole: bool = False
) -> ArticlePage:
    """`kept` says that vectors are of a known model; without `whole` only what decides is read."""
    within = {"first": first, "last": last}
    columns = list(graph.tables.nodes["Article"])
    held = graph.held("node_page", within, columns if whole else ["title", "expansion_state"], label="Article")
    rows = {place: row for row, place in enumerate(held.column("_place"))}
    sections, sections_of = _sections(graph, within, rows, whole=whole)
    links, links_of = _links(graph, within, rows, whole=whole)
    articles: list[OldArticle] = []
    for row, (title, word) in enumerate(zip(held.column("title"), held.column("expansion_state"), strict=True)):
        own = sections_of.get(row, ())
        decided = fate(
            Facts(
                word=word,
                sections=len(own),
                gap=bool(own) and sections is not None and has_gap([sections.places[each] for each in own]),
                links=len(links_of.get(row, ())),
                vectors=kept and sections is not None and all(sections.vectors[each] for each in own),
            ),
            retry_empty=retry_empty,
        )
        if sections:
            with_vector = fate_of_section(decided.state, vector=kept)
            without = fate_of_section(decided.state, vector=False)
            for each in own:
                sections.states[each] = with_vector if sections.vectors[each] else without
        articles.append(OldArticle(title=title, word=word, fate=decided, sections=own, links=links_of.get(row, ())))
    targets = links.column("_to") if links else []
    return ArticlePage(articles=articles, held=held, sections=sections, links=links, targets=targets)


def _sections(
    graph: TableGraph, within: dict[str, int], rows: dict[int, int], *, whole: bool
) -> tuple[Sections | None, dict[int, list[int]]]:
    if "Section" not in graph.tables.nodes or "HAS_SECTION" not in graph.tables.edges:
        return None, {}
    there, edges = graph.tables.nodes["Section"], graph.tables.edges["HAS_SECTION"]
    columns = list(there) if whole else [name for name in ("section_id", "title") if name in there]
    properties = list(edges) if whole else [name for name in ("section_index",) if name in edges]
    question = "section_signs" if "embedding" in there and not whole else "section_page"
    held = graph.held(question, within, columns, properties)
    count = len(held)
    keys = held.column("section_id")
    numbers = held.column("edge_section_index") if "section_index" in edges else [None] * count
    places = [place_of(key, number) for key, number in zip(keys, numbers, strict=True)]
    of = sorted(zip([rows[place] for place in held.column("_place")], places, range(count), strict=True))
    sections_of: dict[int, list[int]] = {}
    for article, _, each in of:
        sections_of.setdefault(article, []).append(each)
    sections = Sections(
        held=held,
        titles=[title or "" for title in held.column("title")] if "title" in there else [""] * count,
        places=places,
        vectors=_vectors(held, there, whole=whole),
        states=[State.PARSED] * count,
    )
    return sections, sections_of


def _vectors(held: Held, there: Container[str], *, whole: bool) -> list[bool]:
    if "embedding" not in there:
        return [False] * len(held)
    if whole:
        return [length is not None for length in held.lengths("embedding")]
    return [bool(each) for each in held.column("has_vector")]


def _links(
    graph: TableGraph, within: dict[str, int], rows: dict[int, int], *, whole: bool
) -> tuple[Held | None, dict[int, list[int]]]:
    if "LINKS_TO" not in graph.tables.edges:
        return None, {}
    held = graph.held("link_page", within, list(graph.tables.edges["LINKS_TO"]) if whole else ())
    links_of: dict[int, list[int]] = {}
    for each, place in enumerate(held.column("_place")):
        links_of.setdefault(rows[place], []).append(each)
    return held, links_of
