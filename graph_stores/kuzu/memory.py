"""Keeps the process small: the engine frees in other threads than it allocates in, and the C library keeps it all.

Does nothing where the C library is another than GNU's.
"""

import ctypes
from functools import cache
from typing import Any

_ARENA_MAX = -8
_FEW = 2


def use_few_arenas() -> None:
    """To be called before the engine starts its threads: each arena keeps for itself what was freed in it."""
    if library := _library():
        library.mallopt(_ARENA_MAX, _FEW)


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
