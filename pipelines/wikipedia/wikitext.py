"""Sections, links and categories out of the wikitext of a page.

Owns what a page becomes, and that it does so in bounded time whatever is written there. Templates are not expanded:
only their wiki can. Whether the pages that are linked exist is for others to find out.
"""

import re

from pipelines.wikipedia.model import CannotParse, Parsed, Section, Site
from pipelines.wikipedia.wikitext_lines import one_line, tidy
from pipelines.wikipedia.wikitext_marks import SECTION, fit
from pipelines.wikipedia.wikitext_reading import Reading
from pipelines.wikipedia.wikitext_tokens import TooDense, tokens_of, without_comments

LONGEST = 16 * 1024**2
"""In characters. A wiki's own limit is two megabytes unless somebody raised it."""
_WORD = re.compile(r"\w+")


def parse(text: str, *, title: str, site: Site) -> Parsed:
    if len(text) > LONGEST:
        raise CannotParse(f"the page has {len(text):,} characters, and no more than {LONGEST:,} are read")
    reading = Reading(title, site)
    try:
        reading.read(tokens_of(_without_redirect(without_comments(fit(text)), reading, site)))
    except TooDense as error:
        raise CannotParse(str(error)) from error
    return Parsed(
        sections=_sections(reading, title),
        links=dict(sorted(reading.links.items())),
        categories=tuple(reading.categories),
    )


def _without_redirect(text: str, reading: Reading, site: Site) -> str:
    """Where a page leads is a link, but nothing that anybody reads."""
    start = text.lstrip()
    word = next((word for word in site.redirect_words if start[: len(word)].lower() == word), None)
    if word is None:
        return text
    line, _, rest = start[len(word) :].partition("\n")
    reading.read_aside(tokens_of(line))
    return rest


def _sections(reading: Reading, title: str) -> tuple[Section, ...]:
    lead, *others = tidy(reading.text).split(SECTION)
    sections = [_section(title, 1, lead)]
    for (level, written), content in zip(reading.headings, others, strict=True):
        sections.append(_section(one_line(written), level, content))
    return tuple(sections)


def _section(title: str, level: int, content: str) -> Section:
    content = content.strip()
    return Section(title=title, level=level, content=content, word_count=len(_WORD.findall(content)))
