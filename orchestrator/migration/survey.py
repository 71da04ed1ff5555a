"""What a graph with marks on its nodes holds, and what follows from it for the rules: which vectors a label needs, of
which model and length they are. Reads only."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from graph_stores.legacy import MarkedGraph, MigrationRefused, Row
from orchestrator.migration.marks import CONTENT, Marks
from orchestrator.migration.report import Found, Shape, Verdict
from orchestrator.stages import TEXTS
from pipelines.embedding.embedder import EmbedderChoice, can_open, name_of

PAGE = 10_000
Models = Counter[tuple[str | None, str | None, int]]
"""How many nodes have a vector, by the provider and the model that they name and its length."""
_OTHERS = ("other project", "graphmill", "migrated", "unknown")
_GENERATIONS = ("G0", "G1", "G2", "G3", "mapped", "unmarked")
_SLOTS = ("name", CONTENT, "description")
_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Which model made the vectors that are kept; `assumed`, where a node does not say, because a person did."""

    provider: str
    model: str
    assumed: bool = False
    dimension: int | None = None
    """Where it is known without asking."""

    @property
    def name(self) -> str:
        return name_of(provider=self.provider, model=self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which nodes are meant: of one project and of none, or of all. Those of none come `home`."""

    project: str | None
    home: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What the rules rest on beside a node itself; it stays the same until the migration ends."""

    needs: Mapping[str, Sequence[str]]
    dimension: int | None
    model: Model | None
    spaces: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of projects that have vectors of their own: the only ones that they can keep."""

    def parameters(self) -> dict[str, Any]:
        return {
            "needs": {label: list(slots) for label, slots in self.needs.items()},
            "dimension": self.dimension,
            "provider": self.model.provider if self.model else None,
            "model": self.model.model if self.model else None,
            "assumed": bool(self.model and self.model.assumed),
            "spaces": {project: dict(space) for project, space in self.spaces.items()},
        }

    def dump(self) -> str:
        return json.dumps(self.parameters(), sort_keys=True)

    @classmethod
    def load(cls, text: str) -> "Settled":
        known = json.loads(text)
        model = (
            Model(provider=known["provider"], model=known["model"], assumed=known["assumed"])
            if known["model"]
            else None
        )
        return cls(needs=known["needs"], dimension=known["dimension"], model=model, spaces=known.get("spaces", {}))


@dataclass(slots=True)
class Survey:
    """Groups of like nodes with their counts, of all pages."""

    shapes: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    properties: dict[str, set[str]] = field(default_factory=dict)
    projects: Counter[str] = field(default_factory=Counter)
    slots: dict[str, set[str]] = field(default_factory=dict)
    models: Models = field(default_factory=Counter)
    last: int = -1
    """The largest place there is."""
    decided: set[int] = field(default_factory=set)
    """The first places of pages on which the server can decide everything itself."""
    lacks_ids: bool = False

    def add_page(self, first: int, rows: Sequence[Row]) -> None:
        for row in rows:
            self.add(row)
        open_questions = [
            row for row in rows if row["generation"] in _GENERATIONS and (row["lacksId"] or row["hashed"])
        ]
        if not open_questions:
            self.decided.add(first)
        self.lacks_ids = self.lacks_ids or any(row["lacksId"] for row in open_questions)

    def is_decided(self, page: Mapping[str, int]) -> bool:
        return page["last"] <= self.last and page["first"] - page["first"] % PAGE in self.decided

    def add(self, row: Row) -> None:
        key = (row["generation"], row["label"] or "")
        self.shapes[key] += row["count"]
        self.examples[key] = examples_of(row, self.examples.get(key, ()))
        self.properties.setdefault(row["label"] or "", set()).update(row["properties"])
        if row["project"]:
            self.projects[row["project"]] += row["count"]
        vectors = [slot for slot in _SLOTS if row[f"has{slot.capitalize()}"]]
        if row["generation"] in _GENERATIONS and vectors:
            self.slots.setdefault(row["label"], set()).update(vectors)
            self.models[row["provider"], row["model"], row["dimension"]] += row["count"]

    def of(self, *generations: str) -> int:
        return sum(count for (generation, _), count in self.shapes.items() if generation in generations)

    @property
    def marked(self) -> int:
        return self.of("G0", "G1", "G2", "G3", "mapped")

    @property
    def labels(self) -> list[str]:
        """Of the nodes that a migration moves."""
        return sorted({label for generation, label in self.shapes if generation in _GENERATIONS and label})

    @property
    def adopted(self) -> list[str]:
        """Every label that nodes with a state will go by."""
        return sorted(
            {label for generation, label in self.shapes if generation in (*_GENERATIONS, "migrated") and label}
        )

    @property
    def made_since(self) -> dict[str, int]:
        """graphmill's own nodes, by label, in a graph that had none before it was migrated."""
        found = {label: count for (generation, label), count in self.shapes.items() if generation == "graphmill"}
        return dict(sorted(found.items()))

    @property
    def left(self) -> dict[str, int]:
        found = {label: count for (generation, label), count in self.shapes.items() if generation == "unknown"}
        others = self.of("other project")
        return {**dict(sorted(found.items())), **({"(of other projects)": others} if others else {})}


def base_parameters(marks: Marks, scope: Scope) -> dict[str, Any]:
    return {**marks.parameters(), "project": scope.project, "home": scope.home, "ours": sorted(own_labels())}


def own_labels() -> list[str]:
    """The labels of graphmill's own schema that nodes of a source go by."""
    return ["Article", "Category", "Chunk", "Directory", "File", "MarkdownSection", "Scope", "Section", "TextSection"]


def examples_of(row: Row, before: Sequence[str] = ()) -> list[str]:
    """Three at most: what is there already, and the first and the last of a page."""
    return list(dict.fromkeys(each for each in (*before, row["least"], row["most"]) if each is not None))[:3]


async def take_survey(graph: MarkedGraph, marks: Marks, scope: Scope) -> Survey:
    survey = Survey(last=await graph.last_place())
    parameters = base_parameters(marks, scope)

    async def work(page: Mapping[str, int]) -> None:
        survey.add_page(page["first"], await graph.find("survey", {**parameters, **page}))

    await each_page(survey.last, work, PAGE)
    return survey


async def settle(
    graph: MarkedGraph, survey: Survey, scope: Scope, given: Model | None, configured: Model | None
) -> Settled:
    """The model: the one that was given, or of the graph's vectors, or configured, or that most vectors say."""
    spaces = await graph.spaces()
    space = spaces.get(scope.project or scope.home)
    model = Model(provider=space.provider, model=space.model) if space else None
    if given and model and (given.provider, given.model) != (model.provider, model.model):
        raise MigrationRefused(
            f"the project's vectors are of {model.name}, and --embedding-model says {given.name}",
            hint="leave --embedding-model out, or bring the old graph into another project",
        )
    model = given or model or configured or most_told(survey.models)
    return Settled(
        needs={label: _needed(label, slots) for label, slots in sorted(survey.slots.items())},
        dimension=space.dimension if space else dimension_of(survey.models, model),
        model=model,
        spaces={project: asdict(each) for project, each in spaces.items()},
    )


def _needed(label: str, slots: Iterable[str]) -> list[str]:
    """What one node of a label has all of them need; and what is searched needs the vector of its text."""
    return sorted({*slots, *([CONTENT] if label in TEXTS else [])})


def most_told(models: Models) -> Model | None:
    """The model that most vectors name, of those that graphmill can ask."""
    told: Counter[tuple[str, str]] = Counter()
    for (provider, model, _), count in models.items():
        if provider and model and can_open(EmbedderChoice(name=name_of(provider=provider, model=model))):
            told[provider, model] += count
    if not told:
        return None
    provider, model = min(told, key=lambda each: (-told[each], each))
    return Model(provider=provider, model=model)


def alternatives(survey: Survey, settled: Settled) -> list[tuple[str | None, Settled]]:
    """What the rules would rest on if a person named a model."""
    return [
        (name, replace(settled, model=model, dimension=dimension_of(survey.models, model)))
        for name, model in other_models(survey.models, settled.model)
    ]


def other_models(models: Models, known: Model | None) -> list[tuple[str | None, Model]]:
    """The models that a person could name, the three that most vectors are of: by name, or None for one that no
    vector names."""
    others: dict[str | None, Model] = {}
    for (provider, name, _), _ in models.most_common():
        if provider and name:
            model = Model(provider=provider, model=name, assumed=True)
            others.setdefault(model.name, model)
        elif known:
            others.setdefault(known.name, replace(known, assumed=True))
        else:
            others.setdefault(None, Model(provider="?", model="?", assumed=True))
    return [(name, model) for name, model in others.items() if model != known][:_NAMED]


def vectors_told(models: Models) -> list[dict[str, Any]]:
    """As `detect` prints them, the most frequent first."""
    return [
        {"provider": provider, "model": model, "dimension": dimension, "count": count}
        for (provider, model, dimension), count in sorted(models.items(), key=lambda item: -item[1])
    ]


def dimension_of(models: Models, model: Model | None) -> int | None:
    """The length that most vectors of the model have, or of those that do not name theirs."""
    lengths: Counter[int] = Counter()
    for (provider, name, length), count in models.items():
        if model is None or (provider or model.provider, name or model.model) == (model.provider, model.model):
            lengths[length] += count
    return min(lengths, key=lambda each: (-lengths[each], each)) if lengths else None


def told(survey: Survey, store: str, record: Mapping[str, Any]) -> Found:
    """What was found, in words and numbers."""
    verdict = _verdict(survey)
    return Found(
        store=store,
        verdict=verdict,
        shapes=[
            Shape(generation=generation, label=label, count=count, examples=survey.examples[generation, label])
            for (generation, label), count in sorted(survey.shapes.items())
            if generation != "other project"
        ],
        advice=_advice(verdict, survey, record),
        projects=dict(sorted(survey.projects.items())),
        vectors=vectors_told(survey.models),
        left=survey.left,
    )


def _verdict(survey: Survey) -> Verdict:
    if not survey.shapes:
        return Verdict.EMPTY
    if survey.marked:
        return Verdict.PARTLY if survey.of("migrated") else Verdict.LEGACY
    if survey.of("migrated"):
        return Verdict.MIGRATED
    return Verdict.GRAPHMILL if survey.of("graphmill") else Verdict.FOREIGN


def _advice(verdict: Verdict, survey: Survey, record: Mapping[str, Any]) -> str:
    match verdict:
        case Verdict.EMPTY:
            return "there is nothing to migrate: the graph is empty"
        case Verdict.GRAPHMILL:
            return "there is nothing to migrate: this is graphmill's own graph"
        case Verdict.MIGRATED:
            return "it is migrated: check it with migrate validate; then migrate finalize, or migrate rollback"
        case Verdict.PARTLY:
            return (
                "a migration was begun and is not finished: go on with migrate apply, or go back with migrate rollback"
            )
        case Verdict.LEGACY:
            return "see what would become of it with migrate plan"
    return _foreign(survey)


def _foreign(survey: Survey) -> str:
    seen = [
        f"{label} ({', '.join(sorted(survey.properties.get(label, ()))[:8]) or 'no properties'})"
        for _, label in sorted(survey.shapes, key=lambda key: -survey.shapes[key])[:5]
    ]
    return (
        f"no node has a mark that graphmill knows; it found {'; '.join(seen)}. If some property says how far a node "
        "is, name it in a file for migrate plan --mapping FILE.toml"
    )


async def each_page(last: int, work: Callable[[dict[str, int]], Awaitable[None]], size: int, at_once: int = 3) -> None:
    """All pages up to the last place, a few at a time; the first failure ends it, and what was committed stays."""
    waiting = asyncio.Semaphore(at_once)

    async def run(page: dict[str, int]) -> None:
        try:
            await work(page)
        finally:
            waiting.release()

    try:
        async with asyncio.TaskGroup() as tasks:
            for first in range(0, last + 1, size):
                await waiting.acquire()
                tasks.create_task(run({"first": first, "last": min(first + size - 1, last)}))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
