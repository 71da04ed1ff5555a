"""Incremental equals rebuild: after any edits, moves and half-finished jobs the graph is the one of a fresh start."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_stores.protocol import Store
from tests.conformance.conftest import wipe
from tests.conformance.folders import Folder, Mill, opened, quicken
from tests.conformance.pictures import differences, picture
from tests.conformance.place import Place

EXAMPLES = {"kuzu": 6, "ladybug": 1, "neo4j": 2}
IN_SOAK = 300

Edit = Callable[[Folder], None]

PAGES = ["a.md", "b.md", "sub/c.md", "sub/a.md", "sub/README.md"]
MODULES = ["m.py", "pkg/__init__.py", "pkg/n.py", "pkg/deep/k.py"]
OTHERS = ["t.txt", "page.html", ".gitignore"]
PATHS = st.sampled_from([*PAGES, *MODULES, *OTHERS])

HEADINGS = st.sampled_from(["# Intro", "## Install", "## Install", "### Use", "# Use", "# !!!", "## Ünïcode `x`"])
LINKS = st.sampled_from(
    [
        "[a](a.md)",
        "[b](b.md#install)",
        "[c](sub/c.md#use)",
        "[up](../a.md#intro)",
        "[here](#install-1)",
        "[gone](gone.md)",
        "[folder](sub/)",
        "[code](/pkg/n.py)",
        "![picture](t.txt)",
        "[[a]]",
        "[[c#Use]]",
        "[[README]]",
    ]
)
LONG = "A long story about mills and rivers. " * 120
SENTENCES = st.sampled_from(["The mill stands by the river.", "Water drives the wheel.", "---", "Flour.", LONG])


@st.composite
def sections(draw: st.DrawFn) -> str:
    lines = draw(st.lists(st.one_of(SENTENCES, LINKS), max_size=3))
    return "\n\n".join([draw(HEADINGS), *lines])


PREAMBLES = st.sampled_from(["", "Before all.\n\n", "---\ntitle: Front\n---\n\n"])
MARKDOWN = st.builds(lambda first, rest: first + "\n\n".join(rest), PREAMBLES, st.lists(sections(), max_size=4))
STATEMENTS = st.sampled_from(
    [
        "import m",
        "from pkg import f, C",
        "from pkg.n import g",
        "from .n import g as f",
        "from pkg.deep.k import *",
        "def f():\n    return g()",
        "def g():\n    '''The docstring.'''\n    return 1",
        "class C:\n    def f(self):\n        return g() + self.h()\n    def h(self):\n        return f()",
        "class D(C):\n    def h(self):\n        return m.f()",
        "X = f()",
    ]
)
PYTHON = st.lists(STATEMENTS, max_size=5).map(lambda lines: "\n\n".join(lines) + "\n")
HTML = st.lists(SENTENCES, max_size=3).map(lambda lines: "<h1>Page</h1><p>" + "<h2>More</h2><p>".join(lines))
IGNORED = st.lists(st.sampled_from(["*.txt", "sub/", "!sub/c.md", "pkg/n.py", "b.md"]), max_size=2).map("\n".join)
BYTES = st.sampled_from([b"", b"\0\1\2binary", "größe\n\nlatin".encode("latin-1"), b"#!/usr/bin/env python\nX = 1\n"])


def content_of(path: str) -> st.SearchStrategy[str]:
    if path == ".gitignore":
        return IGNORED
    by_extension = {"md": MARKDOWN, "py": PYTHON, "html": HTML, "txt": st.lists(SENTENCES, max_size=4).map("\n\n".join)}
    return by_extension[path.rpartition(".")[2]]


def written(path: str, content: str | bytes) -> Edit:
    return lambda folder: folder.write(path, content)


def of_one_there(edit: Callable[[Folder, str], None]) -> st.SearchStrategy[Edit]:
    """An edit of one of the files that are there, if any are."""

    def picked(pick: int) -> Edit:
        return lambda folder: edit(folder, paths[pick % len(paths)]) if (paths := folder.paths) else None

    return st.integers(0, 11).map(picked)


def rewritten(folder: Folder, path: str, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """Change the sections of a page; those are the parts between its headings."""
    before = folder.at(path).read_bytes()
    after = b"\n#".join(change(before.split(b"\n#")))
    if after != before:
        folder.write(path, after)


def moved_to(to: str) -> st.SearchStrategy[Edit]:
    return of_one_there(lambda folder, path: folder.move(path, to) if path != to else None)


def swapped_with(other: str) -> st.SearchStrategy[Edit]:
    return of_one_there(
        lambda folder, path: folder.swap(path, other) if path != other and folder.at(other).is_file() else None
    )


def last_section_to(to: str) -> st.SearchStrategy[Edit]:
    def edit(folder: Folder, path: str) -> None:
        sections = folder.at(path).read_bytes().split(b"\n#")
        if path.endswith(".md") and path != to and len(sections) > 1:
            folder.write(path, b"\n#".join(sections[:-1]))
            there = folder.at(to).read_bytes() if folder.at(to).is_file() else b""
            folder.write(to, there + b"\n\n#" + sections[-1])

    return of_one_there(edit)


WRITES = PATHS.flatmap(lambda path: st.builds(written, st.just(path), content_of(path)))
EDITS = st.one_of(
    WRITES,
    st.builds(written, PATHS, BYTES),
    of_one_there(Folder.delete),
    of_one_there(Folder.touch),
    # Everything below moves down by a line, and nothing else changes.
    of_one_there(lambda folder, path: folder.write(path, b"\n" + folder.at(path).read_bytes())),
    of_one_there(lambda folder, path: rewritten(folder, path, lambda sections: [sections[0], *sections[:0:-1]])),
    of_one_there(lambda folder, path: rewritten(folder, path, lambda sections: sections[:-1] or sections)),
    of_one_there(lambda folder, path: rewritten(folder, path, lambda sections: [*sections, sections[-1]])),
    # A heading goes one level down: what is below it gets another parent.
    of_one_there(
        lambda folder, path: rewritten(
            folder, path, lambda each: [*each[:1], *(b"#" + one for one in each[1:2]), *each[2:]]
        )
    ),
    of_one_there(
        lambda folder, path: rewritten(
            folder, path, lambda each: [one.replace(b"River", b"Sea").replace(b"river", b"sea") for one in each]
        )
    ),
    PATHS.flatmap(moved_to),
    PATHS.flatmap(swapped_with),
    st.sampled_from(PAGES).flatmap(last_section_to),
)
# Which of two roots, what is done there, and how many stages the job gets through afterwards.
TURNS = st.lists(
    st.tuples(st.lists(st.tuples(st.integers(0, 1), EDITS), min_size=1, max_size=5), st.sampled_from([1, 2, 3, 3])),
    min_size=1,
    max_size=4,
)
BEGINNINGS = st.lists(WRITES, min_size=3, max_size=8)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quicken(monkeypatch, tmp_path / "cache")


def examples(count: int) -> settings:
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def compare_with_rebuilds(place: Place, folders: list[Folder], count: int) -> None:
    """Run random edits against one store, which is wiped in between; it is opened in a loop of its own."""
    with asyncio.Runner() as runner:
        store = runner.run(opened(place))

        @examples(count)
        @given(beginning=BEGINNINGS, turns=TURNS)
        def edited_and_rebuilt(beginning: list[Edit], turns: list[tuple[list[tuple[int, Edit]], int]]) -> None:
            runner.run(edited(store, folders, beginning, turns))

        try:
            edited_and_rebuilt()
        finally:
            runner.run(wipe(store))
            runner.run(place.close())


async def edited(
    store: Store, folders: list[Folder], beginning: list[Edit], turns: list[tuple[list[tuple[int, Edit]], int]]
) -> None:
    await wipe(store)
    for folder in folders:
        folder.empty()
    mill = Mill(store=store, roots=folders)
    for edit in beginning:
        edit(folders[0])
    await mill.run()
    for edits, stages in turns:
        for which, edit in edits:
            edit(folders[which])
        await mill.job(stages=stages, allow_deletes=True).run()
    await mill.run(allow_deletes=True)
    found = await picture(store)
    await wipe(store)
    await mill.run()
    assert differences(found, await picture(store)) == []


def test_after_any_edits_the_graph_is_the_one_of_a_fresh_start(engine: str, place: Place, tmp_path: Path) -> None:
    folders = [Folder(tmp_path / "notes"), Folder(tmp_path / "other")]
    compare_with_rebuilds(place, folders, EXAMPLES[engine])


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("engine", ["kuzu"], indirect=True)
def test_after_very_many_edits_too(place: Place, tmp_path: Path) -> None:
    compare_with_rebuilds(place, [Folder(tmp_path / "notes"), Folder(tmp_path / "other")], IN_SOAK)
