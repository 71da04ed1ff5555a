"""Files that only another machine has: which wait for it, and whether anybody there is at work.

Owns what is said of them. That they wait is no fault of theirs: they are left as they are, for whoever can read them.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from graph_stores.errors import GraphmillError
from graph_stores.protocol import Store
from orchestrator.files.roots import Root, read_roots, this_host
from orchestrator.stages import READ
from orchestrator.states import PARSE
from orchestrator.workers import read_workers

HINT = "run a worker there, or ingest them with --store-content"
# How often it is looked which roots are here, and how often it is said that some are not.
_LOOK = 5.0
_SAY = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """What waits on a machine where nobody does it: files to be parsed, parts of the root to be looked through."""

    root: Root
    files: int
    parts: int

    def __str__(self) -> str:
        what = _counted(self.files, "file") if self.files else _counted(self.parts, "part")
        return (
            f"{what} of {self.root.name} {'is' if (self.files or self.parts) == 1 else 'are'} on {self.root.host}"
            f" in {self.root.location}, which {this_host()} cannot read"
        )


class FilesElsewhere(GraphmillError):
    """Nothing is left to do but what nobody at work can do."""

    code = "files_elsewhere"

    @classmethod
    def of(cls, left: Sequence[Elsewhere]) -> "FilesElsewhere":
        return cls("; ".join(str(each) for each in left), hint=HINT)


class Places:
    """The roots as this machine sees them, looked at again now and then."""

    def __init__(self, store: Store, say: Callable[[str], None] = lambda _: None) -> None:
        self.roots: Mapping[str, Root] = {}
        self.away: Sequence[str] = ()
        """Those that are not here, by name."""
        self._store = store
        self._say = say
        self._left: dict[str, float] = {}
        self._look_at = self._say_at = 0.0

    async def look(self, *, at_once: bool = False) -> None:
        if at_once or time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _LOOK
            await self._look()

    def leave(self, names: Iterable[str]) -> None:
        """Something of these is not here, though its place may seem to be: nothing of them is claimed for a while."""
        if found := set(names):
            self._left |= dict.fromkeys(found, time.monotonic() + _SAY)
            self.away = sorted(found.union(self.away))
            self._look_at = 0.0

    async def _look(self) -> None:
        self.roots = await read_roots(self._store)
        away = {root.name for root in await _away(self.roots.values())}
        now = time.monotonic()
        self._left = {name: until for name, until in self._left.items() if until > now}
        self.away = sorted(away | self._left.keys())
        if self.away and now >= self._say_at:
            left = await _waiting(self._store, [self.roots[name] for name in self.away if name in self.roots])
            if left:
                self._say_at = now + _SAY
                self._say(f"{'; '.join(str(each) for each in left)}: {HINT}")


async def left_elsewhere(store: Store) -> list[Elsewhere]:
    """What waits for machines on which nobody parses."""
    return await _waiting(store, await _away((await read_roots(store)).values()))


async def stranded(store: Store) -> FilesElsewhere | None:
    """The error to end with, where nothing of files is left but what nobody at work can read."""
    left = await left_elsewhere(store)
    if not left:
        return None
    (others,) = (await store.ask("unfinished-near", {"roots": [each.root.name for each in left]})).rows[0]
    return None if others else FilesElsewhere.of(left)


async def _away(roots: Iterable[Root]) -> list[Root]:
    """Those that this machine does not have; a disk may take its time to say so."""
    return await asyncio.to_thread(lambda: [root for root in roots if root.is_away])


async def _waiting(store: Store, roots: Sequence[Root]) -> list[Elsewhere]:
    if not roots:
        return []
    counts: Counter[tuple[str, str]] = Counter()
    for label, root, count in (await store.ask("waiting-away", {"roots": [root.name for root in roots]})).rows:
        counts[label, root] = int(count)
    if not counts:
        return []
    at_work = {
        (each.known.host, stage)
        for each in await read_workers(store)
        if not each.is_gone
        for stage in each.known.stages
    }
    found = [
        Elsewhere(
            root=root,
            files=counts["File", root.name] if (root.host, PARSE.name) not in at_work else 0,
            parts=counts["Partition", root.name] if (root.host, READ) not in at_work else 0,
        )
        for root in roots
    ]
    return [each for each in found if each.files or each.parts]


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
