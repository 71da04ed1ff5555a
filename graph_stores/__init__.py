"""Opens the store that a URL names. Engines are imported only when their URL is used."""

import shlex
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from graph_stores.errors import (
    MigrationUnfinished,
    Misuse,
    SchemaDamaged,
    SchemaMissing,
    SchemaNewer,
    SchemaOlder,
    UnknownScheme,
)
from graph_stores.protocol import SchemaStatus, Store

_EMBEDDED = ("kuzu", "ladybug")
_SERVED = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
_MODULES = dict.fromkeys(_EMBEDDED, "graph_stores.kuzu") | dict.fromkeys(_SERVED, "graph_stores.neo4j")

DEFAULT_DEADLINE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Who to be on a server. The password never shows in a repr, and so not in a log or a traceback."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Credentials(user={self.user!r}, password=<hidden>)"


def scheme_of(url: str) -> str:
    """The scheme of a store's URL, or a clear refusal."""
    scheme, colon, _ = url.partition(":")
    if not colon or scheme not in _MODULES:
        known = ", ".join(f"{name}:PATH" for name in _EMBEDDED) + ", " + ", ".join(f"{name}://HOST" for name in _SERVED)
        near = get_close_matches(scheme, _MODULES, n=1)
        hint = f"did you mean {near[0]}:?" if near else f"use one of {known}"
        if not colon and Path(url).exists():
            hint = f"did you mean {_EMBEDDED[0]}:{url}?"
        raise UnknownScheme(f"the store {_shown(url)!r} has no scheme that graphmill knows", hint=hint)
    return scheme


def beginnings() -> list[str]:
    """How the URL of a store may begin."""
    return [*(f"{name}:" for name in _EMBEDDED), *(f"{name}://" for name in _SERVED)]


def module_of(url: str) -> str:
    """The package that holds the engine of this store."""
    return _MODULES[scheme_of(url)]


def needs_credentials(url: str) -> bool:
    return scheme_of(url) in _SERVED


def is_embedded(url: str) -> bool:
    """Whether the URL names a path on this machine; False also for a scheme that is not known."""
    return url.partition(":")[0] in _EMBEDDED


def path_of(url: str) -> Path | None:
    """Where an embedded graph is on this machine; None for one on a server."""
    return Path(url.partition(":")[2]).expanduser().resolve() if is_embedded(url) else None


def dialect_of(url: str) -> str:
    """The folder of `cypher` that holds the queries for this store."""
    return module_of(url).rpartition(".")[2]


async def open_store(
    url: str,
    *,
    project: str,
    credentials: Credentials | None = None,
    create: bool = False,
    deadline: float = DEFAULT_DEADLINE,
    share: bool = False,
) -> Store:
    """Open the store; without `create` its schema must be there, whole and of this version.

    With `share`, an embedded store that another process owns is asked through it, and what only a job does is refused.
    """
    way = "share" if share and is_embedded(url) else "open"
    store = await _open(url, way, project=project, credentials=credentials, create=create, deadline=deadline)
    if not create:
        try:
            check_schema(await store.schema(), store.url)
        except BaseException:
            await store.close()
            raise
    return store


async def check_login(url: str, credentials: Credentials | None, *, deadline: float) -> None:
    """Raise what keeps a server from being used; None for credentials asks whether it needs any."""
    await import_module(module_of(url)).check_login(url, credentials, deadline)


def recover(url: str) -> tuple[int, Path | None]:
    """Make an embedded graph usable that its engine cannot read, by giving up its last commits.

    Returns how many are lost, and where the files are as they were; None if the graph was usable.
    """
    if not is_embedded(url):
        raise Misuse(f"{_shown(url)} is not an embedded graph", hint="a server recovers its graphs by itself")
    module = import_module(module_of(url))
    recovered: tuple[int, Path | None] = module.recover(url)
    return recovered


def check_schema(status: SchemaStatus, url: str) -> None:
    """Refuse to work on a graph whose schema this version does not know to be right."""
    graphmill = f"graphmill --store {shlex.quote(url)}"
    init = f"{graphmill} init"
    if status.unfinished and not status.is_current:
        project = status.unfinished.project
        migrate = f"{graphmill}{'' if project is None else f' --project {shlex.quote(project)}'} migrate"
        raise MigrationUnfinished(
            f"a migration of {url} was begun and is not finished",
            hint=f"go on with it: {migrate} apply; or go back: {migrate} rollback",
        )
    if status.found is None:
        raise SchemaMissing(
            f"{url} is not yet a graphmill graph: it has no schema",
            hint=f"create it with: {init}; if an older graph is in it: {graphmill} migrate detect",
        )
    if status.found > status.newest:
        raise SchemaNewer(
            f"the graph has schema version {status.found}, this graphmill knows up to {status.newest}",
            hint="upgrade graphmill: pip install --upgrade graphmill",
        )
    if status.found < status.newest:
        raise SchemaOlder(
            f"the graph has schema version {status.found}, this graphmill needs {status.newest}",
            hint=f"bring it up to date with: {init}",
        )
    if status.missing:
        raise SchemaDamaged(
            f"missing or not online: {', '.join(status.missing)}", hint=f"create them again with: {init}"
        )


async def _open(url: str, way: str, **options: Any) -> Store:
    module = import_module(module_of(url))
    return cast(Store, await getattr(module, way)(url, **options))


def _shown(url: str) -> str:
    """The URL without what may be a password."""
    parts = urlsplit(url)
    return url.replace(f":{parts.password}@", ":…@") if parts.password else url
