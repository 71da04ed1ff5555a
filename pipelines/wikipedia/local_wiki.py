"""A small wiki in memory: pages that can be written, deleted and looked up as MediaWiki does.

Owns what such a wiki holds. How it answers over HTTP is in local_api.
"""

import bz2
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import Element, iterparse

from pipelines.wikipedia.answers import moment, redirect_target
from pipelines.wikipedia.model import ARTICLES, CATEGORIES, Site
from pipelines.wikipedia.titles import Title, describe_invalid, normalise

NAMESPACES = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    2: "User",
    3: "User talk",
    4: "Project",
    5: "Project talk",
    6: "File",
    7: "File talk",
    8: "MediaWiki",
    9: "MediaWiki talk",
    10: "Template",
    11: "Template talk",
    12: "Help",
    13: "Help talk",
    14: "Category",
    15: "Category talk",
}
_FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_NOT_WRITTEN_SO = re.compile(r"%[0-9a-fA-F]{2}|&(?:#\w+|\w+);")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPage:
    title: str
    namespace: int
    page_id: int
    revision_id: int
    timestamp: datetime
    text: str
    redirect: tuple[str, str | None] | None
    """Where it leads, and to which place there."""
    categories: tuple[str, ...]
    """Without the namespace."""


class LocalWiki:
    """Pages by title. `requests`, `continued` and `texts` count what was asked over HTTP."""

    def __init__(
        self,
        pages: Mapping[str, str] | None = None,
        *,
        name: str = "localwiki",
        lang: str = "en",
        first_letter: bool = True,
        interwiki: frozenset[str] = frozenset({"de", "fr", "wikt"}),
        namespaces: Mapping[int, str] | None = None,
    ) -> None:
        self.namespaces = NAMESPACES | dict(namespaces or {})
        names = [*NAMESPACES.items(), *self.namespaces.items()]
        self.site = Site(
            wiki=name,
            lang=lang,
            article_url="/wiki/$1",
            first_letter=first_letter,
            namespaces={written.lower(): number for number, written in names if written},
            interwiki=interwiki,
        )
        self.requests = 0
        self.continued = 0
        """How many of the requests asked for a further part of an answer."""
        self.texts: Counter[str] = Counter()
        """How often the text of a page was handed out."""
        self.answer_bytes = 8 * 1024**2
        """Texts beyond this come in a further part of the answer."""
        self._pages: dict[str, LocalPage] = {}
        self._sorted: list[str] | None = None
        self._members: dict[str, list[str]] | None = None
        self._redirects: dict[str, list[str]] | None = None
        self._last_page = 0
        self._last_revision = 0
        category = re.escape(self.namespaces[CATEGORIES])
        self._category = re.compile(
            rf"\[\[\s*(?:Category|{category})\s*:\s*([^\[\]|#]+)(?:\|[^\[\]]*)?\]\]", re.IGNORECASE
        )
        for title, text in (pages or {}).items():
            self.write(title, text)

    @classmethod
    def from_dump(cls, path: Path, *, name: str | None = None) -> "LocalWiki":
        """The pages of a dump, `.xml` or `.xml.bz2`, each as in its newest revision there."""
        wiki: LocalWiki | None = None
        lang = "en"
        with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as file:
            for tag, element in _elements(file):
                if tag == "mediawiki":
                    lang = element.get(_LANG, lang)
                elif tag == "siteinfo":
                    wiki = cls(
                        name=name or _said(element, "dbname") or "localwiki",
                        lang=lang,
                        first_letter=_said(element, "case") != "case-sensitive",
                        namespaces=_spaces(element),
                    )
                elif tag == "page":
                    wiki = wiki or cls(name=name or "localwiki", lang=lang)
                    if (newest := _newest(element)) is not None and wiki.title(_said(element, "title")) is not None:
                        wiki.write(
                            _said(element, "title"),
                            _said(newest, "text"),
                            timestamp=moment(_said(newest, "timestamp")),
                            page_id=int(_said(element, "id") or 0) or None,
                            revision_id=int(_said(newest, "id") or 0) or None,
                        )
        return wiki or cls(name=name or "localwiki")

    def write(
        self,
        title: str,
        text: str,
        *,
        timestamp: datetime | None = None,
        page_id: int | None = None,
        revision_id: int | None = None,
    ) -> LocalPage:
        """A new revision of a page, and the page if there was none."""
        written = self.title(title)
        if written is None or written.interwiki is not None:
            raise ValueError(f"{title!r} can be no page of this wiki: {describe_invalid(title)}")
        full = self.full(written)
        known = self._pages.get(full)
        revision = revision_id or self._last_revision + 1
        page = LocalPage(
            title=full,
            namespace=written.namespace,
            page_id=known.page_id if known else page_id or self._last_page + 1,
            revision_id=revision,
            timestamp=timestamp or _FIRST_DAY + timedelta(minutes=revision),
            text=text,
            redirect=redirect_target(text, self.site),
            categories=tuple(dict.fromkeys(self._categories(text))),
        )
        self._pages[full] = page
        self._last_page = max(self._last_page, page.page_id)
        self._last_revision = max(self._last_revision, revision)
        self._forget_orders()
        return page

    def delete(self, title: str) -> None:
        del self._pages[self.full(self.title(title))]
        self._forget_orders()

    def page(self, title: str) -> LocalPage | None:
        """By its title as the wiki writes it."""
        return self._pages.get(title)

    def title(self, written: str) -> Title | None:
        """None where no page can have it. As in a request, where a percent sign stands for itself."""
        return None if _NOT_WRITTEN_SO.search(written) else normalise(written, self.site)

    def full(self, title: Title | None) -> str:
        """With its namespace."""
        assert title is not None
        if title.interwiki is not None:
            return f"{title.interwiki}:{title.title}"
        space = self.namespaces.get(title.namespace, "")
        return f"{space}:{title.title}" if space else title.title

    def titles(self, namespace: int = ARTICLES, *, start: str = "") -> Iterator[str]:
        """In their order, from one on."""
        if self._sorted is None:
            self._sorted = sorted(self._pages)
        for place in range(bisect_left(self._sorted, start), len(self._sorted)):
            title = self._sorted[place]
            if self._pages[title].namespace == namespace:
                yield title

    def members(self, category: str) -> list[str]:
        """The pages in a category, by its name without the namespace."""
        if self._members is None:
            self._members = defaultdict(list)
            for title in sorted(self._pages):
                for each in self._pages[title].categories:
                    self._members[each].append(title)
        return self._members.get(category, [])

    def redirects_to(self, title: str) -> list[str]:
        """The articles' titles that lead straight to a page."""
        if self._redirects is None:
            self._redirects = defaultdict(list)
            for each in sorted(self._pages):
                page = self._pages[each]
                target = self.title(page.redirect[0]) if page.redirect and page.namespace == ARTICLES else None
                if target is not None and target.interwiki is None:
                    self._redirects[self.full(target)].append(each)
        return self._redirects.get(title, [])

    def is_hidden(self, category: str) -> bool:
        page = self._pages.get(f"{self.namespaces[CATEGORIES]}:{category}")
        return page is not None and "__HIDDENCAT__" in page.text

    def _categories(self, text: str) -> Iterator[str]:
        for found in self._category.finditer(text):
            title = normalise(found[1], self.site)
            if title is not None:
                yield title.title

    def _forget_orders(self) -> None:
        self._sorted = None
        self._members = None
        self._redirects = None


def _elements(file: IO[bytes]) -> Iterator[tuple[str, Element]]:
    # Only files that the operator names are read, and this reader loads nothing from elsewhere.
    for event, element in iterparse(file, events=("start", "end")):  # noqa: S314
        tag = _tag(element)
        if event == "start" and tag == "mediawiki":
            yield tag, element
        elif event == "end" and tag in ("siteinfo", "page"):
            yield tag, element
            element.clear()


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _newest(page: Element) -> Element | None:
    revisions = [child for child in page if _tag(child) == "revision"]
    return max(revisions, key=lambda revision: moment(_said(revision, "timestamp")), default=None)


def _said(element: Element, name: str) -> str:
    return next((child.text or "" for child in element if _tag(child) == name), "")


def _spaces(siteinfo: Element) -> dict[int, str]:
    listed = (space for space in siteinfo.iter() if _tag(space) == "namespace")
    return {int(space.get("key", "0")): space.text or "" for space in listed}
