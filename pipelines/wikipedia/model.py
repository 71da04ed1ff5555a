"""What a wiki says of itself and of its pages, whether it is asked over HTTP or read from a dump.

Owns the words that a source of pages and those who use it share. Knows no graph.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from graph_stores.errors import GraphmillError, Misuse

ARTICLES = 0
CATEGORIES = 14
TITLES_AT_ONCE = 50
"""How many titles go into one request; what a source is asked for at once should be as many."""


class WikiUnavailable(GraphmillError):
    """The wiki does not answer, or asks to wait longer than a call lasts: nothing is wrong with any page."""

    code = "wiki_unavailable"
    transient = True
    retry_after: float | None = None
    is_rate_limit: bool = False
    """It answers, and says that it is asked too much."""


class ContactMissing(Misuse):
    code = "contact_missing"


class CannotParse(Exception):
    """Says in a sentence why there is nothing to be had from the text."""


class Absence(StrEnum):
    """Why there is no page under a title."""

    MISSING = "missing"
    INVALID = "invalid"
    ELSEWHERE = "elsewhere"
    LOOP = "loop"
    """Its redirects lead back to themselves, or are too many."""
    NO_ARTICLE = "no article"
    """It is in another namespace: a category, a file, somebody's talk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What a wiki says of itself: how its titles are written and where its articles are."""

    wiki: str
    """The wiki's own name for itself, for example enwiki: articles of two wikis are never the same."""
    lang: str
    article_url: str
    """With $1 where the title goes."""
    first_letter: bool = True
    """Whether the first letter of a title may be written small."""
    namespaces: Mapping[str, int] = field(default_factory=dict)
    """Every name and alias of a namespace, in small letters and with spaces, in English and in the wiki's language."""
    interwiki: frozenset[str] = frozenset()
    """Prefixes that lead to other wikis, in small letters."""
    redirect_words: tuple[str, ...] = ("#redirect",)
    """In small letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page that is there. `text` is None where only its revision was asked for.

    `categories` are None where the source only has those in the text. `redirects` are the titles that lead straight
    to it, as far as the source knows them; only where its text was asked for.
    """

    title: str
    page_id: int
    revision_id: int
    timestamp: datetime
    text: str | None = None
    categories: Sequence[str] | None = None
    redirects: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    title: str
    target: str
    fragment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    title: str
    absence: Absence
    reason: str
    """A sentence for people."""


Found = Page | Redirect | Absent


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What there is under some titles.

    `titles` leads from each title as it was asked for to the title as the wiki writes it, and `found` from there to
    what there is. A redirect's target is in `found` too, and so on to the end of the chain.
    """

    titles: Mapping[str, str]
    found: Mapping[str, Found]

    def end_of(self, title: str) -> Page | Absent | None:
        """What a title leads to in the end, redirects followed; None where a redirect's target was not read."""
        seen: set[str] = set()
        found = self.found.get(self.titles.get(title, title))
        while isinstance(found, Redirect):
            if found.title in seen:
                return Absent(title=found.title, absence=Absence.LOOP, reason="its redirects lead back to themselves")
            seen.add(found.title)
            found = self.found.get(found.target)
        return found


class Pages(Protocol):
    """A source of pages. Any number of titles may be asked for at once; every one of them is in the answer."""

    site: Site

    async def read(self, titles: Sequence[str]) -> Reading:
        """The pages with their texts."""
        ...

    async def look(self, titles: Sequence[str]) -> Reading:
        """Without their texts, and much cheaper: what is there, and in which revision."""
        ...

    async def near(self, title: str, *, limit: int = 3) -> list[str]:
        """Titles that somebody may have meant who wrote one that does not exist."""
        ...

    async def members(self, category: str, *, depth: int) -> list[str]:
        """The articles in a category, and in those below it down to the depth; in the order of their titles."""
        ...

    def all_titles(self) -> AsyncIterator[Sequence[str]]:
        """Every article and every redirect between articles, some at a time, in an order that is always the same."""
        ...

    async def spans(self) -> Sequence["Span"]:
        """All titles in parts that can be read apart from each other."""
        ...

    def titles_in(self, span: "Span", *, after: int) -> AsyncIterator[tuple[int, Sequence[str]]]:
        """Those of a part, some at a time, each with the place to go on after."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A part of all titles: those after one place, up to another or to the end."""

    name: str
    after: int = 0
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A piece of an article: the lead is the first, with level 1 and the article's title."""

    title: str
    level: int
    content: str
    word_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What is in the wikitext of one page. Links are titles of articles with how often they are linked."""

    sections: Sequence[Section]
    links: Mapping[str, int]
    categories: Sequence[str]
