"""What a wiki's answers mean: their parts put together, and what they say of each title.

Owns the shapes of MediaWiki's JSON (formatversion 2). Asks nothing itself.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from pipelines.wikipedia.asking import Answer, WikiRefused
from pipelines.wikipedia.model import ARTICLES, Absence, Absent, Found, Page, Redirect, Site
from pipelines.wikipedia.titles import normalise

SITEINFO = {
    "action": "query",
    "meta": "siteinfo",
    "siprop": "general|namespaces|namespacealiases|interwikimap|magicwords",
}
_LINK = re.compile(r"\s*:?\s*\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]")


@dataclass(slots=True)
class Merged:
    """The parts of one answer as one. Lists of a page that came in parts are one list again."""

    pages: dict[str, Answer] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """From a title as it was asked for to the wiki's own spelling of it."""
    redirects: dict[str, Answer] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)

    def add(self, query: Answer) -> None:
        for name in query.get("normalized", ()):
            self.names[unquote(name["from"]) if name.get("fromencoded") else name["from"]] = name["to"]
        self.redirects |= {redirect["from"]: redirect for redirect in query.get("redirects", ())}
        self.elsewhere |= {interwiki["title"] for interwiki in query.get("interwiki", ())}
        for page in query.get("pages", ()):
            self._add_page(page)

    def _add_page(self, page: Answer) -> None:
        whole = self.pages.setdefault(page["title"], {})
        for key, value in page.items():
            if isinstance(value, list) and isinstance(known := whole.get(key), list):
                known.extend(item for item in value if item not in known)
            else:
                whole[key] = value


def found_in(merged: Merged, site: Site) -> dict[str, Found]:
    """What there is under every title that an answer speaks of, as the wiki writes it."""
    found: dict[str, Found] = {title: _page(page, site) for title, page in merged.pages.items()}
    for title in merged.elsewhere:
        found[title] = Absent(title=title, absence=Absence.ELSEWHERE, reason="it is in another wiki")
    for title, redirect in merged.redirects.items():
        found[title] = _redirect(title, redirect, site)
        prefix = redirect.get("tointerwiki")
        if prefix:
            # Without its prefix the title would be taken for one of this wiki.
            target = _with_prefix(prefix, redirect["to"])
            found[target] = Absent(title=target, absence=Absence.ELSEWHERE, reason="it is in another wiki")
    return found


def flagged_redirects(merged: Merged) -> set[str]:
    """Pages that the wiki knows to be redirects and has not followed: what they lead to is in their text."""
    return {title for title, page in merged.pages.items() if page.get("redirect")}


def _redirect(title: str, redirect: Answer, site: Site) -> Found:
    at = normalise(title, site)
    if at is not None and at.namespace != ARTICLES:
        return Absent(title=title, absence=Absence.NO_ARTICLE, reason="it is in another namespace than articles are")
    prefix = redirect.get("tointerwiki")
    target = _with_prefix(prefix, redirect["to"]) if prefix else redirect["to"]
    return Redirect(title=title, target=target, fragment=redirect.get("tofragment") or None)


def _with_prefix(prefix: str, title: str) -> str:
    return title if title.lower().startswith(f"{prefix.lower()}:") else f"{prefix}:{title}"


def _page(page: Answer, site: Site) -> Found:
    title = page["title"]
    if page.get("invalid"):
        reason = page.get("invalidreason") or "the wiki says that no page can have this title"
        return Absent(title=title, absence=Absence.INVALID, reason=reason)
    if page.get("special") or page.get("ns", ARTICLES) != ARTICLES:
        return Absent(title=title, absence=Absence.NO_ARTICLE, reason="it is in another namespace than articles are")
    if page.get("missing"):
        return Absent(title=title, absence=Absence.MISSING, reason="the wiki has no page with this title")
    revisions = page.get("revisions")
    if not revisions:
        return Absent(title=title, absence=Absence.NO_ARTICLE, reason="the wiki gives no revision of it")
    return _revision(page, revisions[-1], site)


def _revision(page: Answer, revision: Answer, site: Site) -> Found:
    title = page["title"]
    text: str | None = None
    if "slots" in revision or revision.get("texthidden"):
        main = revision.get("slots", {}).get("main", {})
        content = main.get("content")
        if unreadable := _unreadable(revision, main, content):
            return Absent(title=title, absence=Absence.NO_ARTICLE, reason=unreadable)
        text = content
        target = redirect_target(text or "", site) if page.get("redirect") else None
        if target is not None:
            return Redirect(title=title, target=target[0], fragment=target[1])
    return Page(
        title=title,
        page_id=int(page["pageid"]),
        revision_id=int(revision["revid"]),
        timestamp=moment(revision["timestamp"]),
        text=text,
        categories=None if text is None else [name_of(item["title"]) for item in page.get("categories", ())],
        redirects=() if text is None else [item["title"] for item in page.get("redirects", ())],
    )


def _unreadable(revision: Answer, main: Answer, content: Any) -> str | None:
    if revision.get("texthidden") or main.get("texthidden"):
        return "its text is hidden"
    if main.get("contentmodel", "wikitext") != "wikitext":
        return f"it is {main['contentmodel']}, not wikitext"
    return None if isinstance(content, str) else "the wiki does not give its text"


def redirect_target(text: str, site: Site) -> tuple[str, str | None] | None:
    """Where the text of a redirect leads, with the place in that page."""
    start = text.lstrip()
    word = next((word for word in site.redirect_words if start[: len(word)].lower() == word), None)
    link = _LINK.match(start, len(word)) if word else None
    target = normalise(link[1], site) if link else None
    if target is None or link is None:
        return None
    if target.interwiki or target.namespace != ARTICLES:
        return link[1].partition("#")[0].strip(": "), target.fragment
    return target.title, target.fragment


def moment(written: str) -> datetime:
    return datetime.fromisoformat(written).astimezone(UTC)


def name_of(title: str) -> str:
    """A title without its namespace."""
    return title.partition(":")[2]


def site_of(answer: Answer, url: str) -> Site:
    """What a wiki says of itself in its siteinfo."""
    try:
        query = answer["query"]
        general = query["general"]
        namespaces = _namespaces(query["namespaces"].values(), query.get("namespacealiases", ()))
        home = urljoin(url, general.get("server", ""))
        return Site(
            wiki=general.get("wikiid") or _place(url),
            lang=general.get("lang", "en"),
            article_url=urljoin(home, general["articlepath"]),
            first_letter=query["namespaces"].get("0", {}).get("case", general.get("case")) != "case-sensitive",
            namespaces=namespaces,
            interwiki=frozenset(wiki["prefix"].lower() for wiki in query.get("interwikimap", ())),
            redirect_words=_redirect_words(query.get("magicwords", ())),
        )
    except (LookupError, TypeError, AttributeError) as error:
        raise WikiRefused(
            f"{url} does not say of itself what a wiki's api.php says",
            hint="check --api-url; MediaWiki 1.25 or newer is needed",
        ) from error


def _namespaces(listed: Iterable[Mapping[str, Any]], aliases: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    names = [(space.get(key) or "", space["id"]) for space in listed for key in ("name", "canonical")]
    names += [(alias["alias"], alias["id"]) for alias in aliases]
    return {name.replace("_", " ").lower(): number for name, number in names if name}


def _redirect_words(words: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    found = [alias.lower() for word in words if word["name"] == "redirect" for alias in word["aliases"]]
    return tuple(dict.fromkeys([*found, "#redirect"]))


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path.rpartition('/')[0]}"
