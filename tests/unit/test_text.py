"""Plain text: pieces on natural boundaries, nothing lost, and edits that stay where they are made."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from pipelines.files import text as text_module
from pipelines.files.model import Part
from pipelines.files.text import LONGEST, SHORTEST, Line, TextSections, bounded, first_words, parse_text

WORDS = ["mill", "grain", "river", "stone", "wheel", "flour", "water", "wind", "sack", "door", "house", "night", "iron"]


def prose(seed: int, paragraphs: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(10, 60))) + "." for _ in range(paragraphs)]


def parts(text: str) -> list[Part]:
    return list(parse_text("a.txt", text).parts)


def bare(text: str) -> str:
    return re.sub(r"\s", "", text)


def test_a_short_text_is_one_piece_without_the_blank_lines_around_it() -> None:
    (only,) = parts("\n\n  first line\nsecond  \n\n\n")
    assert (only.content, only.start_line, only.end_line) == ("  first line\nsecond", 3, 4)
    assert (only.label, only.name, only.parent) == ("TextSection", "first line second", None)


def test_a_text_of_nothing_has_no_pieces() -> None:
    assert parts("") == parts(" \n\t\r\n\f") == []


def test_pieces_begin_where_paragraphs_do_and_are_of_a_size_to_read() -> None:
    paragraphs = prose(1, 200)
    found = parts("\n\n".join(paragraphs))
    starts = {paragraph[:40] for paragraph in paragraphs}
    assert {part.content[:40] for part in found} <= starts
    sizes = sorted(len(part.content) for part in found)
    assert sizes[-1] <= LONGEST
    assert sum(size < SHORTEST for size in sizes) <= 1
    assert 700 <= sizes[len(sizes) // 2] <= 1300


def test_lines_are_next_best_and_then_words() -> None:
    lines = prose(2, 100)
    assert {part.content[:40] for part in parts("\n".join(lines))} <= {line[:40] for line in lines}
    assert all(part.content.split(" ")[0].strip(".") in WORDS for part in parts(" ".join(lines)))


def test_a_word_without_end_is_cut_hard() -> None:
    assert [len(part.content) for part in parts("x" * 10_000)] == [1000] * 10


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("edit", ["insert", "remove", "change"])
def test_an_edit_leaves_pieces_elsewhere_as_they_are(seed: int, edit: str) -> None:
    paragraphs = prose(seed, 300)
    before = {part.key for part in parts("\n\n".join(paragraphs))}
    place = random.Random(seed).randrange(300)
    paragraphs[place : place + 1] = {"insert": [paragraphs[place], "A new one."], "remove": [], "change": ["Another."]}[
        edit
    ]
    after = {part.key for part in parts("\n\n".join(paragraphs))}
    assert len(before) > 40
    assert len(before - after) <= 4
    assert len(after - before) <= 4


def test_lines_that_move_down_keep_key_and_name() -> None:
    text = "\n".join(prose(3, 20))
    before, after = parts(text), parts(f"\n\n\n{text}")
    assert [(part.key, part.name, part.content) for part in before] == [
        (part.key, part.name, part.content) for part in after
    ]
    assert [part.start_line + 3 for part in before] == [part.start_line for part in after]


def test_repeated_text_has_keys_of_its_own() -> None:
    keys = [part.key for part in parts("\n".join(["the same line again"] * 500))]
    assert len(keys) == len(set(keys)) > 5
    assert any(key.endswith("~2") for key in keys)


def test_a_section_with_a_title_is_found_by_its_names_at_its_first_piece() -> None:
    sections = TextSections()
    lines = [Line(f"{line}\n\n", number, opens=True) for number, line in enumerate(prose(4, 30), 1)]
    sections.add(lines, title="The Mill", names=["mill"])
    sections.add(lines[:1], title="The Mill")
    first, *others, last = sections.parts
    assert (first.key, first.names, first.name) == ("the-mill", ("the-mill", "mill"), "The Mill")
    assert others and {other.names for other in others} == {()}
    assert {other.name for other in others} == {"The Mill"}
    assert (last.key, last.names) == ("the-mill-1", ("the-mill-1",))


def test_data_without_end_is_read_up_to_a_bound_and_says_so() -> None:
    lines = [Line(f"{number}\n", number, opens=True) for number in range(1, 11)]
    assert [line.text for line in bounded(lines, 2)] == ["1\n", "2\n", "(what follows is not read)\n"]
    assert list(bounded(lines, 10)) == lines


def test_a_name_is_the_beginning_and_ends_with_a_word() -> None:
    assert first_words("  some\nwords  here ") == "some words here"
    assert first_words("word " * 30, 12) == "word word"
    assert first_words("x" * 100, 12) == "x" * 12


TEXTS = some.lists(
    some.one_of(
        some.text(max_size=60),
        some.sampled_from(
            ["\n", "\r\n", "\n\n", " ", "a line\n", "word " * 100, "x" * 2500, "\u2028", "\f", " " * 2000]
        ),
    ),
    max_size=30,
).map("".join)


def holds_together(text: str) -> None:
    found = parts(text)
    assert bare("".join(part.content for part in found)) == bare(text)
    assert all(part.content == part.content.rstrip() and part.name for part in found)
    assert all(len(part.content) <= LONGEST for part in found)
    assert len({part.key for part in found}) == len(found)
    lines = [line for part in found for line in (part.start_line, part.end_line)]
    assert lines == sorted(lines)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(TEXTS)
def test_nothing_of_a_text_is_lost_or_doubled(text: str) -> None:
    holds_together(text)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(TEXTS, some.integers(4, 12))
def test_nothing_is_lost_where_a_text_is_too_long_to_be_held(text: str, held: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "_HELD", held)
        holds_together(text)


def test_a_text_that_is_not_held_whole_is_cut_all_the_same() -> None:
    text = "\n\n".join(prose(5, 400))
    whole = {part.key for part in parts(text)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "_HELD", 100)
        assert len(whole ^ {part.key for part in parts(text)}) <= len(whole) // 10
