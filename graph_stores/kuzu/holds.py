"""Holds on an embedded database: kept in its owner's memory, because nobody else writes, and gone when it is."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from graph_stores.kuzu.frontier import Clock
from graph_stores.model import Fence, checked_seconds


@dataclass(slots=True, kw_only=True)
class _Held:
    owner: str
    token: str | None
    until: float
    commits: int = 0
    """How many are being written that rest on it; while there are any, nobody else gets it."""


class Holds:
    """Asked on the event loop, and by commits on the writing thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._lock = threading.Lock()

    def take(self, name: str, *, owner: str, seconds: float) -> str | None:
        token = uuid4().hex
        with self._lock:
            held = self._held.get(name)
            if held and (held.commits or self._is_live(held)):
                return None
            self._held[name] = _Held(owner=owner, token=token, until=self._clock.monotonic() + checked_seconds(seconds))
        return token

    def renew(self, name: str, *, token: str, seconds: float) -> bool:
        with self._lock:
            held = self._held.get(name)
            if held is None or held.token != token:
                return False
            held.until = self._clock.monotonic() + checked_seconds(seconds)
        return True

    def let_go(self, name: str, *, token: str) -> None:
        with self._lock:
            held = self._held.get(name)
            if held and held.token == token:
                held.token = None

    @contextmanager
    def kept(self, fences: Sequence[Fence | None]) -> Iterator[list[bool]]:
        """Which of the fences stand; those do until the end, even if their time runs out meanwhile."""
        with self._lock:
            standing = [fence is None or self._stands(fence) for fence in fences]
            relied_on = [
                self._held[fence.name] for fence, stands in zip(fences, standing, strict=True) if fence and stands
            ]
            for held in relied_on:
                held.commits += 1
        try:
            yield standing
        finally:
            with self._lock:
                for held in relied_on:
                    held.commits -= 1

    def _stands(self, fence: Fence) -> bool:
        held = self._held.get(fence.name)
        return held is not None and held.token == fence.token and self._is_live(held)

    def _is_live(self, held: _Held) -> bool:
        return held.token is not None and held.until > self._clock.monotonic()
