"""A mapping file says what a graph calls things; what is wrong in it is refused with its line."""

import re
from dataclasses import replace
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import pytest

from orchestrator.migration.articles import Facts, fate, has_gap, keys_of, place_of
from orchestrator.migration.mapping import InvalidMapping, read_mapping
from orchestrator.migration.marks import Marks, is_stale
from pipelines.wikipedia.identity import article_uuid

DOCS = Path(__file__).parents[2] / "docs" / "migrate.md"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mapping.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_example_of_the_docs_is_read(tmp_path: Path) -> None:
    example = re.findall(r"^```toml\n(.*?)^```", DOCS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[0]
    marks = read_mapping(written(tmp_path, example))
    assert marks.state[0] == "status"
    assert marks.words["done"] == "ready"
    assert marks.content.texts[0] == "body"
    assert marks.labels[:2] == ("Document", "Paragraph")
    assert marks.words["embedded"] == Marks().words["embedded"], "what is known anyway stays known"


@pytest.mark.parametrize(
    ("text", "line", "about"),
    [
        ('state = "s"\nstaet = "x"\n', 2, "did you mean state"),
        ('state = "s"\n\ntext = 3\n', 3, "expected a name"),
        ('text = "no name!"\n', 1, "letters, digits"),
        ('[words]\ndone = "ready"\nodd = "finished"\n', 3, "expected one of"),
        ('[words]\nbusy = "parsing"\n', 2, "no state to come to rest in"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(tmp_path: Path, text: str, line: int, about: str) -> None:
    with pytest.raises(InvalidMapping) as refused:
        read_mapping(written(tmp_path, text))
    assert f"line {line}:" in refused.value.message
    assert about in f"{refused.value.message} {refused.value.hint}"


def test_what_is_not_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidMapping, match="line 2"):
        read_mapping(written(tmp_path, 'state = "s"\ntext = \n'))


def test_a_hash_is_compared_as_far_as_it_was_stored() -> None:
    whole = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"  # of hello
    assert not is_stale([{"hash": whole[:16], "texts": ["other", "hello"]}])
    assert not is_stale([{"hash": whole, "texts": ["hello"]}])
    assert is_stale([{"hash": whole[:16], "texts": ["hello, world"]}])
    assert not is_stale([{"hash": whole[:16], "texts": []}]), "without a text nothing can be said"


def test_sections_are_put_in_order_and_named_as_an_expansion_does() -> None:
    assert [place_of("A#b#3", None), place_of("A#3", 7), place_of("A", None)] == [3, 7, 0]
    assert [has_gap([]), has_gap([0, 1]), has_gap([1, 2]), has_gap([0, 2]), has_gap([0, 0])] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert keys_of(["Lead", "History", "History"]) == ["\0001", "History\0001", "History\0002"]


def test_words_are_read_however_they_are_written() -> None:
    facts = Facts(word="Discovered", sections=0, gap=False, links=0, vectors=False)
    assert fate(facts).rule == "w1-not-read"
    assert fate(replace(facts, word="Frobbing")).rule == "10-unknown-word"


def test_uuids_of_a_wiki_are_of_version_five() -> None:
    namespace = uuid5(NAMESPACE_URL, "graphmill:wikipedia")
    for title in ("Mill", "Mühle", "", "\0"):
        assert article_uuid("p", "enwiki", title) == str(uuid5(namespace, f"p\0Article\0enwiki\0{title}"))
