"""What a shell offers for the value of an option. Needs no engine, so it is quick and works beside a running job."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

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


def complete_store(_ctx: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
    """The beginnings of a URL; after that of an embedded engine, what is on the disk."""
    import graph_stores

    _, colon, path = typed.partition(":")
    if not colon:
        return [CompletionItem(each) for each in graph_stores.beginnings() if each.startswith(typed)]
    if not graph_stores.is_embedded(typed):
        return []
    folder, slash, name = path.rpartition("/")
    try:
        found = sorted(Path(f"{folder}{slash}" or ".").expanduser().iterdir())
    except (OSError, RuntimeError):  # there is no such folder, or no such user
        return []
    return [
        CompletionItem(f"{typed.removesuffix(name)}{each.name}{'/' if each.is_dir() else ''}")
        for each in found
        if each.name.startswith(name)
    ]


@add_completion_class
class Bash(BashComplete):
    """Bash splits `--store=kuzu:./graph.kuzu` at : and =, and replaces only what is behind the last of them."""

    _kept = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        words: list[str] = []
        for word in (*args, incomplete):
            if words and (word in (":", "=") or (word and words[-1].endswith((":", "=")))):
                words[-1] += word
            else:
                words.append(word)
        if incomplete:
            value = words[-1].partition("=")[2] or words[-1]
            self._kept = value[: value.rfind(":") + 1]
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem[Any]) -> str:
        return f"{item.type},{str(item.value).removeprefix(self._kept)}"


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
