"""How a command ends on Ctrl-C: what ends quickly ends well, and then the process ends in any case.

A kill is safe at any point, so a call that hangs (an endpoint, a server, a long query on an engine's thread) never
keeps the user waiting: once the time is over the process exits, and the next command goes on from there.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

import click

from orchestrator.cli.failures import stopped_document
from orchestrator.cli.text import dumps

T = TypeVar("T")

VARIABLE = "GRAPHMILL_STOP_SECONDS"
DEFAULT_SECONDS = 1.5
STOPPED = "stopped: the same command goes on from here"
# One wish may come as two signals: `timeout` sends it to the process, and again to the process group.
_SAME = 0.25


def seconds_to_stop() -> float:
    try:
        return max(0.0, float(os.environ.get(VARIABLE, "")))
    except ValueError:
        return DEFAULT_SECONDS


class Stopping:
    """The first signal asks for a good end, within the time. A second one, or the end of the time, ends the process."""

    def __init__(self, *, as_json: bool, code: int | None = None, message: str = STOPPED) -> None:
        self.signal: int | None = None
        self.ask: Callable[[], None] = lambda: None
        """What a first signal does."""
        self.clean_up: Callable[[], None] = lambda: None
        """What is done before the process exits at once: a terminal that was drawn on is left in order."""
        self.has_told = False
        """The result of the command is being printed: nothing is to be added to it."""
        self._as_json = as_json
        self._message = message
        self._code = code
        self._heard_at = 0.0
        self._ended = threading.Event()

    @property
    def exit_code(self) -> int:
        return 128 + (self.signal or signal.SIGINT) if self._code is None else self._code

    def hear(self, number: int) -> None:
        if self.signal is None:
            self.signal, self._heard_at = number, time.monotonic()
            # A thread, because the event loop may be busy or over by then.
            threading.Thread(target=self._end_late, daemon=True, name="graphmill-stopping").start()
            self.ask()
        elif time.monotonic() - self._heard_at > _SAME:
            self._exit(128 + number)

    def end(self) -> None:
        """The work ended in time: nothing but the printing of its result is left."""
        self._ended.set()

    def _end_late(self) -> None:
        if not self._ended.wait(seconds_to_stop()):
            self._exit(self.exit_code, self._message)

    def _exit(self, code: int, message: str = "") -> None:
        try:
            self.clean_up()
            if message and not self.has_told:
                print(message, file=sys.stderr, flush=True)
                if self._as_json:
                    print(dumps(stopped_document(message)), flush=True)
        finally:
            # Not an exception: nothing is to be tidied up, as after a kill.
            os._exit(code)


def run(work: Coroutine[Any, Any, T], stopping: Stopping | None = None, *, as_json: bool = False) -> T:
    """As asyncio.run. What a signal does is said by `stopping`; without it Ctrl-C cancels the work."""
    signals = (signal.SIGINT, signal.SIGTERM) if stopping else (signal.SIGINT,)
    heard = stopping or Stopping(as_json=as_json, message="stopped")

    async def main() -> T:
        loop = asyncio.get_running_loop()
        if stopping is None:
            heard.ask = partial(cancel, asyncio.current_task())
        for number in signals:
            loop.add_signal_handler(number, heard.hear, number)
        return await work

    try:
        result = asyncio.run(main())
        heard.end()
        return result
    except asyncio.CancelledError:
        if heard.signal is None:
            raise
        heard.has_told = True
        if heard.signal == signal.SIGINT:
            raise click.Abort from None
        raise click.exceptions.Exit(heard.exit_code) from None


def cancel(task: asyncio.Task[Any] | None) -> None:
    if task:
        task.cancel()
