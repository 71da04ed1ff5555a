"""What must hold between a node and what it was made of: its parts, its text, its vector and its pieces."""

import json
from collections.abc import AsyncIterator

from graph_stores.protocol import Store
from graph_stores.values import LONGEST, SHORTEST
from orchestrator.checking import Check, Example, asking
from orchestrator.paging import paged
from pipelines.files.manifest import load

_PAGE = 2000
EMBED_ANEW = "have them embedded again: graphmill verify --repair, then graphmill worker --drain"


async def _odd_vectors(store: Store) -> AsyncIterator[Example]:
    # Where there is no space there may be no such property, and an engine refuses to be asked for it.
    if space := await store.vector_space():
        asked = asking("odd-vectors", dimension=space.dimension, least=SHORTEST, most=LONGEST)
        async for example in asked(store):
            yield example


async def _of_another_text(store: Store) -> AsyncIterator[Example]:
    from pipelines.embedding import text_hash

    async for rows in paged(store, "check-texts", limit=_PAGE):
        for uuid, label, name, content, digest in rows:
            # A migration by an older graphmill noted the first characters of a hash, or this word.
            if digest != "migrated" and not (len(digest) > 7 and text_hash(content or "").startswith(digest)):
                yield Example(label=label, uuid=uuid, found=name or "")


async def _without_parts(store: Store) -> AsyncIterator[Example]:
    async for rows in paged(store, "check-parts-of-files", limit=_PAGE):
        for uuid, path, manifest, parts in rows:
            if (wanted := _pieces(manifest, uuid)) != parts:
                yield Example(label="File", uuid=uuid, found=f"{path}: {parts} parts instead of {_shown(wanted)}")
    async for rows in paged(store, "check-parts-of-articles", limit=_PAGE):
        for uuid, title, sections, parts in rows:
            if (wanted := _sections(sections)) != parts:
                yield Example(label="Article", uuid=uuid, found=f"{title}: {parts} parts instead of {_shown(wanted)}")


def _pieces(manifest: str, file: str) -> int | None:
    """None where what is remembered of the file cannot be read."""
    try:
        return len(load(manifest, file).pieces)
    except (ValueError, TypeError):
        return None


def _sections(text: str) -> int | None:
    try:
        return len(json.loads(text))
    except (ValueError, TypeError):
        return None


def _shown(count: int | None) -> str:
    return "what nobody can read" if count is None else str(count)


CHECKS = (
    Check(
        name="odd-vector",
        about="have a vector of another length than all others, or one without a direction",
        hint=EMBED_ANEW,
        find=_odd_vectors,
    ),
    Check(
        name="stale-vector",
        about="are ready with the vector of another text",
        hint=EMBED_ANEW,
        find=_of_another_text,
    ),
    Check(
        name="lost-piece",
        about="have more or fewer pieces than they were cut into",
        hint=EMBED_ANEW,
        find=asking("chunks"),
    ),
    Check(
        name="lost-part",
        about="do not hold what was made of them",
        hint="have them read again: graphmill verify --repair, then graphmill worker --drain",
        find=_without_parts,
    ),
)
