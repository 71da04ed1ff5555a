"""The demo's wiki many times over, as one dump: the same file on every machine, of any size."""

import bz2
import re
from collections.abc import Iterator
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from xml.sax.saxutils import escape

from pipelines.wikipedia.local_wiki import LocalPage, LocalWiki
from pipelines.wikipedia.model import ARTICLES

FIRST = "Watermill"
# As in Wikimedia's multistream files.
_PAGES_A_STREAM = 100
_LINK = re.compile(r"(\[\[|\{\{(?:Main|See also)\|)([^\[\]{}|#\n]+)", re.IGNORECASE)
_HEAD = """<mediawiki xml:lang="en"><siteinfo><sitename>Mills</sitename><dbname>millswiki</dbname>
<base>https://mills.example.org/wiki/Watermill</base><case>first-letter</case><namespaces>
<namespace key="0" case="first-letter" /><namespace key="14" case="first-letter">Category</namespace>
</namespaces></siteinfo>
"""


def write_dump(path: Path, articles: int) -> int:
    """A dump with about that many articles, all of them to be reached from FIRST; returns how many there are."""
    wiki = demo()
    own = [page for title in wiki.titles(ARTICLES) if (page := wiki.page(title)) is not None]
    in_one = sum(page.redirect is None for page in own)
    copies = max(1, round(articles / in_one))
    pages = list(_pages(wiki, own, copies))
    with path.open("wb") as file:
        file.write(bz2.compress(_HEAD.encode()))
        for start in range(0, len(pages), _PAGES_A_STREAM):
            file.write(bz2.compress("".join(pages[start : start + _PAGES_A_STREAM]).encode()))
        file.write(bz2.compress(b"</mediawiki>\n"))
    return copies * in_one


def demo() -> LocalWiki:
    with as_file(files("pipelines.wikipedia") / "demo" / "mills.xml") as path:
        return LocalWiki.from_dump(path)


def _pages(wiki: LocalWiki, own: list[LocalPage], copies: int) -> Iterator[str]:
    titles = {page.title for page in own}
    number = 0
    for copy in range(copies):
        for page in own:
            number += 1
            text = _LINK.sub(partial(_renamed, wiki, titles, copy), page.text)
            if page.title == FIRST:
                text += "".join(f"\n* [[{_title(FIRST, each)}]]" for each in _next(copy, copies))
            yield _page(_title(page.title, copy), number, text)


def _next(copy: int, copies: int) -> list[int]:
    """A tree, so that a crawl has levels of every size."""
    return [each for each in (2 * copy + 1, 2 * copy + 2) if each < copies]


def _renamed(wiki: LocalWiki, titles: set[str], copy: int, link: re.Match[str]) -> str:
    title = wiki.title(link[2])
    known = title is not None and title.title in titles
    return f"{link[1]}{_title(link[2].strip(), copy)}" if known else link[0]


def _title(title: str, copy: int) -> str:
    return f"{title}, valley {copy}" if copy else title


def _page(title: str, number: int, text: str) -> str:
    return (
        f"<page><title>{escape(title)}</title><ns>0</ns><id>{number}</id><revision><id>{number}</id>"
        f"<timestamp>2026-03-02T13:17:00Z</timestamp><model>wikitext</model><format>text/x-wiki</format>"
        f'<text xml:space="preserve">{escape(text)}</text></revision></page>\n'
    )
