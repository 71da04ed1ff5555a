"""The rows of the new graph of an older expansion: articles, sections, categories and pieces, each under the uuid that
expansion gives it, with everything that it had under its own name."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from graph_stores.legacy import Carried, Held, NewGraph, Page, TableGraph
from graph_stores.model import Value, VectorSpace
from orchestrator import states
from orchestrator.migration.articles import keys_of
from orchestrator.migration.columns import called_in_an_expansion, is_of_an_expansion
from orchestrator.migration.pages import ArticlePage, Sections
from orchestrator.migration.tally import Tallied
from orchestrator.migration.wiki import KnownWiki
from orchestrator.states import ErrorClass, ErrorType, State
from pipelines.embedding.texts import text_hash as embedded_hash
from pipelines.files.identity import chunk_uuid
from pipelines.files.manifest import text_hash
from pipelines.wikipedia.identity import article_uuid, category_uuid, section_uuid

NODES_AT_ONCE = 20_000
KEPT_APART = "legacy_embedding"
KNOWN = ("Article", "Section", "Category", "Chunk")
MARKED = "_migratedBy"
# What an expansion has between its tables; anything else there is is carried over as it is.
OWN_EDGES = {
    "HAS_SECTION": ("Article", "Section"),
    "LINKS_TO": ("Article", "Article"),
    "IN_CATEGORY": ("Article", "Category"),
    "HAS_CHUNK": ("Section", "Chunk"),
}
_TOO_OLD = "its text is embedded anew"
_ENDS = ("_from", "_to")


class Rebuild:
    def __init__(
        self,
        graph: TableGraph,
        new: NewGraph,
        *,
        project: str,
        wiki: KnownWiki,
        space: VectorSpace | None,
        now: datetime,
    ) -> None:
        self._graph = graph
        self._new = new
        self._project = project
        self._wiki = wiki
        self._space = space
        self._now = now
        self._section_at: dict[Value, str] = {}
        self._names: dict[str, dict[str, str]] = {}
        self._by_edges = "HAS_CHUNK" in graph.tables.edges and bool(
            OWN_EDGES["HAS_CHUNK"] in graph.tables.pairs["HAS_CHUNK"] and graph.rows("first_piece", {})
        )
        self._pieces = self._count_pieces()

    def prepare(self) -> None:
        """Columns that are only the old graph's, under their own names; its vectors apart where they are not kept."""
        for label in KNOWN:
            there = self._graph.tables.nodes.get(label, {})
            known = self._new.tables.nodes[label]
            names = self._names[label] = called_in_an_expansion(label, there, known)
            extra = {new: there[name] for name, new in names.items() if new not in known}
            if "embedding" in there and self._space is None:
                extra[KEPT_APART] = there["embedding"]
            self._new.add_columns(label, {MARKED: "STRING", **extra})
        for kind in OWN_EDGES:
            there, known = self._graph.tables.edges.get(kind, {}), self._new.tables.edges[kind]
            self._new.add_columns(kind, {name: type_ for name, type_ in there.items() if name not in known})

    def categories(self, page: Page, within: Mapping[str, int], tally: Tallied) -> None:
        held = self._held("Category", within)
        names = held.column("name")
        columns = {
            "uuid": [self._category(name) for name in names],
            "name": names,
            "title": names,
            "wiki": self._wiki.wiki.name,
            MARKED: "c-category",
            **self._since(),
            "_state": State.PARSED.value,
        }
        self._add(page, "Category", columns, held, None)
        tally.count("c-category", "Category", State.PARSED, len(names))

    def articles(self, page: Page, found: ArticlePage, within: Mapping[str, int]) -> None:
        uuids = [self._article(article.title) for article in found.articles]
        titles = found.sections.titles if found.sections else ()
        keys = [keys_of([titles[row] for row in article.sections]) for article in found.articles]
        self._articles(page, found, uuids, keys)
        if found.sections is not None:
            self._sections(page, found, found.sections, uuids, keys)
        if found.links is not None:
            self._links(page, found, found.links, uuids)
        if "IN_CATEGORY" in self._graph.tables.edges:
            self._groups(page, found, within, uuids)

    def wiki(self, page: Page) -> None:
        node = self._wiki.wiki.node(self._project)
        columns = {
            "uuid": [node.uuid], "name": [node.name], "_state": [State.READY.value], "projectId": self._project,
            **{name: [value] for name, value in node.properties.items()}, **self._since(),
        }  # fmt: skip
        self._new.add(page, "Wiki", columns, 1)

    def lone(self, page: Page, within: Mapping[str, int], tally: Tallied) -> None:
        """Sections without an article."""
        held = self._graph.held("lone_sections", within, list(self._graph.tables.nodes["Section"]))
        keys, vectors = held.column("section_id"), self._has_vector("Section", held)
        found = [State.READY if self._space and each else State.LINKED for each in vectors]
        for state, count in Counter(found).items():
            tally.count("s-lone", "Section", state, count)
        columns: dict[str, Value] = {
            "uuid": [section_uuid(self._wiki.wiki.name, key) for key in keys],
            "name": [key.rpartition("#")[0] or key for key in keys],
            "_state": [state.value for state in found],
            "_chunks": [None] * len(keys),
        }
        self._texts(page, "Section", columns, held, None, vectors, "s-lone")

    def chunks(self, page: Page, within: Mapping[str, int], tally: Tallied) -> None:
        """Pieces of texts. Where nothing leads to them, each names its article by title and its section by number."""
        held = self._held("Chunk", within)
        keys = held.column("chunk_id")
        titles, places, numbers = (
            self._column("Chunk", held, name) for name in ("article_title", "section_index", "chunk_index")
        )
        vectors = self._has_vector("Chunk", held)
        uuids: list[Value] = []
        ends: tuple[list[Value], list[Value]] = ([], [])
        index: list[Value] = []
        for key, title, place, number in zip(keys, titles, places, numbers, strict=True):
            section = self._section_at.get((title, place))
            uuids.append(chunk_uuid(section, number) if section and number is not None else chunk_uuid(str(key), 0))
            if section:
                ends[0].append(section)
                ends[1].append(uuids[-1])
                index.append(number)
        found = [State.READY if self._space and each else State.SKIP for each in vectors]
        rules = ["k-chunk" if state is State.READY else "k-no-vector" for state in found]
        for (rule, state), times in Counter(zip(rules, found, strict=True)).items():
            tally.count(rule, "Chunk", state, times)
        columns: dict[str, Value] = {
            "uuid": uuids,
            "name": [str(key) for key in keys],
            "_state": [state.value for state in found],
            "_errorMessage": [None if state is State.READY else _TOO_OLD for state in found],
        }
        self._texts(page, "Chunk", columns, held, None, vectors, rules)
        own = {**dict(zip(_ENDS, ends, strict=True)), "index": index}
        self._new.connect(page, "HAS_CHUNK", ("Section", "Chunk"), own, len(index))

    def know_sections(self, rows: Iterator[tuple[str, str, int]]) -> None:
        """Which section is where, for their pieces: uuid of the article, of the section, and its number."""
        title_of = {self._article(str(title)): title for title, _ in self._pieces}
        for article, section, place in rows:
            if article in title_of and (title_of[article], place) in self._pieces:
                self._section_at[title_of[article], place] = section

    @property
    def asks_for_sections(self) -> bool:
        return bool(self._pieces) and not self._by_edges

    @property
    def carries_pieces(self) -> bool:
        """Whether relationships lead to the pieces, which are carried over."""
        return self._by_edges

    def _articles(self, page: Page, found: ArticlePage, uuids: Sequence[str], keys: Sequence[Sequence[str]]) -> None:
        articles, held = found.articles, found.held
        depths = [depth or 0 for depth in self._column("Article", held, "expansion_depth")]
        tries = [count or 0 for count in self._column("Article", held, "retry_count")]
        done, claimed = (self._column("Article", held, name) for name in ("processed_at", "claimed_at"))
        is_error = [article.fate.state is State.ERROR for article in articles]
        columns: dict[str, Value] = {
            "uuid": list(uuids),
            "name": [article.title for article in articles],
            "wiki": self._wiki.wiki.name,
            "lang": self._wiki.wiki.lang,
            "url": [self._url(article.title) for article in articles],
            MARKED: [article.fate.rule for article in articles],
            "expansion_state": [_shown(article.fate.state) for article in articles],
            "expansion_depth": depths,
            "retry_count": tries,
            "_retryCount": tries,
            "_errorType": [ErrorType.PARSE.value if each else None for each in is_error],
            "_errorClass": [ErrorClass.TRANSIENT.value if each else None for each in is_error],
            "_errorMessage": [article.fate.reason for article in articles],
            "_sections": [
                _sections_text(named, article.sections, found.sections)
                for named, article in zip(keys, articles, strict=True)
            ],
            "_links": [
                _links_text(article.fate.state, [found.targets[row] for row in article.links]) for article in articles
            ],
            **self._since([_time(at) or _time(before) for at, before in zip(done, claimed, strict=True)]),
            "_state": [article.fate.state.value for article in articles],
            "_depth": depths,
        }
        self._add(page, "Article", columns, held, None)

    def _sections(
        self,
        page: Page,
        found: ArticlePage,
        sections: Sections,
        uuids: Sequence[str],
        keys: Sequence[Sequence[str]],
    ) -> None:
        rows: list[int] = []
        ends: tuple[list[Value], list[Value]] = ([], [])
        names: list[Value] = []
        pieces: list[Value] = []
        titles, places = sections.titles, sections.places
        ids = sections.held.column("section_id") if self._by_edges else []
        for article, uuid, named in zip(found.articles, uuids, keys, strict=True):
            own = article.sections
            for row, key in zip(own, named, strict=True):
                ends[1].append(section_uuid(uuid, key))
                title = titles[row]
                names.append(article.title if not title or title == article.title else f"{article.title} › {title}")
                pieces.append(self._pieces.get(ids[row] if ids else (article.title, places[row])))
            ends[0].extend([uuid] * len(own))
            rows.extend(own)
        columns: dict[str, Value] = {
            "uuid": ends[1],
            "name": names,
            "_state": [sections.states[row].value for row in rows],
            "_chunks": pieces,
        }
        vectors = [sections.vectors[row] for row in rows]
        self._texts(page, "Section", columns, sections.held, rows, vectors, "s-of-article")
        own_edges: dict[str, Value] = {
            **dict(zip(_ENDS, ends, strict=True)), "section_index": [places[row] for row in rows]
        }  # fmt: skip
        self._connect(page, "HAS_SECTION", own_edges, sections.held, rows, "edge_")

    def _links(self, page: Page, found: ArticlePage, held: Held, uuids: Sequence[str]) -> None:
        """One for each pair, with how many there were, and what the first of them says."""
        rows: list[int] = []
        ends: tuple[list[Value], list[Value]] = ([], [])
        counts: list[Value] = []
        for article, uuid in zip(found.articles, uuids, strict=True):
            of: dict[str, list[int]] = {}
            for row in article.links:
                of.setdefault(found.targets[row], []).append(row)
            for target, same in of.items():
                rows.append(same[0])
                ends[0].append(uuid)
                ends[1].append(self._article(target))
                counts.append(len(same))
        own: dict[str, Value] = {**dict(zip(_ENDS, ends, strict=True)), "count": counts}
        self._connect(page, "LINKS_TO", own, held, rows)

    def _groups(self, page: Page, found: ArticlePage, within: Mapping[str, int], uuids: Sequence[str]) -> None:
        held = self._graph.held("category_page", within, list(self._graph.tables.edges["IN_CATEGORY"]))
        uuid_at = dict(zip(found.held.column("_place"), uuids, strict=True))
        first: dict[tuple[str, str], int] = {}
        for row, (place, name) in enumerate(zip(held.column("_place"), held.column("_to"), strict=True)):
            first.setdefault((uuid_at[place], self._category(name)), row)
        own: dict[str, Value] = {
            "_from": [article for article, _ in first], "_to": [category for _, category in first]
        }  # fmt: skip
        self._connect(page, "IN_CATEGORY", own, held, list(first.values()))

    def _texts(
        self,
        page: Page,
        label: str,
        columns: Mapping[str, Value],
        held: Held,
        rows: Sequence[int] | None,
        vectors: Sequence[bool],
        rule: Value,
    ) -> None:
        contents = self._column(label, held, "content")
        texts = [text or "" for text in (contents if rows is None else [contents[row] for row in rows])]
        space = self._space
        kept = [has_vector and space is not None for has_vector in vectors]
        more: dict[str, Value] = {
            **columns,
            MARKED: rule,
            "_contentHash": [text_hash(text) for text in texts],
            "_embeddingHash": [embedded_hash(text) if each else None for text, each in zip(texts, kept, strict=True)],
            "_embeddingProvider": [space.provider if space and each else None for each in kept],
            "_embeddingModel": [space.model if space and each else None for each in kept],
            **self._since(),
        }
        self._add(page, label, more, held, rows)

    def _add(
        self, page: Page, label: str, columns: Mapping[str, Value], held: Held, rows: Sequence[int] | None
    ) -> None:
        """With what the old graph has beside; vectors under their name, or apart where they are not kept."""
        there = self._graph.tables.nodes[label]
        names = {
            name: new
            for name, new in self._names[label].items()
            if name not in columns or not is_of_an_expansion(label, name)
        }
        if "embedding" in there:
            names["embedding"] = "embedding" if self._space else KEPT_APART
        own = {"_depth": 0, "_retryCount": 0, "projectId": self._project, **columns}
        count = len(held) if rows is None else len(rows)
        self._new.add(page, label, own, count, Carried(held=held, places=rows, names=names))

    def _connect(
        self,
        page: Page,
        kind: str,
        columns: Mapping[str, Value],
        held: Held,
        rows: Sequence[int],
        prefix: str = "",
    ) -> None:
        """With what the old relationship says beside."""
        names = {f"{prefix}{name}": name for name in self._graph.tables.edges[kind] if name not in columns}
        carried = Carried(held=held, places=rows, names=names)
        self._new.connect(page, kind, OWN_EDGES[kind], columns, len(rows), carried)

    def _held(self, label: str, within: Mapping[str, int]) -> Held:
        return self._graph.held("node_page", within, list(self._graph.tables.nodes[label]), label=label)

    def _column(self, label: str, held: Held, name: str) -> list[Any]:
        return held.column(name) if name in self._graph.tables.nodes[label] else [None] * len(held)

    def _has_vector(self, label: str, held: Held) -> list[bool]:
        if "embedding" not in self._graph.tables.nodes[label]:
            return [False] * len(held)
        return [length is not None for length in held.lengths("embedding")]

    def _count_pieces(self) -> Counter[Value]:
        """How many pieces there are of each section, by its key; or by the title of its article and its number."""
        there = self._graph.tables.nodes.get("Chunk", {})
        pieces: Counter[Value] = Counter()
        if self._by_edges:
            pieces.update(dict(map(tuple, self._graph.rows("pieces", {}))))
        elif "article_title" in there and "section_index" in there:
            for within in spans(self._graph, "Chunk"):
                rows = self._graph.rows("node_page", within, ["article_title", "section_index"], label="Chunk")
                pieces.update((title, place) for _, title, place in rows)
        return pieces

    def _since(self, times: Sequence[datetime | None] | None = None) -> dict[str, Value]:
        """When they were found: now, unless they say it themselves."""
        if times is None:
            return {"_detectedAt": _naive(self._now), "_stateChangedAt": _naive(self._now)}
        moments = [_naive(time or self._now) for time in times]
        return {"_detectedAt": moments, "_stateChangedAt": moments}

    def _article(self, title: str) -> str:
        return article_uuid(self._project, self._wiki.wiki.name, title)

    def _category(self, name: str) -> str:
        return category_uuid(self._project, self._wiki.wiki.name, name)

    def _url(self, title: str) -> str:
        return self._wiki.article_url.replace("$1", quote(title.replace(" ", "_"), safe="/:@!$*(),;~'"))


def spans(graph: TableGraph, label: str) -> list[dict[str, int]]:
    last, _ = graph.places(label)
    return [{"first": first, "last": first + NODES_AT_ONCE} for first in range(0, last, NODES_AT_ONCE)]


def _sections_text(keys: Sequence[str], rows: Sequence[int], sections: Sections | None) -> str | None:
    if not rows or sections is None:
        return None
    fresh = [sections.states[row] is State.PARSED for row in rows]
    return json.dumps([list(pair) for pair in zip(keys, fresh, strict=True)], ensure_ascii=False)


def _links_text(state: State, targets: Sequence[str]) -> str | None:
    """Of one that is linked; of another they are read, or read again."""
    if state not in (State.LINKED, State.READY):
        return None
    return json.dumps(dict(Counter(targets)), ensure_ascii=False, separators=(",", ":"))


def _shown(state: State) -> str | None:
    shown = states.expansion_state(state, retries_left=False)
    return shown.value if shown else None


def _naive(time: datetime) -> datetime:
    """In UTC, because an embedded engine drops the zone."""
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def _time(value: Value) -> datetime | None:
    """What is no time says nothing about when it was."""
    return value if isinstance(value, datetime) else None
