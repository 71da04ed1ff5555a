"""Tells when something in a root may have changed. What did change is found by comparing, not by trusting events."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path

from orchestrator.files.roots import Root
from pipelines.files.walk import follows

# A burst of changes is one: events are gathered until nothing came for this long, in milliseconds.
_QUIET = 200
_LONGEST_BURST = 1600
_FIRST_LOOK = 500


async def changes(roots: Sequence[Root], *, own: Path | None, stop: asyncio.Event) -> AsyncGenerator[list[Root], None]:
    """The roots in which something changed that is followed; at first all of them. Ends when told to stop.

    A root that vanishes, comes back or is mounted has changed too. No event tells of that, so it is looked for.
    """
    there: dict[str, object] = {}
    while not stop.is_set():
        before, there = there, await asyncio.to_thread(_identities, roots)
        # What changed before the watch began raised no event.
        changed = {root for root in roots if not before or before[root.name] != there[root.name]}
        watched = [root for root in roots if there[root.name]]
        with suppress(FileNotFoundError):  # a root that vanished just now
            async with aclosing(_events(watched, own=own, stop=stop)) as events:
                async for touched in events:
                    changed |= {root for root in watched if any(_concerns(root, place, own) for place in touched)}
                    if changed:
                        yield [root for root in roots if root in changed]
                    changed = set()
                    if await asyncio.to_thread(_identities, roots) != there:
                        break


async def _events(roots: Sequence[Root], *, own: Path | None, stop: asyncio.Event) -> AsyncGenerator[list[Path], None]:
    """Where something changed, in bursts; an empty list where nothing did for a while."""
    from watchfiles import Change, awatch

    def concerns(_: Change, place: str) -> bool:
        return any(_concerns(root, Path(place), own) for root in roots)

    while not roots and not stop.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_LOOK / 1000):
                await stop.wait()
        yield []
    events = awatch(
        *(root.location for root in roots),
        watch_filter=concerns,
        debounce=_LONGEST_BURST,
        step=_QUIET,
        stop_event=stop,
        rust_timeout=_FIRST_LOOK,
        yield_on_timeout=True,
    )
    async with aclosing(events):
        async for some in events:
            yield [Path(place) for _, place in some]


def _identities(roots: Sequence[Root]) -> dict[str, object]:
    """Empty where a root is missing."""
    return {root.name: (root.identity,) if root.exists else () for root in roots}


def _concerns(root: Root, place: Path, own: Path | None) -> bool:
    if place == root.location:
        return True
    if root.location not in place.parents:
        return False
    return follows(root.location, root.rules, place.relative_to(root.location).as_posix(), own=own)
