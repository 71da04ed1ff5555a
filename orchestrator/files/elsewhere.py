"""Files that this machine cannot read now: those that only another machine has, and those of a root that is missing or
has lost most of its files.

Owns what is said of them. They wait as they are: it costs them no try, and the work goes on when they can be read.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path

from graph_stores.errors import GraphmillError
from graph_stores.protocol import Store
from orchestrator.files.roots import KIND, Root, RootMissing, exists, read_roots, this_host
from orchestrator.files.scan import Losses, known_files, losses_of
from orchestrator.runs.records import read_runs
from orchestrator.runs.sources import ALLOWED, MassDeletion, SourceLost
from orchestrator.stages import READ
from orchestrator.states import PARSE
from orchestrator.workers import read_workers

HINT = "run a worker there, or ingest them with --store-content"
# How often it is looked which roots are here, and how often it is said that some are not.
_LOOK = 5.0
_SAY = 60.0
# A root that has lost most of its files is walked again to see whether they are back, at most a tenth of the time.
_PAUSE_PER_WALK = 10


class Fate(Enum):
    """Of a file that was not there when it was to be parsed."""

    GONE = auto()
    WAITS = auto()
    """Its root, or most of it, is missing."""
    THERE = auto()
    """It is back, or was being replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """What waits in a root that no running worker can read: files to be parsed, parts of it to be looked through."""

    root: Root
    files: int
    parts: int
    refusal: MassDeletion | None = None
    """Where it waits because most files of the root are gone."""

    def __str__(self) -> str:
        if self.refusal:
            return self.refusal.message
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
    """The roots as this machine sees them, looked at again now and then.

    `own` is the graph itself, where it is a file. `may_delete` tells of a root whether this job may delete most of it;
    else an open run must have the permission.
    """

    def __init__(
        self,
        store: Store,
        say: Callable[[str], None] = lambda _: None,
        *,
        own: Path | None = None,
        may_delete: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.roots: Mapping[str, Root] = {}
        self.away: Sequence[str] = ()
        """Those of other machines, by name."""
        self.lost: Sequence[str] = ()
        """Those of this machine that cannot be read now, by name."""
        self._store = store
        self._say = say
        self._own = own
        self._may_delete = may_delete
        self._walks: dict[str, _Walk] = {}
        """The last walk of each root in which a file was found gone."""
        self._walking = asyncio.Lock()
        self._looking = asyncio.Lock()
        self._left: dict[str, float] = {}
        self._look_at = self._say_at = 0.0

    async def look(self, *, at_once: bool = False) -> None:
        # A runner that did not wait for a look under way would claim without knowing what is away.
        async with self._looking:
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

    async def fate_of(self, root: Root, path: str) -> Fate:
        """Of a file that was not there when it was to be parsed."""
        if root.is_foreign:
            self.leave([root.name])
            return Fate.WAITS
        try:
            losses = await self._losses(root, path)
        except RootMissing:
            losses = None
        if losses is None or losses.refusal:
            self.lose(root.name)
            return Fate.WAITS
        return Fate.GONE if path in losses.gone else Fate.THERE

    async def waiting(self, name: str | None = None) -> SourceLost | None:
        """The error to end with, where files wait for a root that is lost, or for this one."""
        roots = [root for root in self.roots.values() if root.name in self.lost and name in (None, root.name)]
        left = await self._waiting(roots) if roots else []
        if not left:
            return None
        if len(left) == 1 and left[0].refusal:
            return left[0].refusal
        return RootMissing("; ".join(str(each) for each in left), hint=left[0].root.missing().hint)

    async def _losses(self, root: Root, path: str | None = None) -> Losses | None:
        """What is gone of a root; None where the root is missing.

        The answer is cached for a few seconds, which is enough for a file that is back. If `path` vanished after that,
        waits for the cache to expire and walks again: the file is gone for good only if most others are still there.
        """
        async with self._walking:
            if await asyncio.to_thread(lambda: root.is_lost):
                return None
            walk = self._walks.get(root.name)
            if walk and (rest := walk.until - time.monotonic()) > 0:
                if walk.losses.refusal or path is None or path in walk.losses.gone:
                    return walk.losses
                if await asyncio.to_thread(exists, root.place_of(path)):
                    return walk.losses
                await asyncio.sleep(rest)
            began = time.monotonic()
            losses = await losses_of(root, await known_files(self._store, root), own=self._own)
            if losses.refusal and await self._is_allowed(root.name):
                losses = replace(losses, refusal=None)
            ended = time.monotonic()
            pause = (ended - began) * (_PAUSE_PER_WALK if losses.refusal else 1)
            self._walks[root.name] = _Walk(losses=losses, until=ended + max(_LOOK, pause))
            return losses

    async def _is_allowed(self, name: str) -> bool:
        """Whether most of the root may be deleted."""
        if self._may_delete(name):
            return True
        runs = await read_runs(self._store, source=f"{KIND}:{name}", only_open=True)
        return any(run.options.get(ALLOWED) for run in runs)

    async def _is_refused(self, root: Root) -> bool:
        """Whether most of the root was gone when a file was to be parsed, and still is."""
        walk = self._walks.get(root.name)
        if walk is None or not walk.losses.refusal:
            return False
        if await self._is_allowed(root.name):
            self._walks.pop(root.name, None)
            return False
        try:
            losses = await self._losses(root)
        except RootMissing:
            return True
        return losses is None or losses.refusal is not None

    async def _waiting(self, roots: Sequence[Root]) -> list[Elsewhere]:
        """What waits in these roots, and why, where it is not because the root is missing."""
        missing = {root.name for root in await _lost(roots)}
        refusals = {name: walk.losses.refusal for name, walk in self._walks.items() if name not in missing}
        return [replace(each, refusal=refusals.get(each.root.name)) for each in await _waiting(self._store, roots)]

    async def _look(self) -> None:
        self.roots = await read_roots(self._store)
        lost = {root.name for root in await _lost(self.roots.values())}
        refused = [name for name, root in self.roots.items() if await self._is_refused(root)]
        self.lost = sorted({*lost, *refused})
        away = {root.name for root in await _away(self.roots.values())}
        now = time.monotonic()
        self._left = {name: until for name, until in self._left.items() if until > now}
        self.away = sorted(away | self._left.keys())
        if (self.away or self.lost) and now >= self._say_at:
            names = {*self.away, *self.lost}
            left = await self._waiting([root for name, root in self.roots.items() if name in names])
            if left:
                self._say_at = now + _SAY
                hint = f": {HINT}" if self.away else ""
                self._say(f"{'; '.join(str(each) for each in left)}{hint}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    losses: Losses
    until: float
    """How long they are taken to be so, on the monotonic clock."""


async def left_elsewhere(store: Store) -> list[Elsewhere]:
    """What waits for machines on which nobody parses."""
    return await _waiting(store, await _away((await read_roots(store)).values()))


async def stranded(store: Store, lost: Sequence[str] = ()) -> FilesElsewhere | None:
    """The error to end with, where nothing of files is left but what nobody at work can read.

    `lost` are roots of this machine of which that is known already.
    """
    left = await left_elsewhere(store)
    if not left:
        return None
    missing = await _lost((await read_roots(store)).values())
    unreadable = [*lost, *(root.name for root in (*(each.root for each in left), *missing))]
    (others,) = (await store.ask("unfinished-near", {"roots": unreadable})).rows[0]
    return None if others else FilesElsewhere.of(left)


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
            parts=counts["Partition", root.name] if (root.host or this_host(), READ) not in at_work else 0,
        )
        for root in roots
    ]
    return [each for each in found if each.files or each.parts]


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
