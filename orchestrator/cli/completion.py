"""What a shell offers for the value of an option. Needs no engine, so it is quick and works beside a running job."""

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

EMBEDDERS = ("wordllama", "sentence-transformers:", "openai:", "ollama:", "none")
_RECORDED = ("File", "Directory", "Chunk", "Article", "Category", "Wiki")
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def offered(values: Callable[[click.Context], Iterable[str]]) -> Complete:
    """The values that begin as what was typed; none where they cannot be told, which is no reason to disturb."""

    def complete(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
        try:
            return [CompletionItem(value) for value in values(ctx) if value.startswith(typed)]
        except Exception:  # noqa: BLE001 an error would end up in the middle of a command line
            return []

    return complete


def stores(_: click.Context) -> list[str]:
    import graph_stores

    return graph_stores.beginnings()


def query_names(ctx: click.Context) -> list[str]:
    import graph_stores
    from cypher import catalogue
    from orchestrator.cli.session import load_settings

    return [each.name for each in catalogue(graph_stores.dialect_of(load_settings(ctx.obj).store))]


def text_labels(_: click.Context) -> tuple[str, ...]:
    from orchestrator.stages import TEXTS

    return TEXTS


def labels(ctx: click.Context) -> list[str]:
    return sorted((*text_labels(ctx), *_RECORDED))


def projects(ctx: click.Context) -> list[str]:
    """Those that this machine has a ledger of."""
    from orchestrator.cli.session import load_settings
    from orchestrator.ledger.place import projects_of

    settings = load_settings(ctx.obj)
    return sorted({settings.project, *projects_of(settings.store, settings.ledger)})
