"""Keeps readers and checkpoints of an embedded engine apart."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from graph_stores.errors import TransientStoreError

# How long a checkpoint waits for a long read before it stops it, and how often it then does: the engine forgets an
# interruption that comes just before a query starts.
_GRACE = 1.0
_AGAIN = 0.05


class StoppedForWriter(TransientStoreError):
    """A long read was in the writer's way."""

    code = "stopped_for_writer"


class ReadGate:
    """Many may read at once; a checkpoint needs that nobody does, or the engine stands still for seconds."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._stoppable: set[Callable[[], None]] = set()
        self._reading = 0
        self._closed = False

    @property
    def is_closed(self) -> bool:
        return self._closed

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
    def giving_way(self, stop: Callable[[], None]) -> Iterator[None]:
        """For a read that may take long: it is stopped where a checkpoint would wait for it; then StoppedForWriter."""
        stopped = False

        def stop_it() -> None:
            nonlocal stopped
            stopped = True
            stop()

        with self._changed:
            self._stoppable.add(stop_it)
        try:
            yield
        except RuntimeError as error:
            if stopped:
                raise StoppedForWriter("the query was stopped because a job had to write", hint="ask again") from error
            raise
        finally:
            with self._changed:
                self._stoppable.discard(stop_it)

    @contextmanager
    def closed(self, *, wait: bool = True) -> Iterator[bool]:
        with self._changed:
            if not wait and self._reading:
                yield False
                return
            self._closed = True
            waited = _GRACE
            while not self._changed.wait_for(lambda: not self._reading, waited):
                for stop in self._stoppable:
                    stop()
                waited = _AGAIN
        try:
            yield True
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()
