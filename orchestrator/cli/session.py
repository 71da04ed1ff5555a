"""From the options of a command line to an open store, for the length of one command and one event loop."""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

import graph_stores
from graph_stores import Credentials
from graph_stores.errors import AuthenticationFailed, TransientStoreError
from graph_stores.protocol import Store
from orchestrator import config
from orchestrator.cli import stopping
from orchestrator.cli.failures import warn
from orchestrator.cli.options import GlobalOptions
from orchestrator.cli.process import can_ask, hidden_input
from orchestrator.cli.text import printable
from orchestrator.config import PasswordMissing, Settings
from orchestrator.leases import owner_name

if TYPE_CHECKING:
    from orchestrator.ledger.scribe import Scribe
    from orchestrator.progress import Done, Standing
    from pipelines.embedding import EmbedderChoice

T = TypeVar("T")

_LOGIN_SECONDS = 10.0
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a command works with: its settings and who it is; the store is opened when it is needed."""

    settings: Settings
    credentials: Credentials | None
    as_json: bool = False
    owner: str = field(default_factory=owner_name)
    """Who this process is, in the graph and in the ledger."""

    @classmethod
    def begin(cls, options: GlobalOptions, *, waits: bool = False, **flags: Any) -> Self:  # Any: as the setting's kind
        """Read the settings, ask for what is missing, and let warnings be seen.

        With `waits`, wait for a server that does not answer yet.
        """
        settings = read_settings(options, **flags)
        credentials = stopping.run(_login(settings, waits=waits), as_json=options.json)
        _log_to_stderr(verbose=options.verbose)
        return cls(settings=settings, credentials=credentials, as_json=options.json)

    def embedder(self) -> "EmbedderChoice":
        """The one of the settings."""
        from pipelines.embedding import EmbedderChoice

        settings = self.settings
        return EmbedderChoice(name=settings.embedder, url=settings.embedder_url, key=settings.embedder_key)

    async def embedder_of(self, store: Store) -> "EmbedderChoice":
        """The one that was asked for, or else the one that the graph was embedded with."""
        from pipelines.embedding import name_of

        asked, space = self.embedder(), await store.vector_space()
        name = name_of(provider=space.provider, model=space.model) if space else None
        if name is None or (self.settings.is_given("embedder") and asked.name != name):
            return asked
        return replace(asked, name=name, of_graph=True)

    async def open(self, *, create: bool = False, share: bool = False) -> Store:
        """The store; with `share` it may be the owner of the database that answers."""
        return await graph_stores.open_store(
            self.settings.store,
            project=self.settings.project,
            credentials=self.credentials,
            create=create,
            share=share,
        )

    @asynccontextmanager
    async def store(self, *, create: bool = False, share: bool = False) -> AsyncIterator[Store]:
        """The store, closed whatever happens."""
        store = await self.open(create=create, share=share)
        self.keep_ledger(store)
        try:
            yield store
        finally:
            await store.close()

    def keep_ledger(self, store: Store) -> "Scribe | None":
        """Have every change that the store commits written down, unless there is to be no ledger."""
        if (folder := self.ledger_folder()) is None:
            return None
        from orchestrator.ledger.scribe import Scribe

        scribe = Scribe(folder, writer=self.owner)
        store.listen(scribe)
        return scribe

    def keep_whole_ledger(self, store: Store) -> "Scribe | None":
        """The same, where it is a ledger of all who work on the graph."""
        return self.keep_ledger(store) if self._knows_everybody else None

    @property
    def _knows_everybody(self) -> bool:
        """Each machine has a ledger of its own, unless it was told where there is one for all."""
        return graph_stores.is_embedded(self.settings.store) or self.settings.ledger is not None

    def ledger_folder(self) -> Path | None:
        if not self.settings.keeps_ledger:
            return None
        from orchestrator.ledger.place import folder_of

        return folder_of(self.settings.store, self.settings.project, self.settings.ledger)

    def done_lately(self) -> "Done | None":
        """What was done lately, by the ledger; None where that does not know of all who work."""
        if (folder := self.ledger_folder()) is None or not self._knows_everybody:
            return None
        from orchestrator.ledger.pace import done_lately
        from orchestrator.progress import LONGEST_WINDOW

        try:
            return done_lately(folder, window=LONGEST_WINDOW)
        except Exception as error:  # noqa: BLE001 the graph can be asked as well
            logging.getLogger("graphmill.ledger").info("the ledger %s cannot be read: %s", folder, error)
            return None

    async def standing(self) -> "Standing":
        """Where the graph stands, for a person who asks."""
        from orchestrator.progress import read_standing

        done = await asyncio.to_thread(self.done_lately)
        return await self.ask(lambda store: read_standing(store, done=done))

    async def ask(self, work: Callable[[Store], Awaitable[T]]) -> T:
        """Open, do what may happen while a job runs, and close."""
        async with self.store(share=True) as store:
            return await work(store)

    def run(self, work: Callable[[Store], Awaitable[T]], *, share: bool = True) -> T:
        """One thing that is asked of the graph, in an event loop of its own; without `share` nobody else has it."""

        async def run() -> T:
            async with self.store(share=share) as store:
                return await work(store)

        return stopping.run(run(), as_json=self.as_json)


def read_settings(options: GlobalOptions, **flags: Any) -> Settings:  # Any: as the setting's kind is
    settings = load_settings(options, **flags)
    for message in settings.warnings:
        warn(message)
    return settings


def load_settings(options: GlobalOptions, **flags: Any) -> Settings:  # Any: as the setting's kind is
    """Without a word about what is wrong with them."""
    return config.load(
        {"store": options.store, "project": options.project, "ledger": _ledger(options), **flags},
        file=options.config,
        environment=os.environ,
        directory=Path.cwd(),
    )


def _ledger(options: GlobalOptions) -> str | None:
    return config.OFF if options.no_ledger else options.ledger


def with_store(options: GlobalOptions, work: Callable[[Store], Awaitable[T]]) -> T:
    """One thing that is asked of the graph, or done to it, while a job may be running."""
    return Session.begin(options).run(work)


async def _login(settings: Settings, *, waits: bool) -> Credentials | None:
    """Who to be on the server. Only one that refuses to do without makes graphmill ask for a password."""
    if not graph_stores.needs_credentials(settings.store):
        return None
    given = None
    if settings.password is not None:
        given = Credentials(user=settings.user, password=settings.password)
    if given and not waits:
        return given
    wait = _FIRST_WAIT
    while True:
        try:
            await graph_stores.check_login(settings.store, given, deadline=_LOGIN_SECONDS)
        except AuthenticationFailed:
            if given:
                raise
            return Credentials(user=settings.user, password=_asked(settings))
        except TransientStoreError as error:
            if not waits:
                return given  # the command finds out by itself, and tells
            if wait == _FIRST_WAIT:
                _tell(f"waiting for the server: {error.message} (Ctrl-C stops)")
            await asyncio.sleep(wait)
            wait = min(_LONGEST_WAIT, wait * 1.5)
        else:
            if wait > _FIRST_WAIT:
                _tell(f"{settings.store} answers")
            return given


def _tell(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)


def _asked(settings: Settings) -> str:
    if not can_ask():
        raise PasswordMissing(
            f"{settings.store} needs a password for {settings.user} and there is no terminal to ask on",
            hint="set NEO4J_PASSWORD, or password in graphmill.toml",
        )
    with hidden_input():
        return str(click.prompt(f"password of {settings.user} at {settings.store}", hide_input=True, err=True))


class _Aloud(logging.Handler):
    """On standard error as it is at the time: while there are bars on a terminal, above them."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            print(self.format(record), file=sys.stderr)
        except OSError:
            self.handleError(record)


def _log_to_stderr(*, verbose: bool) -> None:
    """Our own warnings; what libraries say as well is for -v, because their errors reach us as exceptions."""
    for each in (logging.INFO, logging.WARNING, logging.ERROR):
        logging.addLevelName(each, logging.getLevelName(each).lower())
    handler = _Aloud()
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    logging.getLogger().addHandler(logging.NullHandler())
    logger = logging.getLogger() if verbose else logging.getLogger("graphmill")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if verbose else logging.WARNING)
