"""The process of one command: how it hears signals, and how it ends at once.

Imports nothing heavy, so that nothing comes before it.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

VARIABLE = "GRAPHMILL_STOP_SECONDS"
DEFAULT_SECONDS = 1.4
_INTERRUPTED = 130
_SOON = 1.0


def _ignore(_: int) -> None: ...


class _Process:
    hear: Callable[[int], None] = staticmethod(_ignore)
    wakeup: int | None = None
    caught_up = threading.Event()
    interrupted = False
    terminal: list[Any] | None = None
    """How the terminal was before its echo was turned off, while it is."""


def command() -> None:
    """The program `graphmill`."""
    # While modules are imported, and when the interpreter shuts down, Ctrl-C just ends the process. A SIGINT that is
    # ignored, as in a shell's background jobs, stays ignored.
    is_handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_handled:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from orchestrator.cli.entry import main

    if is_handled:
        with hearing(_end_late), suppress(KeyboardInterrupt):
            signal.signal(signal.SIGINT, _interrupt)
            try:
                main()
            finally:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                if _Process.interrupted:
                    _exit_flushed()
        if _Process.interrupted:
            _exit_flushed()
    else:
        main()


@contextmanager
def hearing(hear: Callable[[int], None]) -> Iterator[None]:
    """Call `hear` for each signal that has a handler, in a thread of its own.

    A handler runs only when the main thread gets to its next bytecode: never, if the signal came just before a write to
    a pipe that nothing reads. The interpreter writes the number to the wakeup descriptor at once.
    """
    former, _Process.hear = _Process.hear, hear
    before = signal.set_wakeup_fd(_listened(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        _catch_up()
        _Process.hear = former


def _catch_up() -> None:
    """Wait until what came before is heard."""
    assert _Process.wakeup is not None
    _Process.caught_up.clear()
    with suppress(BlockingIOError):
        os.write(_Process.wakeup, bytes(1))
        _Process.caught_up.wait(_SOON)


def _listened() -> int:
    """The descriptor that the thread listens at; the thread is started once."""
    if _Process.wakeup is None:
        reading, _Process.wakeup = os.pipe()
        os.set_blocking(_Process.wakeup, False)
        threading.Thread(target=_listen, args=(reading,), daemon=True, name="graphmill-signals").start()
    return _Process.wakeup


def _listen(reading: int) -> None:
    while heard := os.read(reading, 1):
        if number := heard[0]:
            _Process.hear(number)
        else:
            _Process.caught_up.set()


def _interrupt(*_: object) -> None:
    _Process.interrupted = True
    raise KeyboardInterrupt


def _end_late(number: int) -> None:
    """Where no event loop runs: in a while, or at a second Ctrl-C."""
    if number == signal.SIGINT:
        _Process.hear = _end_at_once
        threading.Thread(target=_end_after, args=(seconds_to_stop(),), daemon=True).start()


def _end_at_once(_: int) -> None:
    end_process(_INTERRUPTED)


def _end_after(seconds: float) -> None:
    time.sleep(seconds)
    end_process(_INTERRUPTED)


def _exit_flushed() -> None:
    """Not by way of the interpreter's shutdown: a full pipe blocks it, and by then no thread can end the process."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or None
            stream.flush()
    end_process(_INTERRUPTED)


def end_process(code: int) -> None:
    """At once, as by a kill; a terminal without echo gets it back."""
    if _Process.terminal is not None:
        import termios

        with suppress(OSError, termios.error):
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, _Process.terminal)
    os._exit(code)


@contextmanager
def hidden_input() -> Iterator[None]:
    """Echo may be off within: it is on again however the process ends."""
    import termios

    with suppress(OSError, termios.error):
        _Process.terminal = termios.tcgetattr(sys.stdin.fileno())
    try:
        yield
    finally:
        _Process.terminal = None


def seconds_to_stop() -> float:
    try:
        return max(0.0, float(os.environ.get(VARIABLE, "")))
    except ValueError:
        return DEFAULT_SECONDS


def is_terminal(stream: TextIO | None) -> bool:
    """A stream that was closed is None."""
    return stream is not None and stream.isatty()


def can_ask() -> bool:
    """Whether there is a terminal to ask a person on."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)
