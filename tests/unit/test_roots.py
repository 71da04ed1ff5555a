"""Which root a path is: known or new, under which name; and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_stores.errors import Misuse
from orchestrator.files.roots import Root, RootMissing, Source, refuse_graph_itself, resolve, resolve_all, this_host
from pipelines.files.walk import Rules


def folder(place: Path) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    return place


def known(*roots: Root) -> dict[str, Root]:
    return {root.name: root for root in roots}


def root(name: str, location: Path, **rules: Any) -> Root:  # Any: passed on
    return Root(name=name, location=location, rules=Rules(**rules))


def test_a_new_folder_goes_by_its_own_name(tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    assert resolve(Source(path=docs), {}) == root("docs", docs)


def test_a_name_that_is_taken_gets_as_many_of_those_above_as_it_takes(tmp_path: Path) -> None:
    one, two, three = [folder(tmp_path / path) for path in ("x/docs", "one/x/docs", "two/x/docs")]
    first = resolve(Source(path=one), {})
    second = resolve(Source(path=two), known(first))
    third = resolve(Source(path=three), known(first, second))
    assert [first.name, second.name, third.name] == ["docs", "x.docs", "two.x.docs"]


def test_a_folder_whose_namesake_is_gone_may_be_it_and_is_not_read_twice(tmp_path: Path) -> None:
    before, place = root("docs", tmp_path / "old/docs"), folder(tmp_path / "new/docs")
    with pytest.raises(Misuse, match="the same folder, moved") as refused:
        resolve(Source(path=place), known(before))
    assert f"graphmill ingest {place} --as docs" in refused.value.hint
    assert resolve(Source(path=place, name="docs"), known(before)).location == place
    assert resolve(Source(path=place, name="other"), known(before)).name == "other"


def test_a_folder_and_its_part_in_one_command_are_the_folder(tmp_path: Path) -> None:
    part = folder(tmp_path / "mill" / "docs")
    sources = [Source(path=part), Source(path=part.parent)]
    assert resolve_all(sources, {}) == {"mill": root("mill", part.parent)}


def test_a_person_may_choose_the_name(tmp_path: Path) -> None:
    assert resolve(Source(path=folder(tmp_path / "docs"), name="handbook"), {}).name == "handbook"


def test_a_known_folder_keeps_its_name_and_the_patterns_it_was_read_with(tmp_path: Path) -> None:
    before = root("handbook", folder(tmp_path / "docs"), include=("*.md",), exclude=("old/",))
    assert resolve(Source(path=before.location), known(before)) == before


def test_new_patterns_take_the_place_of_all_the_old_ones(tmp_path: Path) -> None:
    before = root("docs", folder(tmp_path / "docs"), include=("*.md",), exclude=("old/",))
    after = resolve(Source(path=before.location, exclude=("new/",)), known(before))
    assert after == root("docs", before.location, exclude=("new/",))


def test_a_link_to_a_known_folder_is_that_folder(tmp_path: Path) -> None:
    before = root("docs", folder(tmp_path / "docs"))
    (tmp_path / "link").symlink_to(before.location)
    assert resolve(Source(path=tmp_path / "link"), known(before)) == before


def test_a_part_of_a_known_folder_is_read_as_the_whole(tmp_path: Path) -> None:
    before = root("docs", tmp_path / "docs")
    assert resolve(Source(path=folder(tmp_path / "docs/sub")), known(before)) == before


@pytest.mark.parametrize("more", [{"name": "sub"}, {"include": ("*.md",)}, {"exclude": ("*.log",)}])
def test_a_part_of_a_known_folder_has_no_name_and_no_patterns_of_its_own(tmp_path: Path, more: dict[str, str]) -> None:
    before = root("docs", tmp_path / "docs")
    with pytest.raises(Misuse, match="is a part of"):
        resolve(Source(path=folder(tmp_path / "docs/sub"), **more), known(before))  # type: ignore[arg-type]


def test_a_folder_around_a_known_one_would_be_read_twice(tmp_path: Path) -> None:
    before = root("sub", folder(tmp_path / "docs/sub"))
    with pytest.raises(Misuse, match="would be twice") as refusal:
        resolve(Source(path=tmp_path / "docs"), known(before))
    assert "forget sub" in refusal.value.hint


def test_a_known_folder_cannot_get_a_second_name(tmp_path: Path) -> None:
    before = root("docs", folder(tmp_path / "docs"))
    with pytest.raises(Misuse, match="as docs"):
        resolve(Source(path=before.location, name="other"), known(before))


def test_a_folder_that_moved_keeps_its_name_where_a_person_says_that_it_did(tmp_path: Path) -> None:
    before = root("docs", tmp_path / "old", include=("*.md",))
    moved = folder(tmp_path / "new")
    assert resolve(Source(path=moved, name="docs"), known(before)) == root("docs", moved, include=("*.md",))


@pytest.mark.parametrize("path", ["docs", "docs/sub/page.md"])
def test_a_root_that_is_gone_is_told_apart_from_a_path_that_never_was(tmp_path: Path, path: str) -> None:
    before = root("docs", tmp_path / "docs")
    with pytest.raises(RootMissing) as refusal:
        resolve(Source(path=tmp_path / path), known(before))
    assert "forget docs" in refusal.value.hint
    assert "--as docs" in refusal.value.hint


def test_a_path_that_never_was_is_misuse_also_in_a_known_folder(tmp_path: Path) -> None:
    before = root("docs", folder(tmp_path / "docs"))
    for path in ("nothing", "docs/nothing"):
        with pytest.raises(Misuse, match="there is no file or folder"):
            resolve(Source(path=tmp_path / path), known(before))


def test_a_pattern_that_matches_nothing_is_refused_before_anything_else(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="matches nothing"):
        resolve(Source(path=tmp_path / "nothing", include=("#",)), {})


def test_a_root_may_be_a_file_and_knows_where_its_files_are(tmp_path: Path) -> None:
    place = tmp_path / "a.md"
    place.touch()
    assert resolve(Source(path=place), {}).place_of("a.md") == place
    assert root("r", tmp_path).place_of("sub/b.md") == tmp_path / "sub/b.md"


def test_the_node_of_a_root_says_where_it_is_and_how_it_is_read(tmp_path: Path) -> None:
    node = root("docs", tmp_path, include=("*.md",)).node("project")
    assert (node.label, node.name, node.state) == ("Directory", "docs", "parsed")
    assert node.properties == {
        "root": "docs",
        "path": ".",
        "location": str(tmp_path),
        "rules": '{"include": ["*.md"], "exclude": [], "secretsChecked": true}',
        "host": this_host(),
    }


def test_a_folder_of_another_machine_that_is_not_here_is_told_with_its_machine(tmp_path: Path) -> None:
    theirs = replace(root("docs", tmp_path / "docs"), host="mill-1")
    with pytest.raises(RootMissing, match=f"is on mill-1 and not on {this_host()}"):
        resolve(Source(path=theirs.location), known(theirs))


def test_the_same_place_on_two_machines_is_one_folder_unless_it_is_given_a_name(tmp_path: Path) -> None:
    theirs = replace(root("docs", folder(tmp_path / "docs")), host="mill-1")
    assert resolve(Source(path=theirs.location), known(theirs)) == root("docs", theirs.location)
    assert resolve(Source(path=theirs.location, name="ours"), known(theirs)) == root("ours", theirs.location)


def test_that_content_is_stored_is_remembered_until_somebody_says_otherwise(tmp_path: Path) -> None:
    place = folder(tmp_path / "docs")
    storing = resolve(Source(path=place, store_content=True), {})
    assert storing.stores_content
    assert resolve(Source(path=place), known(storing)).stores_content
    assert not resolve(Source(path=place, store_content=False), known(storing)).stores_content
    assert '"storeContent": true' in storing.node("project").properties["rules"]


def test_the_graph_itself_is_no_root(tmp_path: Path) -> None:
    own = tmp_path / "graph.kuzu"
    for path in (own, tmp_path / "notes" / ".." / "graph.kuzu", tmp_path / "graph.kuzu.ledger" / "default"):
        with pytest.raises(Misuse, match="is the graph itself"):
            refuse_graph_itself([tmp_path / "notes", path], own)
    refuse_graph_itself([tmp_path, tmp_path / "graph.kuzunotes", tmp_path / "graph"], own)
    refuse_graph_itself([own], None)


def test_a_folder_that_is_gone_is_known_by_any_way_to_its_place(tmp_path: Path) -> None:
    there = folder(tmp_path / "there")
    with pytest.raises(RootMissing):
        resolve(Source(path=there / ".." / "gone"), known(root("gone", tmp_path / "gone")))
