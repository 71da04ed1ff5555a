"""What a link may mean, by its text alone."""

import pytest

from pipelines.files.hyperlinks import Slugs, link, resolved, slug, wiki_links, wiki_name


@pytest.mark.parametrize(
    ("href", "first"),
    [
        ("guide.md", "file:docs/guide.md"),
        ("./guide.md", "file:docs/guide.md"),
        ("../README.md", "file:README.md"),
        ("/src/a.py", "file:src/a.py"),
        ("guide.md#install", "file:docs/guide.md#install"),
        ("guide.md#Install", "file:docs/guide.md#Install"),
        ("guide.md?plain=1#install", "file:docs/guide.md#install"),
        ("a%20b.md", "file:docs/a b.md"),
        ("%C3%A9.md#%C3%A9", "file:docs/é.md#é"),
        ("#install", "#install"),
        ("#Install", "#Install"),
        ("sub/", "file:docs/sub/README.md"),
        ("..", "file:README.md"),
        ("/", "file:README.md"),
        ("guide", "file:docs/guide"),
        ("../src/a.py#L10", "file:src/a.py"),
        ("../src/a.py#L10-L20", "file:src/a.py"),
        ("paper.pdf#page=3", "file:docs/paper.pdf"),
        (" guide.md ", "file:docs/guide.md"),
        ("a/b/../../c.md", "file:docs/c.md"),
    ],
)
def test_a_link_wants_first_what_it_says(href: str, first: str) -> None:
    found = link("docs/index.md", href, 7)
    assert found is not None
    assert (found.wants[0], found.shown, found.line) == (first, href, 7)


@pytest.mark.parametrize(
    ("href", "others"),
    [
        ("guide.md#Install", ["file:guide.md#install"]),
        ("#Install", ["#install"]),
        ("guide", ["file:guide.md", "file:guide.html", "file:guide/README.md", "file:guide/index.md"]),
        ("v1.2", ["file:v1.2/README.md"]),
        ("guide.html", ["file:guide.md", "file:guide.rst"]),
        ("sub/", ["file:sub/index.md", "file:sub/index.html"]),
        ("#top", ["file:page.md"]),
    ],
)
def test_a_link_wants_also_what_people_mean_by_it(href: str, others: list[str]) -> None:
    found = link("page.md", href, 1)
    assert found is not None
    assert set(others) <= set(found.wants)


@pytest.mark.parametrize("href", ["", " ", "#", "https://x.y/a.md", "mailto:a@b.c", "//host/x", "data:text/plain,x"])
def test_a_link_to_elsewhere_is_none_of_ours(href: str) -> None:
    assert link("a.md", href, 1) is None


@pytest.mark.parametrize("href", ["../x.md", "a/../../x.md", "/../x.md"])
def test_a_link_out_of_the_root_is_kept_as_one_that_leads_nowhere(href: str) -> None:
    found = link("a.md", href, 1)
    assert found is not None
    assert found.wants == ()
    assert resolved("a.md", href) is None


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Install it", "install-it"),
        ("What's new in 2.0?", "whats-new-in-20"),
        ("snake_case & more", "snake_case--more"),
        ("Über die Größe", "über-die-größe"),
        ("日本語 見出し", "日本語-見出し"),
        ("🎉 Party", "-party"),
        ("a - b", "a---b"),
        ("!!!", ""),
    ],
)
def test_the_anchor_is_the_one_that_github_makes(title: str, expected: str) -> None:
    assert slug(title) == expected


def test_repeated_headings_are_numbered_around_those_that_look_numbered() -> None:
    slugs = Slugs()
    assert [slugs.unique(title) for title in ["A", "A", "A-1", "A", "!", "?"]] == [
        "a",
        "a-1",
        "a-1-1",
        "a-2",
        "-1",
        "-2",
    ]


@pytest.mark.parametrize(
    ("text", "wants"),
    [
        ("[[Page]]", ("wiki:page",)),
        ("[[My Page|shown]]", ("wiki:my page", "wiki:my-page")),
        ("[[Page#Some Heading]]", ("wiki:page#some-heading",)),
        ("[[#Own]]", ("#own",)),
        ("[[Page#^block]]", ("wiki:page",)),
        ("[[notes/Page]]", ("file:notes/Page.md", "wiki:page")),
        ("[[Page.md]]", ("wiki:page",)),
    ],
)
def test_a_wiki_link_wants_a_page_by_its_name(text: str, wants: tuple[str, ...]) -> None:
    (found,) = wiki_links("a.md", f"see\n{text}", 3)
    assert (found.wants, found.shown, found.line) == (wants, text, 4)


def test_brackets_that_are_no_wiki_link_are_none() -> None:
    assert wiki_links("a.md", "[[ ]] [[]] [[a\nb]] [a]", 1) == []


def test_a_page_has_its_name_in_any_case() -> None:
    assert wiki_name("Notes/My Page.md") == "wiki:my page"
