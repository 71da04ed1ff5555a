"""reStructuredText: sections with their exact text, and the links of docutils and Sphinx."""

from pathlib import Path

import pytest

from pipelines.files.model import Document
from pipelines.files.parsing import parse
from pipelines.files.restructured import LARGEST, MOST_WORK, TooMuchWork, parse_restructured

PAGE = """\
A line before.

.. _top label:

========
The mill
========

See :doc:`guide <sub/guide>`, `rye <rye.rst>`_ and wheel_, or :ref:`Stones <the-stones>`.

.. _the-stones:
.. _rocks:

Stones
------

.. toctree::
   :maxdepth: 2

   intro
   The end <parts/end>
   https://example.org

.. image:: stone.png

Water
~~~~~
|unknown| :unknown:`role` and `Stones`_

.. unknown:: directive

.. _wheel: ../wheel.html
"""


def page(text: str = PAGE) -> Document:
    return parse_restructured("docs/mill.rst", text)


def test_a_page_is_read_by_its_titles() -> None:
    assert [(part.key, part.name, part.start_line, part.end_line) for part in page().parts] == [
        (page().parts[0].key, "A line before. .. _top label:", 1, 3),
        ("the-mill", "The mill", 5, 12),
        ("stones", "Stones", 14, 24),
        ("water", "Water", 26, 32),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_text_of_a_section_is_exactly_that_of_its_lines(end: str) -> None:
    lines = PAGE.split("\n")
    for part in page(PAGE.replace("\n", end)).parts:
        assert part.content == end.join(lines[part.start_line - 1 : part.end_line])


def test_a_section_goes_by_its_labels() -> None:
    assert [part.names for part in page().parts] == [
        (),
        ("the-mill", "top label"),
        ("stones", "the-stones", "rocks"),
        ("water",),
    ]
    assert page().aliases == ("file:docs/mill.rst", "ref:top label", "ref:the-stones", "ref:rocks")


def test_links_of_every_kind_are_references_of_the_file() -> None:
    assert [(each.line, each.shown, each.wants[:2]) for each in page().references] == [
        (9, "../wheel.html", ("file:wheel.html", "file:wheel.md")),
        (9, ":doc:`guide <sub/guide>`", ("file:docs/sub/guide", "file:docs/sub/guide.rst")),
        (9, ":ref:`Stones <the-stones>`", ("ref:the-stones#the-stones",)),
        (9, "rye.rst", ("file:docs/rye.rst",)),
        (20, "intro", ("file:docs/intro", "file:docs/intro.rst")),
        (21, "The end <parts/end>", ("file:docs/parts/end", "file:docs/parts/end.rst")),
        (24, "stone.png", ("file:docs/stone.png",)),
        (28, "Stones_", ("#stones",)),
    ]


def test_a_document_from_the_top_may_be_in_any_folder_above() -> None:
    (found,) = parse_restructured("a/b/c.rst", ":doc:`/x`").references
    assert [want for want in found.wants if want.endswith(".rst")] == ["file:a/b/x.rst", "file:a/x.rst", "file:x.rst"]


def test_nothing_is_read_from_other_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("Secret\n======\n\n`x <secret.md>`_")
    made = page(f".. include:: {secret}\n\n.. csv-table::\n   :file: {secret}\n\n.. raw:: html\n   :file: {secret}\n")
    assert len(made.parts) == 1
    assert made.references == ()


def test_substitutions_are_not_expanded() -> None:
    """Each of these is ten of the next: expanded, the last is a hundred million words."""
    bomb = "".join(f".. |a{level}| replace:: {f'|a{level + 1}| ' * 10}\n" for level in range(8)) + "\n|a0|\n"
    assert "".join(part.content for part in page(bomb).parts) == bomb.strip()


@pytest.mark.parametrize(
    "text",
    [
        "word " * (LARGEST // 5 + 1),
        "`a <" * 20_000,
        ("+--" * 2_000 + "+\n" + "|x " * 2_000 + "|\n") * 5,
    ],
)
def test_a_text_that_would_take_too_long_is_plain_text(text: str) -> None:
    with pytest.raises(TooMuchWork):
        page(text)
    assert parse("a.rst", text.encode()).parts


def test_a_large_table_that_people_write_is_not_too_long() -> None:
    row = "+------+------+\n| some | text |\n"
    text = row * 300 + "+------+------+\n"
    assert len(text) * text.count("|") < MOST_WORK
    assert page(text).mime_type == "text/x-rst"


def test_nesting_deeper_than_the_stack_is_plain_text() -> None:
    nested = "".join(" " * depth + "- a\n\n" for depth in range(300))
    assert "".join(parse("a.rst", nested.encode()).parts[0].content[:3]) == "- a"
