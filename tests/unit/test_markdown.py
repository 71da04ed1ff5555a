"""Markdown: sections with their exact text, their names, and the links in them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from pipelines.files.markdown import LABEL, LARGEST, TooLong, parse_markdown
from pipelines.files.model import Part
from pipelines.files.parsing import parse
from pipelines.files.reading import lines_of

PAGE = """\
---
title: "The guide"
tags: [a]
---

Before any heading, see [the other](other.md#Part).

# Install `it` *now*

Text with [[Wiki Page|a wiki link]].

Two lines
of a setext
===========

```sh
# not a heading
```

> # quoted heading

Sub {#custom}
---

## Install it now
"""


def parts(text: str, path: str = "docs/guide.md") -> list[Part]:
    return list(parse_markdown(path, text).parts)


def wants(text: str) -> list[tuple[str, ...]]:
    return [reference.wants for part in parts(text, "docs/a.md") for reference in part.references]


def test_a_page_is_read_into_sections() -> None:
    assert [(part.key, part.name, part.parent, part.start_line, part.end_line) for part in parts(PAGE)] == [
        ("", "The guide", None, 1, 6),
        ("install-it-now", "Install it now", None, 8, 10),
        ("two-lines-of-a-setext", "Two lines of a setext", None, 12, 20),
        ("sub", "Sub", "two-lines-of-a-setext", 22, 23),
        ("install-it-now-1", "Install it now", "two-lines-of-a-setext", 25, 25),
    ]


def test_a_section_says_its_title_level_and_slug() -> None:
    first, second, third, sub, _ = parts(PAGE)
    assert {part.label for part in parts(PAGE)} == {LABEL}
    assert first.properties == {"title": "The guide", "level": 0, "slug": ""}
    assert second.properties == {"title": "Install it now", "level": 1, "slug": "install-it-now"}
    assert third.names == ("two-lines-of-a-setext", "quoted-heading")
    assert sub.names == ("sub", "custom")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_text_of_a_section_is_exactly_that_of_its_lines(end: str) -> None:
    text = PAGE.replace("\n", end)
    lines = lines_of(text)
    assert [part.start_line for part in parts(text)] == [part.start_line for part in parts(PAGE)]
    for part in parts(text):
        assert part.content == "".join(lines[part.start_line - 1 : part.end_line]).rstrip("\r\n")


def test_a_page_without_a_heading_is_one_section_named_after_the_file() -> None:
    (only,) = parts("\n\n  just text\n\n")
    assert (only.key, only.name, only.content, only.start_line, only.end_line) == ("", "guide", "  just text", 3, 3)


def test_an_empty_page_has_no_sections() -> None:
    assert parts("") == parts(" \n\t\n") == []


def test_front_matter_of_either_kind_is_text_before_the_first_heading() -> None:
    for fence, says in (("---", "title: A page"), ("+++", "title = 'A page'")):
        first, second = parts(f"{fence}\n{says}\n# a comment\n{fence}\n# Heading\n")
        assert (first.name, first.end_line, second.key) == ("A page", 4, "heading")


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    assert [part.key for part in parts("---\n\n# A\n")] == ["", "a"]


def test_a_heading_without_text_has_a_key_of_its_own() -> None:
    assert [(part.key, part.name) for part in parts("#\n\n# !\n\n# A\n")] == [("-1", "guide"), ("-2", "!"), ("a", "A")]


def test_levels_may_be_skipped() -> None:
    found = parts("### C\n# A\n#### D\n## B\n# E\n")
    assert [(part.key, part.parent) for part in found] == [
        ("c", None),
        ("a", None),
        ("d", "a"),
        ("b", "a"),
        ("e", None),
    ]


def test_anchors_are_names_of_the_section_they_stand_in_or_right_before() -> None:
    text = '# A\n\ntext <a name="in-a"></a>\n\n<a id="alone"></a>\n\n# B\n\n<h4 id="raw">x</h4>\n\n<a id="last"></a>\n'
    assert [part.names for part in parts(text)] == [("a", "in-a"), ("b", "alone", "raw", "last")]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("[a](b.md)", "file:docs/b.md"),
        ("[a](<b c.md> 'title')", "file:docs/b c.md"),
        ("[a](ü.md#ö)", "file:docs/ü.md#ö"),
        ("[a][r]\n\n[r]: ../b.md#x", "file:b.md#x"),
        ("[r]\n\n[r]: /b.md", "file:b.md"),
        ("![picture](img/a.png)", "file:docs/img/a.png"),
        ('<a href="b.html">b</a>', "file:docs/b.html"),
        ("<p>\n<img src='c.png'>\n</p>", "file:docs/c.png"),
        ("| a |\n|---|\n| [x](t.md) |", "file:docs/t.md"),
        ("- > *[x](n.md)*", "file:docs/n.md"),
        ("## [h](h.md)", "file:docs/h.md"),
        ("[[Page]]", "wiki:page"),
        ("a [[my_page_name#A *b*]]", "wiki:my_page_name#a-b"),
        ("![[Page]]", "wiki:page"),
    ],
)
def test_a_link_is_found_however_it_is_written(text: str, first: str) -> None:
    (found,) = wants(text)
    assert found[0] == first


@pytest.mark.parametrize(
    "text",
    [
        "`[a](b.md)`",
        "    [a](b.md)",
        "```\n[a](b.md) [[x]]\n```",
        "\\[a](b.md)",
        "[a](https://x.y)",
        "<https://x.y>",
        "<!-- [a](b.md) <a href='b.md'> -->",
        "`[[Page]]`",
        "[a]: b.md",
        "[ ] a task",
    ],
)
def test_what_only_looks_like_a_link_is_none(text: str) -> None:
    assert wants(text) == []


def test_a_link_knows_its_line_and_how_it_was_written() -> None:
    text = "# A\n\nfirst\nsecond [x](b%20c.md#D)\nthird [[P]]\n\n## B\n<a\nhref='d.md'>d</a>\n"
    found = [(each.line, each.shown) for part in parts(text) for each in part.references]
    assert found == [(4, "b%20c.md#D"), (5, "[[P]]"), (8, "d.md")]


def test_a_page_goes_by_its_path_and_its_wiki_name() -> None:
    assert parse_markdown("Notes/My Page.md", "x").aliases == ("file:Notes/My Page.md", "wiki:my page")


@pytest.mark.parametrize("paragraph", ["[" * 50_000, "![" * 50_000, "[a](" * 10_000, "x " * 20_000, "<a " * 27_000])
def test_a_paragraph_that_would_take_too_long_still_gives_its_plain_links(paragraph: str) -> None:
    """These take minutes if read as CommonMark says: the limits on a paragraph keep them from being read so."""
    (only,) = parts(f"{paragraph}\n[a](b.md) {'[' * 300}\n")
    assert [each.wants for each in only.references] == [("file:docs/b.md",)]


def test_a_page_longer_than_any_is_plain_text() -> None:
    text = "# A\n\n" + ("word " * 200 + "\n\n") * (LARGEST // 1000)
    with pytest.raises(TooLong):
        parse_markdown("a.md", text)
    assert {part.label for part in parse("a.md", text.encode()).parts} == {"TextSection"}


@pytest.mark.parametrize(
    "nested", [">" * 50_000, "> " * 20_000, "- " * 20_000, "1. " * 20_000, (">" * 300 + "\n") * 50]
)
def test_deep_nesting_is_text_of_one_section(nested: str) -> None:
    assert len(parts(nested)) == 1


PIECES = some.sampled_from(
    [
        *(
            "# A\n",
            "## B\n",
            "text\n",
            "\n",
            "===\n",
            "---\n",
            "```\n",
            "> # q\n",
            "- item\n",
            "    code\n",
            "a\r\n",
            "b\r",
        ),
        *(
            "[l](x.md)\n",
            "<div>\n",
            "+++\n",
            "\t\n",
            "#\n",
            "| a |\n",
            "|---|\n",
            "\x0b\x85\u2028x\n",
            "<!-- \n",
            "[[w]]",
        ),
    ]
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(some.lists(PIECES, max_size=20).map("".join))
def test_no_line_that_says_something_is_lost_or_doubled(text: str) -> None:
    lines = lines_of(text)
    found = parts(text)
    covered = [number for part in found for number in range(part.start_line, part.end_line + 1)]
    assert covered == sorted(set(covered))
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= set(covered)
    assert "".join(re.findall(r"\S", text)) == "".join(re.findall(r"\S", "".join(part.content for part in found)))
    assert len({part.key for part in found}) == len(found)
    assert {part.parent for part in found} <= {part.key for part in found} | {None}
