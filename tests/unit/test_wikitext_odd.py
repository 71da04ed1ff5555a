"""Wikitext that nobody should write: it is read in bounded time, or there is a reason why not."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.wikipedia.model import CannotParse, Site
from pipelines.wikipedia.wikitext import LONGEST, parse

SITE = Site(
    wiki="testwiki",
    lang="en",
    article_url="https://wiki.example/$1",
    namespaces={"file": 6, "category": 14},
    interwiki=frozenset({"de"}),
)
PIECES = [
    "{{convert|", "{{main|", "<td>", "</table>", "<table>",
    "{{", "}}", "[[", "]]", "{|", "|}", "\n{|\n", "\n|}\n", "\n|-\n", "\n| ", " || ", "\n! ", "|", "=", "\n== ",
    " ==\n", "<ref>", "</ref>", "<ref name=\"", "<nowiki>", "</nowiki>", "<!--", "-->", "<b>", "</b>", "<div ", ">",
    "''", "'''", "\n* ", "\n; ", ":", "[http://a ", "]", "&amp;", "&#", "<gallery>", "</gallery>", "<math>", "</math>",
    "__TOC__", "File:a|thumb|", "Category:", "de:", "#REDIRECT ", "{{{", "}}}", "<br>", "word", " ", "\n",
    "(", ")", "\x00", "\ud800", "\ufdd1", "\U000f0027", "é",
]  # fmt: skip
LIMIT = 60.0
"""Far above what any of this takes, and far below what it would take if time grew faster than text."""


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_markup_is_read(text: str) -> None:
    parsed = parse(text, title="Loom", site=SITE)
    assert parsed.sections[0].title == "Loom"
    for section in parsed.sections:
        section.content.encode()
        assert not re.search("[\x00\ufdd0-\ufdef\U000f0000-\U000f00ff]", section.content + section.title)
        assert section.content == section.content.strip()
        assert "\n\n\n" not in section.content
        assert "  " not in section.content


@pytest.mark.parametrize(
    "piece",
    ["{{a|", "[[a|", "<ref>", "\n{|\n| a", "<b>", "{{[[<ref>", "<ref name=\"", "<div ", "<!-- ", "<nowiki>",
     "[http://a ", "{{a|[[b|<ref>{|\n|", "\n== a ==\n{{b\n", "({{a}} ,", "|a=a=", "[[File:a|thumb|1111",
     "<ref>a<ref>b</ref>", "<ref>][//x", "\n== <ref> ==", "\n== </i><i>\n* ",
     "{{a|<td>]}}}", "<gallery>\na|b", "''''a'' "],
)  # fmt: skip
def test_time_grows_no_faster_than_unclosed_markup(piece: str) -> None:
    """With 20 kB of these alone, some take the tokenizer longer than anybody waits."""
    begun = time.process_time()
    parsed = parse("Begin [[Yarn]].\n" + piece * (60_000 // len(piece)), title="Loom", site=SITE)
    assert time.process_time() - begun < LIMIT
    assert parsed.links["Yarn"] == 1
    assert parsed.sections[0].content.startswith("Begin Yarn.")


@pytest.mark.parametrize(("before", "after"), [("{{a|", "}}"), ("[[b|", "]]"), ("<b>", "</b>"), ("\n{|\n|\n", "\n|}")])
def test_markup_within_markup_is_read_however_deep(before: str, after: str) -> None:
    parsed = parse(f"one {before * 500} [[Yarn]] {after * 500} two", title="Loom", site=SITE)
    words = parsed.sections[0].content.split()
    assert (words[0], words[-1], parsed.links["Yarn"]) == ("one", "two", 1)


def test_a_hopeless_section_leaves_the_others_alone() -> None:
    text = (
        "Lead [[Flax]].\n== Odd ==\n"
        + "{{a|<b>" * 4000
        + "\n== Sound ==\n{|\n| a || [[Hemp]]\n|}\n{{lang|fr|mot}} ''x''"
    )
    parsed = parse(text, title="Loom", site=SITE)
    assert [each.title for each in parsed.sections] == ["Loom", "Odd", "Sound"]
    assert parsed.sections[2].content == "a | Hemp\n\nmot x"
    assert dict(parsed.links) == {"Flax": 1, "Hemp": 1}


def test_hopeless_text_still_has_its_words_and_links() -> None:
    text = "{{" * 3000 + (
        "\n== A [[b|c]] ==\n* ''x'' [[Yarn|y]] [http://a.example z] &amp; <nowiki>''n''</nowiki> <span>s</span> "
        "{{lang|fr|mot}}<ref>r [[Flax]]</ref> [[File:a.png|thumb|cap]]"
    )
    parsed = parse(text * 2, title="Loom", site=SITE)
    assert parsed.sections[1].title == "A c"
    assert parsed.sections[1].content.split() == ["x", "y", "z", "&", "''n''", "s", "mot", "cap"]
    assert dict(parsed.links) == {"B": 2, "Flax": 2, "Yarn": 2}


def test_a_page_of_five_megabytes_is_read() -> None:
    paragraph = "Where cloth is made, the [[loom|machine]] weaves '''yarn''', " + "and so on, " * 20 + "\n\n"
    section = "== Part ==\n" + paragraph * 40
    text = section * (5_000_000 // len(section) + 1)
    assert len(text) >= 5_000_000
    parsed = parse(text, title="Cloth", site=SITE)
    assert parsed.links["Loom"] == text.count("[[loom")


@pytest.mark.parametrize("text", ["{{" * 2_500_000, "\n;;::" * 1_000_000, "x" * (LONGEST + 1)])
def test_a_page_that_would_take_minutes_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(CannotParse, match="the page has"):
        parse(text, title="Loom", site=SITE)


SHOWN = [
    "{}", "''{}''", "'''{}'''", "[[T|{}]]", "<b>{}</b>", "[http://a.example {}]", "{{{{lang|fr|{}}}}}",
    "<span a=b>{}</span>", "\n* {}\n", "\n; {}\n", "\n== H ==\n{}\n", "\n{{|\n| {}\n|}}\n",
    "\n<blockquote>{}</blockquote>\n", "\n\n{}\n\n",
]  # fmt: skip
UNREAD = ["<ref>{}</ref>", "{{{{cite|{}}}}}", "<!-- {} -->"]
WORDS = st.lists(st.sampled_from(["ash", "bark", "cedar", "dogwood", "elm", "fir", "hazel"]), min_size=1, max_size=4)


def _wrapped(form: str, words: list[str]) -> tuple[str, list[str]]:
    """Markup, and the words of it that a reader reads."""
    return form.format(" ".join(words)), [] if form in UNREAD else words


@settings(max_examples=100, deadline=None)
@given(st.lists(st.builds(_wrapped, st.sampled_from(SHOWN + UNREAD), WORDS), max_size=12))
def test_no_word_is_lost_and_no_markup_is_left(parts: list[tuple[str, list[str]]]) -> None:
    parsed = parse(" ".join(text for text, _ in parts), title="Loom", site=SITE)
    content = "\n".join(section.content for section in parsed.sections)
    assert re.findall(r"[a-z]+", content) == [word for _, words in parts for word in words]
    assert not re.search(r"\[\[|\{\{|''|<ref|\|", content)
