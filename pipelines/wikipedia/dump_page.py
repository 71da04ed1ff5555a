"""What a page of a dump is to a reader: an article, a redirect, or nothing that can be read."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from pipelines.wikipedia.dump_xml import Record
from pipelines.wikipedia.model import ARTICLES, Absence, Absent, Found, Page, Redirect, Site
from pipelines.wikipedia.titles import Title, normalise

_REDIRECT = re.compile(r"\s*(#[^\s\[:：#]+)\s*[:：]?\s*\[\[([^\[\]|{}<>\n]+)(?:\|[^\]\n]*)?\]\]")


class Kind(StrEnum):
    ARTICLE = "article"
    REDIRECT = "redirect"
    DELETED = "deleted"
    NO_WIKITEXT = "no wikitext"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A page in the namespace of articles, without its text."""

    title: str
    page_id: int
    revision_id: int
    timestamp: str
    kind: Kind
    target: str | None = None
    fragment: str | None = None

    def is_newer(self, than: "Entry") -> bool:
        if self.revision_id and than.revision_id and self.revision_id != than.revision_id:
            return self.revision_id > than.revision_id
        return self.timestamp > than.timestamp

    def found(self, text: str | None) -> Found:
        if self.kind is Kind.REDIRECT and self.target is not None:
            return Redirect(title=self.title, target=self.target, fragment=self.fragment)
        if self.kind is Kind.DELETED:
            return Absent(
                title=self.title, absence=Absence.MISSING, reason="the dump has no text of it: it was deleted"
            )
        if self.kind is Kind.NO_WIKITEXT:
            return Absent(title=self.title, absence=Absence.NO_ARTICLE, reason="its content is not wikitext")
        return Page(
            title=self.title,
            page_id=self.page_id,
            revision_id=self.revision_id,
            timestamp=_moment(self.timestamp),
            text=text,
        )


def namespace_of(record: Record, site: Site) -> int:
    """Old dumps only have it in the title."""
    if record.namespace is not None:
        return record.namespace
    prefix, colon, _ = record.title.partition(":")
    return site.namespaces.get(prefix.replace("_", " ").strip().lower(), ARTICLES) if colon else ARTICLES


def article_title(title: str, site: Site) -> str:
    """The title under which an article is asked for."""
    read = normalise(title, site)
    # What looks like a prefix is none, where the dump itself says that the page is an article.
    return title if read is None or read.interwiki or read.namespace != ARTICLES else read.title


def entry_of(record: Record, site: Site) -> Entry | None:
    """None where the page is in another namespace; ValueError where it cannot be right."""
    if namespace_of(record, site) != ARTICLES:
        return None
    _moment(record.timestamp)
    title = article_title(record.title, site)
    target = _redirect(record, site) if record.text and record.wikitext else None
    return Entry(
        title=title,
        page_id=record.page_id,
        revision_id=record.revision_id,
        timestamp=record.timestamp,
        kind=_kind(record, target),
        target=shown(target, site) if target else None,
        fragment=target.fragment if target else None,
    )


def _kind(record: Record, target: Title | None) -> Kind:
    if not record.wikitext:
        return Kind.NO_WIKITEXT
    if record.text is None:
        return Kind.DELETED
    return Kind.ARTICLE if target is None else Kind.REDIRECT


def _redirect(record: Record, site: Site) -> Title | None:
    """The text is believed: a page that is marked as a redirect and holds an article is an article."""
    read = _REDIRECT.match(record.text or "")
    if read is None or (record.redirect is None and read[1].lower() not in site.redirect_words):
        return None
    return normalise(read[2], site) or (normalise(record.redirect, site) if record.redirect else None)


def shown(title: Title, site: Site) -> str:
    """A title with its prefix, where it has one."""
    if title.interwiki is not None:
        return f"{title.interwiki}:{title.title}"
    if title.namespace == ARTICLES:
        return title.title
    *_, prefix = ["", *(name for name, key in site.namespaces.items() if key == title.namespace)]
    return f"{prefix[:1].upper()}{prefix[1:]}:{title.title}"


def _moment(timestamp: str) -> datetime:
    read = datetime.fromisoformat(timestamp)
    return read if read.tzinfo else read.replace(tzinfo=UTC)
