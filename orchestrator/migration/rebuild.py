"""Writes the new graph of an older expansion: articles, sections, categories and pieces, each under the uuid that
expansion gives it, with everything that it had under its own name."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from graph_stores.legacy import Carried, Held, NewGraph, TableGraph
from graph_stores.model import Value, VectorSpace
from orchestrator import states
from orchestrator.migration.articles import keys_of
from orchestrator.migration.pages import ArticlePage, OldArticle
from orchestrator.migration.wiki import KnownWiki
from orchestrator.states import ErrorClass, ErrorType, State
from pipelines.embedding.texts import text_hash as embedded_hash
from pipelines.files.identity import chunk_uuid
from pipelines.files.manifest import text_hash
from pipelines.wikipedia.identity import article_uuid, category_uuid, section_uuid

if TYPE_CHECKING:
    from orchestrator.migration.tables import Tallied

_EDGES_AT_ONCE = 100_000
_NODES_AT_ONCE = 20_000
_MARKED = "_migratedBy"
_KEPT_APART = "legacy_embedding"
_TOO_OLD = "its text is embedded anew"


class Rebuild:
    def __init__(
        self, graph: TableGraph, new: NewGraph, *, project: str, wiki: KnownWiki, space: VectorSpace | None
    ) -> None:
        self._graph = graph
        self._new = new
        self._project = project
        self._wiki = wiki
        self._space = space
        self._now = datetime.now(UTC)
        self._contents: tuple[list[str], list[str], list[int]] = ([], [], [])
        self._links: tuple[list[str], list[str], list[int]] = ([], [], [])
        self._kinds: list[Value] = []
        self._groups: tuple[list[str], list[str]] = ([], [])
        self._pieces = self._count_pieces()

    def prepare(self) -> None:
        """Columns that are only the old graph's, under their own names; its vectors apart where they are not kept."""
        for label, own in (("Article", ()), ("Section", ("section_id",)), ("Category", ()), ("Chunk", ("chunk_id",))):
            there = self._graph.tables.nodes.get(label, {})
            known = self._new_columns(label)
            extra = {
                name: kind for name, kind in there.items() if name not in known and name not in ("name", "embedding")
            }
            if "embedding" in there and self._space is None:
                extra[_KEPT_APART] = there["embedding"]
            self._new.add_columns(
                label, {_MARKED: "STRING", **{name: "STRING" for name in own if name in there}, **extra}
            )
        there = self._graph.tables.edges.get("LINKS_TO", {})
        self._new.add_columns("LINKS_TO", {name: kind for name, kind in there.items() if name == "link_type"})

    def categories(self, tally: "Tallied") -> None:
        if "Category" not in self._graph.tables.nodes:
            return
        for held in self._all("Category"):
            names = held.column("name")
            columns = {
                "uuid": [self._category(name) for name in names],
                "name": names,
                "title": names,
                "wiki": self._wiki.wiki.name,
                _MARKED: "c-category",
                **self._since(),
                "_state": State.PARSED.value,
            }
            self._add("Category", columns, held, range(len(names)), but=("name",))
            tally.count("c-category", "Category", State.PARSED, len(names))

    def articles(self, page: ArticlePage) -> None:
        self._articles(page)
        if page.sections is not None:
            self._sections(page, page.sections)
        if len(self._contents[0]) > _EDGES_AT_ONCE:
            self._connect_sections()

    def rest(self, tally: "Tallied") -> None:
        """Sections without an article, and pieces of texts."""
        self._connect_sections()
        if "Section" in self._graph.tables.nodes:
            columns = list(self._graph.tables.nodes["Section"])
            for within in self._spans("Section"):
                self._lone(self._graph.held("lone_sections", within, columns), tally)
        if "Chunk" in self._graph.tables.nodes:
            for held in self._all("Chunk"):
                self._chunks(held, tally)

    def links(self, first: int, last: int) -> None:
        within = {"first": first, "last": last}
        if "LINKS_TO" in self._graph.tables.edges:
            kinds = [name for name in self._graph.tables.edges["LINKS_TO"] if name == "link_type"]
            pairs: Counter[tuple[str, str]] = Counter()
            kind_of: dict[tuple[str, str], Value] = {}
            for source, target, *kind in self._graph.rows("link_page", within, kinds):
                pairs[source, target] += 1
                kind_of.setdefault((source, target), kind[0] if kind else None)
            for (source, target), count in pairs.items():
                self._links[0].append(self._article(source))
                self._links[1].append(self._article(target))
                self._links[2].append(count)
                self._kinds.append(kind_of[source, target])
        if "IN_CATEGORY" in self._graph.tables.edges:
            for source, target in dict.fromkeys(map(tuple, self._graph.rows("category_page", within))):
                self._groups[0].append(self._article(source))
                self._groups[1].append(self._category(target))
        if len(self._links[0]) + len(self._groups[0]) > _EDGES_AT_ONCE:
            self._connect_links()

    def finish(self) -> None:
        self._connect_links()
        node = self._wiki.wiki.node(self._project)
        columns = {
            "uuid": [node.uuid], "name": [node.name], "_state": [State.READY.value],
            **{name: [value] for name, value in node.properties.items()}, **self._since(),
        }  # fmt: skip
        self._new.add("Wiki", columns, 1)

    def _articles(self, page: ArticlePage) -> None:
        articles, held = page.articles, page.held
        there = self._graph.tables.nodes["Article"]
        depths = held.column("expansion_depth") if "expansion_depth" in there else [0] * len(articles)
        tries = held.column("retry_count") if "retry_count" in there else [0] * len(articles)
        times = [
            _aware(done or claimed)
            for done, claimed in zip(self._times(held, "processed_at"), self._times(held, "claimed_at"), strict=True)
        ]
        is_error = [article.fate.state is State.ERROR for article in articles]
        columns: dict[str, Value] = {
            "uuid": [self._article(article.title) for article in articles],
            "name": [article.title for article in articles],
            "wiki": self._wiki.wiki.name,
            "lang": self._wiki.wiki.lang,
            "url": [self._url(article.title) for article in articles],
            _MARKED: [article.fate.rule for article in articles],
            "expansion_state": [_shown(article.fate.state) for article in articles],
            "expansion_depth": [depth or 0 for depth in depths],
            "retry_count": [count or 0 for count in tries],
            "_retryCount": [count or 0 for count in tries],
            "_errorType": [ErrorType.PARSE.value if each else None for each in is_error],
            "_errorClass": [ErrorClass.TRANSIENT.value if each else None for each in is_error],
            "_errorMessage": [article.fate.reason for article in articles],
            "_sections": [_sections_text(article) for article in articles],
            "_links": [_links_text(article) for article in articles],
            **self._since(times),
            "_state": [article.fate.state.value for article in articles],
            "_depth": [depth or 0 for depth in depths],
        }
        self._add("Article", columns, held, [article.row for article in articles], but=tuple(columns))

    def _sections(self, page: ArticlePage, held: Held) -> None:
        rows: list[int] = []
        columns: dict[str, list[Value]] = {name: [] for name in ("uuid", "name", "_state", "_chunks")}
        vectors: list[bool] = []
        for article in page.articles:
            uuid = self._article(article.title)
            for section, key in zip(article.sections, keys_of([each.title for each in article.sections]), strict=True):
                own = section_uuid(uuid, key)
                self._contents[0].append(uuid)
                self._contents[1].append(own)
                self._contents[2].append(section.index)
                rows.append(section.row)
                columns["uuid"].append(own)
                same = not section.title or section.title == article.title
                columns["name"].append(article.title if same else f"{article.title} › {section.title}")
                columns["_state"].append(section.state.value)
                columns["_chunks"].append(self._pieces.get((article.title, section.index)))
                vectors.append(section.has_vector)
        if rows:
            self._texts("Section", columns, held, rows, vectors, "s-of-article")

    def _lone(self, held: Held, tally: "Tallied") -> None:
        keys, vectors = held.column("section_id"), [bool(each) for each in held.column("has_vector")]
        if not keys:
            return
        found = [State.READY if self._space and each else State.LINKED for each in vectors]
        for state in found:
            tally.count("s-lone", "Section", state)
        columns: dict[str, list[Value]] = {
            "uuid": [section_uuid(self._wiki.wiki.name, key) for key in keys],
            "name": [key.rpartition("#")[0] or key for key in keys],
            "_state": [state.value for state in found],
        }
        self._texts("Section", columns, held, range(len(keys)), vectors, "s-lone")

    def _texts(
        self,
        label: str,
        columns: Mapping[str, list[Value]],
        held: Held,
        rows: Sequence[int],
        vectors: Sequence[bool],
        rule: Value,
    ) -> None:
        contents = held.column("content")
        texts = [contents[row] or "" for row in rows]
        kept = [has_vector and self._space is not None for has_vector in vectors]
        space = self._space
        more: dict[str, Value] = {
            **columns,
            _MARKED: rule,
            "_contentHash": [text_hash(text) for text in texts],
            "_embeddingHash": [embedded_hash(text) if each else None for text, each in zip(texts, kept, strict=True)],
            "_embeddingProvider": [space.provider if space and each else None for each in kept],
            "_embeddingModel": [space.model if space and each else None for each in kept],
            **self._since(),
        }
        self._add(label, more, held, rows, but=tuple(more))

    def _chunks(self, held: Held, tally: "Tallied") -> None:
        count = len(held)
        there = self._graph.tables.nodes["Chunk"]
        titles = held.column("article_title") if "article_title" in there else [None] * count
        places = held.column("section_index") if "section_index" in there else [None] * count
        numbers = held.column("chunk_index") if "chunk_index" in there else [None] * count
        keys = held.column("chunk_id")
        vectors = (
            [bool(each) for each in held.column("has_vector")]
            if "has_vector" in held.table.column_names
            else [True] * count
        )
        uuids, source, target, index = [], [], [], []
        for key, title, place, number in zip(keys, titles, places, numbers, strict=True):
            section = self._section_at.get((title, place))
            uuids.append(chunk_uuid(section or str(key), number or 0))
            if section:
                source.append(section)
                target.append(uuids[-1])
                index.append(number or 0)
        found = [State.READY if self._space and each else State.SKIP for each in vectors]
        for state in found:
            tally.count("k-chunk" if state is State.READY else "k-no-vector", "Chunk", state)
        columns: dict[str, list[Value]] = {
            "uuid": list(uuids),
            "name": [str(key) for key in keys],
            "_state": [state.value for state in found],
            "_errorMessage": [None if state is State.READY else _TOO_OLD for state in found],
        }
        rules = ["k-chunk" if state is State.READY else "k-no-vector" for state in found]
        self._texts("Chunk", columns, held, range(count), vectors, rules)
        self._new.connect("HAS_CHUNK", "Section", "Chunk", (source, target), {"index": index})

    def _add(
        self, label: str, columns: Mapping[str, Value], held: Held, rows: Sequence[int], but: Sequence[str]
    ) -> None:
        """With what the old graph has beside; vectors under their name, or apart where they are not kept."""
        defaults = {"_depth": 0, "_retryCount": 0}
        names = {name: name for name in self._graph.tables.nodes[label] if name not in but and name != "embedding"}
        if "embedding" in self._graph.tables.nodes[label]:
            names["embedding"] = "embedding" if self._space else _KEPT_APART
        own = {**defaults, **columns}
        self._new.add(label, own, len(rows), Carried(held=held, places=list(rows), names=names))

    def _connect_sections(self) -> None:
        sources, targets, places = self._contents
        self._new.connect("HAS_SECTION", "Article", "Section", (sources, targets), {"section_index": places})
        if self._pieces:
            self._section_at |= {
                (self._title_of[source], place): target
                for source, target, place in zip(sources, targets, places, strict=True)
                if source in self._title_of and (self._title_of[source], place) in self._pieces
            }
        self._contents = ([], [], [])

    def _connect_links(self) -> None:
        kinds = {"link_type": self._kinds} if "link_type" in self._graph.tables.edges.get("LINKS_TO", {}) else {}
        sources, targets, counts = self._links
        self._new.connect("LINKS_TO", "Article", "Article", (sources, targets), {"count": counts, **kinds})
        self._new.connect("IN_CATEGORY", "Article", "Category", self._groups, {})
        self._links, self._kinds, self._groups = ([], [], []), [], ([], [])

    def _count_pieces(self) -> Counter[tuple[Value, Value]]:
        """How many pieces there are of each section; they name their article by its title."""
        there = self._graph.tables.nodes.get("Chunk", {})
        self._section_at: dict[tuple[Value, Value], str] = {}
        self._title_of: dict[str, str] = {}
        pieces: Counter[tuple[Value, Value]] = Counter()
        if "article_title" in there and "section_index" in there:
            for within in self._spans("Chunk"):
                pieces.update(
                    map(tuple, self._graph.rows("node_page", within, ["article_title", "section_index"], label="Chunk"))
                )
            self._title_of = {self._article(str(title)): str(title) for title, _ in pieces}
        return pieces

    def _spans(self, label: str) -> list[dict[str, int]]:
        last, _ = self._graph.places(label)
        return [{"first": first, "last": first + _NODES_AT_ONCE} for first in range(0, last, _NODES_AT_ONCE)]

    def _all(self, label: str) -> list[Held]:
        columns = list(self._graph.tables.nodes[label])
        question = "chunk_page" if label == "Chunk" else "node_page"
        return [
            held
            for within in self._spans(label)
            if len(held := self._graph.held(question, within, columns, label=label))
        ]

    def _new_columns(self, label: str) -> frozenset[str]:
        return frozenset(self._new.tables.nodes[label])

    def _since(self, times: Sequence[datetime | None] | None = None) -> dict[str, Value]:
        """When they were found: now, unless they say it themselves."""
        if times is None:
            (now,) = _naive([self._now])
            return {"_detectedAt": now, "_stateChangedAt": now}
        moments = [time or self._now for time in times]
        return {"_detectedAt": _naive(moments), "_stateChangedAt": _naive(moments)}

    def _times(self, held: Held, name: str) -> list[Any]:
        return held.column(name) if name in self._graph.tables.nodes["Article"] else [None] * len(held)

    def _article(self, title: str) -> str:
        return article_uuid(self._project, self._wiki.wiki.name, title)

    def _category(self, name: str) -> str:
        return category_uuid(self._project, self._wiki.wiki.name, name)

    def _url(self, title: str) -> str:
        return self._wiki.article_url.replace("$1", quote(title.replace(" ", "_"), safe="/:@!$*(),;~'"))


def _sections_text(article: OldArticle) -> str | None:
    if not article.sections:
        return None
    keys = keys_of([section.title for section in article.sections])
    fresh = [section.state is State.PARSED for section in article.sections]
    return json.dumps([list(pair) for pair in zip(keys, fresh, strict=True)], ensure_ascii=False)


def _links_text(article: OldArticle) -> str | None:
    """Of one that is linked; of another they are read, or read again."""
    if article.fate.state not in (State.LINKED, State.READY):
        return None
    return json.dumps(dict(article.links), ensure_ascii=False, separators=(",", ":"))


def _shown(state: State) -> str | None:
    shown = states.expansion_state(state, retries_left=False)
    return shown.value if shown else None


def _aware(time: datetime | None) -> datetime | None:
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time


def _naive(times: Sequence[datetime]) -> list[datetime]:
    """In UTC, because an embedded engine drops the zone."""
    return [time.astimezone(UTC).replace(tzinfo=None) for time in times]
