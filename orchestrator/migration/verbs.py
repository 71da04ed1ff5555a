"""From what a person asked for to the migration of the graph that is there: which kind it is, and with which words."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import graph_stores
from graph_stores import Credentials
from graph_stores.errors import Misuse
from graph_stores.legacy import open_legacy
from orchestrator.config import Settings
from orchestrator.migration.mapping import read_mapping_file
from orchestrator.migration.marked import MarkedMigration, Wishes
from orchestrator.migration.marks import Marks
from orchestrator.migration.report import Found, Outcome
from orchestrator.migration.survey import Model, Scope
from pipelines.embedding.embedder import EmbedderChoice, can_open, model_of, names_space


class Migration(Protocol):
    async def detect(self) -> Found: ...
    async def plan(self) -> Outcome: ...
    async def cypher(self) -> str: ...
    async def apply(self) -> Outcome: ...
    async def validate(self) -> Outcome: ...
    async def rollback(self, *, accept_losses: bool = False) -> Outcome: ...
    async def finalize(self) -> Outcome: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    settings: Settings
    credentials: Credentials | None = None
    mapping: Path | None = None
    embedding_model: str | None = None
    wiki: str | None = None
    retry_empty: bool = False


@asynccontextmanager
async def opened(
    order: Order, progress: Callable[[int, int], None] = lambda done, of: None
) -> AsyncIterator[Migration]:
    """The migration of the graph that the settings name."""
    settings = order.settings
    mapping = read_mapping_file(order.mapping) if order.mapping else None
    marks = mapping.marks if mapping else Marks()
    given = _given(order.embedding_model)
    graph = await open_legacy(settings.store, project=settings.project, credentials=order.credentials)
    try:
        if hasattr(graph, "last_place"):
            scope = Scope(project=settings.project if settings.is_given("project") else None, home=settings.project)
            wishes = Wishes(scope=scope, marks=marks, given=given, configured=_configured(settings))
            yield MarkedMigration(graph, wishes, progress)
        else:
            from orchestrator.migration.making import TableWishes
            from orchestrator.migration.tables import TableMigration
            from orchestrator.migration.wiki import WikiChoice

            wiki = WikiChoice(
                lang=settings.lang,
                api_url=settings.api_url,
                name=order.wiki,
                contact=settings.contact,
                rate=settings.rate,
            )
            tables = TableWishes(
                project=settings.project,
                model=given or _configured(settings),
                wiki=wiki,
                retry_empty=order.retry_empty,
                mapping=mapping,
                beside=_beside(settings),
            )
            yield TableMigration(graph, tables, progress)
    finally:
        await graph.close()


def _beside(settings: Settings) -> list[Path]:
    """Its ledger. The cache of vectors is by text, and right for any graph: it stays."""
    path = graph_stores.path_of(settings.store)
    return [path.with_name(f"{path.name}.ledger")] if path else []


def _given(name: str | None) -> Model | None:
    if name is None:
        return None
    if not names_space(name):
        raise Misuse(
            f"--embedding-model {name!r} names no model",
            hint="write wordllama, or PROVIDER:MODEL, such as openai:text-embedding-3-small or gemini:embedding-001",
        )
    return replace(_model(name), assumed=True)


def _configured(settings: Settings) -> Model | None:
    """Only where a person chose it: the default is no word on what made the vectors of an older graph."""
    named = settings.is_given("embedder") and can_open(EmbedderChoice(name=settings.embedder))
    return _model(settings.embedder) if named else None


def _model(name: str) -> Model:
    provider, model = model_of(name)
    return Model(provider=provider, model=model, dimension=256 if provider == "wordllama" else None)
