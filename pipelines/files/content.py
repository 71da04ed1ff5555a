"""A file packed into a text that a node can hold, so that it can be parsed where the file is not.

With it goes what is otherwise asked of the file itself: its hash, its size and when it was modified. Of a file in which
there is nothing to read only the reason is kept.
"""

import json
import zlib
from base64 import b64decode, b64encode
from dataclasses import dataclass
from hashlib import sha256
from os import fstat
from pathlib import Path

from pipelines.files.model import CannotRead

# Beyond this a text is data: it would become tens of thousands of nodes.
LARGEST = 32 << 20
# A larger file is read where it is: a graph is no place for it.
LARGEST_PACKED = 8 << 20
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What was read of a file. `data` is None where there is nothing to read in it, and `reason` says why."""

    hash: str
    modified: int
    size: int
    data: bytes | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A file as it was; `text` is None where it is too large to be kept."""

    hash: str
    modified: int
    size: int
    text: str | None


def read_content(place: Path) -> Content:
    with place.open("rb") as file:
        stat = fstat(file.fileno())
        if stat.st_size > LARGEST:
            digest, data, reason = hash_file(place), None, f"it is larger than {LARGEST >> 20} MB"
        else:
            data, reason = file.read(), None
            digest = sha256(data).hexdigest()
    return Content(hash=digest, modified=stat.st_mtime_ns, size=stat.st_size, data=data, reason=reason)


def hash_file(place: Path) -> str:
    digest = sha256()
    with place.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def pack(place: Path, path: str, *, allow_secrets: bool = False) -> Packed:
    """The file at a place; its path says what it is read as."""
    from pipelines.files.parsing import check_readable

    content = read_content(place)
    reason = content.reason
    if content.data is not None:
        try:
            check_readable(path, content.data, allow_secrets=allow_secrets)
        except CannotRead as refusal:
            reason = str(refusal)
    return Packed(hash=content.hash, modified=content.modified, size=content.size, text=_text(content, reason=reason))


def unpack(text: str) -> Content:
    document = json.loads(text)
    data = document.get("data")
    return Content(
        hash=document["hash"],
        modified=document["modified"],
        size=document["size"],
        data=zlib.decompress(b64decode(data)) if data is not None else None,
        reason=document.get("reason"),
    )


def _text(content: Content, *, reason: str | None) -> str | None:
    document: dict[str, str | int] = {"hash": content.hash, "modified": content.modified, "size": content.size}
    if reason is not None:
        return json.dumps(document | {"reason": reason})
    if content.data is None or content.size > LARGEST_PACKED:
        return None
    return json.dumps(document | {"data": b64encode(zlib.compress(content.data)).decode("ascii")})
