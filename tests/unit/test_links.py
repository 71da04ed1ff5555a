"""Which node a reference means, and that it means the same in whatever order files become known."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.files.links import Entry, Found, Index, Spot
from pipelines.files.manifest import Manifest, Piece
from pipelines.files.model import Reference, ReferenceKind

LINK, USE = ReferenceKind.LINK, ReferenceKind.USE


def reference(*wants: str, kind: ReferenceKind = LINK) -> Reference:
    return Reference(kind=kind, wants=wants, shown=wants[0], line=1)


def piece(name: str, *references: Reference, file: str = "", label: str = "MarkdownSection") -> Piece:
    return Piece(
        label=label,
        key=name,
        uuid=f"{file}#{name}",
        text="t",
        shown="s",
        index=0,
        parent=None,
        names=(name,),
        references=references,
    )


def page(path: str, *wants: str, sections: Sequence[str] = (), root: str = "r") -> Entry:
    """A file whose own references are its wants, with empty sections."""
    stem = path.rpartition("/")[2].partition(".")[0]
    manifest = Manifest(
        aliases=(f"file:{path}", f"wiki:{stem}"),
        references=tuple(map(reference, wants)),
        pieces=[piece(name, file=path) for name in sections],
    )
    return Entry(uuid=f"{root}:{path}" if root != "r" else path, root=root, path=path, manifest=manifest)


def module(
    name: str, *uses: str, scopes: Sequence[str] = ("f",), forwards: Mapping[str, tuple[str, ...]] | None = None
) -> Entry:
    """A file of code whose first scope uses its uses."""
    path = f"{name.replace('.', '/')}.py"
    used = tuple(reference(use, kind=USE) for use in uses)
    pieces = [piece(each, *(used if not place else ()), file=path, label="Scope") for place, each in enumerate(scopes)]
    manifest = Manifest(aliases=(f"file:{path}", f"python:{name}"), forwards=forwards or {}, pieces=pieces)
    return Entry(uuid=path, root="r", path=path, manifest=manifest)


def index_of(*entries: Entry) -> Index:
    index = Index()
    for entry in entries:
        index.put(entry)
    return index


def spot(uuid: str) -> Spot:
    label = "File" if "#" not in uuid else "Scope" if ".py#" in uuid else "MarkdownSection"
    return Spot(label=label, uuid=uuid)


def targets(index: Index, file: str) -> dict[str, dict[str, int]]:
    return {
        source.uuid: {target.uuid: count for (_, target), count in found.targets.items()}
        for source, found in index.found(file).items()
        if found.targets
    }


def broken(index: Index, file: str) -> dict[str, tuple[str, ...]]:
    return {source.uuid: found.broken for source, found in index.found(file).items() if found.broken}


def test_a_link_finds_a_file_and_a_section_in_it() -> None:
    index = index_of(page("a.md", "file:b.md", "file:b.md#use"), page("b.md", sections=["use"]))
    assert targets(index, "a.md") == {"a.md": {"b.md": 1, "b.md#use": 1}}


def test_links_to_one_target_are_one_edge_with_a_count() -> None:
    index = index_of(page("a.md", "file:b.md", "wiki:b", "file:b.md"), page("b.md"))
    assert targets(index, "a.md") == {"a.md": {"b.md": 3}}


def test_the_first_want_that_is_there_counts() -> None:
    entry = page("a.md")
    wants = reference("file:no.md", "file:c.md#no", "file:c.md", "file:b.md")
    manifest = Manifest(aliases=entry.manifest.aliases, references=(wants,))
    index = index_of(Entry(uuid="a.md", root="r", path="a.md", manifest=manifest), page("b.md"), page("c.md"))
    assert targets(index, "a.md") == {"a.md": {"c.md": 1}}


def test_what_leads_nowhere_is_kept_once_as_it_was_written() -> None:
    index = index_of(page("a.md", "file:no.md", "file:b.md#no", "file:no.md"), page("b.md"))
    assert broken(index, "a.md") == {"a.md": ("file:no.md", "file:b.md#no")}


def test_a_link_to_itself_is_no_edge_and_not_broken() -> None:
    index = index_of(page("a.md", "file:a.md", "wiki:a"))
    assert index.found("a.md") == {}


def test_a_name_never_means_a_file_of_another_root() -> None:
    index = index_of(page("a.md", "file:b.md"), page("b.md", root="other"))
    assert broken(index, "a.md") == {"a.md": ("file:b.md",)}


def test_of_two_pages_with_one_name_the_nearer_is_meant_and_none_where_both_are_as_near() -> None:
    near, far = page("sub/b.md"), page("other/b.md")
    index = index_of(page("sub/a.md", "wiki:b"), page("a.md", "wiki:b"), near, far)
    assert targets(index, "sub/a.md") == {"sub/a.md": {"sub/b.md": 1}}
    assert broken(index, "a.md") == {"a.md": ("wiki:b",)}
    index.remove("other/b.md")
    assert targets(index, "a.md") == {"a.md": {"sub/b.md": 1}}


def test_uses_join_scopes_and_what_is_not_found_is_not_broken() -> None:
    index = index_of(module("m", "python:n#g", "python:n#no", "python:os#path"), module("n", scopes=["g"]))
    assert index.found("m.py") == {spot("m.py#f"): Found(targets={(USE, spot("n.py#g")): 1}, broken=())}


def test_a_use_of_a_whole_module_without_a_scope_of_its_own_is_no_edge() -> None:
    assert index_of(module("m", "python:n"), module("n")).found("m.py") == {}


def test_a_name_in_the_file_itself_is_found_in_it() -> None:
    index = index_of(module("m", "#g", scopes=["f", "g"]))
    assert targets(index, "m.py") == {"m.py#f": {"m.py#g": 1}}


def chain(length: int) -> list[Entry]:
    """Modules that pass a name on, one to the next, and the last that has it."""
    passing = [module(f"m{step}", scopes=[], forwards={"f": (f"python:m{step + 1}#f",)}) for step in range(length)]
    return [*passing, module(f"m{length}")]


@pytest.mark.parametrize(("length", "is_found"), [(0, True), (1, True), (5, True), (6, False)])
def test_a_name_is_followed_through_modules_that_pass_it_on_but_not_for_ever(length: int, is_found: bool) -> None:
    index = index_of(module("user", "python:m0#f"), *chain(length))
    assert (targets(index, "user.py") == {"user.py#f": {f"m{length}.py#f": 1}}) is is_found


def test_modules_that_pass_a_name_round_in_a_circle_end() -> None:
    one = module("one", scopes=[], forwards={"f": ("python:two#f",)})
    two = module("two", scopes=[], forwards={"f": ("python:one#f",)})
    assert index_of(module("user", "python:one#f"), one, two).found("user.py") == {}


@pytest.mark.parametrize("length", range(1, 6))
def test_whoever_uses_a_name_through_others_is_touched_when_its_origin_changes(length: int) -> None:
    index = index_of(module("user", "python:m0#f"), *chain(length))
    assert "user.py" in index.touched([index[f"m{length}.py"]])


def test_a_file_that_was_never_heard_of_refers_to_nothing() -> None:
    index = Index()
    index.remove("nobody")
    assert index.found("nobody") == {}
    assert "nobody" not in index


PATHS = ["a.md", "b.md", "sub/a.md", "sub/b.md"]
WANTS = st.sampled_from([f"file:{path}" for path in PATHS] + ["file:b.md#use", "file:sub/a.md#use", "wiki:a", "wiki:b"])
PAGES = st.builds(
    lambda path, wants, sections: page(path, *wants, sections=sections),
    st.sampled_from(PATHS),
    st.lists(WANTS, max_size=3),
    st.lists(st.sampled_from(["use", "more"]), max_size=2, unique=True),
)


@given(pages=st.lists(PAGES, max_size=8), order=st.randoms(use_true_random=False))
def test_the_order_in_which_files_arrive_makes_no_difference(pages: list[Entry], order: object) -> None:
    latest = {entry.uuid: entry for entry in pages}
    shuffled = list(latest.values())
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    incremental, fresh = index_of(*pages), index_of(*shuffled)
    assert {path: incremental.found(path) for path in PATHS} == {path: fresh.found(path) for path in PATHS}


@given(pages=st.lists(PAGES, min_size=1, max_size=8), changed=PAGES)
def test_nobody_but_those_who_are_touched_refers_elsewhere_after_a_change(pages: list[Entry], changed: Entry) -> None:
    index = index_of(*pages)
    before = {path: index.found(path) for path in PATHS}
    old = [index[changed.uuid]] if changed.uuid in index else []
    touched = index.touched([*old, changed]) | {changed.uuid}
    index.put(changed)
    assert {path for path in PATHS if index.found(path) != before[path]} <= touched
