"""Who owns an embedded database: one process at a time, and one handle in it.

The kernel holds the lock, so it ends with its process however that ends; the file's text is only for people.
"""

import fcntl
import json
import os
import re
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from graph_stores.errors import ReadOnlyPlace, StoreClosed, StoreOwned

_owned: dict[Path, int] = {}


class Ownership:
    """The lock on one database. A second Database object on a path would drop the engine's own lock when it closes,
    so this lock is taken before the engine is asked for anything."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._process = os.getpid()

    @classmethod
    def take(cls, path: Path) -> Self:
        if _owned.get(path) == os.getpid():
            raise StoreOwned(f"{path} is already open in this process", hint="close the other handle first")
        lock = lock_file(path)
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError as error:
            raise ReadOnlyPlace(
                f"there is no folder {path.parent}", hint=f"make it first: mkdir -p {path.parent}"
            ) from error
        except OSError as error:
            raise ReadOnlyPlace(
                f"cannot write beside {path}: {error.strerror}", hint="choose a folder that you may write to"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(descriptor)
            os.close(descriptor)
            raise StoreOwned(f"{path} is in use by {owner}", hint="wait until it ends, or stop that process") from None
        _describe(descriptor)
        _owned[path] = os.getpid()
        return cls(path, descriptor)

    def check(self) -> None:
        """A handle that came over a fork would hang in the engine."""
        if os.getpid() != self._process:
            raise StoreClosed(
                f"{self._path} was opened by process {self._process}, this is process {os.getpid()}",
                hint="open the store again in the new process; start processes with spawn, not fork",
            )

    def release(self) -> None:
        if os.getpid() == self._process:
            _owned.pop(self._path, None)
            os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def lock_file(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _describe(descriptor: int) -> None:
    owner = {
        "process": os.getpid(),
        "host": socket.gethostname(),
        "command": _command(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(owner).encode(), 0)


def _command() -> str:
    """What was typed, without what may be long or private: a query, or the value of a parameter."""
    words = [Path(sys.argv[0]).name, *sys.argv[1:]]
    return " ".join(word if re.fullmatch(r"[\w./:-]{1,60}", word) else "…" for word in words)[:200]


def _owner(descriptor: int) -> str:
    try:
        owner = json.loads(os.pread(descriptor, 4096, 0))
    except ValueError:  # the owner has the lock but has not yet written its name
        return "another process"
    return f"process {owner['process']} on {owner['host']} ({owner['command']}) since {owner['since']}"
