"""Tables, JSON and notebooks: read as a person would, and not as the signs between the values."""

import json

import pytest

from pipelines.files.model import Document
from pipelines.files.notebook import parse_notebook
from pipelines.files.parsing import parse
from pipelines.files.structured import items, parse_json, parse_json_lines
from pipelines.files.tabular import parse_table


def contents(document: Document) -> list[str]:
    return [part.content for part in document.parts]


def test_the_rows_of_a_table_say_the_names_of_their_columns() -> None:
    (only,) = parse_table("a.csv", 'Name,Age,Home\nAnn,3,"Rome,\nItaly"\n\nBob,,Oslo,extra\n').parts
    assert only.content.split("\n\n") == [
        "Name: Ann\nAge: 3\nHome: Rome,\nItaly",
        "\nName: Bob\nHome: Oslo\ncolumn 4: extra",
    ]
    assert (only.start_line, only.end_line) == (2, 5)


@pytest.mark.parametrize(
    ("name", "delimiter"), [("a.csv", ","), ("a.csv", ";"), ("a.csv", "\t"), ("a.tsv", "\t"), ("a.csv", "|")]
)
def test_the_delimiter_is_found(name: str, delimiter: str) -> None:
    text = "\n".join(delimiter.join(row) for row in [("who", "what"), ("Ann", "runs"), ("Bob", "sits, then runs")])
    if delimiter != ",":
        assert contents(parse_table(name, text)) == ["who: Ann\nwhat: runs\n\nwho: Bob\nwhat: sits, then runs"]
    else:
        assert contents(parse_table(name, text))[0].startswith("who: Ann\nwhat: runs\n")


def test_a_first_row_of_values_names_no_columns() -> None:
    assert contents(parse_table("a.csv", "1,2\n3,4\n")) == ["column 1: 1\ncolumn 2: 2\n\ncolumn 1: 3\ncolumn 2: 4"]


def test_a_changed_row_leaves_pieces_elsewhere_as_they_are() -> None:
    rows = [f"person {number},{number * 7919 % 1000},town {number % 17}" for number in range(1000)]
    before = {part.key for part in parse_table("a.csv", "\n".join(["name,age,town", *rows])).parts}
    rows[500] = "somebody else,1,nowhere"
    after = {part.key for part in parse_table("a.csv", "\n".join(["name,age,town", *rows])).parts}
    assert len(before) > 20
    assert len(before - after) <= 3


def test_json_reads_as_lines_of_names_and_values() -> None:
    parts = '{"stones": 2, "sails": [1, 2], "wheels": [{"of": "wood", "new": false}]}'
    (only,) = parse_json("a.json", f'{{"name": "mill",\n "parts": {parts},\n "owner": null}}').parts
    assert only.content.split("\n\n") == [
        "name: mill",
        "parts:\n  stones: 2\n  sails: 1, 2\n  wheels:\n    -\n      of: wood\n      new: no",
        "owner: none",
    ]
    assert (only.start_line, only.end_line) == (1, 3)


def test_long_words_in_json_are_cut_and_long_texts_are_not() -> None:
    text = json.dumps({"picture": "A" * 5000, "story": "word " * 300})
    whole = "\n".join(contents(parse_json("a.json", text)))
    assert "A (4500 more characters)" in whole
    assert whole.count("word") == 300


def test_halves_of_characters_and_zeros_in_json_can_be_stored() -> None:
    assert contents(parse_json("a.json", '{"a": "x\\ud800y\\u0000"}')) == ["a: x?y�"]


@pytest.mark.parametrize(
    "text", ['{"a": 1} and more', '{"a": 1', "[1, 2", '{"a" 1}', "[" * 50_000, '"text"', "12", "{}", "[1 2]"]
)
def test_what_is_not_quite_json_is_the_text_that_it_is(text: str) -> None:
    assert "".join(contents(parse("a.json", text.encode()))) == text


def test_json_lines_are_read_one_by_one() -> None:
    assert contents(parse_json_lines("a.jsonl", '{"a": 1}\n\nnot json\n[2, 3]\n')) == ["a: 1\n\nnot json\n2, 3"]


def test_the_places_of_items_are_told() -> None:
    text = ' {"a" : 1, "b":[2, {"c": 3}]}'
    assert [(item.key, item.value, text[item.start]) for item in items(text)] == [
        ("a", 1, "1"),
        ("b", [2, {"c": 3}], "["),
    ]
    assert [item.key for item in items(text, text.index("["))] == ["0", "1"]


PRINTED = [{"data": {"image/png": "iVBORw0KGgo" * 50, "text/plain": ["printed"]}}]
CELLS: list[dict[str, object]] = [
    {"cell_type": "markdown", "id": "first", "metadata": {}, "source": ["# The mill\n", "\n", "See [a](a.md).\n"]},
    {
        "cell_type": "code",
        "id": "second",
        "metadata": {},
        "source": ["import mill\n", "\n", "mill.turn()"],
        "outputs": PRINTED,
    },
    {"cell_type": "markdown", "metadata": {}, "source": "Some *more* text.\n## Sub\nEnd"},
    {"cell_type": "code", "metadata": {}, "source": [], "outputs": []},
    {"cell_type": "raw", "metadata": {}, "source": ["raw text"]},
]
NOTEBOOK = json.dumps({"cells": CELLS, "metadata": {"language_info": {"name": "Python"}}, "nbformat": 4}, indent=1)


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(NOTEBOOK.split("\n"), 1) if text in line)


def test_a_notebook_is_its_cells_without_what_they_printed() -> None:
    made = parse_notebook("a.ipynb", NOTEBOOK)
    assert (made.language, made.aliases) == ("python", ("file:a.ipynb", "wiki:a"))
    assert [(part.label, part.key, part.name, part.parent) for part in made.parts] == [
        ("MarkdownSection", "the-mill", "The mill", None),
        ("Scope", "cell second", "import mill mill.turn()", None),
        ("MarkdownSection", "cell 3", "Some *more* text.", "the-mill"),
        ("MarkdownSection", "sub", "Sub", "the-mill"),
        ("TextSection", made.parts[4].key, "raw text", None),
    ]
    assert contents(made)[1] == "import mill\n\nmill.turn()"
    assert not any("iVBOR" in content or "printed" in content for content in contents(made))


def test_cells_stand_in_the_lines_of_the_file() -> None:
    first, code, third, sub, _ = parse_notebook("a.ipynb", NOTEBOOK).parts
    assert (first.start_line, first.end_line) == (line_of("# The mill"), line_of("See [a]"))
    assert [reference.line for reference in first.references] == [line_of("See [a]")]
    assert (code.start_line, code.end_line) == (line_of("import mill"), line_of("mill.turn()"))
    assert third.start_line == third.end_line == sub.start_line == line_of("Some *more*")
    assert code.properties == {
        "kind": "cell",
        "signature": "import mill mill.turn()",
        "docstring": None,
        "language": "python",
    }


def test_cells_of_one_name_have_keys_of_their_own() -> None:
    cells = [{"cell_type": "code", "id": "same", "source": f"x = {number}"} for number in range(3)]
    made = parse_notebook("a.ipynb", json.dumps({"cells": cells}))
    assert [part.key for part in made.parts] == ["cell same", "cell same~2", "cell same~3"]


@pytest.mark.parametrize(
    "text", ['{"cells": 3}', '{"cells": [3]}', "not json", '{"cells": [{"source": [1, null]}]}', "[1]"]
)
def test_a_notebook_that_is_none_is_still_read(text: str) -> None:
    assert parse("a.ipynb", text.encode()).parts
