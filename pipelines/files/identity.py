"""The uuids of what a folder becomes: the same source gives the same uuid, wherever and whenever it is read."""

from uuid import NAMESPACE_URL, uuid5

_NAMESPACE = uuid5(NAMESPACE_URL, "graphmill:files")


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
    return str(uuid5(_NAMESPACE, "\0".join(names)))
