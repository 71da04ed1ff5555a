"""Walking a folder: what is found, what is left out and why, and what is never taken for gone."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from inspect import stack
from pathlib import Path

import pytest

from graph_stores.errors import Misuse
from pipelines.files.walk import Found, LeftOut, Rules, check_rules, follows, stretches, walk

NONE = Rules()


def plant(root: Path, *paths: str, **contents: str) -> Path:
    for path in paths:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("x")
    for name, text in contents.items():
        (root / name).write_text(text)
    return root


def ignore(root: Path, folder: str, *lines: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / ".gitignore").write_text("\n".join(lines))


def found(root: Path, rules: Rules = NONE, own: Path | None = None) -> list[str]:
    names = [each.path for each in walk(root, rules, own) if isinstance(each, Found)]
    return [name for name in names if not name.endswith(".gitignore")]


@contextmanager
def nested(root: Path, name: str, depth: int) -> Iterator[None]:
    """Folders in folders with a file at the bottom, gone again afterwards: nothing else could remove them."""
    with chdir(root):
        for _ in range(depth):
            Path(name).mkdir()
            os.chdir(name)
        Path("a.md").write_text("x")
    try:
        yield
    finally:
        with chdir(root):
            for _ in range(depth):
                os.chdir(name)
            Path("a.md").unlink()
            for _ in range(depth):
                os.chdir("..")
                Path(name).rmdir()


def left_out(root: Path) -> dict[str, str]:
    return {each.path: each.reason for each in walk(root, NONE) if isinstance(each, LeftOut)}


def test_files_come_with_size_and_time_sorted_folder_by_folder(tmp_path: Path) -> None:
    plant(tmp_path, "b.md", "a/z.md", "a/b/c.md", "a.md")
    os.utime(tmp_path / "a.md", ns=(1, 1_234_567_890_123_456_789))
    seen = list(walk(tmp_path, NONE))
    assert [each.path for each in seen] == ["a/b/c.md", "a/z.md", "a.md", "b.md"]
    assert seen[2] == Found(path="a.md", size=1, modified=1_234_567_890_123_456_789)


def test_history_folders_are_never_entered(tmp_path: Path) -> None:
    plant(tmp_path, ".git/config", ".hg/x", "sub/.svn/y", "sub/.git", ".gitattributes", "modules/a.js")
    assert found(tmp_path) == [".gitattributes", "modules/a.js"]


def test_a_gitignore_counts_for_its_folder_and_below_also_outside_of_a_repository(tmp_path: Path) -> None:
    plant(tmp_path, "a.log", "sub/a.log", "sub/deep/keep.log", "other/b.tmp", "sub/b.tmp")
    ignore(tmp_path, "", "*.log")
    ignore(tmp_path, "sub", "*.tmp", "!keep.log")
    assert found(tmp_path) == ["other/b.tmp", "sub/deep/keep.log"]


def test_a_root_inside_of_a_repository_follows_the_rules_of_the_whole(tmp_path: Path) -> None:
    plant(tmp_path, ".git/info/exclude", "docs/a.md", "docs/b.tmp", "docs/c.bak", "docs/out/d.md")
    ignore(tmp_path, "", "*.tmp", "/docs/out")
    (tmp_path / ".git/info/exclude").write_text("*.bak")
    assert found(tmp_path / "docs") == ["a.md"]
    assert found(tmp_path / "docs/out") == ["d.md"]  # asked for by name


def test_a_repository_inside_of_the_root_knows_only_its_own_rules(tmp_path: Path) -> None:
    plant(tmp_path, "a.log", "inner/.git/HEAD", "inner/a.log", "inner/b.tmp", "inner/sub/c.bak")
    plant(tmp_path / "inner/.git/info", "exclude").joinpath("exclude").write_text("*.bak")
    ignore(tmp_path, "", "*.log")
    ignore(tmp_path, "inner", "*.tmp")
    assert found(tmp_path) == ["inner/a.log"]


def test_a_worktree_and_a_submodule_find_the_exclude_file_of_their_repository(tmp_path: Path) -> None:
    plant(tmp_path, "main/info/exclude", "main/worktrees/w/commondir", "work/.git", "work/a.md", "work/b.bak")
    (tmp_path / "main/info/exclude").write_text("*.bak")
    (tmp_path / "main/worktrees/w/commondir").write_text("../..\n")
    (tmp_path / "work/.git").write_text("gitdir: ../main/worktrees/w\n")
    assert found(tmp_path / "work") == ["a.md"]


def test_a_person_can_leave_out_and_narrow_down(tmp_path: Path) -> None:
    plant(tmp_path, "a.md", "b.txt", "docs/c.md", "docs/d.txt", "build/e.md")
    assert found(tmp_path, Rules(exclude=("build/", "*.txt"))) == ["a.md", "docs/c.md"]
    assert found(tmp_path, Rules(include=("*.md",))) == ["a.md", "build/e.md", "docs/c.md"]
    assert found(tmp_path, Rules(include=("docs/",), exclude=("*.txt",))) == ["docs/c.md"]


def test_to_include_is_no_way_around_a_gitignore(tmp_path: Path) -> None:
    plant(tmp_path, "a.md", "secret.md")
    ignore(tmp_path, "", "secret.md")
    assert found(tmp_path, Rules(include=("*.md",))) == ["a.md"]


@pytest.mark.parametrize("pattern", ["", "#x", "!", "/", "a\\", "[a"])
def test_a_pattern_that_matches_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(Misuse, match="matches nothing"):
        check_rules(Rules(exclude=("*.md", pattern)))


def test_patterns_that_mean_something_are_accepted() -> None:
    check_rules(Rules(include=("*.md", "docs/", "/a/**/b", "!x", "[a-c]?", "**")))


def test_the_store_and_what_it_keeps_beside_itself_are_no_files_of_the_root(tmp_path: Path) -> None:
    plant(tmp_path, "graph.db", "graph.db.wal", "graph.db.lock", "graph.db.vectors/x", "graph.dbx", "sub/graph.db")
    assert found(tmp_path, own=tmp_path / "graph.db") == ["graph.dbx", "sub/graph.db"]
    assert "graph.db" in found(tmp_path, own=tmp_path.parent / "graph.db")
    assert not follows(tmp_path, NONE, "graph.db.wal", tmp_path / "graph.db")


def test_no_link_is_followed_and_each_says_where_it_leads(tmp_path: Path) -> None:
    root = plant(tmp_path / "root", "a.md", "sub/b.md")
    (root / "file").symlink_to("a.md")
    (root / "folder").symlink_to("sub")
    (root / "sub" / "loop").symlink_to("..")
    (root / "itself").symlink_to("itself")
    (root / "nothing").symlink_to("missing")
    (root / "outside").symlink_to(tmp_path)
    assert found(root) == ["a.md", "sub/b.md"]
    assert left_out(root) == {
        "file": "a link to a file, which is read under its own name",
        "folder": "a link to a folder, which is not followed",
        "itself": "a link to nothing",
        "nothing": "a link to nothing",
        "outside": "a link out of the root, which is not followed",
        "sub/loop": "a link to a folder, which is not followed",
    }


def test_a_root_may_itself_be_a_link(tmp_path: Path) -> None:
    plant(tmp_path / "real", "a.md")
    (tmp_path / "link").symlink_to("real")
    assert found(tmp_path / "link") == ["a.md"]


def test_what_is_no_file_is_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with chdir(tmp_path), socket.socket(socket.AF_UNIX) as door:
        door.bind("door")  # from here, because a socket's path must be short
    assert left_out(tmp_path) == {"pipe": "a named pipe and not a file", "door": "a socket and not a file"}
    assert left_out(Path(os.devnull)) == {"null": "a device and not a file"}


def test_a_name_that_is_not_utf8_is_left_out_and_shown_so_that_it_can_be_stored(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("x")
    plant(tmp_path, 'with "quotes"\nand a line.md')
    assert left_out(tmp_path) == {"caf\\xe9.md": "its name is not in UTF-8"}
    assert found(tmp_path) == ['with "quotes"\nand a line.md']


def test_a_root_that_is_gone_is_left_out_as_a_folder(tmp_path: Path) -> None:
    (only,) = walk(tmp_path / "gone", NONE)
    assert only == LeftOut(path="", reason="the root cannot be looked at: no such file or directory", folder=True)


def test_a_folder_that_cannot_be_listed_is_not_an_empty_folder(tmp_path: Path) -> None:
    """Too long a path stands for a folder without permission: root, who may read anything, runs tests too."""
    plant(tmp_path, "a.md")
    with nested(tmp_path, "d" * 200, 25):
        seen = list(walk(tmp_path, NONE))
    assert [each.path for each in seen if isinstance(each, Found)] == ["a.md"]
    (deep,) = [each for each in seen if isinstance(each, LeftOut)]
    assert deep.folder
    assert deep.reason == "the folder cannot be looked at: file name too long"


def test_a_root_that_is_a_file_is_that_file(tmp_path: Path) -> None:
    plant(tmp_path, "a.md")
    ignore(tmp_path, "", "*.md")
    assert found(tmp_path / "a.md") == ["a.md"]
    assert follows(tmp_path / "a.md", NONE, "a.md")
    assert not follows(tmp_path / "a.md", NONE, "b.md")


def test_a_change_matters_exactly_where_walking_would_look(tmp_path: Path) -> None:
    plant(tmp_path, "a.md", "a.log", "sub/b.md", "sub/out/c.md", ".git/x", "sub/deep/d.txt")
    ignore(tmp_path, "", "*.log")
    ignore(tmp_path, "sub", "/out/")
    (tmp_path / "link").symlink_to("sub")
    rules = Rules(exclude=("*.txt",))
    everything = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()]
    walked = {each.path for each in walk(tmp_path, rules) if isinstance(each, Found)}
    assert {path for path in everything if follows(tmp_path, rules, path)} == walked
    assert follows(tmp_path, rules, "sub/gone.md")
    assert follows(tmp_path, rules, "sub/deep")
    assert not follows(tmp_path, rules, "sub/out/gone.md")
    assert not follows(tmp_path, rules, "link/b.md")


def test_a_tree_deeper_than_the_stack_of_python_is_walked(tmp_path: Path) -> None:
    depth, limit = 300, sys.getrecursionlimit()
    with nested(tmp_path, "d", depth):
        sys.setrecursionlimit(len(stack(0)) + depth // 2)
        try:
            walked = found(tmp_path)
        finally:
            sys.setrecursionlimit(limit)
    assert walked == ["d/" * depth + "a.md"]


def test_a_root_in_stretches_is_walked_whole_whatever_its_names(tmp_path: Path) -> None:
    names = ["a", "a-b", "a.b", "b", "docs", "docs-old", "é", "Z", "zz", "𝄞"]
    for name in names:
        (tmp_path / name / "in").mkdir(parents=True)
        (tmp_path / name / "in" / "x.md").write_text("x")
        (tmp_path / f"{name}.md").write_text("x")
    whole = sorted(each.path for each in walk(tmp_path, Rules()) if isinstance(each, Found))
    for most in (1, 2, 3, 16):
        parts = stretches(tmp_path, Rules(), most=most)
        walked = [
            [each.path for each in walk(tmp_path, Rules(), stretch=part) if isinstance(each, Found)] for part in parts
        ]
        assert len(parts) <= most and sorted(path for paths in walked for path in paths) == whole
        for part, paths in zip(parts, walked, strict=True):
            assert all(part.has(path) for path in paths), "a stretch holds the paths that are found in it"
