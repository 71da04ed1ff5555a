"""Whatever lies in a folder ends as a state with a reason, and the rest goes on (row I1)."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import docx
import pytest

from graph_stores.model import Select
from graph_stores.protocol import Store
from orchestrator.files.roots import Source
from pipelines.files.content import LARGEST
from pipelines.files.making import Made, Task, make
from tests.conformance.folders import Folder, Mill, Models, quicken
from tests.conformance.pictures import Picture, picture
from tests.conformance.place import HERE

pytestmark = HERE

STRANGE = 'it\'s "a\nname"; MATCH (n) -- é.md'


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Models:
    return quicken(monkeypatch, tmp_path / "cache")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "notes")
    folder.write("good.md", "# Good\n\nIt is read whatever lies beside it.\n")
    return folder


@pytest.fixture
def mill(store: Store, folder: Folder) -> Mill:
    return Mill(store=store, roots=[folder])


def before_reading(monkeypatch: pytest.MonkeyPatch, path: str, happens: Callable[[], object]) -> None:
    """Let something happen to a file after it was found and before it is read."""

    def made(task: Task) -> Made:
        if task.path == path:
            happens()
        return make(task)

    monkeypatch.setattr("orchestrator.files.ingestion.make", made)


async def reason_of(store: Store, path: str) -> tuple[str, str | None]:
    rows = await store.nodes(Select(labels=["File"]))
    [row] = [row for row in rows if row.properties["path"] == path]
    return row.state, row.error_message


async def test_every_kind_of_file_ends_as_a_state_with_a_reason(mill: Mill, store: Store, folder: Folder) -> None:
    folder.write("latin.txt", "Die Größe der Mühle ist für jeden schön anzusehen.\n".encode("latin-1"))
    folder.write("empty.md", "")
    folder.write("blank.txt", "\n \n\t\n")
    folder.write("signs.md", "---\n\n***\n\n!?\n")
    folder.write("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    folder.write("zeros.md", b"# Title\n\0\0\0")
    folder.write("broken.py", "def f(:\n  return (((\n")
    folder.write("broken.ipynb", "{not json")
    folder.write(STRANGE, "# Strange\n\nIts name is.\n")
    with folder.at("large.log").open("wb") as large:
        large.truncate(LARGEST + 1)
    report = await mill.run()
    found = await picture(store)
    reasons = {path: (node["_state"], node.get("_errorMessage")) for path, node in found.of("File").items()}
    assert reasons == {
        "good.md": ("ready", None),
        "latin.txt": ("ready", None),
        "empty.md": ("ready", None),
        "blank.txt": ("ready", None),
        "signs.md": ("ready", None),
        "picture.png": ("skip", "binary: it holds zeros"),
        "zeros.md": ("skip", "binary: it holds zeros"),
        "broken.py": ("ready", None),
        "broken.ipynb": ("ready", None),
        STRANGE: ("ready", None),
        "large.log": ("skip", "it is larger than 32 MB"),
    }
    assert "Mühle" in contents(found, "TextSection")
    assert "Its name is." in contents(found, "MarkdownSection")
    assert report.standing.in_error == report.standing.remaining == 0
    assert (await mill.run()).tally.unchanged == len(reasons)


def contents(found: Picture, label: str) -> str:
    return "\n".join(str(node["content"]) for key, node in found.nodes.items() if key[0] == label)


async def test_what_is_no_file_is_left_out_with_the_reason(mill: Mill, store: Store, folder: Folder) -> None:
    os.mkfifo(folder.at("pipe"))
    folder.at("loop").symlink_to("loop")
    folder.at("up").symlink_to("..")
    folder.at("nowhere").symlink_to("gone.md")
    (folder.place / os.fsdecode(b"caf\xe9.md")).write_text("# Not in UTF-8\n", encoding="utf-8")
    report = await mill.run()
    assert {each.path: each.reason for each in report.left_out} == {
        "caf\\xe9.md": "its name is not in UTF-8",
        "loop": "a link to nothing",
        "nowhere": "a link to nothing",
        "pipe": "a named pipe and not a file",
        "up": "a link out of the root, which is not followed",
    }
    assert (await picture(store)).states("File") == {"good.md": "ready"}


async def test_a_file_that_goes_between_finding_and_reading_it_is_skipped_and_then_forgotten(
    mill: Mill, store: Store, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("fleeting.md", "# Here for a moment\n")
    before_reading(monkeypatch, "fleeting.md", folder.at("fleeting.md").unlink)
    await mill.run()
    assert await reason_of(store, "fleeting.md") == ("skip", "it was gone when it was to be read")
    assert await reason_of(store, "good.md") == ("ready", None)
    assert (await mill.run()).tally.deleted == 1
    assert (await picture(store)).states("File") == {"good.md": "ready"}


async def test_a_file_that_becomes_a_folder_before_it_is_read_is_skipped(
    mill: Mill, store: Store, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("changeling.md", "# One thing\n")

    def change() -> None:
        folder.at("changeling.md").unlink()
        folder.at("changeling.md").mkdir()

    before_reading(monkeypatch, "changeling.md", change)
    await mill.run()
    assert await reason_of(store, "changeling.md") == ("skip", "it was a folder when it was to be read")
    folder.write("changeling.md/inside.md", "# Another\n")
    await mill.run()
    assert (await picture(store)).states("File") == {"good.md": "ready", "changeling.md/inside.md": "ready"}


async def test_a_file_that_cannot_be_opened_is_in_error_and_read_once_it_can_be(
    mill: Mill, store: Store, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("locked.md", "# Locked\n")

    def lock() -> None:
        folder.at("locked.md").unlink()
        folder.at("locked.md").symlink_to("locked.md")

    before_reading(monkeypatch, "locked.md", lock)
    await mill.run()
    state, reason = await reason_of(store, "locked.md")
    assert state == "error"
    assert (reason or "").startswith("cannot be read: ")
    monkeypatch.setattr("orchestrator.files.ingestion.make", make)
    folder.at("locked.md").unlink()
    folder.write("locked.md", "# Unlocked\n")
    await mill.run()
    assert await reason_of(store, "locked.md") == ("ready", None)


async def test_a_file_that_stays_unreadable_is_tried_once_and_not_with_every_job(
    mill: Mill, store: Store, folder: Folder
) -> None:
    """Nobody but root may read a file without permissions, and even root cannot read this one."""
    unreadable = Path("/proc/self/mem")
    if os.geteuid():
        unreadable = folder.place.parent / "secret.md"
        unreadable.write_text("# Secret\n", encoding="utf-8")
        unreadable.chmod(0)
    mill.roots = [folder, Source(path=unreadable, name="unreadable")]
    await mill.run()
    state, reason = await reason_of(store, unreadable.name)
    assert state == "error"
    assert (reason or "").startswith("cannot be read: ")
    assert await reason_of(store, "good.md") == ("ready", None)
    before = await store.nodes(Select(states=["error"]))
    await mill.run(rehash=True)
    assert await store.nodes(Select(states=["error"])) == before


async def test_a_file_that_is_written_while_it_is_read_is_read_again_by_the_next_job(
    mill: Mill, store: Store, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("busy.md", "# First\n")
    before_reading(monkeypatch, "busy.md", lambda: folder.write("busy.md", "# Second\n"))
    await mill.run()
    assert set((await picture(store)).states("MarkdownSection")) == {"Good", "Second"}
    monkeypatch.setattr("orchestrator.files.ingestion.make", make)
    assert (await mill.run()).tally.parsed == 0
    folder.write("busy.md", "# Third\n")
    await mill.run()
    assert set((await picture(store)).states("MarkdownSection")) == {"Good", "Third"}


async def test_a_folder_that_cannot_be_looked_into_loses_nothing(
    mill: Mill, store: Store, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("sub/deep/kept.md", "# Kept\n")
    await mill.run()
    before = await picture(store)
    scandir = os.scandir

    def denied(place: str) -> object:
        if str(place).rstrip("/").endswith("sub"):
            raise PermissionError(13, "Permission denied")
        return scandir(place)

    monkeypatch.setattr("pipelines.files.walk.os.scandir", denied)
    report = await mill.run()
    assert [(each.path, each.folder) for each in report.left_out] == [("sub", True)]
    assert (
        (await picture(store)).states("File")
        == before.states("File")
        == {"good.md": "ready", "sub/deep/kept.md": "ready"}
    )


async def test_what_an_extra_reads_is_read_by_the_next_run_after_it_was_installed(
    mill: Mill, store: Store, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = docx.Document()
    letter.add_paragraph("The miller writes of flour.")
    letter.save(str(folder.at("letter.docx")))
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "docx", None)
        without.setattr("orchestrator.files.ingestion.find_spec", lambda _: None)
        for _ in range(2):
            await mill.run()
        state, reason = await reason_of(store, "letter.docx")
        assert state == "skip" and "pip install 'graphmill[office]'" in (reason or "")
    await mill.run()
    assert await reason_of(store, "letter.docx") == ("ready", None)
