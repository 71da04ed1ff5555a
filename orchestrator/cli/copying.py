"""One copy from the command line: both graphs made ready, progress shown, signals heard."""

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import click

import graph_stores
from graph_stores.errors import StoreNotFound, StoreOwned
from graph_stores.protocol import Store
from orchestrator.cli.options import GlobalOptions
from orchestrator.cli.process import is_terminal
from orchestrator.cli.running import make_schema
from orchestrator.cli.session import Session
from orchestrator.cli.stopping import STOPPED, Stopping, cancel
from orchestrator.cli.stopping import run as run_async
from orchestrator.cli.text import duration, pace, printable
from orchestrator.copying.copy import Begun, Copied, Copy, check_apart, check_carried
from orchestrator.copying.origin import DEADLINE
from orchestrator.copying.reading import Origin, reading

_PATIENCE, _PAUSE = 10.0, 0.1
_LINE_EVERY, _BAR_EVERY = 5.0, 0.5


def run(options: GlobalOptions, source: str, target: str, *, merge: bool) -> tuple[Copied | None, int]:
    """What was copied, and the exit code; nothing where a signal came before the end."""
    check_apart(source, target)
    if (path := graph_stores.path_of(source)) and not path.exists():
        raise StoreNotFound(
            f"there is no graph at {path} to be copied", hint="check the first of the two: FROM, then TO"
        )
    # One login for both: two servers with different ones are copied by way of a file.
    served = next((url for url in (source, target) if graph_stores.needs_credentials(url)), target)
    session = Session.begin(options, store=served)
    origin = Origin(url=source, project=session.settings.project, credentials=session.credentials)
    stopping = Stopping(as_json=options.json)
    try:
        return run_async(_copied(session, origin, target, stopping, merge=merge), stopping), 0
    except (click.Abort, click.exceptions.Exit):
        print(STOPPED, file=sys.stderr)
        return None, stopping.exit_code


async def _copied(session: Session, origin: Origin, target: str, stopping: Stopping, *, merge: bool) -> Copied:
    stopping.ask = partial(cancel, asyncio.current_task())
    path = graph_stores.path_of(target)
    # First the source: where there is nothing to be copied, no target is made.
    async with reading(origin, again=path is None or path.exists()) as source:
        check_carried(source, target)
        store = await _target(session, target)
        try:
            await make_schema(store)
            with _view(stopping) as view:
                copy = Copy(source=source, target=store, merge=merge, say=view.say)
                showing = asyncio.create_task(view.follow(copy.begun))
                try:
                    return await copy.run()
                finally:
                    showing.cancel()
                    await asyncio.wait([showing])
        finally:
            await store.close()


async def _target(session: Session, url: str) -> Store:
    give_up = time.monotonic() + _PATIENCE
    while True:
        try:
            return await graph_stores.open_store(
                url,
                project=session.settings.project,
                credentials=session.credentials,
                create=True,
                deadline=DEADLINE,
            )
        except StoreOwned:
            if time.monotonic() > give_up:
                raise
            await asyncio.sleep(_PAUSE)


class _Lines:
    """A line every few seconds, if something changed."""

    every = _LINE_EVERY

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._last = ""

    def say(self, text: str) -> None:
        with suppress(BrokenPipeError):
            print(printable(text), file=sys.stderr, flush=True)

    async def follow(self, begun: Begun) -> None:
        while True:
            await asyncio.sleep(self.every)
            self.show(begun)

    def show(self, begun: Begun) -> None:
        line = told(begun, time.monotonic() - self._began)
        if line != self._last:
            self.say(line)
        self._last = line


class _Bar(_Lines):
    """One bar on a terminal, over all that is to be copied and compared; gone in the end."""

    every = _BAR_EVERY

    def __init__(self, bars: Any) -> None:  # Any: rich is imported where there is a terminal
        super().__init__()
        self._bars = bars
        self._task = bars.add_task("copy", total=None, told="")

    def say(self, text: str) -> None:
        self._bars.console.print(printable(text))

    def show(self, begun: Begun) -> None:
        line = told(begun, time.monotonic() - self._began)
        self._bars.update(self._task, completed=begun.nodes, total=begun.of_nodes or None, told=line)


@contextmanager
def _view(stopping: Stopping) -> Iterator[_Lines]:
    if not is_terminal(sys.stderr):
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, console=console, transient=True) as bars:
        stopping.clean_up = bars.stop
        yield _Bar(bars)


def told(begun: Begun, seconds: float) -> str:
    """How far it is, its pace, and how long the nodes will take."""
    if begun.compared:
        return f"comparing: {begun.compared:,} of {begun.nodes + begun.edges:,}"
    if begun.edges:
        return f"{begun.nodes:,} nodes, {begun.edges:,} relationships"
    parts = [f"{begun.nodes:,} of {begun.of_nodes:,} nodes"]
    if begun.nodes and seconds > 0:
        rate = begun.nodes / seconds
        parts.append(pace(rate))
        if begun.nodes < begun.of_nodes:
            parts.append(f"about {duration((begun.of_nodes - begun.nodes) / rate)}")
    return " · ".join(parts)
