"""Who owns an embedded database: one process at a time, and one handle in it.

The kernel holds the lock, so it ends with its process however that ends; the file's text only says whose it is and
where its owner can be spoken to, and may be that of an owner who is dead.
"""

import fcntl
import json
import os
import re
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from graph_stores.errors import ReadOnlyPlace, StoreClosed, StoreOwned

_owned: dict[Path, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """What a lock file says of its last owner."""

    name: str
    host: str
    socket: Path | None
    """Where it answers; None while it opens or closes the graph."""
    answers: bool
    """Whether it will ever: an earlier version of graphmill, and one that found no place for a socket, does not."""
    guest: bool
    """Whether it needs the graph for one command only, and gives way to a job."""


class Ownership:
    """The lock on one database. A second Database object on a path would drop the engine's own lock when it closes,
    so this lock is taken before the engine is asked for anything."""

    def __init__(self, path: Path, descriptor: int, *, guest: bool) -> None:
        self.path = path
        self.deaths = _deaths(descriptor)
        """How many owners before this one ended, one after another, without closing the database."""
        self._guest = guest
        self._descriptor = descriptor
        self._process = os.getpid()

    @classmethod
    def take(cls, path: Path, *, guest: bool = False) -> Self:
        if is_owned_here(path):
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
            owner = _described(descriptor)
            os.close(descriptor)
            raise StoreOwned(
                f"{path} is in use by {owner.name if owner else 'another process'}",
                hint="wait until it ends, or stop that process",
            ) from None
        _owned[path] = os.getpid()
        ownership = cls(path, descriptor, guest=guest)
        ownership.announce(None)
        return ownership

    def announce(self, socket: Path | None, *, answers: bool = True) -> None:
        """Say where the owner can be spoken to; None for not now."""
        # Where there is no room for the text, the lock holds all the same.
        with suppress(OSError):
            _describe(
                self._descriptor,
                socket=str(socket) if socket else None,
                answers=answers,
                guest=self._guest,
                deaths=self.deaths,
            )

    def check(self) -> None:
        """A handle that came over a fork would hang in the engine."""
        if os.getpid() != self._process:
            raise StoreClosed(
                f"{self.path} was opened by process {self._process}, this is process {os.getpid()}",
                hint="open the store again in the new process; start processes with spawn, not fork",
            )

    def release(self, *, closed: bool = True) -> None:
        """Let go. An owner that could not close the database leaves its name, as one that was killed does."""
        if os.getpid() == self._process:
            _owned.pop(self.path, None)
            if closed:
                os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def lock_file(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def is_owned_here(path: Path) -> bool:
    """Whether this process owns the database."""
    return _owned.get(path) == os.getpid()


def owner_of(path: Path) -> Owner | None:
    """Whom the lock file names. Taking the lock would tell who is alive, and might refuse an owner who just comes."""
    try:
        descriptor = os.open(lock_file(path), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _described(descriptor)
    finally:
        os.close(descriptor)


def _describe(descriptor: int, **more: object) -> None:
    owner = {
        "process": os.getpid(),
        "host": socket.gethostname(),
        "command": _command(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        **more,
    }
    text = json.dumps(owner).encode()
    os.pwrite(descriptor, text, 0)
    os.ftruncate(descriptor, len(text))


def _deaths(descriptor: int) -> int:
    """One more than the owner counted that is named still: it did not close the database."""
    text = os.pread(descriptor, 65536, 0)
    try:
        return int(json.loads(text).get("deaths", 0)) + 1 if text else 0
    except (ValueError, TypeError, AttributeError):
        return 1


def _command() -> str:
    """What was typed, without what may be long or private: a query, or the value of a parameter."""
    words = [Path(sys.argv[0]).name, *sys.argv[1:]]
    return " ".join(word if re.fullmatch(r"[\w./:-]{1,60}", word) else "…" for word in words)[:200]


def _described(descriptor: int) -> Owner | None:
    """None while the owner has the lock but has not yet written its name."""
    try:
        told = json.loads(os.pread(descriptor, 65536, 0))
        place = told.get("socket")
        return Owner(
            name=f"process {told['process']} on {told['host']} ({told['command']}) since {told['since']}",
            host=told["host"],
            socket=Path(place) if place else None,
            answers=bool(told.get("answers")),
            guest=bool(told.get("guest")),
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
