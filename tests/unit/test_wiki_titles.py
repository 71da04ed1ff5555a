"""Titles: which spellings are the same page, and which are no title."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.wikipedia.model import Site
from pipelines.wikipedia.titles import USUAL_INTERWIKI, Title, describe_invalid, normalise

SITE = Site(
    wiki="testwiki",
    lang="en",
    article_url="https://wiki.example/$1",
    namespaces={"": 0, "talk": 1, "file": 6, "image": 6, "category": 14, "kategorie": 14, "help talk": 13},
    interwiki=frozenset({"de", "en", "wikt", "commons"}),
)


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("Weaving", "Weaving"),
        ("weaving loom", "Weaving loom"),
        ("  weaving__loom _ ", "Weaving loom"),
        ("weaving\u00a0loom", "Weaving loom"),
        ("weaving%20loom", "Weaving loom"),
        ("caf%C3%A9", "Café"),
        ("cafe\u0301", "Café"),
        ("100%", "100%"),
        ("AT&amp;T", "AT&T"),
        ("ßomething", "ßomething"),
        ("élan", "Élan"),
        ("Loom\u200e", "Loom"),
        (":Loom", "Loom"),
        ("Loom#Parts", "Loom"),
        ("/sub", "/sub"),
        ("Star: the loom", "Star: the loom"),
        ("en:loom", "Loom"),
    ],
)
def test_spellings_of_an_article_are_one_title(written: str, title: str) -> None:
    found = normalise(written, SITE)
    assert found is not None
    assert (found.namespace, found.title, found.interwiki) == (0, title, None)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("category:looms", Title(namespace=14, title="Looms")),
        (" Kategorie : looms", Title(namespace=14, title="Looms")),
        (":Category:Looms", Title(namespace=14, title="Looms")),
        ("help_talk:x", Title(namespace=13, title="X")),
        ("Image:a b.png", Title(namespace=6, title="A b.png")),
        ("de:Webstuhl", Title(namespace=0, title="Webstuhl", interwiki="de")),
        ("WIKT:loom", Title(namespace=0, title="loom", interwiki="wikt")),
        ("Loom# Some_part", Title(namespace=0, title="Loom", fragment="Some part")),
        ("#Parts", Title(namespace=0, title="Here", fragment="Parts")),
    ],
)
def test_prefixes_and_places_are_taken_apart(written: str, expected: Title) -> None:
    assert normalise(written, SITE, base="Here") == expected


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("", "empty"),
        (" _ ", "empty"),
        ("#", "empty"),
        ("a[b", "'['"),
        ("a|b", "'|'"),
        ("a{{b}}", "'{'"),
        ("a\nb", "'\\n'"),
        ("a%7Cb", "'|'"),
        ("../a", ".."),
        ("a/./b", "."),
        ("~~~~", "~~~"),
        ("é" * 128, "256 bytes"),
        ("%FFa", "percent"),
        ("::a", "colon"),
    ],
)
def test_what_no_page_can_be_called_is_refused_with_a_reason(written: str, reason: str) -> None:
    assert normalise(written, SITE) is None
    assert reason in describe_invalid(written)


def test_a_wiki_that_tells_small_first_letters_apart_keeps_them() -> None:
    site = Site(wiki="w", lang="en", article_url="$1", first_letter=False)
    assert normalise("loom", site) == Title(namespace=0, title="loom")


def test_languages_and_sister_projects_are_known_without_asking() -> None:
    assert {"de", "simple", "zh-min-nan", "wikt", "commons"} <= USUAL_INTERWIKI


@given(st.text(alphabet=st.sampled_from("aB _:#/.%4é&;~[|\u200e\u00a0ß"), max_size=12))
def test_a_normalised_title_stays_as_it_is(written: str) -> None:
    found = normalise(written, SITE)
    if found is not None and found.interwiki is None and found.namespace == 0:
        again = normalise(":" + found.title, SITE)
        assert again is None or again.title == found.title


@given(st.text(max_size=40))
def test_any_text_is_a_title_or_has_a_reason_why_not(written: str) -> None:
    if normalise(written, SITE) is None:
        assert describe_invalid(written)
