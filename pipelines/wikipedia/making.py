"""From the wikitext of a page to what the graph keeps of it. Runs in a process of its own, on plain data."""

import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pipelines.files.manifest import text_hash
from pipelines.wikipedia.identity import section_uuid
from pipelines.wikipedia.model import Section, Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    article: str
    """The uuid of the article's node."""
    title: str
    text: str
    site: bytes
    """What the wiki says of itself, pickled once for all tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A section with what names it: its title, and its number where the article has several by that title."""

    uuid: str
    key: str
    hash: str
    section: Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    pieces: Sequence[Piece]
    links: Mapping[str, int]
    categories: Sequence[str]

    @property
    def word_count(self) -> int:
        return sum(piece.section.word_count for piece in self.pieces)


def make(task: Task) -> Made:
    """Parse one page."""
    from pipelines.wikipedia.wikitext import parse

    parsed = parse(task.text, title=task.title, site=_site(task.site))
    return Made(pieces=_pieces(task.article, parsed.sections), links=parsed.links, categories=parsed.categories)


@lru_cache(maxsize=8)
def _site(pickled: bytes) -> Site:
    site = pickle.loads(pickled)  # noqa: S301 it comes from the process that started this one
    assert isinstance(site, Site)
    return site


def _pieces(article: str, sections: Sequence[Section]) -> list[Piece]:
    seen: Counter[str] = Counter()
    pieces: list[Piece] = []
    for index, section in enumerate(sections):
        title = section.title if index else ""
        seen[title] += 1
        key = f"{title}\0{seen[title]}"
        uuid = section_uuid(article, key)
        pieces.append(Piece(uuid=uuid, key=key, hash=text_hash(section.content), section=section))
    return pieces
