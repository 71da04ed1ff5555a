"""Breadth first from the seeds: which articles a crawl holds, at which depth, and which titles are to be read for it.

Owns the order, which depends on nothing but what the pages say: level by level, in a level first what most articles of
the level before link to, then by title. So the same crawl holds the same articles, whoever reads them, in whatever
order and however often it is interrupted. A level is decided when the one before it is read.
"""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from graph_stores.protocol import Store
from orchestrator.wikipedia.ends import Ends
from orchestrator.wikipedia.titles import Standing
from orchestrator.wikipedia.wikis import Crawl
from pipelines.wikipedia.identity import article_uuid

_AT_ONCE = 1000

Read = Callable[[Sequence[str], int], Awaitable[None]]
"""Have titles read, at a depth, and return when they are."""
Peek = Callable[[Sequence[str]], Awaitable[Sequence[bool]]]
"""Whether there is an article behind each of some titles, without reading them."""


@dataclass(slots=True)
class Reach:
    """What a crawl holds, by uuid, and which titles it came past. Not `complete` while nobody has read them all."""

    depths: dict[str, int] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    beyond_budget: set[str] = field(default_factory=set)
    is_cut: bool = False
    """All of a wiki was asked for, and no more than so many."""
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Without `read` it only follows what is in the graph."""

    store: Store
    wiki: str
    read: Read | None = None
    peek: Peek | None = None
    peek_below: int = 50

    async def go(self, crawl: Crawl) -> Reach:
        reach = Reach()
        titles: Sequence[str] = list(dict.fromkeys(crawl.seeds))
        for depth in range(crawl.depth + 1):
            level = await self.take(titles, depth, crawl.budget, reach)
            if not level or depth == crawl.depth:
                break
            titles = await self._linked_from(level)
        return reach

    async def _linked_from(self, level: Sequence[str]) -> list[str]:
        counts: Counter[str] = Counter()
        for start in range(0, len(level), _AT_ONCE):
            rows = (await self.store.ask("links", {"uuids": level[start : start + _AT_ONCE]})).rows
            for _, links in rows:
                counts.update(json.loads(links or "{}").keys())
        return sorted(counts, key=lambda title: (-counts[title], title))

    async def take(self, titles: Sequence[str], depth: int, budget: int | None, reach: Reach) -> list[str]:
        """The articles of one level, by uuid: the first that there are, as many as the budget has room for."""
        level: list[str] = []
        for start in range(0, len(titles), _AT_ONCE):
            some = titles[start : start + _AT_ONCE]
            room = len(titles) if budget is None else budget - len(reach.depths)
            if room <= 0:
                reach.beyond_budget |= {self._uuid(title) for title in titles[start:]}
                break
            ends = await self._resolved(some, depth, room, reach)
            for place, end in enumerate(ends):
                if budget is not None and len(reach.depths) >= budget:
                    reach.beyond_budget |= {self._uuid(title) for title in some[place:]}
                    break
                reach.passed.update(end.way)
                if end.standing is Standing.ARTICLE and end.uuid not in reach.depths:
                    reach.depths[end.uuid] = depth
                    level.append(end.uuid)
        return level

    async def _resolved(self, titles: Sequence[str], depth: int, room: int, reach: Reach) -> "list[_End]":
        """What the titles lead to; those that the budget has no room for may stay unknown."""
        while True:
            ends = await self._ends(titles)
            wanted = _wanted(ends, room, reach.depths)
            if not wanted:
                return ends
            if self.read is None:
                reach.complete = False
                return ends
            if self.peek and room < self.peek_below and len(wanted) < self.peek_below:
                wanted = await self._peeked(ends, room, reach.depths)
            await self.read(wanted, depth)

    async def _peeked(self, ends: "Sequence[_End]", room: int, known: dict[str, int]) -> list[str]:
        """Where there is little room, and of many titles perhaps few exist: the ones up to where the room is full."""
        assert self.peek
        unknown = [end.title for end in _wanted_ends(ends, self.peek_below, known)]
        there = dict(zip(unknown, await self.peek(unknown), strict=True))
        wanted: list[str] = []
        counted: set[str] = set()
        for end in ends:
            if len(counted) >= room:
                break
            if end.title in there:
                wanted.append(end.title)
            if there.get(end.title, end.standing is Standing.ARTICLE) and end.uuid not in known:
                counted.add(end.uuid)
        return list(dict.fromkeys(wanted))

    async def _ends(self, titles: Sequence[str]) -> "list[_End]":
        """Where each title leads to, through the redirects that are known."""
        ends = await Ends.of(self.store, self.wiki, titles)
        return [
            _End(title=way[-1], way=[self._uuid(each) for each in way], standing=ends.standing_of(title))
            for title, way in ((title, ends.way(title)) for title in titles)
        ]

    def _uuid(self, title: str) -> str:
        return article_uuid(self.store.project, self.wiki, title)


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """Where a title leads, and past which others, by uuid."""

    title: str
    way: Sequence[str]
    standing: Standing

    @property
    def uuid(self) -> str:
        return self.way[-1]


def _wanted(ends: Sequence[_End], room: int, known: dict[str, int]) -> list[str]:
    return [end.title for end in _wanted_ends(ends, room, known)]


def _wanted_ends(ends: Sequence[_End], room: int, known: dict[str, int]) -> list[_End]:
    """What must be read before it is decided: whatever comes before the room is full, if each turned out an article."""
    wanted: dict[str, _End] = {}
    counted: set[str] = set()
    for end in ends:
        if len(counted) >= room:
            break
        if end.standing is not Standing.NOTHING and end.uuid not in known:
            counted.add(end.uuid)
        if end.standing in (Standing.UNKNOWN, Standing.IN_WORK):
            wanted[end.title] = end
    return list(wanted.values())
