"""Files and folders come to rest with what is in them, say when something in them failed, and get over it."""

from pathlib import Path

import pytest

from graph_stores.protocol import Store
from orchestrator import settle
from orchestrator.lifecycle import Lifecycle
from orchestrator.states import ErrorClass
from tests.conformance.folders import Folder, Mill, Models, quicken
from tests.conformance.pictures import differences, picture
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Models:
    return quicken(monkeypatch, tmp_path / "cache")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "notes")
    folder.write("good.md", "# Good\n\nFine.\n")
    folder.write("bad.md", "# One\n\nFine.\n\n# Two\n\nThere is poison here.\n\n# Three\n\nMore poison.\n")
    folder.write("code.py", "def f():\n    return 'poison'\n\n\ndef g():\n    return 1\n")
    return folder


@pytest.fixture
def mill(store: Store, folder: Folder) -> Mill:
    return Mill(store=store, roots=[folder])


@HERE_AND_ON_A_SERVER
async def test_a_file_with_parts_in_error_is_in_error_and_gets_over_it_when_they_do(
    mill: Mill, store: Store, quick: Models
) -> None:
    quick.word_llama.refused = "poison"
    report = await mill.run()
    assert report.standing.in_error == 5
    found = await picture(store)
    assert found.states("MarkdownSection") == {"Good": "ready", "One": "ready", "Two": "error", "Three": "error"}
    assert found.states("File") == {"good.md": "ready", "bad.md": "error", "code.py": "error"}
    files = found.of("File")
    assert files["bad.md"]["_errorMessage"] == "2 of its parts are in error"
    assert files["code.py"]["_errorMessage"] == "one of its parts is in error"
    assert found.states("Directory") == {".": "ready"}

    quick.word_llama.refused = None
    assert await Lifecycle(store=store).retry_errors(labels=["MarkdownSection", "Scope"]) == 3
    await mill.run()
    found = await picture(store)
    assert found.all_states == {"ready"}
    assert not any("_errorMessage" in node for node in found.nodes.values())


@HERE
async def test_a_file_that_is_retried_alone_is_in_error_again_while_its_parts_are(
    mill: Mill, store: Store, quick: Models
) -> None:
    quick.word_llama.refused = "poison"
    await mill.run()
    before = await picture(store)
    assert await Lifecycle(store=store).retry_errors(labels=["File"]) == 2
    await mill.run()
    assert differences(await picture(store), before) == []


@HERE
async def test_an_edit_that_mends_the_text_mends_the_file(
    mill: Mill, store: Store, folder: Folder, quick: Models
) -> None:
    quick.word_llama.refused = "poison"
    await mill.run()
    folder.edit("bad.md", "poison", "honey")
    await mill.run()
    assert (await picture(store)).states("File") == {"good.md": "ready", "bad.md": "ready", "code.py": "error"}


@HERE
async def test_a_job_that_finds_only_errors_does_nothing_and_ends(mill: Mill, store: Store, quick: Models) -> None:
    quick.word_llama.refused = "poison"
    await mill.run()
    quick.word_llama.given.clear()
    tally = (await mill.run()).tally
    assert (tally.parsed, tally.embedded, quick.word_llama.given) == (0, 0, [])


@HERE_AND_ON_A_SERVER
async def test_many_files_in_error_do_not_stand_in_the_way_of_those_that_come_to_rest(
    mill: Mill, store: Store, folder: Folder, quick: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "_PAGE", 2)
    for number in range(12):
        folder.write(f"{number}.md", "# Poison\n\npoison\n" if number % 2 else f"# Fine {number}\n")
    quick.word_llama.refused = "poison"
    await mill.run()
    states = (await picture(store)).states("File")
    assert {path for path, state in states.items() if state == "error"} == {
        "bad.md",
        "code.py",
        *(f"{number}.md" for number in range(1, 12, 2)),
    }
    assert set(states.values()) == {"ready", "error"}


@HERE
async def test_a_part_that_failed_is_permanent_where_the_model_says_so(mill: Mill, store: Store, quick: Models) -> None:
    quick.word_llama.refused = "poison"
    await mill.run()
    section = (await picture(store)).of("MarkdownSection")["Two"]
    assert (section["_errorType"], section["_errorClass"]) == ("embed", ErrorClass.PERMANENT)
    assert section["_errorMessage"] == "there is poison in it"
    assert section["_retryCount"] == 0


@HERE
async def test_files_wait_again_while_their_parts_do(mill: Mill, store: Store) -> None:
    await mill.run()
    lifecycle = Lifecycle(store=store)
    sections = [key for key in (await picture(store)).nodes if key[0] == "Scope"]
    await lifecycle.store.query(
        "MATCH (n:Scope) WHERE n.projectId = $project SET n._state = 'linked'", {"project": store.project}, write=True
    )
    assert sections
    await settle.unsettle(lifecycle)
    assert (await picture(store)).states("File") == {"good.md": "ready", "bad.md": "ready", "code.py": "linked"}
    assert await settle.settle_files(lifecycle) == 0
    await mill.run()
    assert (await picture(store)).all_states == {"ready"}
