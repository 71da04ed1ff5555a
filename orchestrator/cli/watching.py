"""`status --watch`: the standing of the graph, again and again, until stopped.

Opens the graph anew each time: one that is embedded must not be kept from the job that is about to start.
"""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from graph_stores.errors import GraphmillError
from orchestrator.cli.session import Session
from orchestrator.cli.tables import outlook, standing_view
from orchestrator.cli.text import printable
from orchestrator.progress import Standing

_ON_A_TERMINAL = 1.0
_IN_A_PIPE = 5.0
Show = Callable[[Standing | GraphmillError], None]


def watch(session: Session, graphmill: str) -> None:
    if sys.stdout.isatty():
        with _in_place(graphmill) as show:
            asyncio.run(_watch(session, show, every=_ON_A_TERMINAL))
    else:
        asyncio.run(_watch(session, partial(_line, graphmill), every=_IN_A_PIPE))


async def _watch(session: Session, show: Show, *, every: float) -> None:
    stop = _stop_on_signals()
    show(await session.standing())
    while not stop.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(every):
                await stop.wait()
            return
        try:
            show(await session.standing())
        except GraphmillError as error:
            # Between two jobs the graph may be out of reach for a moment.
            if not error.transient:
                raise
            show(error)


def _stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


@contextmanager
def _in_place(graphmill: str) -> Iterator[Show]:
    console = Console(highlight=False, markup=False, emoji=False)
    with Live(console=console, auto_refresh=False) as live:

        def show(seen: Standing | GraphmillError) -> None:
            live.update(_picture(seen, graphmill), refresh=True)

        yield show


def _picture(seen: Standing | GraphmillError, graphmill: str) -> Group:
    shown = Text(printable(seen.message)) if isinstance(seen, GraphmillError) else standing_view(seen, graphmill)
    return Group(shown, Text("\nCtrl-C to stop", "dim"))


def _line(graphmill: str, seen: Standing | GraphmillError) -> None:
    if isinstance(seen, GraphmillError):
        print(printable(seen.message), flush=True)
        return
    states = [f"{printable(state)} {count:,}" for state, count in seen.states.items()]
    print(" · ".join([*states, outlook(seen, graphmill).plain]), flush=True)
