"""A closer look at files that were found: their hash, and the content itself where the root is to bring it along.

Runs where the files are. What it finds comes in portions, each small enough for one commit.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graph_stores.model import Value
from orchestrator.files.roots import Root
from pipelines.files.content import hash_file, pack, read_content
from pipelines.files.model import CannotRead
from pipelines.files.parsing import SVG_REASON, check_readable
from pipelines.files.secrets import is_about_secret
from pipelines.files.walk import Found

# What is kept instead of a hash of a file that cannot be read: it changes as soon as it can be.
UNREADABLE = "unreadable"
_MOST_CHARACTERS = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """`properties` are what the file's node is to wait with; the digest is empty where nobody needed to read it."""

    found: Found
    digest: str = ""
    properties: Mapping[str, Value] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.properties.get("_content") or "")


def reason_to_skip(root: Root, path: str) -> str | None:
    """Why nothing of a file is read, by the checks of the parser. Raises OSError."""
    content = read_content(root.place_of(path))
    if content.data is None:
        return content.reason
    try:
        check_readable(path, content.data, allow_secrets=root.rules.allow_secrets)
    except CannotRead as reason:
        return str(reason)
    return None


def reason_since(root: Root, path: str) -> str | None:
    """Why nothing of a file is read any more, although an earlier version read it."""
    try:
        reason = reason_to_skip(root, path)
    except OSError:
        return None
    return reason if is_about_secret(reason) or reason == SVG_REASON else None


async def looks_at_new(root: Root, files: Sequence[Found]) -> AsyncIterator[list[Look]]:
    """Files that the graph does not have yet. They are not read unless their content is to go with them."""
    if root.stores_content:
        async for portion in looks_at(root, files):
            yield [_hashed(look) for look in portion]
    elif files:
        yield [Look(found=each, properties={"size": each.size}) for each in files]


async def looks_at(root: Root, files: Sequence[Found]) -> AsyncIterator[list[Look]]:
    """Files that are not as they were, as far as one can tell from outside."""
    portions = _portions(root, files)
    while portion := await asyncio.to_thread(next, portions, None):
        yield portion


def _portions(root: Root, files: Sequence[Found]) -> Iterator[list[Look]]:
    portion: list[Look] = []
    size = 0
    for each in files:
        look = _look(root, each)
        if portion and size + look.size > _MOST_CHARACTERS:
            yield portion
            portion, size = [], 0
        portion.append(look)
        size += look.size
    if portion:
        yield portion


def _hashed(look: Look) -> Look:
    """As the node of a new file has it; one that cannot be read yet has no hash, but a size."""
    if look.digest == UNREADABLE:
        return replace(look, properties={"size": look.found.size})
    return replace(look, properties={**look.properties, "_contentHash": look.digest})


def _look(root: Root, found: Found) -> Look:
    place = root.place_of(found.path)
    try:
        if not root.stores_content:
            return Look(found=found, digest=hash_file(place))
        packed = pack(place, found.path, allow_secrets=root.rules.allow_secrets)
    except OSError:
        return Look(found=found, digest=UNREADABLE, properties={"_content": None} if root.stores_content else {})
    properties = {"_content": packed.text, "_modifiedAt": packed.modified, "size": packed.size}
    return Look(found=found, digest=packed.hash, properties=properties)
