"""The migration of an older expansion, in tables with keys of their own: a new graph takes the old one's place.

The uuids are those that `expand` would give, so that it goes on with these articles and does not make them twice.
Killed before the new graph has taken its place, the old one is untouched and the same command begins anew.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_stores.legacy import MigrationRefused, Moved, TableGraph
from graph_stores.model import VectorSpace
from orchestrator.migration.pages import ArticlePage, read_page
from orchestrator.migration.rebuild import Rebuild
from orchestrator.migration.report import Found, Outcome, Problem, Shape, Verdict, summed
from orchestrator.migration.survey import Model
from orchestrator.migration.wiki import WikiChoice
from orchestrator.states import State

KNOWN = ("Article", "Section", "Category", "Chunk")
_EDGES = ("HAS_SECTION", "LINKS_TO", "IN_CATEGORY", "HAS_CHUNK")
_PAGE = 2_000
_MARKED = "_migratedBy"
_TEXTS = ("Section", "Chunk")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWishes:
    project: str
    model: Model | None
    wiki: WikiChoice
    retry_empty: bool = False


class TableMigration:
    def __init__(self, graph: TableGraph, wishes: TableWishes, progress: Callable[[int, int], None]) -> None:
        self._graph = graph
        self._wishes = wishes
        self._progress = progress

    async def detect(self) -> Found:
        return await self._graph.in_thread(self._detect)

    async def plan(self) -> Outcome:
        return await self._graph.in_thread(self._plan)

    async def cypher(self) -> str:
        raise MigrationRefused(
            "this graph is not changed in place: a new one is built of it",
            hint="see what becomes of it with migrate plan; the queries are in cypher/kuzu/migration",
        )

    async def apply(self) -> Outcome:
        if self._is_migrated:
            return Outcome(store=self._graph.url, moved=[], backup=self._backup)
        self._refuse_others()
        wiki = await self._wishes.wiki.known()
        return await self._graph.in_thread(lambda: self._apply(wiki))

    async def validate(self) -> Outcome:
        if not self._record:
            raise MigrationRefused("this graph was not migrated", hint="see: graphmill migrate detect")
        return await self._graph.in_thread(self._validate)

    async def rollback(self) -> Outcome:
        record = self._record
        # Of a backup that was being dropped when somebody was killed nobody knows how much there is.
        if record.get("finalized") or not self._graph.backup.exists():
            raise MigrationRefused(
                "the migration was finalized: what it replaced is not there any more"
                if record.get("finalized")
                else "there is nothing to undo: this graph was not migrated",
                hint="only a backup of your own can bring it back" if record else "see: graphmill migrate detect",
            )
        count = sum(each[3] for each in record.get("rules", ()))
        await self._graph.in_thread(self._graph.restore)
        return Outcome(store=self._graph.url, moved=[Moved(rule="rollback", label="", to="as before", count=count)])

    async def finalize(self) -> Outcome:
        record = self._record
        if record.get("finalized") and self._graph.backup.exists():
            await self._graph.in_thread(self._graph.drop_backup)
            return Outcome(store=self._graph.url, moved=[])
        if not record or record.get("finalized"):
            raise MigrationRefused(
                "there is nothing to finish: no node was migrated", hint="see: graphmill migrate detect"
            )
        count = sum(each[3] for each in record["rules"])
        await self._graph.in_thread(lambda: self._finalize(record))
        return Outcome(store=self._graph.url, moved=[Moved(rule="finalize", label="", to="final", count=count)])

    @property
    def _is_migrated(self) -> bool:
        return bool(self._record)

    @property
    def _record(self) -> dict[str, Any]:
        if not self._graph.is_graphmill:
            return {}
        rows = self._graph.rows("record_read", {})
        return dict(json.loads(rows[0][0])) if rows else {}

    @property
    def _backup(self) -> str | None:
        return str(self._graph.backup) if self._graph.backup.exists() else None

    @property
    def _is_expansion(self) -> bool:
        columns = self._graph.tables.nodes.get("Article", {})
        return "expansion_state" in columns and "uuid" not in columns

    def _detect(self) -> Found:
        counts = {label: self._graph.places(label)[1] for label in self._graph.tables.nodes if label != "GraphmillMeta"}
        verdict = self._verdict(counts)
        generation = {Verdict.LEGACY: "expansion", Verdict.FOREIGN: "unknown"}.get(verdict, verdict.value)
        shapes = [
            Shape(
                generation=generation if label in KNOWN or verdict is not Verdict.LEGACY else "unknown",
                label=label,
                count=count,
                examples=self._examples(label),
            )
            for label, count in sorted(counts.items())
            if count
        ]
        return Found(
            store=self._graph.url,
            verdict=verdict,
            shapes=shapes,
            advice=self._advice(verdict, counts),
            vectors=self._vectors() if verdict is Verdict.LEGACY else (),
            left={label: counts[label] for label in self._others()} if verdict is Verdict.LEGACY else {},
        )

    def _verdict(self, counts: Mapping[str, int]) -> Verdict:
        if self._record and not self._record.get("finalized"):
            return Verdict.MIGRATED
        if self._graph.is_graphmill:
            return Verdict.GRAPHMILL
        if self._is_expansion:
            return Verdict.LEGACY
        return Verdict.FOREIGN if any(counts.values()) else Verdict.EMPTY

    def _advice(self, verdict: Verdict, counts: Mapping[str, int]) -> str:
        match verdict:
            case Verdict.LEGACY:
                return "see what would become of it with migrate plan"
            case Verdict.MIGRATED:
                return "it is migrated: check it with migrate validate; then migrate finalize, or migrate rollback"
            case Verdict.FOREIGN:
                seen = "; ".join(
                    f"{label} ({', '.join(list(self._graph.tables.nodes[label])[:8])})" for label in sorted(counts)
                )
                return (
                    f"no table is one that graphmill knows; it found {seen}. An expansion has a table Article with the "
                    "columns title and expansion_state: rename yours, or put the graph on a server and give a --mapping"
                )
        return "there is nothing to migrate: " + (
            "the graph is empty" if verdict is Verdict.EMPTY else "this is graphmill's own graph"
        )

    def _examples(self, label: str) -> list[str]:
        key = next(iter(self._graph.tables.nodes[label]))
        rows = self._graph.rows("node_page", {"first": 0, "last": 3}, [key], label=label)
        return [str(row[0]) for row in rows]

    def _vectors(self) -> list[dict[str, Any]]:
        found = [(label, self._dimension(label)) for label in _TEXTS if label in self._graph.tables.nodes]
        return [
            {"provider": None, "model": None, "dimension": dimension, "count": self._graph.places(label)[1]}
            for label, dimension in found
            if dimension
        ]

    def _dimension(self, label: str = "Section") -> int | None:
        kind = self._graph.tables.nodes.get(label, {}).get("embedding", "")
        number = kind.rpartition("[")[2].removesuffix("]")
        return int(number) if kind.startswith(("DOUBLE[", "FLOAT[")) and number.isdigit() else None

    def _space(self) -> VectorSpace | None:
        """What the vectors are kept as; None where nobody knows what made them, or their length is another."""
        model, dimension = self._wishes.model, self._dimension()
        if model is None or dimension is None or (model.dimension and model.dimension != dimension):
            return None
        return VectorSpace(provider=model.provider, model=model.model, dimension=dimension)

    def _others(self) -> list[str]:
        return sorted(label for label in self._graph.tables.nodes if label not in KNOWN)

    def _refuse_others(self) -> None:
        if self._graph.is_graphmill:
            raise MigrationRefused("this is graphmill's own graph", hint="there is nothing to migrate")
        if not self._is_expansion:
            raise MigrationRefused(
                "nothing in this graph is known",
                hint=self._advice(Verdict.FOREIGN, dict.fromkeys(self._graph.tables.nodes, 0)),
            )
        edges = [kind for kind in self._graph.tables.edges if kind not in _EDGES]
        if others := [*self._others(), *edges]:
            raise MigrationRefused(
                f"the graph has tables that would be lost: {', '.join(others)}",
                hint="copy them elsewhere and drop them first; nothing was changed",
            )

    def _pages(self) -> "list[tuple[int, int]]":
        last, _ = self._graph.places("Article")
        return [(first, min(first + _PAGE, last)) for first in range(0, last, _PAGE)]

    def _plan(self) -> Outcome:
        self._refuse_others()
        space = self._space()
        tally = Tallied()
        for first, last in self._pages():
            page = read_page(self._graph, first, last, kept=space is not None, retry_empty=self._wishes.retry_empty)
            tally.add(page)
        if "Category" in self._graph.tables.nodes:
            tally.count("c-category", "Category", State.PARSED, self._graph.places("Category")[1])
        self._plan_lone(tally, kept=space is not None)
        moved, unknown = summed(tally.moved())
        return Outcome(
            store=self._graph.url,
            moved=moved,
            unknown=unknown,
            model=self._wishes.model.name if space and self._wishes.model else None,
            dimension=space.dimension if space else None,
        )

    def _plan_lone(self, tally: "Tallied", *, kept: bool) -> None:
        """Sections without an article, and pieces of texts."""
        if "Section" in self._graph.tables.nodes:
            for has_vector, _ in self._graph.rows("lone_sections", self._everything("Section"), ["section_id"]):
                tally.count("s-lone", "Section", State.READY if kept and has_vector else State.LINKED)
        if "Chunk" in self._graph.tables.nodes:
            for has_vector, _ in self._graph.rows("chunk_page", self._everything("Chunk"), ["chunk_id"], label="Chunk"):
                ready = kept and has_vector
                tally.count("k-chunk" if ready else "k-no-vector", "Chunk", State.READY if ready else State.SKIP)

    def _everything(self, label: str) -> dict[str, int]:
        return {"first": 0, "last": self._graph.places(label)[0]}

    def _apply(self, wiki: Any) -> Outcome:  # Any: a wiki as expansion knows it
        began = time.monotonic()
        self._graph.check_room()
        space = self._space()
        tally = Tallied()
        pages = self._pages()
        with self._graph.building(self._wishes.project, space) as new:
            rebuild = Rebuild(self._graph, new, project=self._wishes.project, wiki=wiki, space=space)
            rebuild.prepare()
            rebuild.categories(tally)
            for number, (first, last) in enumerate(pages, 1):
                page = read_page(
                    self._graph, first, last, kept=space is not None, retry_empty=self._wishes.retry_empty, whole=True
                )
                tally.add(page)
                rebuild.articles(page)
                self._progress(number, 2 * len(pages))
            rebuild.rest(tally)
            for number, (first, last) in enumerate(pages, 1 + len(pages)):
                rebuild.links(first, last)
                self._progress(number, 2 * len(pages))
            rebuild.finish()
            moved, unknown = summed(tally.moved())
            record = {"rules": [[each.rule, each.label, each.to, each.count] for each in moved], "unknown": unknown}
            new.run("record_write", {"text": json.dumps(record)})
        self._graph.take_place()
        return Outcome(
            store=self._graph.url,
            moved=moved,
            unknown=unknown,
            model=self._wishes.model.name if space and self._wishes.model else None,
            dimension=space.dimension if space else None,
            backup=self._backup,
            seconds=time.monotonic() - began,
        )

    def _validate(self) -> Outcome:
        record = self._record
        moved: list[Moved] = []
        problems: list[Problem] = []
        checks = [("in no legal state", "check_states", label) for label in KNOWN]
        if self._dimension():
            checks += [("ready without a vector", "check_vectors", label) for label in _TEXTS]
        checks.append(("ready although a section is not at rest", "check_wholes", "Article"))
        if not record.get("finalized"):
            for label in KNOWN:
                moved += [
                    Moved(rule=rule, label=label, to=to, count=count)
                    for rule, to, count in self._graph.rows("moved", {}, label=label)
                ]
            for about, question, label in checks:
                parameters = {"states": [state.value for state in State]} if question == "check_states" else {}
                rows = self._graph.rows(question, parameters, label=label)
                if rows:
                    examples = [row[0] for row in rows[:3]]
                    problems.append(Problem(problem=about, label=label, count=len(rows), examples=examples))
            problems += _unreconciled(record, moved)
        all_moved, _ = summed(moved)
        return Outcome(
            store=self._graph.url,
            moved=all_moved,
            unknown=record.get("unknown", {}),
            problems=problems,
            backup=self._backup,
        )

    def _finalize(self, record: Mapping[str, Any]) -> None:
        with self._graph.writing() as own:
            for label in KNOWN:
                gone = [name for name in (_MARKED, "legacy_embedding") if name in self._graph.tables.nodes[label]]
                own.drop_columns(label, gone)
            own.run("record_write", {"text": json.dumps({**record, "finalized": True})})
        self._graph.drop_backup()


@dataclass(slots=True)
class Tallied:
    """What was decided so far."""

    counts: Counter[tuple[str, str, str, str | None]] = field(default_factory=Counter)
    examples: dict[tuple[str, str, str, str | None], list[str]] = field(default_factory=dict)

    def count(
        self, rule: str, label: str, to: State, count: int = 1, *, unknown: str | None = None, example: str = ""
    ) -> None:
        if count:
            key = (rule, label, to.value, unknown)
            self.counts[key] += count
            if example and len(self.examples.setdefault(key, [])) < 3:
                self.examples[key].append(example)

    def add(self, page: ArticlePage) -> None:
        for article in page.articles:
            unknown = article.word if article.fate.rule == "10-unknown-word" else None
            self.count(article.fate.rule, "Article", article.fate.state, unknown=unknown, example=article.title)
            for section in article.sections:
                self.count("s-of-article", "Section", section.state)

    def moved(self) -> list[Moved]:
        return [
            Moved(
                rule=rule,
                label=label,
                to=to,
                count=count,
                unknown=unknown,
                examples=self.examples.get((rule, label, to, unknown), ()),
            )
            for (rule, label, to, unknown), count in self.counts.items()
        ]


def _unreconciled(record: Mapping[str, Any], moved: Sequence[Moved]) -> list[Problem]:
    noted: Counter[tuple[str, str]] = Counter()
    for rule, label, _, count in record["rules"]:
        noted[rule, label] += count
    found: Counter[tuple[str, str]] = Counter()
    for each in moved:
        found[each.rule, each.label] += each.count
    return [
        Problem(
            problem=f"rule {rule} moved {noted[rule, label]:,}, and {found[rule, label]:,} say so",
            label=label,
            count=abs(noted[rule, label] - found[rule, label]),
        )
        for rule, label in sorted(noted.keys() | found.keys())
        if noted[rule, label] != found[rule, label]
    ]
