"""What a process of the pool runs: one task after the other from its standard input, a socket, until that ends.

It imports nothing but the module of the work, so that a process is there quickly. It decides nothing: how long a task
may take and what becomes of a dead process is known in `pipelines.pool`.
"""

import importlib
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable
from queue import SimpleQueue
from struct import Struct
from typing import IO, Any

READY, BEGUN, DONE, FAILED, UNSENDABLE = b"R", b"B", b"D", b"F", b"U"
LENGTH = Struct(">Q")


def serve(module: str, name: str) -> None:
    """Never returns: the process ends when its parent closes the socket or dies."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the parent decides what they mean to its processes
        signal.signal(number, signal.SIG_IGN)
    questions, answers = _private_line()
    work: Callable[[Any], object] = getattr(importlib.import_module(module), name)
    tasks: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(questions, tasks), daemon=True).start()
    _send(answers, READY)
    while True:
        body = tasks.get()
        _send(answers, BEGUN)
        _send(answers, *_outcome(work, body))


def _private_line() -> tuple[IO[bytes], IO[bytes]]:
    """The socket under other numbers, out of the way of whatever a library reads from its standard input."""
    line = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(0), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return line


def _receive(questions: IO[bytes], tasks: SimpleQueue[bytes]) -> None:
    """In a thread of its own, so that the end of the parent is also seen in the middle of a long task."""
    try:
        while len(head := questions.read(LENGTH.size)) == LENGTH.size:
            (length,) = LENGTH.unpack(head)
            body = questions.read(length)
            if len(body) < length:
                break
            tasks.put(body)
    finally:  # a parent that dies with an answer unread resets the line
        os._exit(0)


def _send(answers: IO[bytes], kind: bytes, body: bytes = b"") -> None:
    try:
        answers.write(kind + LENGTH.pack(len(body)))
        answers.write(body)
        answers.flush()
    except ConnectionError:  # the parent is gone, and with it whoever would want to know
        os._exit(0)


def _outcome(work: Callable[[Any], object], body: bytes) -> tuple[bytes, bytes]:
    try:
        task = pickle.loads(body)  # noqa: S301 - from the parent, on a line that no other has
    except Exception as error:  # noqa: BLE001 - pickle raises whatever the object does
        return _unsendable("the task", error)
    try:
        result = work(task)
    except Exception as error:  # noqa: BLE001 - raised again in the parent
        return _failure(error)
    try:
        return DONE, pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - pickle raises whatever the object does
        return _unsendable(f"the result, a {type(result).__name__},", error)


def _failure(error: Exception) -> tuple[bytes, bytes]:
    """The error, its traceback as a note. It is made again here once: many errors can be pickled but not unpickled."""
    error.add_note("".join(traceback.format_exception(error)).rstrip())
    what = f"the error {type(error).__name__}: {error}"
    try:
        body = pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
        if type(pickle.loads(body)) is not type(error):  # noqa: S301 - made in the line above
            return _unsendable(what, "it would become another type")
    except Exception as reason:  # noqa: BLE001 - pickle raises whatever the object does
        return _unsendable(what, reason)
    return FAILED, body


def _unsendable(what: str, reason: object) -> tuple[bytes, bytes]:
    return UNSENDABLE, f"{what} cannot go from one process to another: {reason}".encode(errors="replace")
