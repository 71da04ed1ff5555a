"""From a file on disk to what the graph keeps of it. Runs in a process of its own: it takes and returns plain data."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from pipelines.files.manifest import Manifest, manifest_of
from pipelines.files.model import CannotRead, Part, file_alias

# Beyond this a text is data: it would become tens of thousands of nodes.
LARGEST = 32 << 20
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    file: str
    """The uuid of the file's node."""
    location: str
    """Where the file is on this machine."""
    path: str
    """Its path in its root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """`modified` and `size` are of the very bytes that were read; None where there was nothing to read."""

    content_hash: str | None
    modified: int | None
    size: int | None
    extension: str
    language: str | None = None
    mime_type: str | None = None
    manifest: Manifest
    parts: Sequence[Part] = ()


class CannotOpen(Exception):
    """The file is there and may not be read."""


def make(task: Task) -> Made:
    """Read and parse one file; what is not to be read is a reason in the manifest."""
    try:
        return _made(task)
    except (FileNotFoundError, NotADirectoryError):
        return _left_out(task, "it was gone when it was to be read")
    except IsADirectoryError:
        return _left_out(task, "it was a folder when it was to be read")
    except OSError as error:
        raise CannotOpen(f"cannot be read: {error.strerror or error}") from error


def hash_file(location: Path) -> str:
    digest = sha256()
    with location.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _made(task: Task) -> Made:
    from os import fstat

    with Path(task.location).open("rb") as file:
        stat = fstat(file.fileno())
        if stat.st_size > LARGEST:
            content_hash, data = hash_file(Path(task.location)), None
        else:
            data = file.read()
            content_hash = sha256(data).hexdigest()
    known: dict[str, str | int] = {"content_hash": content_hash, "modified": stat.st_mtime_ns, "size": stat.st_size}
    if data is None:
        return _left_out(task, f"it is larger than {LARGEST >> 20} MB", **known)
    return _parsed(task, data, known)


def _parsed(task: Task, data: bytes, known: dict[str, str | int]) -> Made:
    from pipelines.files.parsing import parse

    try:
        document = parse(task.path, data)
    except CannotRead as reason:
        return _left_out(task, str(reason), **known)
    return Made(
        extension=_extension(task.path),
        language=document.language,
        mime_type=document.mime_type,
        manifest=manifest_of(document, task.file),
        parts=document.parts,
        **known,  # type: ignore[arg-type]
    )


def _left_out(task: Task, reason: str, **known: str | int) -> Made:
    from pipelines.files.kinds import mime_type

    nothing = {"content_hash": None, "modified": None, "size": None}
    return Made(
        extension=_extension(task.path),
        mime_type=mime_type(task.path),
        # It keeps its name, so that a link to a picture is not a broken one.
        manifest=Manifest(aliases=(file_alias(task.path),), skip=reason),
        **(nothing | known),  # type: ignore[arg-type]
    )


def _extension(path: str) -> str:
    return PurePosixPath(path).suffix.lower()
