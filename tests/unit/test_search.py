"""The stretch of a text that a search shows."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.search import snippet

FILLER = "Nothing of interest stands here at all. " * 20


def test_a_short_text_is_shown_whole_on_one_line() -> None:
    assert snippet("one\n\n  two\tthree ", "four") == "one two three"


def test_the_stretch_with_the_most_words_is_shown() -> None:
    text = f"{FILLER}A pump is mentioned.{FILLER}Install the pump with a Wrench.{FILLER}"
    shown = snippet(text, "how to install a pump with a wrench?")
    assert "Install the pump with a Wrench." in shown
    assert shown.startswith("… ") and shown.endswith(" …")
    assert len(shown) <= 244


def test_without_any_of_the_words_the_beginning_is_shown() -> None:
    shown = snippet(f"The beginning. {FILLER}", "zebra")
    assert shown.startswith("The beginning.") and shown.endswith(" …")


def test_words_at_the_end_are_shown_to_the_end() -> None:
    shown = snippet(f"{FILLER}the zebra", "zebra")
    assert shown.startswith("… ") and shown.endswith("the zebra")


def test_a_text_without_spaces_is_cut_where_it_must() -> None:
    assert len(snippet("x" * 5000, "x")) <= 244


@given(st.text(max_size=2000), st.text(max_size=40))
def test_any_text_has_a_snippet_that_is_one_short_line(content: str, asked: str) -> None:
    shown = snippet(content, asked)
    assert len(shown) <= 244 and len(shown.splitlines()) <= 1
    bare = shown.removeprefix("… ").removesuffix(" …")
    assert bare in " ".join(content.split()) or not bare
