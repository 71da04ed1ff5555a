"""What is remembered of a file comes back as it was, and tells what an edit changed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.files.identity import chunk_uuid, directory_uuid, file_uuid, part_uuid
from pipelines.files.manifest import Manifest, Piece, dump, load, manifest_of
from pipelines.files.model import Document, Part, Reference, ReferenceKind

FILE = "a-file"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = st.lists(TEXTS, max_size=3).map(tuple)
REFERENCES = st.lists(
    st.builds(Reference, kind=st.sampled_from(ReferenceKind), wants=NAMES, shown=TEXTS, line=st.integers(0, 10**6)),
    max_size=3,
).map(tuple)


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    pieces = [
        Piece(
            label=label,
            key=key,
            uuid=part_uuid(FILE, label, key),
            text=draw(TEXTS),
            shown=draw(TEXTS),
            index=index,
            parent=draw(st.none() | TEXTS),
            names=draw(NAMES),
            references=draw(REFERENCES),
            fresh=draw(st.booleans()),
        )
        for index, (label, key) in enumerate(
            draw(st.lists(st.tuples(st.sampled_from(["Scope", "TextSection"]), TEXTS), max_size=3))
        )
    ]
    return Manifest(
        aliases=draw(NAMES),
        references=draw(REFERENCES),
        forwards=draw(st.dictionaries(TEXTS, NAMES, max_size=2)),
        pieces=pieces,
        skip=draw(st.none() | TEXTS),
    )


@given(manifest=manifests())
def test_what_is_stored_comes_back_as_it_was(manifest: Manifest) -> None:
    assert load(dump(manifest), FILE) == manifest


@given(manifest=manifests())
def test_the_same_manifest_is_the_same_text(manifest: Manifest) -> None:
    assert dump(load(dump(manifest), FILE)) == dump(manifest)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "[1,2,3,4,5]", "null"])
def test_what_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        load(text, FILE)


PART = Part(
    label="MarkdownSection",
    key="install",
    name="Install",
    content="## Install\n\nPut it there.",
    start_line=3,
    end_line=5,
    parent="guide",
    properties={"level": 2, "slug": "install"},
    names=("install",),
)


def piece(part: Part) -> Piece:
    [made] = manifest_of(Document(mime_type="text/markdown", parts=[part]), FILE).pieces
    return made


def test_new_text_changes_what_is_embedded_and_not_what_is_shown() -> None:
    before, after = piece(PART), piece(replace(PART, content="other"))
    assert before.text != after.text
    assert before.shown == after.shown


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Set up"},
        {"start_line": 4},
        {"end_line": 6},
        {"properties": {"level": 3, "slug": "install"}},
        {"properties": {"level": 2, "slug": "install", "signature": None}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_anything_else_that_its_node_shows_changes_that_and_not_the_text(change: dict[str, object]) -> None:
    before, after = piece(PART), piece(replace(PART, **change))  # type: ignore[arg-type]
    assert before.text == after.text
    assert before.shown != after.shown


def test_a_part_keeps_its_uuid_whatever_changes_but_its_key() -> None:
    moved = replace(PART, content="other", name="Other", start_line=9, parent=None)
    assert piece(moved).uuid == piece(PART).uuid
    assert piece(replace(PART, key="install-1")).uuid != piece(PART).uuid
    assert piece(replace(PART, label="TextSection")).uuid != piece(PART).uuid


def test_half_a_character_in_a_text_can_be_hashed() -> None:
    assert piece(replace(PART, content="\ud800")).text != piece(PART).text


def test_of_two_parts_with_one_name_the_first_has_it() -> None:
    first, second = replace(PART, key="a", names=("x", "y")), replace(PART, key="b", names=("x", "z"))
    names = manifest_of(Document(mime_type="text/markdown", parts=[first, second]), FILE).names
    assert {name: piece.key for name, piece in names.items()} == {"x": "a", "y": "a", "z": "b"}


def test_names_that_run_together_are_still_told_apart() -> None:
    uuids = [
        file_uuid("p", "ab", "c"),
        file_uuid("p", "a", "bc"),
        file_uuid("pa", "b", "c"),
        directory_uuid("p", "ab", "c"),
        part_uuid("p", "File", "c"),
        chunk_uuid("p", 1),
        chunk_uuid("p1", 1),
    ]
    assert len(set(uuids)) == len(uuids)


def test_a_uuid_is_the_same_today_and_tomorrow() -> None:
    assert file_uuid("project", "root", "docs/guide.md") == "7d8970e4-5161-5efa-89d6-98040c534865"
