"""The wikis that a project takes articles from: each has a node that says where its pages are and what was asked of it.

So a worker on another machine needs to be told nothing, and the same command knows whether it goes on or begins anew.
"""

import json
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from graph_stores.errors import Misuse
from graph_stores.model import Node, Ref
from graph_stores.protocol import Store
from orchestrator.moves import new_node
from orchestrator.states import State
from orchestrator.wikipedia.turns import shared_turns
from pipelines.wikipedia.identity import article_uuid, wiki_uuid
from pipelines.wikipedia.model import Pages
from pipelines.wikipedia.politeness import Limits

# What its runs are over: wiki:NAME.
KIND = "wiki"
_TELL_EVERY = 5.0


class SourceKind(StrEnum):
    API = "api"
    DUMP = "dump"


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawl:
    """One expansion that was asked for. Without a budget it ends at its depth; `whole` means every article there is."""

    seeds: tuple[str, ...] = ()
    depth: int = 0
    budget: int | None = None
    whole: bool = False

    def covers(self, other: "Crawl") -> bool:
        """Whether whatever the other holds is in this one too."""
        if (self.whole, sorted(self.seeds)) != (other.whole, sorted(other.seeds)) or self.depth < other.depth:
            return False
        return self.budget is None or (other.budget is not None and self.budget >= other.budget)

    @property
    def words(self) -> list[str]:
        """How it is asked for on the command line."""
        budget = ["--max-articles", str(self.budget)] if self.budget is not None else []
        if self.whole:
            return ["expand", "--all", *budget]
        return ["expand", *(self.seeds or ["TITLE"]), "--depth", str(self.depth), *budget]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSource:
    """Where the pages of a wiki come from: the address of its api.php, or the files of a dump."""

    kind: SourceKind
    location: tuple[str, ...]
    contact: str | None = None
    rate: int | None = None

    def together_with(self, other: "PageSource") -> "PageSource":
        """Dumps of one wiki are parts of one whole, as far as they are still there; else the other one counts alone."""
        if self.kind is not SourceKind.DUMP or other.kind is not SourceKind.DUMP:
            return other
        from pipelines.wikipedia.dump import find_dumps

        def is_there(pattern: str) -> bool:
            try:
                return bool(find_dumps([pattern]))
            except Misuse:
                return False

        left = [each for each in self.location if each not in other.location and is_there(each)]
        return replace(other, location=(*left, *other.location)) if left else other

    @property
    def option(self) -> str:
        """How it is named on the command line."""
        return shlex.join(self._words)

    @property
    def words(self) -> list[str]:
        """How it is named on the command line, with all that a wiki wants to be told."""
        contact = ["--contact", self.contact] if self.contact and self.kind is SourceKind.API else []
        return [*self._words, *contact]

    @property
    def _words(self) -> list[str]:
        flag = "--dump" if self.kind is SourceKind.DUMP else "--api-url"
        return [word for place in self.location for word in (flag, place)]

    def check(self) -> None:
        """Refuse what can be seen to be wrong before anything is opened."""
        if self.kind is SourceKind.DUMP:
            from pipelines.wikipedia.dump import find_dumps

            find_dumps(self.location)
        else:
            from pipelines.wikipedia.asking import checked_address

            checked_address(self.location[0], self.contact)

    async def open(self, say: Callable[[str], None], nap: Callable[[float], Awaitable[None]], store: Store) -> Pages:
        """`nap` is how a wiki is waited for; its limits are kept together with all who work on the store."""
        if self.kind is SourceKind.DUMP:
            from pipelines.wikipedia.dump import open_dumps

            return await open_dumps(self.location, say=say, progress=_Telling(say))
        from pipelines.wikipedia.api import open_api

        limits = Limits(per_minute=self.rate) if self.rate else None
        sharing = shared_turns(store)
        return await open_api(self.location[0], contact=self.contact, limits=limits, say=say, nap=nap, sharing=sharing)


class _Telling:
    """How far the index of a dump is, every few seconds."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._told = time.monotonic()

    def __call__(self, dump: Path, share: float) -> None:
        if time.monotonic() > self._told + _TELL_EVERY:
            self._told = time.monotonic()
            self._say(f"making the index of {dump.name}: {share:.0%}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiki:
    """`is_stale` says that its pages are still to be compared with what the graph has of them.

    `is_moved` says that they were read from somewhere else before.
    `is_unswept` says that something was changed or taken away, so that more may have lost its reason to be there.
    """

    name: str
    lang: str
    source: PageSource
    crawls: Sequence[Crawl] = ()
    state: State = State.PARSED
    is_stale: bool = False
    is_unswept: bool = False
    is_moved: bool = False

    def ref(self, project: str) -> Ref:
        return Ref(label="Wiki", uuid=wiki_uuid(project, self.name))

    def node(self, project: str) -> Node:
        return new_node(
            label="Wiki",
            uuid=wiki_uuid(project, self.name),
            name=self.name,
            state=State.PARSED,
            properties={
                "lang": self.lang,
                "source": self.source.kind.value,
                "location": list(self.source.location),
                "contact": self.source.contact,
                "rate": self.source.rate,
                "_crawls": json.dumps([asdict(crawl) for crawl in self.crawls]),
                "_stale": self.is_stale,
                "_unswept": self.is_unswept,
                "_moved": self.is_moved,
            },
        )

    def with_crawl(self, crawl: Crawl) -> "Wiki":
        """In place of smaller ones from the same seeds; what was read for a larger one is not thrown away."""
        if any(each.covers(crawl) for each in self.crawls):
            return self
        return replace(self, crawls=(*(each for each in self.crawls if not crawl.covers(each)), crawl))

    def command(self, crawl: Crawl | None = None) -> list[str]:
        """What asks for the crawl; without one, for that with the fewest titles of those that were asked for."""
        crawls = [crawl] if crawl else sorted(self.crawls, key=lambda each: len(each.seeds))
        return [*next(iter(crawls), Crawl()).words, *self.source.words]

    def article(self, project: str, title: str) -> Ref:
        return Ref(label="Article", uuid=article_uuid(project, self.name, title))


def crawl_of(document: Mapping[str, Any]) -> Crawl:
    return Crawl(**{**document, "seeds": tuple(document["seeds"])})


def several_wikis(known: Sequence[Wiki]) -> Misuse:
    """For an expansion that does not say which wiki it means."""
    names = ", ".join(sorted(wiki.name for wiki in known))
    options = ", ".join(wiki.source.option for wiki in sorted(known, key=lambda wiki: wiki.name))
    return Misuse(
        f"the project has articles of {len(known)} wikis ({names}), and the command does not say which one is meant",
        hint=f"give one of {options}; or --lang en for Wikipedia, with --contact you@example.org",
    )


async def read_wikis(store: Store) -> dict[str, Wiki]:
    """The wikis of the project by name."""
    wikis: dict[str, Wiki] = {}
    for row in (await store.ask("wikis")).rows:
        _, name, state, lang, kind, location, contact, rate, crawls, stale, unswept, moved = row
        wikis[name] = Wiki(
            name=name,
            lang=lang,
            source=PageSource(kind=SourceKind(kind), location=tuple(location), contact=contact, rate=rate),
            crawls=[crawl_of(each) for each in json.loads(crawls or "[]")],
            state=State(state),
            is_stale=bool(stale),
            is_unswept=bool(unswept),
            is_moved=bool(moved),
        )
    return wikis
