"""Tells when something in a root may have changed. What did change is found by comparing, not by trusting events."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from orchestrator.files.roots import Root
from pipelines.files.walk import follows

# A burst of changes is one: events are gathered until nothing came for this long, in milliseconds.
_QUIET = 200
_LONGEST_BURST = 1600
_FIRST_LOOK = 500


async def changes(roots: Sequence[Root], *, own: Path | None, stop: asyncio.Event) -> AsyncIterator[list[Root]]:
    """The roots in which something changed that is followed; at first all of them. Ends when told to stop."""
    from watchfiles import Change, awatch

    def concerns(_: Change, place: str) -> bool:
        return any(_concerns(root, Path(place), own) for root in roots)

    events = awatch(
        *(root.location for root in roots),
        watch_filter=concerns,
        debounce=_LONGEST_BURST,
        step=_QUIET,
        stop_event=stop,
        rust_timeout=_FIRST_LOOK,
        yield_on_timeout=True,
    )
    watching = False
    async for some in events:
        touched = [Path(place) for _, place in some]
        # What changed before the watch began raised no event.
        changed = [root for root in roots if not watching or any(_concerns(root, place, own) for place in touched)]
        watching = True
        if changed:
            yield changed


def _concerns(root: Root, place: Path, own: Path | None) -> bool:
    if place == root.location:
        return True
    if root.location not in place.parents:
        return False
    return follows(root.location, root.rules, place.relative_to(root.location).as_posix(), own=own)
