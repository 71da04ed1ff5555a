"""Who may change what is in a ledger's folder beside his own segment: one at a time, and nothing that is read goes."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_UPKEEP = "upkeep.lock"
_READING = "reading.lock"


@contextmanager
def upkeep(folder: Path, *, wait: bool = False) -> Iterator[bool]:
    """Whether it is ours to compress, to take snapshots and to compact; with `wait` it is in the end."""
    with _locked(folder / _UPKEEP, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB) as ours:
        yield ours


@contextmanager
def removing(folder: Path) -> Iterator[bool]:
    """Whether nobody reads just now, so that files may go."""
    with _locked(folder / _READING, fcntl.LOCK_EX | fcntl.LOCK_NB) as ours:
        yield ours


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """No file goes meanwhile. Where locks cannot be had, as in a folder of somebody else's, one does without."""
    try:
        with _locked(folder / _READING, fcntl.LOCK_SH):
            yield
    except _NoLock:
        yield


class _NoLock(OSError):
    """The file to lock cannot be opened."""


@contextmanager
def _locked(path: Path, how: int) -> Iterator[bool]:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as cause:
        raise _NoLock(*cause.args) from cause
    try:
        yield _taken(file, how)
    finally:
        # A process that was forked meanwhile would keep it.
        fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)


def _taken(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    return True
