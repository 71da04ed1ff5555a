"""Where the owner of an embedded database can be spoken to, and who may: processes of the same user, nobody else.

The socket lies beside the database where its path is short enough, else in a folder of the user's own.
"""

import hashlib
import os
import socket
import stat
import struct
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

# The kernels take 104 to 108 bytes, with a zero at the end.
_LONGEST = 100
_BACKLOG = 256
_LINUX_CREDENTIALS = struct.Struct("3i")
# struct xucred of the BSDs: version, user, number of groups, sixteen groups.
_BSD_CREDENTIALS = struct.Struct("IIh2x16I")


def listen(database: Path) -> tuple[socket.socket, Path]:
    """A listening socket for the database, and its path; only its owner may call this, so what is there is stale."""
    failed: OSError | None = None
    for place in chain([database.with_name(f"{database.name}.sock")], _elsewhere(database)):
        if len(os.fsencode(place)) > _LONGEST or not _is_free(place):
            continue
        try:
            return _listening(place), place
        except OSError as error:  # a file system without sockets, or without room
            failed = error
    raise failed or OSError(f"there is no place for a socket of {database}")


def peer_of(connected: socket.socket) -> int:
    """The user id of the process at the other end, from the kernel."""
    if sys.platform == "linux":
        credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX_CREDENTIALS.size)
        return int(_LINUX_CREDENTIALS.unpack(credentials)[1])
    credentials = connected.getsockopt(0, 1, _BSD_CREDENTIALS.size)  # SOL_LOCAL, LOCAL_PEERCRED
    return int(_BSD_CREDENTIALS.unpack(credentials)[1])


def is_same_user(connected: socket.socket) -> bool:
    return peer_of(connected) == os.geteuid()


def _listening(place: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(os.fspath(place))
        # Nobody can connect before listen, so there is no moment at which others may.
        place.chmod(0o600)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def _is_free(place: Path) -> bool:
    """Whether a socket can be put there; that of a dead owner is removed, anything else is somebody's."""
    try:
        found = place.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if not stat.S_ISSOCK(found.st_mode):
        return False
    with suppress(OSError):
        place.unlink()
    return not place.exists()


def _elsewhere(database: Path) -> Iterator[Path]:
    """In folders of the user's own, under a name that the next owner of the database comes to as well."""
    name = f"{hashlib.sha256(os.fsencode(database)).hexdigest()[:16]}.sock"
    for root in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):  # noqa: S108 private within
        if root and _is_private(folder := Path(root) / f"graphmill-{os.geteuid()}"):
            yield folder / name


def _is_private(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077
