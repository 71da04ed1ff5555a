"""The wiki that ships with graphmill has in it what the demo and the tests of expansion count on."""

import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from xml.etree import ElementTree

import pytest

EXPORT = "{http://www.mediawiki.org/xml/export-0.11/}"
SEED = "Watermill"
NO_LINKS_IN = re.compile(r"<!--.*?-->|<nowiki>.*?</nowiki>", re.DOTALL)
LINK = re.compile(r"\[\[([^\]|]+)")
CATEGORY = re.compile(r"\[\[Category:([^\]|]+)")
HEADING = re.compile(r"^(=+) *(.*?) *\1$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    namespace: int
    page_id: int
    revision_id: int
    timestamp: datetime
    text: str
    size: int
    redirect: str | None


@pytest.fixture(scope="module")
def root() -> ElementTree.Element:
    return ElementTree.fromstring(resources.files("pipelines.wikipedia").joinpath("demo", "mills.xml").read_bytes())


@pytest.fixture(scope="module")
def pages(root: ElementTree.Element) -> dict[str, Written]:
    return {_text(page, "title"): _written(page) for page in root.iter(f"{EXPORT}page")}


@pytest.fixture(scope="module")
def articles(pages: dict[str, Written]) -> dict[str, str]:
    return {title: page.text for title, page in pages.items() if page.namespace == 0 and page.redirect is None}


@pytest.fixture(scope="module")
def redirects(pages: dict[str, Written]) -> dict[str, str]:
    return {title: page.redirect for title, page in pages.items() if page.redirect is not None}


def test_the_wiki_says_what_it_is(root: ElementTree.Element) -> None:
    site = root.find(f"{EXPORT}siteinfo")
    assert site is not None
    assert [_text(site, name) for name in ("sitename", "dbname", "base", "case")] == [
        "Mills",
        "millswiki",
        "https://mills.example.org/wiki/Watermill",
        "first-letter",
    ]
    names = {space.get("key"): space.text for space in site.iter(f"{EXPORT}namespace")}
    assert names["0"] is None
    assert (names["1"], names["10"], names["14"]) == ("Talk", "Template", "Category")


def test_there_are_as_many_pages_of_each_kind_as_the_docs_say(
    pages: dict[str, Written], articles: dict[str, str], redirects: dict[str, str]
) -> None:
    assert len(articles) == 69
    assert len(redirects) == 15
    assert Counter(page.namespace for page in pages.values()) == {0: 84, 14: 12, 10: 2, 1: 1}


def test_titles_pages_and_revisions_are_all_different(root: ElementTree.Element, pages: dict[str, Written]) -> None:
    assert len(pages) == len(list(root.iter(f"{EXPORT}page")))
    assert len({page.page_id for page in pages.values()}) == len(pages)
    assert len({page.revision_id for page in pages.values()}) == len(pages)
    assert all(page.timestamp.tzinfo is not None for page in pages.values())


def test_the_size_of_a_text_is_as_declared(pages: dict[str, Written]) -> None:
    for title, page in pages.items():
        assert len(page.text.encode()) == page.size, title


def test_a_redirect_says_the_same_in_its_text(pages: dict[str, Written], redirects: dict[str, str]) -> None:
    for title, target in redirects.items():
        written = re.fullmatch(r"#REDIRECT \[\[(.+)\]\]", pages[title].text)
        assert written is not None
        assert written[1].partition("#")[0] == target


def test_every_redirect_ends_at_an_article_and_one_goes_by_another(
    articles: dict[str, str], redirects: dict[str, str]
) -> None:
    assert all(_end(title, redirects) in articles for title in redirects)
    assert [title for title, target in redirects.items() if target in redirects] == ["Overshot"]
    assert _end("Overshot", redirects) == "Overshot wheel"


def test_one_redirect_leads_to_a_section_that_is_there(pages: dict[str, Written], articles: dict[str, str]) -> None:
    assert pages["Runner stone"].text == "#REDIRECT [[Millstone#Runner and bed stone]]"
    assert "Runner and bed stone" in _headings(articles["Millstone"])


def test_only_two_links_of_all_lead_nowhere(articles: dict[str, str], redirects: dict[str, str]) -> None:
    linked = {target for links in _graph(articles, redirects).values() for target in links}
    assert linked - articles.keys() == {"Camel mill", "Mill at Lower Fenwick"}


def test_everything_is_three_links_or_less_from_the_watermill(
    articles: dict[str, str], redirects: dict[str, str]
) -> None:
    graph = _graph(articles, redirects)
    depths = {SEED: 0}
    frontier = deque([SEED])
    while frontier:
        title = frontier.popleft()
        for target in graph[title] & articles.keys() - depths.keys():
            depths[target] = depths[title] + 1
            frontier.append(target)
    assert depths.keys() == articles.keys()
    assert Counter(depths.values()) == {0: 1, 1: 18, 2: 43, 3: 7}


def test_a_link_to_a_section_leads_to_one_that_is_there(articles: dict[str, str]) -> None:
    anchored = {link for text in articles.values() for link in LINK.findall(text) if "#" in link}
    assert anchored == {"Mill race#Tail race"}
    assert "Tail race" in _headings(articles["Mill race"])


def test_every_article_has_a_lead_and_sections_with_something_in_them(articles: dict[str, str]) -> None:
    for title, text in articles.items():
        lead, *rest = HEADING.split(text)
        assert re.search(r"\w", lead), title
        levels, contents = rest[0::3], rest[2::3]
        assert 2 <= levels.count("==") <= 4, title
        # A heading right under another one is the structure of a list, and not an empty section.
        for (level, content), below in zip(zip(levels, contents, strict=True), [*levels[1:], "=="], strict=True):
            assert re.search(r"\w", content) or len(below) > len(level), title


def test_articles_are_short(articles: dict[str, str]) -> None:
    words = {title: len(re.findall(r"\w+", text)) for title, text in articles.items()}
    assert min(words.values()) >= 60
    assert max(words.values()) <= 300


def test_every_category_has_a_page_and_all_hang_together(pages: dict[str, Written], articles: dict[str, str]) -> None:
    names = {title.removeprefix("Category:"): page.text for title, page in pages.items() if page.namespace == 14}
    assert {name for text in articles.values() for name in CATEGORY.findall(text)} == names.keys()
    assert all(CATEGORY.search(text) for text in articles.values())
    above = {name: set(CATEGORY.findall(text)) for name, text in names.items()}
    assert {name for name, parents in above.items() if not parents} == {"Mills", "Disambiguation pages"}
    assert above["Water wheels"] == {"Watermills", "Mill machinery"}
    assert above["Watermills"] == {"Mills"}


@pytest.mark.parametrize(
    ("title", "markup"),
    [
        ("Water wheel", "{| class="),
        ("Miller's toll", "{| class="),
        ("Mill at Aldermoor", "{{Infobox mill"),
        ("Mill at Aldermoor", "{{convert|4.2|m|ft}}"),
        ("Mill at Aldermoor", "[[overshot_water_wheel|"),
        ("Mill at Aldermoor", "[[runner stone]]"),
        ("Overshot wheel", "[[File:"),
        ("Overshot wheel", "<ref name="),
        ("Ship mill", "<ref>"),
        ("Watermill", "<!--"),
        ("Watermill", "[[de:"),
        ("Mill (disambiguation)", "[[wikt:"),
        ("Mill (disambiguation)", "{{disambiguation}}"),
        ("Gear", "<nowiki>"),
        ("Gear", "<math>"),
        ("List of mill types", "<gallery>"),
        ("List of mill types", "\n** "),
        ("List of mill types", "\n; "),
    ],
)
def test_the_markup_that_makes_parsing_hard_is_there(articles: dict[str, str], title: str, markup: str) -> None:
    assert markup in articles[title]


def _written(page: ElementTree.Element) -> Written:
    revision = page.find(f"{EXPORT}revision")
    redirect = page.find(f"{EXPORT}redirect")
    assert revision is not None
    text = revision.find(f"{EXPORT}text")
    assert text is not None
    return Written(
        namespace=int(_text(page, "ns")),
        page_id=int(_text(page, "id")),
        revision_id=int(_text(revision, "id")),
        timestamp=datetime.fromisoformat(_text(revision, "timestamp")),
        text=text.text or "",
        size=int(text.attrib["bytes"]),
        redirect=None if redirect is None else redirect.attrib["title"],
    )


def _text(element: ElementTree.Element, name: str) -> str:
    text = element.findtext(f"{EXPORT}{name}")
    assert text is not None
    return text


def _headings(text: str) -> set[str]:
    return {heading[2] for heading in HEADING.finditer(text)}


def _end(title: str, redirects: dict[str, str]) -> str:
    for _ in redirects:
        title = redirects.get(title, title)
    return title


def _graph(articles: dict[str, str], redirects: dict[str, str]) -> dict[str, set[str]]:
    return {title: {_end(target, redirects) for target in _links(text)} for title, text in articles.items()}


def _links(text: str) -> Iterator[str]:
    for written in LINK.findall(NO_LINKS_IN.sub("", text)):
        title = written.partition("#")[0].replace("_", " ")
        if ":" not in title:
            yield title[0].upper() + title[1:]
