"""Files that rules leave out and files that hold secrets: what goes, what comes back, and what a dry run tells."""

from collections.abc import Callable
from dataclasses import replace
from errno import EACCES
from pathlib import Path
from typing import Any

import pytest

from graph_stores.protocol import Store
from orchestrator.files.preview import Preview, Skipped, preview
from orchestrator.files.roots import Source, read_roots
from orchestrator.job import Report
from orchestrator.lifecycle import Lifecycle
from orchestrator.runs.records import read_runs
from orchestrator.runs.sources import MassDeletion
from orchestrator.verifying import Wanted, examine
from pipelines.files import content
from pipelines.files.walk import Rules
from tests.conformance.folders import NONE, Folder, Mill, quicken
from tests.conformance.pictures import Picture, picture
from tests.conformance.place import HERE

pytestmark = HERE
TOKEN = "ghp_" + "aZ3bY4cX5dW6eV7fU8gT9hS0iR1jQ2kP3lO4"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quicken(monkeypatch, tmp_path / "cache")


@pytest.fixture
def notes(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "notes")
    for number in range(12):
        folder.write(f"{'ab'[number % 2]}/{number:02}.md", f"# Page {number:02}\n\n{'word ' * number}\n")
    return folder


async def ingest(store: Store, notes: Folder, *, allow_deletes: bool = False, **how: Any) -> Report:
    source = Source(path=notes.place, **how)
    return await Mill(store=store, roots=[source]).run(NONE, allow_deletes=allow_deletes)


async def dry_run(store: Store, notes: Folder, **how: Any) -> Preview:
    source = Source(path=notes.place, **how)
    return await preview(store, [source], own=None, rehash=False, allow_deletes=False)


async def as_an_earlier_version_left_it(store: Store) -> None:
    """The root says nothing of default excludes and secrets."""
    (root,) = (await read_roots(store)).values()
    earlier = replace(root, rules=Rules(include=root.rules.include), secrets_checked=False)
    await Lifecycle(store=store).upsert([earlier.node(store.project)])


def texts(found: Picture) -> str:
    return str(found.nodes) + str(found.edges)


async def test_what_the_default_excludes_leave_out_goes_at_the_next_run_and_comes_back_without_them(
    store: Store, notes: Folder
) -> None:
    notes.write(".env", "API_KEY=a-key-without-a-shape\n")
    notes.write("node_modules/left/index.js", "function left() { return 1 }\n")
    everything = await ingest(store, notes, default_excludes=False)
    before = await picture(store)
    assert everything.excluded == [] and before.of("File").keys() > {".env", "node_modules/left/index.js"}
    await as_an_earlier_version_left_it(store)
    problems = {each.check: each for each in (await examine(store, Wanted(repair=False, files=True))).problems}
    assert problems["gone-file"].count == 2 and "excluded now" in problems["gone-file"].about
    report = await ingest(store, notes)
    assert report.tally.deleted == 2 and "a-key-without" not in texts(await picture(store))
    assert [(each.shown, each.reason) for each in report.excluded] == [
        (".env", "secret (.env)"),
        ("node_modules/", "dependencies (node_modules)"),
    ]
    assert not (await examine(store, Wanted(repair=False, files=True))).problems, "they are not missed"
    await ingest(store, notes, default_excludes=False)
    assert (await ingest(store, notes)).excluded == [], "remembered"
    assert (await picture(store)).of("File").keys() == before.of("File").keys()


@pytest.mark.long
async def test_a_rule_that_would_delete_most_of_a_root_is_told_as_such_and_not_remembered(
    store: Store, notes: Folder
) -> None:
    notes.write("c.md", "# C\n")
    for number in range(12):
        notes.write(f"more/{number}.md", f"# More {number}\n\n{'text ' * number}\n")
    await ingest(store, notes)
    before = await picture(store)
    told = await dry_run(store, notes, exclude=("more/",))
    with pytest.raises(MassDeletion) as refused:
        await ingest(store, notes, exclude=("more/",))
    assert refused.value.message == told.refusals[0].message
    assert "12 of the 25 files of notes are excluded now (more/0.md, more/1.md" in refused.value.message
    assert "by: --exclude; nothing was deleted" in refused.value.message and "gone" not in refused.value.message
    assert "change the rule" in refused.value.instead
    assert (await picture(store)).nodes == before.nodes, "nor is the rule remembered"
    assert (await ingest(store, notes)).tally.deleted == 0
    notes.delete("c.md")
    both = (await dry_run(store, notes, exclude=("more/",))).refusals[0].message
    assert "13 of the 25 files of notes would go: 1 are gone from" in both and "and 12 are excluded now" in both
    report = await ingest(store, notes, exclude=("more/",), allow_deletes=True)
    assert report.tally.deleted == 13 and report.lost is None
    assert (await ingest(store, notes)).tally.deleted == 0
    assert len((await picture(store)).of("File")) == 12


async def test_dependencies_that_are_most_of_an_earlier_graph_are_not_called_gone(store: Store, notes: Folder) -> None:
    for number in range(15):
        notes.write(f"node_modules/m{number}/index.js", f"function left{number}() {{ return {number} }}\n")
    await ingest(store, notes, default_excludes=False)
    await as_an_earlier_version_left_it(store)
    report = await ingest(store, notes)
    assert isinstance(report.lost, MassDeletion) and report.tally.deleted == 0
    assert "15 of the 27 files of notes are excluded now" in report.lost.message
    assert "by: dependencies (node_modules); nothing was deleted" in report.lost.message
    assert "--no-default-excludes" in report.lost.instead
    problems = {each.check: each for each in (await examine(store, Wanted(repair=False, files=True))).problems}
    assert "excluded now" in problems["emptied-root"].examples[0].found
    assert (await ingest(store, notes, allow_deletes=True)).tally.deleted == 15


@pytest.mark.parametrize("stored", [False, True], ids=["read in place", "content brought along"])
async def test_a_secret_that_comes_by_an_edit_takes_the_parts_with_it_and_the_mended_file_is_read_again(
    store: Store, notes: Folder, stored: bool
) -> None:
    await ingest(store, notes, store_content=stored)
    clean = await picture(store)
    notes.edit("a/02.md", "word", f"word {TOKEN}")
    job = Mill(store=store, roots=[notes]).job(NONE, stages=0)
    await job.run()  # only looked at: what waits must not hold it either
    waiting = await picture(store)
    assert TOKEN not in texts(waiting)
    brought = waiting.of("File")["a/02.md"].get("_content")
    assert (content.unpack(brought).data is None) if brought else not stored
    told = await dry_run(store, notes)
    assert [(each.path, each.reason) for each in told.skipped] == [("a/02.md", "holds a GitHub token (line 3)")]
    await ingest(store, notes)
    found = await picture(store)
    assert found.states("File")["a/02.md"] == "skip"
    assert found.of("File")["a/02.md"]["_errorMessage"] == "holds a GitHub token (line 3)"
    assert "Page 02" not in found.of("MarkdownSection") and len(found.of("MarkdownSection")) == 11
    assert TOKEN not in texts(found)
    notes.edit("a/02.md", f" {TOKEN}", "")
    await ingest(store, notes)
    mended = await picture(store)
    assert mended.of("MarkdownSection").keys() == clean.of("MarkdownSection").keys()
    assert mended.states("File") == clean.states("File")


async def test_secrets_are_read_only_where_they_are_allowed_and_an_earlier_graph_is_checked_once(
    store: Store, notes: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes.write("a/02.md", f"# Page 02\n\n{TOKEN}\n")
    notes.write("logo.svg", "<svg><path d='M0 0'/></svg>")
    with monkeypatch.context() as earlier:
        earlier.setattr("pipelines.files.kinds.SVG", "no type")  # it was read as a text
        await ingest(store, notes, default_excludes=False)
    assert "M0 0" in texts(await picture(store))
    assert TOKEN not in texts(await picture(store)), "the default excludes are another thing"
    assert (await dry_run(store, notes, allow_secrets=True)).changed == ["a/02.md"]
    await ingest(store, notes, allow_secrets=True)
    assert TOKEN in texts(await picture(store))
    assert (await ingest(store, notes)).tally.parsed == 0, "remembered"
    await as_an_earlier_version_left_it(store)
    assert [each.path for each in (await dry_run(store, notes)).skipped] == ["a/02.md", "logo.svg"]
    report = await ingest(store, notes)
    found = texts(await picture(store))
    assert report.tally.parsed == 2 and TOKEN not in found and "M0 0" not in found
    (root,) = (await read_roots(store)).values()
    assert root.secrets_checked
    assert (await ingest(store, notes)).tally.parsed == 0


@pytest.mark.parametrize(("folder", "name", "rule"), [("notes", ".env", ".env"), (".kube", "config", ".kube/config")])
async def test_a_file_named_as_a_secret_that_waits_to_be_parsed_is_not_read(
    store: Store, tmp_path: Path, folder: str, name: str, rule: str
) -> None:
    notes = Folder(tmp_path / folder)
    notes.write(name, "API_KEY=a-key-without-a-shape\n")
    await Mill(store=store, roots=[Source(path=notes.place, default_excludes=False)]).job(NONE, stages=0).run()
    await as_an_earlier_version_left_it(store)
    await Mill(store=store, roots=[]).run(NONE)
    found = await picture(store)
    assert found.of("File")[name]["_errorMessage"] == f"secret ({rule})" and "a-key" not in texts(found)


async def test_a_dry_run_writes_nothing_and_the_run_does_what_it_told(store: Store, notes: Folder) -> None:
    notes.write("picture.png", b"\x89PNG\0\0\0")
    notes.write("token.md", TOKEN)
    notes.write("old.log", "old")
    await ingest(store, notes)
    notes.write("new.md", "# New\n")
    notes.write("new.bin", b"\0" * 9)
    notes.write("logo.svg", "<svg/>")
    notes.edit("a/02.md", "word", "words")
    notes.touch("a/04.md")
    notes.delete("b/01.md")
    notes.write(".gitignore", "*.log\nout/\n")
    notes.write("out/a.md", "# Out\n")
    notes.write(".venv/lib/a.py", "x = 1\n")
    notes.at("link.md").symlink_to("new.md")
    before, runs = await picture(store), len(await read_runs(store))
    told = await dry_run(store, notes)
    assert ((await picture(store)).nodes, len(await read_runs(store))) == (before.nodes, runs)
    assert (told.new, told.changed, told.deleted) == ([".gitignore", "new.md"], ["a/02.md"], ["b/01.md", "old.log"])
    assert {each.path: each.reason for each in told.skipped} == {
        ".venv/": "virtual environment (.venv)",
        "link.md": "a link to a file, which is read under its own name",
        "logo.svg": "an image: SVG",
        "new.bin": "binary: it holds zeros",
        "old.log": "ignored by .gitignore",
        "out/": "ignored by .gitignore",
        "picture.png": "binary: it holds zeros",
        "token.md": "holds a GitHub token (line 1)",
    }
    report = await ingest(store, notes)
    after = await picture(store)
    files = {path: node["_state"] for path, node in after.of("File").items()}
    skipped = {each.path for each in told.skipped} & files.keys()
    assert {path for path, state in files.items() if state == "skip"} == skipped
    assert files.keys() - before.of("File").keys() - skipped == set(told.new)
    assert before.of("File").keys() - files.keys() == set(told.deleted) and report.tally.deleted == len(told.deleted)
    assert report.tally.read == len(told.new) + len(told.changed) + told.unchanged + len(skipped)
    again = await dry_run(store, notes)
    assert (again.new, again.changed, again.deleted, again.skipped) == ([], [], [], told.skipped)
    assert again.unchanged == len(files) - len(skipped)


async def test_a_dry_run_over_several_roots_without_a_graph_names_them(
    store: Store, tmp_path: Path, notes: Folder
) -> None:
    other = Folder(tmp_path / "other")
    other.write("x.md", "# X\n")
    sources = [Source(path=each.place) for each in (notes, other)]
    told = await preview(None, sources, own=None, rehash=False, allow_deletes=False)
    assert told == await preview(store, sources, own=None, rehash=False, allow_deletes=False)
    assert told.new[-1] == "other/x.md" and told.new[0] == "notes/a/00.md" and len(told.new) == 13


async def test_a_file_that_may_not_be_read_is_told_as_skipped_before_and_after_the_run(
    store: Store, notes: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes.write("locked.md", "# Locked\n")
    for name in ("files.looks.read_content", "files.looks.hash_file", "files.preview.hash_file"):
        monkeypatch.setattr(f"orchestrator.{name}", unless_locked(name.rpartition(".")[2]))
    monkeypatch.setattr("pipelines.files.making.read_content", unless_locked("read_content"))
    before = await dry_run(store, notes)
    await ingest(store, notes)
    after = await dry_run(store, notes)
    assert before.skipped == after.skipped == [Skipped(path="locked.md", reason="cannot be read: Permission denied")]
    assert (len(before.new), after.new, after.changed, after.unchanged) == (12, [], [], 12)


def unless_locked(name: str) -> Callable[[Path], Any]:
    """As for a user who may not read the file."""
    real = getattr(content, name)

    def read(place: Path) -> Any:
        if place.name == "locked.md":
            raise PermissionError(EACCES, "Permission denied")
        return real(place)

    return read
