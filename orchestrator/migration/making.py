"""Which pages a new graph is made of, and what fills each: of an expansion, of tables with marks, of further ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from graph_stores.legacy import NewGraph, Page, Staging, TableGraph
from graph_stores.model import Value, VectorSpace
from orchestrator.migration.carry import Carry, End
from orchestrator.migration.mapped import MappedTables
from orchestrator.migration.mapping import MappingFile
from orchestrator.migration.pages import read_page
from orchestrator.migration.rebuild import KNOWN, OWN_EDGES, Rebuild, spans
from orchestrator.migration.survey import Model
from orchestrator.migration.tally import Tallied
from orchestrator.migration.wiki import KnownWiki, WikiChoice
from pipelines.wikipedia.identity import article_uuid, category_uuid

Between = tuple[str, tuple[str, str]]
"""The type of a relationship, and the labels at its ends."""
Step = tuple[str, Callable[[Page, Tallied], None]]
"""The name of a page, and what fills it."""
_PAGE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWishes:
    project: str
    model: Model | None
    wiki: WikiChoice
    retry_empty: bool = False
    mapping: MappingFile | None = None
    beside: Sequence[Path] = ()
    """What commands make beside a graph of graphmill's: where it was not there before, a rollback takes it away."""


class Making:
    def __init__(
        self,
        graph: TableGraph,
        new: NewGraph,
        wishes: TableWishes,
        wiki: KnownWiki,
        mapped: MappedTables,
        space: VectorSpace | None,
        staging: Staging | None,
    ) -> None:
        now = datetime.fromisoformat(staging.order["now"]) if staging else datetime.now(UTC)
        self._graph = graph
        self._new = new
        self._wishes = wishes
        self._wiki = wiki
        self._mapped = mapped
        self._space = space
        self._staging = staging
        self._carry = Carry(graph, new, mapped, space, now)
        self._rebuild = (
            Rebuild(graph, new, project=wishes.project, wiki=wiki, space=space, now=now)
            if is_expansion(graph)
            else None
        )
        self._carried: Sequence[str] = ()
        self._edges: Sequence[Between] = ()

    @property
    def carries_pieces(self) -> bool:
        return bool(self._rebuild and self._rebuild.carries_pieces)

    def prepare(self, carried: Sequence[str], edges: Sequence[Between]) -> None:
        self._carried, self._edges = carried, edges
        if self._rebuild:
            self._rebuild.prepare()
        self._carry.prepare(carried, edges)

    def steps(self) -> Iterator[Step]:
        """Of the nodes, and of what an expansion has between them."""
        if self._rebuild:
            yield from self._of_expansion(self._rebuild)
        for label in self._mapped.labels:
            for number, within in enumerate(spans(self._graph, label)):
                yield f"mapped-{label}-{number:06d}", partial(self._of_mapped, label, within)
        for label in self._carried:
            for number, within in enumerate(spans(self._graph, label)):
                yield f"carried-{label}-{number:06d}", partial(self._of_carried, label, within)

    def edges(self) -> Iterator[Step]:
        """Once all nodes are there: of some the new key is only known from them."""
        for kind, pair in self._edges:
            ends: list[End] = []
            for number, within in enumerate(spans(self._graph, pair[0])):
                ends = ends or [self._end(label) for label in pair]
                yield (
                    f"edges-{kind}-{pair[0]}-{pair[1]}-{number:06d}",
                    partial(self._of_edges, kind, pair, within, ends),
                )

    def _of_expansion(self, rebuild: Rebuild) -> Iterator[Step]:
        tables = self._graph.tables.nodes
        yield "wiki", lambda page, _: rebuild.wiki(page)
        for number, within in enumerate(spans(self._graph, "Category") if "Category" in tables else ()):
            yield f"categories-{number:06d}", partial(_swapped(rebuild.categories), within)
        for number, (first, last) in enumerate(article_pages(self._graph)):
            yield f"articles-{number:06d}", partial(self._of_articles, rebuild, first, last)
        for number, within in enumerate(spans(self._graph, "Section") if "Section" in tables else ()):
            yield f"lone-{number:06d}", partial(_swapped(rebuild.lone), within)
        for number, within in enumerate(spans(self._graph, "Chunk") if "Chunk" in tables else ()):
            yield f"pieces-{number:06d}", partial(self._of_pieces, rebuild, within)

    def _of_articles(self, rebuild: Rebuild, first: int, last: int, page: Page, tally: Tallied) -> None:
        found = read_page(
            self._graph,
            first,
            last,
            kept=self._space is not None,
            retry_empty=self._wishes.retry_empty,
            whole=True,
        )
        tally.add(found)
        rebuild.articles(page, found, {"first": first, "last": last})

    def _of_pieces(self, rebuild: Rebuild, within: Mapping[str, int], page: Page, tally: Tallied) -> None:
        if rebuild.asks_for_sections and self._staging:
            columns = ("_from", "_to", "section_index")
            rebuild.know_sections(self._staging.columns("HAS_SECTION", columns, OWN_EDGES["HAS_SECTION"]))
        rebuild.chunks(page, within, tally)

    def _of_mapped(self, label: str, within: Mapping[str, int], page: Page, tally: Tallied) -> None:
        self._carry.mapped(page, label, within, tally)

    def _of_carried(self, label: str, within: Mapping[str, int], page: Page, _: Tallied) -> None:
        self._carry.rows(page, label, within)

    def _of_edges(
        self, kind: str, pair: tuple[str, str], within: Mapping[str, int], ends: Sequence[End], page: Page, _: Tallied
    ) -> None:
        numbers = self._numbers() if (kind, pair) == ("HAS_CHUNK", OWN_EDGES["HAS_CHUNK"]) else {}
        self._carry.edges(page, kind, pair, within, (ends[0], ends[1]), numbers)

    def _numbers(self) -> dict[Value, Value]:
        if not self._rebuild or not self._staging or "chunk_index" not in self._graph.tables.nodes["Chunk"]:
            return {}
        return dict(self._staging.columns("Chunk", ("chunk_id", "chunk_index")))

    def _end(self, label: str) -> End:
        key = self._graph.keys[label]
        project, wiki = self._wishes.project, self._wiki.wiki.name
        if label in self._mapped.labels:
            return self._mapped_end(label, key)
        if not self._rebuild or label not in KNOWN:
            return End(column=key)
        if label == "Article":
            return End(column=key, becomes=lambda title: article_uuid(project, wiki, title))
        if label == "Category":
            return End(column=key, becomes=lambda name: category_uuid(project, wiki, name))
        return End(column=key, becomes=self._known(label, key))

    def _mapped_end(self, label: str, key: str) -> End:
        ids = self._mapped.id_columns(label)
        if ids[:1] == [key] or not ids:
            return End(column=key, becomes=lambda value: self._mapped.uuid_of(label, [value] if ids else [], value))
        return End(column=key, becomes=self._known(label, key))

    def _known(self, label: str, key: str) -> Callable[[Value], Value]:
        """By what the pages say: nothing else knows it."""
        called = self._carry.called(label, key)
        rows = self._staging.columns(label, (called, "uuid")) if self._staging else iter(())
        return dict(rows).__getitem__


def is_expansion(graph: TableGraph) -> bool:
    columns = graph.tables.nodes.get("Article", {})
    return "expansion_state" in columns and "uuid" not in columns


def article_pages(graph: TableGraph) -> list[tuple[int, int]]:
    """Places of articles, a page at a time."""
    last, _ = graph.places("Article")
    return [(first, min(first + _PAGE, last)) for first in range(0, last, _PAGE)]


def _swapped(
    work: Callable[[Page, Mapping[str, int], Tallied], None],
) -> Callable[[Mapping[str, int], Page, Tallied], None]:
    return lambda within, page, tally: work(page, within, tally)
