"""From a file to what the graph keeps of it. Runs in a process of its own: it takes and returns plain data."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pipelines.files.content import Content, read_content, unpack
from pipelines.files.manifest import Manifest, manifest_of
from pipelines.files.model import CannotRead, Part, file_alias
from pipelines.sending import quickly_sent


@quickly_sent
@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    file: str
    """The uuid of the file's node."""
    location: str
    """Where the file is on this machine."""
    path: str
    """Its path in its root."""
    packed: str | None = None
    """What it held, where it cannot be read at its location; see `pipelines.files.content`."""
    allow_secrets: bool = False
    left_out: str | None = None
    """Why nothing of it is to be read."""


@quickly_sent
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


def _made(task: Task) -> Made:
    from pipelines.files.parsing import parse

    content = read_content(Path(task.location)) if task.packed is None else unpack(task.packed)
    if task.left_out or content.data is None:
        return _left_out(task, task.left_out or content.reason or "there is nothing to read in it", content)
    try:
        document = parse(task.path, content.data, allow_secrets=task.allow_secrets)
    except CannotRead as reason:
        return _left_out(task, str(reason), content)
    return Made(
        content_hash=content.hash,
        modified=content.modified,
        size=content.size,
        extension=_extension(task.path),
        language=document.language,
        mime_type=document.mime_type,
        manifest=manifest_of(document, task.file),
        parts=document.parts,
    )


def _left_out(task: Task, reason: str, content: Content | None = None) -> Made:
    from pipelines.files.kinds import mime_type

    return Made(
        content_hash=content.hash if content else None,
        modified=content.modified if content else None,
        size=content.size if content else None,
        extension=_extension(task.path),
        mime_type=mime_type(task.path),
        # It keeps its name, so that a link to a picture is not a broken one.
        manifest=Manifest(aliases=(file_alias(task.path),), skip=reason),
    )


def _extension(path: str) -> str:
    return PurePosixPath(path).suffix.lower()
