"""`status --watch`: the standing of the graph, again and again, until stopped.

Opens the graph anew each time: one that is embedded must not be kept from the job that is about to start.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from graph_stores.errors import GraphmillError
from orchestrator.cli.process import is_terminal
from orchestrator.cli.session import Session
from orchestrator.cli.stopping import Stopping, run
from orchestrator.cli.tables import outlook, standing_view
from orchestrator.cli.text import printable
from orchestrator.progress import Standing

_ON_A_TERMINAL = 1.0
_IN_A_PIPE = 5.0
Show = Callable[[Standing | GraphmillError], None]


def watch(session: Session, graphmill: str) -> None:
    stopping = Stopping(as_json=False, code=0)
    if is_terminal(sys.stdout):
        with _in_place(graphmill, stopping) as show:
            run(_watch(session, show, stopping, every=_ON_A_TERMINAL), stopping)
    else:
        run(_watch(session, partial(_line, graphmill), stopping, every=_IN_A_PIPE), stopping)


async def _watch(session: Session, show: Show, stopping: Stopping, *, every: float) -> None:
    stop = asyncio.Event()
    stopping.ask, stopping.has_told = stop.set, True
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


@contextmanager
def _in_place(graphmill: str, stopping: Stopping) -> Iterator[Show]:
    console = Console(highlight=False, markup=False, emoji=False)
    with Live(console=console, auto_refresh=False) as live:
        stopping.clean_up = live.stop

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
