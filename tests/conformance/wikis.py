"""Small wikis that tests make up and edit, and what an expansion of one must come to: a plain search, breadth first."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tests.conformance.pictures import Picture
from tests.unit.dump_files import DumpPage, header, write_xml

# Long ago, and a second apart: no two versions of a dump ever have the same time, however quick the machine is.
_TICKS = count(1_600_000_000)
_REVISIONS = count(1000)
BEYOND_DEPTH, BEYOND_BUDGET = "beyond depth", "beyond budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link to a title, in one of the ways in which people write it."""

    to: str
    form: int = 0

    @property
    def written(self) -> str:
        small = self.to[:1].lower() + self.to[1:]
        forms = [
            f"[[{self.to}]]",
            f"[[{small}]]",
            f"[[{self.to.replace(' ', '_')}]]",
            f"[[{self.to}#History]]",
            f"[[{self.to}|another word]]",
            f"[[{small.replace(' ', '_')}#Use|this]]",
        ]
        return forms[self.form % len(forms)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """An article: paragraphs under headings, of which the lead has none, each with its links."""

    paragraphs: Sequence[tuple[str, Sequence[Link]]] = ()
    categories: Sequence[str] = ()

    def wikitext(self, title: str) -> str:
        lines = [f"'''{title}''' is written about here."]
        for heading, links in self.paragraphs:
            lines += [f"== {heading} ==", " and ".join(["Of this", *(link.written for link in links)]) + "."]
        lines += [f"[[Category:{name}]]" for name in self.categories]
        return "\n\n".join(lines)

    @property
    def links(self) -> Counter[str]:
        return Counter(link.to for _, links in self.paragraphs for link in links)


@dataclass(frozen=True, slots=True, kw_only=True)
class To:
    """A redirect."""

    target: str

    def wikitext(self, _: str) -> str:
        return f"#REDIRECT [[{self.target}]]"


Content = Text | To


@dataclass(slots=True)
class Wiki:
    """Pages by title; each has a number of its own, and a revision that every edit makes new."""

    pages: dict[str, Content] = field(default_factory=dict)
    name: str = "testwiki"
    _numbers: dict[str, int] = field(default_factory=dict)
    _revisions: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, pages: Mapping[str, Content], name: str = "testwiki") -> "Wiki":
        wiki = cls(name=name)
        for title, content in pages.items():
            wiki.write(title, content)
        return wiki

    def write(self, title: str, content: Content) -> None:
        """A new revision. Where a redirect comes or goes, so gets the article: only then its titles are looked at."""
        before = self.pages.pop(title, None)
        self.pages[title] = content
        self._numbers.setdefault(title, len(self._numbers) + 1)
        targets = {each.target for each in (before, content) if isinstance(each, To)}
        for each in {title, *(targets & self.pages.keys())}:
            self._revisions[each] = next(_REVISIONS)

    def delete(self, title: str) -> None:
        before = self.pages.pop(title)
        if isinstance(before, To) and before.target in self.pages:
            self._revisions[before.target] = next(_REVISIONS)

    def save(self, path: Path) -> None:
        pages = [
            DumpPage(
                title=title,
                text=content.wikitext(title),
                page_id=self._numbers[title],
                revision_id=self._revisions[title],
                redirect=content.target if isinstance(content, To) else None,
            )
            for title, content in self.pages.items()
        ]
        write_xml(path, pages, beginning=header(wiki=self.name))
        now = next(_TICKS) * 10**9
        os.utime(path, ns=(now, now))


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What an expansion comes to, by titles."""

    articles: dict[str, int] = field(default_factory=dict)
    """With their depth."""
    redirects: dict[str, str] = field(default_factory=dict)
    """With what each leads to by itself."""
    nothing: set[str] = field(default_factory=set)
    reported: set[str] = field(default_factory=set)
    """Nothing, where somebody asked for it, or for what leads to it."""
    stubs: dict[str, str] = field(default_factory=dict)
    links: dict[tuple[str, str], int] = field(default_factory=dict)
    sections: dict[str, list[str]] = field(default_factory=dict)
    categories: set[tuple[str, str]] = field(default_factory=set)


def expected(wiki: Wiki, seeds: Iterable[str], *, depth: int, budget: int | None) -> Outcome:
    """Level by level: first what most articles of the level before link to, then by title, while there is room."""
    search = _Search(wiki, budget)
    wanted = list(dict.fromkeys(seeds))
    for level in range(depth + 1):
        found = search.level(wanted, level)
        if level == 0:
            search.outcome.reported = set(search.outcome.nothing)
        linked = Counter(title for article in found for title in set(search.text(article).links))
        wanted = sorted(linked, key=lambda title: (-linked[title], title))
    return search.finished()


class _Search:
    def __init__(self, wiki: Wiki, budget: int | None) -> None:
        self.outcome = Outcome()
        self._pages = wiki.pages
        self._budget = budget
        self._seen: set[str] = set()
        self._too_many: set[str] = set()

    def level(self, titles: Sequence[str], depth: int) -> list[str]:
        found: list[str] = []
        for place, title in enumerate(titles):
            if self._budget is not None and len(self.outcome.articles) >= self._budget:
                self._too_many |= set(titles[place:])
                break
            end = self._follow(title)
            if end is not None and end not in self.outcome.articles:
                self.outcome.articles[end] = depth
                found.append(end)
        return found

    def text(self, title: str) -> Text:
        page = self._pages[title]
        assert isinstance(page, Text)
        return page

    def finished(self) -> Outcome:
        outcome = self.outcome
        outcome.nothing -= outcome.reported
        self._know_other_titles()
        for article in outcome.articles:
            page = self.text(article)
            outcome.sections[article] = [article, *(heading for heading, _ in page.paragraphs)]
            outcome.categories |= {(article, name) for name in page.categories}
            for title, number in page.links.items():
                end = self._end(title)
                if end != article:
                    outcome.links[article, end] = outcome.links.get((article, end), 0) + number
                if title not in self._seen:
                    outcome.stubs[title] = BEYOND_BUDGET if title in self._too_many else BEYOND_DEPTH
        return outcome

    def _know_other_titles(self) -> None:
        """Of an article all titles are known that lead straight to it, also where nobody looked at them."""
        linked = {title for article in self.outcome.articles for title in self.text(article).links}
        for title in linked - self._seen:
            if isinstance(page := self._pages.get(title), To) and page.target in self.outcome.articles:
                self._seen.add(title)
                self.outcome.redirects[title] = page.target

    def _follow(self, title: str) -> str | None:
        """Look at a title and at all that it leads to; the article at the end of it, if there is one."""
        way: set[str] = set()
        while title not in way:
            way.add(title)
            self._seen.add(title)
            page = self._pages.get(title)
            if page is None:
                self.outcome.nothing.add(title)
                return None
            if isinstance(page, Text):
                return title
            self.outcome.redirects[title] = page.target
            title = page.target
        return None

    def _end(self, title: str) -> str:
        """Where a link leads to; one that is not looked at, or only leads in a circle, stays what it is."""
        end, way = title, {title}
        while end in self._seen and isinstance(page := self._pages.get(end), To):
            end = page.target
            if end in way:
                return title
            way.add(end)
        return end


def outcome_of(picture: Picture) -> Outcome:
    """What is in the graph, in the same words. Whatever has no place in them is an error."""
    outcome = Outcome()
    for title, node in picture.of("Article").items():
        _place(outcome, title, node["_state"], node)
    for (source, target), properties in picture.links("LINKS_TO").items():
        outcome.links[source, target] = properties["count"]
    found = dict(picture.links("REDIRECTS_TO"))
    assert set(found) == set(outcome.redirects.items())
    sections = {key: node["title"] for key, node in picture.nodes.items() if key[0] == "Section"}
    held = [(key, edge["section_index"]) for key, edge in picture.edges.items() if key[0] == "HAS_SECTION"]
    for (_, article, section), _ in sorted(held, key=lambda each: int(each[1])):
        outcome.sections.setdefault(picture.names[article], []).append(sections.pop(section))
    assert not sections, "sections without an article"
    outcome.categories = set(picture.links("IN_CATEGORY"))
    assert set(picture.of("Category")) == {name for _, name in outcome.categories}
    assert {key[0] for key in picture.nodes} <= {"Article", "Section", "Category", "Wiki"}
    return outcome


def _place(outcome: Outcome, title: str, state: str, node: Mapping[str, object]) -> None:
    match state, node:
        case "ready", {"expansion_depth": int(depth), "expansion_state": "processed"}:
            outcome.articles[title] = depth
        case "skip", {"_redirect": str(target)}:
            outcome.redirects[title] = target
        case "skip", {"_errorMessage": ("beyond depth" | "beyond budget") as reason}:
            outcome.stubs[title] = reason
        case "skip", {"_contentHash": "missing"}:
            outcome.nothing.add(title)
        case "error", {"_errorClass": "missing", "expansion_state": "failed"}:
            outcome.reported.add(title)
        case _:
            raise AssertionError(f"{title!r} is {state}: {node}")
