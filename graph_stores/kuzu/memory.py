"""Keeps the process small: the engine frees in other threads than it allocates in, and the C library keeps it all.

Between two checkpoints the engine keeps all that was written, and of every update 2,048 rows of each of its columns. So
how long its log has become says little about how much memory that takes, and the process itself is looked at.

Does nothing where the C library is another than GNU's, or where the system does not tell what a process takes.
"""

import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

_ARENA_MAX = -8
_FEW = 2
_STATM = Path("/proc/self/statm")
# Looking costs: what is freed is given back first, and not again before it can have made a difference.
_STEPS = 8


def use_few_arenas() -> None:
    """To be called before the engine starts its threads: each arena keeps for itself what was freed in it.

    The thresholds of the library stay its own: with any of them fixed, an ingestion spends half its time in the kernel.
    """
    if library := _library():
        library.mallopt(_ARENA_MAX, _FEW)


def resident() -> int:
    """How many bytes of memory the process takes; 0 where that is not told."""
    try:
        pages = int(_STATM.read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


class Growth:
    """How much more the process takes than after the last checkpoint. It may be by `most` bytes."""

    def __init__(self, most: int, *, size: Callable[[], int] = resident) -> None:
        self._most = most
        self._size = size
        self._base: int | None = None
        self._next = 0

    def begin(self) -> None:
        """From here on: a checkpoint was made, and what it freed was given back."""
        self._base = self._size()
        self._next = self._base + self._most

    def is_too_much(self) -> bool:
        if self._base is None:
            self.begin()
        assert self._base is not None
        if self._size() <= self._next:
            return False
        give_back()
        size = self._size()
        if size > self._base + self._most:
            return True
        self._next = max(self._next, size + self._most // _STEPS)
        return False


def give_back() -> None:
    """What was freed goes back to the system."""
    if library := _library():
        library.malloc_trim(0)


@cache
def _library() -> Any:  # Any: a library's functions have no types
    try:
        library = ctypes.CDLL("libc.so.6")
    except OSError:
        return None
    return library if hasattr(library, "malloc_trim") else None
