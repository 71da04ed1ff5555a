"""Keeps readers and checkpoints of an embedded engine apart."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ReadGate:
    """Many may read at once; a checkpoint needs that nobody does, or the engine stands still for seconds."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._reading = 0
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._reading += 1
        try:
            yield
        finally:
            with self._changed:
                self._reading -= 1
                self._changed.notify_all()

    @contextmanager
    def closed(self, *, wait: bool = True) -> Iterator[bool]:
        with self._changed:
            if not wait and self._reading:
                yield False
                return
            self._closed = True
            self._changed.wait_for(lambda: not self._reading)
        try:
            yield True
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()
