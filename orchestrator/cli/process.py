"""The process of one command, from its start to its end: what Ctrl-C does where no event loop runs.

Imports nothing heavy, so that nothing comes before it. With an event loop, `stopping` takes over.
"""

import os
import signal
import sys
import threading
import time
from contextlib import suppress

VARIABLE = "GRAPHMILL_STOP_SECONDS"
DEFAULT_SECONDS = 1.4
_INTERRUPTED = 130

_interrupted = threading.Event()


def command() -> None:
    """The program `graphmill`."""
    # While modules are imported, and when the interpreter shuts down, Ctrl-C just ends the process. A SIGINT that is
    # ignored, as in a shell's background jobs, stays ignored.
    is_handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_handled:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from orchestrator.cli.entry import main

    if is_handled:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        main()
    finally:
        if _interrupted.is_set():
            _exit()
        if is_handled:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _exit() -> None:
    """Not by way of the interpreter's shutdown: a full pipe blocks it, and by then no thread can end the process."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or None
            stream.flush()
    os._exit(_INTERRUPTED)


def _interrupt(*_: object) -> None:
    """Raises; ends the process if that takes too long, or at a second Ctrl-C."""
    if _interrupted.is_set():
        os._exit(_INTERRUPTED)
    _interrupted.set()
    threading.Thread(target=_exit_late, daemon=True).start()
    raise KeyboardInterrupt


def _exit_late() -> None:
    time.sleep(seconds_to_stop())
    os._exit(_INTERRUPTED)


def seconds_to_stop() -> float:
    try:
        return max(0.0, float(os.environ.get(VARIABLE, "")))
    except ValueError:
        return DEFAULT_SECONDS


def can_ask() -> bool:
    """Whether there is a terminal to ask a person on. A stream that was closed is None."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
