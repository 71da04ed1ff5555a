"""What is walked is what git lists: the same trees, with the same .gitignore files, asked of git itself."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as some

from pipelines.files.walk import Found, Rules, walk

NAMES = ["a", "b", "ab", "a.log", "b.md", "x y", "!a", "#b", "é", "[a]", "a\\b"]
FOLDERS = ["", "a/", "b/", "a/b/", "a/a/", "b/ab/a/", "x y/", "ab/b/a/"]
PIECES = [
    "a",
    "b",
    "ab",
    "*",
    "**",
    "?",
    "*.log",
    "a*",
    "*b",
    "[ab]",
    "[!a]",
    "[^b]*",
    "x y",
    "é",
    "\\!a",
    "\\#b",
    "\\[a]",
]
ODD = ["", "#a", "!", "/", "//", "a ", "a\\ ", "[a", "a\\", "**/", "/**", "a//b", "!**/", "[[:alpha:]]", "[[:digit:]a]"]


@some.composite
def patterns(draw: some.DrawFn) -> str:
    if draw(some.integers(0, 5)) == 0:
        return draw(some.sampled_from(ODD))
    body = "/".join(draw(some.lists(some.sampled_from(PIECES), min_size=1, max_size=3)))
    before = draw(some.sampled_from(["", "", "", "!", "/", "!/", "**/"]))
    return before + body + draw(some.sampled_from(["", "", "", "/", "/**", "/*", " "]))


ENDS = some.sampled_from(["\n", "\r\n"])
IGNORE_FILES = some.dictionaries(
    some.sampled_from(FOLDERS), some.tuples(some.lists(patterns(), max_size=5), ENDS), max_size=4
)
TREES = some.sets(some.tuples(some.sampled_from(FOLDERS), some.sampled_from(NAMES)), min_size=1, max_size=25)


def git(folder: Path, *words: str) -> str:
    alone = {
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "PATH": os.environ["PATH"],
    }
    done = subprocess.run(["git", *words], cwd=folder, env=alone, capture_output=True, check=True)
    return done.stdout.decode()


def listed_by_git(root: Path) -> set[str]:
    return set(git(root, "ls-files", "-co", "--exclude-standard", "-z", ".").split("\0")) - {""}


def walked(root: Path) -> set[str]:
    return {each.path for each in walk(root, Rules()) if isinstance(each, Found)}


def plant(
    top: Path, tree: set[tuple[str, str]], ignoring: Mapping[str, tuple[list[str], str]], exclude: list[str]
) -> None:
    for folder, name in sorted(tree):
        place = top / folder
        if (place / name).is_dir() or any(each.is_file() for each in (place, *place.parents)):
            continue
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(b"x")
    for folder, (lines, end) in ignoring.items():
        if (top / folder).is_dir():
            (top / folder / ".gitignore").write_bytes(end.join([*lines, ""]).encode())
    (top / ".git" / "info" / "exclude").write_text("\n".join(exclude))


@example(
    {("a/b/", "x y"), ("b/", "a")}, {"": (["b/", "!a/"], "\n")}, [], ""
)  # taken back is `a`, and not what is in it
@example({("a/", "a"), ("a/b/", "a")}, {"": (["a", "!/a"], "\n")}, [], "")
@example({("a/b/", "b.md"), ("a/b/", "a.log")}, {"": (["a/**", "!a/b/"], "\n"), "a/b/": (["!*.md"], "\r\n")}, [], "")
@example({("", "é"), ("", "a")}, {"": (["?"], "\n")}, [], "")  # two bytes
@settings(max_examples=40, deadline=None, derandomize=True)
@given(TREES, IGNORE_FILES, some.lists(patterns(), max_size=2), some.sampled_from(["", "", "a", "b/ab"]))
def test_the_files_are_those_that_git_does_not_ignore(
    tree: set[tuple[str, str]], ignoring: dict[str, tuple[list[str], str]], exclude: list[str], below: str
) -> None:
    with TemporaryDirectory() as made:
        top = Path(made)
        git(top, "init", "-q", ".")
        plant(top, tree, ignoring, exclude)
        root = top / below
        if root.is_dir():
            listed = listed_by_git(root)
            seen = walked(root)
            # What is below a folder that git ignores was asked for by name.
            assert seen == listed or (below and not listed)
