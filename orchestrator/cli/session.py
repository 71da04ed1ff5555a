"""From the options of a command line to an open store, for the length of one command and one event loop."""

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click

import graph_stores
from graph_stores import Credentials
from graph_stores.protocol import Store
from orchestrator import config
from orchestrator.cli.failures import warn
from orchestrator.cli.options import GlobalOptions
from orchestrator.config import PasswordMissing, Settings

T = TypeVar("T")


def read_settings(options: GlobalOptions) -> Settings:
    settings = config.load(
        {"store": options.store, "project": options.project},
        file=options.config,
        environment=os.environ,
        directory=Path.cwd(),
    )
    for message in settings.warnings:
        warn(message)
    return settings


def with_store(options: GlobalOptions, work: Callable[[Store], Awaitable[T]], *, create: bool = False) -> T:
    """Open the store, do the work, and close it whatever happens."""
    settings = read_settings(options)
    credentials = _credentials(settings)
    _log_to_stderr(verbose=options.verbose)

    async def session() -> T:
        store = await graph_stores.open_store(
            settings.store, project=settings.project, credentials=credentials, create=create
        )
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(session())


def _credentials(settings: Settings) -> Credentials | None:
    if not graph_stores.needs_credentials(settings.store):
        return None
    password = settings.password if settings.password is not None else _asked(settings)
    return Credentials(user=settings.user, password=password)


def _asked(settings: Settings) -> str:
    if not sys.stdin.isatty():
        raise PasswordMissing(
            f"{settings.store} needs a password for {settings.user} and there is no terminal to ask on",
            hint="set NEO4J_PASSWORD, or password in graphmill.toml",
        )
    return str(click.prompt(f"password of {settings.user} at {settings.store}", hide_input=True, err=True))


def _log_to_stderr(*, verbose: bool) -> None:
    """Our own warnings; what libraries say as well is for -v, because their errors reach us as exceptions."""
    for each in (logging.INFO, logging.WARNING, logging.ERROR):
        logging.addLevelName(each, logging.getLevelName(each).lower())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    logging.getLogger().addHandler(logging.NullHandler())
    logger = logging.getLogger() if verbose else logging.getLogger("graphmill")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if verbose else logging.WARNING)
