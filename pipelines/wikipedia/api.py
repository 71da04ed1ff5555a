"""Pages from a wiki's api.php.

Owns which questions are asked, fifty titles at a time, and that an answer is handed on only when all its parts are
there and every redirect has been followed. How the wiki is asked, and how often, is decided elsewhere.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import TypeVar
from unicodedata import normalize

from graph_stores.errors import GraphmillError, Misuse
from pipelines.wikipedia.answers import SITEINFO, Merged, flagged_redirects, found_in, name_of, site_of
from pipelines.wikipedia.asking import Answer, Asking, Patience, TooMuchAtOnce, WikiRefused
from pipelines.wikipedia.model import (
    ARTICLES,
    CATEGORIES,
    TITLES_AT_ONCE,
    Absence,
    Absent,
    Found,
    Page,
    Reading,
    Redirect,
    Site,
    Span,
    WikiUnavailable,
)
from pipelines.wikipedia.politeness import Limits, Sharing, limits_for

T = TypeVar("T")

_TITLES = {"action": "query", "redirects": "1"}
_REVISIONS = _TITLES | {"prop": "info|revisions", "rvprop": "ids|timestamp"}
_TEXTS = _TITLES | {
    "prop": "info|revisions|categories|redirects",
    "rvprop": "ids|timestamp|content",
    "rvslots": "main",
    "cllimit": "max",
    "clshow": "!hidden",
    "rdprop": "title",
    "rdnamespace": "0",
    "rdlimit": "max",
}
_HOPS = 10
_ROUNDS = 500
_CLOSE_ENOUGH = 0.5


class EndlessAnswer(GraphmillError):
    """The wiki always has more to say, and says the same again."""

    code = "wiki_endless_answer"
    transient = True


class PageTooLarge(GraphmillError):
    """One page that the wiki does not give, however few are asked for with it."""

    code = "page_too_large"


class CategoryMissing(Misuse):
    code = "category_missing"


def api_url_of(lang: str) -> str:
    """Where the Wikipedia of a language is asked."""
    if not (lang.isascii() and lang.replace("-", "").isalnum()):
        raise Misuse(f"{lang!r} is not the code of a language", hint="give --lang a code as in de.wikipedia.org: de")
    return f"https://{lang.lower()}.wikipedia.org/w/api.php"


async def open_api(
    url: str,
    *,
    contact: str | None,
    limits: Limits | None = None,
    say: Callable[[str], None],
    cache: Path | None = None,
    patience: Patience | None = None,
    sharing: Sharing | None = None,
    clock: Callable[[], float] = time.time,
    nap: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> "ApiPages":
    """The wiki behind an api.php, once it has said what it is. Without limits those that suit its host are kept."""
    asking = Asking(
        url,
        contact=contact,
        limits=lambda host: limits or limits_for(host),
        say=say,
        cache=cache,
        patience=patience,
        sharing=sharing,
        clock=clock,
        nap=nap,
    )
    try:
        return ApiPages(asking, site_of(await asking.ask(SITEINFO), asking.url))
    except BaseException:
        await asking.close()
        raise


class ApiPages:
    def __init__(self, asking: Asking, site: Site) -> None:
        self.site = site
        self._asking = asking

    async def read(self, titles: Sequence[str]) -> Reading:
        return await self._follow(titles, _TEXTS)

    async def look(self, titles: Sequence[str]) -> Reading:
        return await self._follow(titles, _REVISIONS)

    async def near(self, title: str, *, limit: int = 3) -> list[str]:
        wanted = _tidy(title)
        if wanted is None:
            return []
        found = dict.fromkeys(await self._search("prefixsearch", "ps", wanted, 20))
        found |= dict.fromkeys(await self._search("search", "sr", wanted, 20))
        if len(found) < limit and len(wanted) > 3:
            start = await self._search("prefixsearch", "ps", wanted[: (len(wanted) + 1) // 2], 50)
            found |= dict.fromkeys(other for other in start if _likeness(other, wanted) >= _CLOSE_ENOUGH)
        return sorted(found, key=lambda other: (-_likeness(other, wanted), other))[:limit]

    async def members(self, category: str, *, depth: int) -> list[str]:
        name = _tidy(category)
        prefix = (name or "").partition(":")[0].strip().lower()
        if name and self.site.namespaces.get(prefix) == CATEGORIES:
            name = name_of(name).strip()
        if not name:
            raise _no_category(category)
        first = f"Category:{name}"
        seen, level, articles = {first}, [first], set[str]()
        for below in range(depth + 1):
            members = await _all_of([self._direct_members(each) for each in level])
            if below == 0 and not members[0] and not await self._exists(first):
                raise _no_category(category)
            articles |= {member["title"] for each in members for member in each if member["ns"] == ARTICLES}
            deeper = {member["title"] for each in members for member in each if member["ns"] == CATEGORIES}
            # The wiki writes a category in its own language and spelling; members are always written that way.
            level = sorted(deeper - seen)
            seen |= deeper
        return sorted(articles)

    async def all_titles(self) -> AsyncIterator[Sequence[str]]:
        parameters = {
            "action": "query",
            "list": "allpages",
            "apnamespace": str(ARTICLES),
            "apfilterredir": "all",
            "aplimit": "max",
        }
        async for answer in self._parts(parameters):
            if titles := [page["title"] for page in answer.get("query", {}).get("allpages", ())]:
                yield titles

    async def spans(self) -> list[Span]:
        """The wiki tells them one after the other."""
        return [Span(name="all pages")]

    async def titles_in(self, span: Span, *, after: int) -> AsyncIterator[tuple[int, Sequence[str]]]:
        place = 0
        async for titles in self.all_titles():
            place += len(titles)
            if place > after:
                yield place, titles

    async def close(self) -> None:
        await self._asking.close()

    async def _follow(self, titles: Sequence[str], wanted: Mapping[str, str]) -> Reading:
        """Ask for the titles, and then for what they lead to until nothing leads on."""
        sent = {title: _tidy(title) for title in titles}
        names: dict[str, str] = {}
        found: dict[str, Found] = {title: _unaskable(title) for title, tidy in sent.items() if tidy is None}
        asked = list(dict.fromkeys(tidy for tidy in sent.values() if tidy is not None))
        for _ in range(_HOPS):
            if not asked:
                break
            for merged in await _all_of([self._whole(some, wanted) for some in _some(asked, TITLES_AT_ONCE)]):
                names |= merged.names
                found |= found_in(merged, self.site)
                if wanted is _REVISIONS and (flagged := flagged_redirects(merged)):
                    texts = await self._follow(sorted(flagged), _TEXTS)
                    found |= {title: _without_text(one) for title, one in texts.found.items()}
            for title in asked:
                found.setdefault(names.get(title, title), _unanswered(title))
            asked = _unread(found, names)
        for title in asked:
            found[title] = Absent(title=title, absence=Absence.LOOP, reason=f"more than {_HOPS} redirects lead to it")
        return Reading(
            titles={title: title if tidy is None else names.get(tidy, tidy) for title, tidy in sent.items()},
            found=_with_written_targets(found, names),
        )

    async def _whole(self, titles: Sequence[str], wanted: Mapping[str, str]) -> Merged:
        """All that the wiki says of some titles; of fewer at a time where it is too much at once."""
        merged = Merged()
        try:
            async for answer in self._parts({**wanted, "titles": "|".join(titles)}):
                merged.add(answer.get("query", {}))
        except TooMuchAtOnce as error:
            if len(titles) == 1:
                raise PageTooLarge(
                    f"{titles[0]!r} is too much for {self._asking.host}: {error.message}",
                    hint="it stays out; the others are read",
                ) from error
            middle = len(titles) // 2
            merged = await self._whole(titles[:middle], wanted)
            other = await self._whole(titles[middle:], wanted)
            merged.pages |= other.pages
            merged.names |= other.names
            merged.redirects |= other.redirects
            merged.elsewhere |= other.elsewhere
        return merged

    async def _parts(self, parameters: Mapping[str, str]) -> AsyncIterator[Answer]:
        """The answer to a question and all that continues it. Whoever stops early has a part."""
        further: dict[str, str] = {}
        seen: set[str] = set()
        while True:
            answer = await self._asking.ask({**parameters, **further})
            yield answer
            if "continue" not in answer:
                break
            further = {key: str(value) for key, value in answer["continue"].items()}
            place = json.dumps(further, sort_keys=True)
            if place in seen or (len(seen) >= _ROUNDS and "titles" in parameters):
                raise EndlessAnswer(
                    f"{self._asking.host} goes on with {place[:200]} after {len(seen)} parts of one answer",
                    hint="it is tried again later; if it stays so, the wiki or what is before it is broken",
                )
            seen.add(place)
        if "titles" in parameters and not answer.get("batchcomplete"):
            raise WikiUnavailable(
                f"{self._asking.host} gave a part of an answer, and no word of the rest", hint="it is tried again later"
            )

    async def _search(self, module: str, prefix: str, text: str, limit: int) -> list[str]:
        parameters = {
            "action": "query",
            "list": module,
            f"{prefix}search": text,
            f"{prefix}namespace": str(ARTICLES),
            f"{prefix}limit": str(limit),
        }
        try:
            answer = await self._asking.ask(parameters)
        except WikiRefused:
            return []  # a wiki may have switched its search off
        return [page["title"] for page in answer.get("query", {}).get(module, ())]

    async def _direct_members(self, category: str) -> list[Answer]:
        parameters = {
            "action": "query",
            "list": "categorymembers",
            "cmtitle": category,
            "cmprop": "title",
            "cmtype": "page|subcat",
            "cmlimit": "max",
        }
        found: list[Answer] = []
        try:
            async for answer in self._parts(parameters):
                found += answer.get("query", {}).get("categorymembers", ())
        except WikiRefused as error:
            if error.said not in ("invalidcategory", "invalidtitle"):
                raise
        return found

    async def _exists(self, category: str) -> bool:
        answer = await self._asking.ask({"action": "query", "prop": "info", "titles": category})
        pages = answer.get("query", {}).get("pages", ())
        return any(not page.get("missing") and not page.get("invalid") for page in pages)


async def _all_of(calls: Sequence[Awaitable[T]]) -> list[T]:
    """All at once; when one fails the others are stopped."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _some(titles: Sequence[str], number: int) -> Iterable[Sequence[str]]:
    return (titles[start : start + number] for start in range(0, len(titles), number))


def _tidy(title: str) -> str | None:
    """As it can be sent among others; None where it cannot, and no page can have it."""
    if not title.isascii():
        title = normalize("NFC", title)
    tidy = " ".join(title.replace("_", " ").split())
    sendable = "|" not in tidy and all(ord(letter) >= 32 and not 0xD800 <= ord(letter) < 0xE000 for letter in tidy)
    return tidy if tidy and sendable else None


def _unaskable(title: str) -> Absent:
    return Absent(title=title, absence=Absence.INVALID, reason="it is empty, or has a character that no title may have")


def _unanswered(title: str) -> Absent:
    return Absent(title=title, absence=Absence.INVALID, reason="the wiki says nothing of it")


def _unread(found: Mapping[str, Found], names: Mapping[str, str]) -> list[str]:
    targets = (one.target for one in found.values() if isinstance(one, Redirect))
    return [target for target in dict.fromkeys(targets) if names.get(target, target) not in found]


def _with_written_targets(found: Mapping[str, Found], names: Mapping[str, str]) -> dict[str, Found]:
    return {
        title: replace(one, target=names.get(one.target, one.target)) if isinstance(one, Redirect) else one
        for title, one in found.items()
    }


def _without_text(one: Found) -> Found:
    return replace(one, text=None, categories=None, redirects=()) if isinstance(one, Page) else one


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower(), other.lower()).ratio()


def _no_category(category: str) -> CategoryMissing:
    return CategoryMissing(
        f"the wiki has no category {category!r}, and no page is in one of that name",
        hint="write its name as at the foot of an article, with or without Category: before it",
    )
