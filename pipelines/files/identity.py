"""The uuids of what a folder becomes: the same source gives the same uuid, wherever and whenever it is read."""

from hashlib import sha1
from uuid import NAMESPACE_URL, uuid5

_NAMESPACE = uuid5(NAMESPACE_URL, "graphmill:files").bytes


def file_uuid(project: str, root: str, path: str) -> str:
    return _uuid(project, "File", root, path)


def directory_uuid(project: str, root: str, path: str) -> str:
    return _uuid(project, "Directory", root, path)


def part_uuid(file: str, label: str, key: str) -> str:
    return _uuid(file, label, key)


def chunk_uuid(text: str, index: int) -> str:
    """The uuid of a piece of a text that is longer than the model reads."""
    return _uuid(text, "Chunk", str(index))


def _uuid(*names: str) -> str:
    # A name may hold any character but this one, so no two lists of names read the same.
    return _version_5("\0".join(names))


def _version_5(name: str) -> str:
    """`uuid5` as text, in a third of its time: it is made of every part of every file, each time that one is read."""
    made = bytearray(sha1(_NAMESPACE + name.encode(), usedforsecurity=False).digest()[:16])
    made[6] = made[6] & 0x0F | 0x50
    made[8] = made[8] & 0x3F | 0x80
    text = made.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
