"""Ctrl-C and SIGTERM: a command gets a moment to end cleanly, then the process exits in any case.

A kill is safe at any point, so a call that hangs (an endpoint, a server, a long query on an engine's thread, a write to
a pipe that nothing reads) never keeps the user waiting: when the time is up the process exits, and the next command
resumes the work.
"""

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Set
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import click

from orchestrator.cli.failures import stopped_document
from orchestrator.cli.process import end_process, hearing, seconds_to_stop
from orchestrator.cli.text import dumps

T = TypeVar("T")

STOPPED = "stopped: the same command goes on from here"
# One wish may come as two signals: `timeout` sends it to the process, and again to the process group.
_SAME = 0.25
# For the last message, which a full pipe would block.
_FAREWELL_SECONDS = 0.4


class Stopping:
    """The first signal asks for a good end, within the time. A second one, or the end of the time, ends the process."""

    def __init__(self, *, as_json: bool, code: int | None = None, message: str = STOPPED) -> None:
        self.signal: int | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.ask: Callable[[], None] = lambda: None
        """What a first signal does, called in the loop."""
        self.clean_up: Callable[[], None] = lambda: None
        """What is done before the process exits at once: a terminal that was drawn on is left in order."""
        self.has_told = False
        """The result of the command is being printed: nothing is to be added to it."""
        self._as_json = as_json
        self._message = message
        self._code = code
        self._heard_at = 0.0

    @property
    def exit_code(self) -> int:
        return 128 + (self.signal or signal.SIGINT) if self._code is None else self._code

    def hear(self, number: int) -> None:
        """Called in the thread that hears signals."""
        if self.signal is None:
            self.signal, self._heard_at = number, time.monotonic()
            threading.Thread(target=self._end_late, daemon=True, name="graphmill-stopping").start()
            with suppress(RuntimeError):  # the loop has just been closed: the work is done
                if self.loop:
                    self.loop.call_soon_threadsafe(self.ask)
        elif time.monotonic() - self._heard_at > _SAME:
            self._exit(128 + number)

    def _end_late(self) -> None:
        """Also when the work has ended in time: what prints its result may be blocked by a full pipe."""
        time.sleep(seconds_to_stop())
        self._exit(self.exit_code, self._message)

    def _exit(self, code: int, message: str = "") -> None:
        farewell = threading.Thread(target=self._say_farewell, args=(message,), daemon=True)
        farewell.start()
        farewell.join(_FAREWELL_SECONDS)
        # Not an exception: as after a kill, nothing is left to clean up.
        end_process(code)

    def _say_farewell(self, message: str) -> None:
        self.clean_up()
        if message and not self.has_told:
            print(message, file=sys.stderr, flush=True)
            if self._as_json:
                print(dumps(stopped_document(message)), flush=True)


def run(work: Coroutine[Any, Any, T], stopping: Stopping | None = None, *, as_json: bool = False) -> T:
    """As asyncio.run. `stopping` decides what a signal does; without it Ctrl-C cancels the work."""
    signals = {signal.SIGINT, signal.SIGTERM} if stopping else {signal.SIGINT}
    heard = stopping or Stopping(as_json=as_json, message="stopped")

    async def main() -> T:
        heard.loop = asyncio.get_running_loop()
        if stopping is None:
            heard.ask = partial(cancel, asyncio.current_task())
        return await work

    try:
        with _handled(signals, heard.hear):
            return asyncio.run(main())
    except asyncio.CancelledError:
        if heard.signal is None:
            raise
        heard.has_told = True
        if heard.signal == signal.SIGINT:
            raise click.Abort from None
        raise click.exceptions.Exit(heard.exit_code) from None


@contextmanager
def _handled(signals: Set[signal.Signals], hear: Callable[[int], None]) -> Iterator[None]:
    """Not by the event loop: blocked by a write to a full pipe, it hears nothing. What is ignored stays ignored."""
    handled = [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]
    with hearing(lambda number: hear(number) if number in handled else None):
        former = {number: signal.signal(number, _go_on) for number in handled}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)


def _go_on(*_: object) -> None:
    """A handler that does nothing: a signal without one is not heard."""


def cancel(task: asyncio.Task[Any] | None) -> None:
    if task:
        task.cancel()
