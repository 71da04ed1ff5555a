"""Stopping a read that runs on another thread: before it starts, while it runs, and never after it."""

import asyncio
import threading

from graph_stores.kuzu.session import Session

# The engine forgets an interruption that comes just before a query starts, so it is repeated.
_AGAIN = 0.05


class Stoppable:
    """The thread tells when it starts and ends; its session may be at somebody else's read right after."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._stopped = False
        self._ended = False

    def started(self, session: Session) -> None:
        with self._lock:
            if self._stopped:
                raise RuntimeError("Interrupted.")
            self._session = session

    def ended(self) -> None:
        with self._lock:
            self._session = None
            self._ended = True

    def stop(self) -> None:
        """Go on interrupting until the thread has ended the read, as long as the event loop runs."""
        with self._lock:
            if self._ended:
                return
            self._stopped = True
            if self._session:
                self._session.interrupt()
        asyncio.get_running_loop().call_later(_AGAIN, self.stop)
