"""Files that this machine cannot read now: those that only another machine has, and those of a root that is missing.

Owns what is said of them. They wait as they are: it costs them no try, and the work goes on when they can be read.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from graph_stores.errors import GraphmillError
from graph_stores.protocol import Store
from orchestrator.files.roots import Root, RootMissing, read_roots, this_host
from orchestrator.stages import READ
from orchestrator.states import PARSE
from orchestrator.workers import read_workers

HINT = "run a worker there, or ingest them with --store-content"
# How often it is looked which roots are here, and how often it is said that some are not.
_LOOK = 5.0
_SAY = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """What waits in a root that no running worker can read: files to be parsed, parts of it to be looked through."""

    root: Root
    files: int
    parts: int

    def __str__(self) -> str:
        what = _counted(self.files, "file") if self.files else _counted(self.parts, "part")
        is_one = (self.files or self.parts) == 1
        if not self.root.is_foreign:
            return (
                f"{what} of {self.root.name} {'waits' if is_one else 'wait'} for {self.root.location},"
                " which is missing, empty or not mounted"
            )
        return (
            f"{what} of {self.root.name} {'is' if is_one else 'are'} on {self.root.host}"
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
        """Those of other machines, by name."""
        self.lost: Sequence[str] = ()
        """Those of this machine that cannot be read now, by name."""
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

    def lose(self, name: str) -> None:
        """It turned out to be missing: nothing of it is claimed until it is back."""
        self.lost = sorted({*self.lost, name})
        self._look_at = 0.0

    async def _look(self) -> None:
        self.roots = await read_roots(self._store)
        self.lost = [root.name for root in await _lost(self.roots.values())]
        away = {root.name for root in await _away(self.roots.values())}
        now = time.monotonic()
        self._left = {name: until for name, until in self._left.items() if until > now}
        self.away = sorted(away | self._left.keys())
        if (self.away or self.lost) and now >= self._say_at:
            names = {*self.away, *self.lost}
            left = await _waiting(self._store, [root for name, root in self.roots.items() if name in names])
            if left:
                self._say_at = now + _SAY
                hint = f": {HINT}" if self.away else ""
                self._say(f"{'; '.join(str(each) for each in left)}{hint}")


async def left_elsewhere(store: Store) -> list[Elsewhere]:
    """What waits for machines on which nobody parses."""
    return await _waiting(store, await _away((await read_roots(store)).values()))


async def stranded(store: Store) -> FilesElsewhere | None:
    """The error to end with, where nothing of files is left but what nobody at work can read."""
    left = await left_elsewhere(store)
    if not left:
        return None
    lost = await _lost((await read_roots(store)).values())
    unreadable = [root.name for root in (*(each.root for each in left), *lost)]
    (others,) = (await store.ask("unfinished-near", {"roots": unreadable})).rows[0]
    return None if others else FilesElsewhere.of(left)


async def waiting_for_lost_root(store: Store, name: str | None = None) -> RootMissing | None:
    """The error to end with, where files wait for a root of this machine, or for this one, that is missing or empty."""
    roots = await _lost([root for root in (await read_roots(store)).values() if name in (None, root.name)])
    left = await _waiting(store, roots)
    if not left:
        return None
    error = left[0].root.missing()
    return RootMissing("; ".join(str(each) for each in left), hint=error.hint)


async def _lost(roots: Iterable[Root]) -> list[Root]:
    return await asyncio.to_thread(lambda: [root for root in roots if root.is_lost])


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
            files=counts["File", root.name] if not root.is_foreign or (root.host, PARSE.name) not in at_work else 0,
            parts=counts["Partition", root.name] if root.is_foreign and (root.host, READ) not in at_work else 0,
        )
        for root in roots
    ]
    return [each for each in found if each.files or each.parts]


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
