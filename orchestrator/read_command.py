"""The commands that read the sources of a project again, for hints: what the graph knows of them is filled in."""

import json
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from graph_stores.protocol import Store
from orchestrator.files.roots import KIND as FILES
from orchestrator.files.roots import Root, read_roots
from orchestrator.wikipedia.wikis import KIND as WIKI
from orchestrator.wikipedia.wikis import Wiki, crawl_of, read_wikis

T = TypeVar("T")
_DAMAGE = (ValueError, TypeError, LookupError)


async def read_command(store: Store, *options: str) -> str:
    """Reads a source of the project with these options; PATH stands for a source only where there is none."""
    if roots := [root for root in (await _known(store, read_roots)).values() if not root.is_foreign]:
        return ingest_command(roots, *options)
    if wikis := list((await _known(store, read_wikis)).values()):
        return _shown(*wikis[0].command(), *options)
    return _shown("ingest", "PATH", *options)


def ingest_command(roots: Sequence[Root], *options: str) -> str:
    return _shown("ingest", *(str(root.location) for root in roots), *options)


async def commands_of_runs(store: Store, uuids: Sequence[str]) -> list[str]:
    """What reads the sources of these runs again; without those that are no longer known."""
    rows = [row for row in (await store.ask("runs", {"source": "", "open": False})).rows if row[0] in uuids]
    roots, wikis = await _known(store, read_roots), await _known(store, read_wikis)
    commands = []
    for _, _, source, _, _, options, *_ in rows:
        kind, _, name = (source or "").partition(":")
        if kind == FILES and name in roots:
            commands.append(ingest_command([roots[name]]))
        elif kind == WIKI and name in wikis:
            commands.append(_shown(*_command_of_run(wikis[name], options)))
    return list(dict.fromkeys(commands))


async def _known(store: Store, read: Callable[[Store], Awaitable[Mapping[str, T]]]) -> Mapping[str, T]:
    """None where a record of them is damaged: the problem that the hint is for must be told all the same."""
    try:
        return await read(store)
    except _DAMAGE:
        return {}


def _command_of_run(wiki: Wiki, options: str | None) -> list[str]:
    try:
        crawl = crawl_of(json.loads(options or "")["crawl"])
    except _DAMAGE:
        crawl = None
    return wiki.command(crawl)


def _shown(*words: str) -> str:
    return shlex.join(["graphmill", *words])
