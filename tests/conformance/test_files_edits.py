"""Edits of a real folder, one by one: what each costs, what stays, and what the graph says of it afterwards."""

from pathlib import Path

import pytest

from graph_stores.protocol import Store
from orchestrator.embed import TOO_SHORT
from orchestrator.files.forget import forget
from orchestrator.files.roots import RootMissing, Source
from tests.conformance.conftest import wipe
from tests.conformance.folders import LETTERS, NONE, Folder, Mill, Models, quicken
from tests.conformance.pictures import differences, picture
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER
from tests.conformance.wrapped import wrapped

GUIDE = "# Guide\n\nWhere it begins.\n\n## Install\n\nPut it there.\n\n## Use\n\nTurn the wheel.\n"
NOTES = "# Notes\n\nSee [how](guide.md#install) and [all](guide.md).\n"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Models:
    return quicken(monkeypatch, tmp_path / "cache")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "notes")
    folder.write("guide.md", GUIDE)
    folder.write("notes.md", NOTES)
    return folder


@pytest.fixture
def mill(store: Store, folder: Folder) -> Mill:
    return Mill(store=store, roots=[folder])


async def assert_equal_to_a_rebuild(mill: Mill) -> None:
    found = await picture(mill.store)
    await wipe(mill.store)
    await mill.run()
    assert differences(found, await picture(mill.store)) == []


@HERE_AND_ON_A_SERVER
async def test_unchanged_input_costs_no_parse_no_embedding_and_no_write(
    mill: Mill, store: Store, folder: Folder, quick: Models
) -> None:
    await mill.run()
    counted, calls = wrapped(store)
    quick.word_llama.given.clear()
    mill.store = counted
    for rehash in (False, True):
        tally = (await mill.run(rehash=rehash)).tally
        assert (tally.read, tally.unchanged, tally.parsed, tally.embedded) == (2, 2, 0, 0)
    assert (calls.changes, quick.word_llama.given) == ([], [])


@HERE
async def test_a_touched_file_is_hashed_and_remembered_and_nothing_else(
    mill: Mill, store: Store, folder: Folder
) -> None:
    await mill.run()
    folder.touch("guide.md")
    counted, calls = wrapped(store)
    mill.store = counted
    for commits in (1, 0):
        calls.batches.clear()
        tally = (await mill.run()).tally
        assert (tally.unchanged, tally.parsed, len(calls.changes)) == (2, 0, commits)


@HERE
async def test_an_edit_is_embedded_where_it_is_and_nowhere_else(mill: Mill, folder: Folder, quick: Models) -> None:
    await mill.run()
    quick.word_llama.given.clear()
    folder.edit("guide.md", "Put it there.", "Put it here.")
    tally = (await mill.run()).tally
    assert (tally.parsed, tally.embedded) == (1, 1)
    assert quick.word_llama.given == ["## Install\n\nPut it here."]


@HERE_AND_ON_A_SERVER
async def test_a_section_that_moves_keeps_its_vector(mill: Mill, folder: Folder, quick: Models) -> None:
    await mill.run()
    before = (await picture(mill.store)).of("MarkdownSection")["Install"]
    quick.word_llama.given.clear()
    install = "## Install\n\nPut it there."
    folder.write("guide.md", f"# Guide\n\nWhere it begins.\n\n## Use\n\nTurn the wheel.\n\n{install}\n")
    assert (await mill.run()).tally.embedded == 0
    within = (await picture(mill.store)).of("MarkdownSection")["Install"]
    assert (within["uuid"], within["embedding"]) == (before["uuid"], before["embedding"])
    folder.edit("guide.md", install, "")
    folder.write("new.md", f"\n\n{install}\n")
    await mill.run()
    elsewhere = (await picture(mill.store)).of("MarkdownSection")["Install"]
    assert elsewhere["embedding"] == before["embedding"]
    assert elsewhere["uuid"] != before["uuid"]
    assert quick.word_llama.given == []


@pytest.mark.long
@HERE
@pytest.mark.parametrize(
    "guide",
    [
        "# Guide\n\nWhere it begins.\n\n## Install\n\nPut it there.\n\n### Use\n\nTurn the wheel.\n",
        "# Guide\n\nWhere it begins.\n\n# Install\n\nPut it there.\n\n## Use\n\nTurn the wheel.\n",
        "# Guide\n\nWhere it begins.\n\n## Use\n\nTurn the wheel.\n\n## Install\n\nPut it there.\n",
        "\n\n" + GUIDE,
        f"# Guide\n\n{'Where it begins, and begins again. ' * 150}\n\n## Install\n\nPut it there.\n",
        "",
    ],
    ids=["deeper", "less deep", "other order", "further down", "longer than a vector", "empty"],
)
async def test_a_page_is_after_an_edit_and_back_what_it_would_be_if_it_were_new(
    mill: Mill, folder: Folder, guide: str
) -> None:
    await mill.run()
    for content in (guide, GUIDE, guide):
        folder.write("guide.md", content)
        await mill.run()
    await assert_equal_to_a_rebuild(mill)


@pytest.mark.long
@HERE
async def test_a_text_of_which_nothing_but_signs_is_left_loses_its_vector_and_gets_it_back(
    mill: Mill, store: Store, folder: Folder
) -> None:
    for first, state in (("Words.", "ready"), ("***", "skip"), ("Words.", "ready"), ("***", "skip")):
        folder.write("guide.md", f"{first}\n\n# Guide\n")
        await mill.run()
        preamble = (await picture(store)).of("MarkdownSection")["guide"]
        assert (preamble["_state"], "embedding" in preamble) == (state, state == "ready")
        assert preamble.get("_errorMessage") == (None if state == "ready" else TOO_SHORT)
    await assert_equal_to_a_rebuild(mill)


@HERE
async def test_edges_from_other_files_survive_a_rebuild_of_their_target(mill: Mill, folder: Folder) -> None:
    await mill.run()
    links = (await picture(mill.store)).links("LINKS_TO")
    assert links == {("Notes", "Install"): {"count": 1}, ("Notes", "guide.md"): {"count": 1}}
    folder.edit("guide.md", "Put it there.", "Put it anywhere.")
    assert (await mill.run()).tally.parsed == 1
    assert (await picture(mill.store)).links("LINKS_TO") == links


@HERE_AND_ON_A_SERVER
async def test_a_link_breaks_when_its_target_goes_and_is_whole_when_it_comes_back(mill: Mill, folder: Folder) -> None:
    await mill.run()
    whole = await picture(mill.store)
    folder.edit("guide.md", "## Install", "## Set up")
    await mill.run()
    part = await picture(mill.store)
    assert part.of("MarkdownSection")["Notes"]["brokenLinks"] == ["guide.md#install"]
    assert list(part.links("LINKS_TO")) == [("Notes", "guide.md")]
    folder.delete("guide.md")
    await mill.run()
    none = await picture(mill.store)
    assert none.of("MarkdownSection")["Notes"]["brokenLinks"] == ["guide.md#install", "guide.md"]
    assert none.links("LINKS_TO") == {}
    folder.write("guide.md", GUIDE)
    await mill.run()
    back = await picture(mill.store)
    assert "brokenLinks" not in back.of("MarkdownSection")["Notes"]
    assert back.links("LINKS_TO") == whole.links("LINKS_TO")


@pytest.mark.long
@HERE
async def test_a_checkout_of_another_branch_and_back_asks_the_model_nothing_new(
    mill: Mill, folder: Folder, quick: Models
) -> None:
    await mill.run()
    main = await picture(mill.store)
    folder.checkout({"notes.md": NOTES, "other/guide.md": GUIDE, "m.py": "def f():\n    return 1\n"})
    await mill.run()
    await assert_equal_to_a_rebuild(mill)
    quick.word_llama.given.clear()
    folder.checkout({"notes.md": NOTES, "guide.md": GUIDE})
    await mill.run()
    times = {"_modifiedAt"}
    found = [
        line
        for line in differences(await picture(mill.store), main)
        if not any(f": {name} is" in line and ";" not in line for name in times)
    ]
    assert (found, quick.word_llama.given) == ([], [])


@HERE_AND_ON_A_SERVER
async def test_another_model_embeds_every_text_again_and_the_first_finds_its_own_again(
    mill: Mill, quick: Models
) -> None:
    await mill.run()
    first = await picture(mill.store)
    texts = sorted(quick.word_llama.given)
    report = await mill.run(LETTERS)
    assert sorted(quick.letters.given) == texts
    assert mill.said == [f"{len(texts)} texts are embedded again, with letters"]
    assert set(report.standing.states) == {"ready"}
    other = await picture(mill.store)
    assert {len(node["embedding"]) for node in other.of("MarkdownSection").values()} == {8}
    quick.letters.given.clear()
    assert (await mill.run(LETTERS)).tally.embedded == 0
    quick.word_llama.given.clear()
    await mill.run()
    assert differences(await picture(mill.store), first) == []
    assert (quick.letters.given, quick.word_llama.given) == ([], [])


@HERE
async def test_what_was_left_out_without_an_embedder_is_embedded_once_there_is_one(mill: Mill) -> None:
    await mill.run(NONE)
    without = await picture(mill.store)
    assert set(without.states("MarkdownSection").values()) == {"skip"}
    assert set(without.states("File").values()) == {"ready"}
    assert all("--embedder none" in node["_errorMessage"] for node in without.of("MarkdownSection").values())
    assert (await mill.run(NONE)).tally.parsed == 0
    await mill.run()
    await assert_equal_to_a_rebuild(mill)


@HERE
async def test_two_roots_with_the_same_paths_never_meet(store: Store, tmp_path: Path) -> None:
    one, two = Folder(tmp_path / "one/docs"), Folder(tmp_path / "two/docs")
    for folder, word in ((one, "first"), (two, "second")):
        folder.write("a.md", f"# A {word}\n\n[b](b.md) [[b]]\n")
    two.write("b.md", "# B\n")
    mill = Mill(store=store, roots=[one, two])
    await mill.run()
    found = await picture(store)
    assert {node["root"] for node in found.nodes.values() if "root" in node} == {"docs", "two.docs"}
    assert found.links("LINKS_TO") == {("A second", "b.md"): {"count": 2}}
    assert found.of("MarkdownSection")["A first"]["brokenLinks"] == ["b.md", "[[b]]"]


@HERE
async def test_a_root_that_is_gone_is_no_order_to_delete(mill: Mill, store: Store, folder: Folder) -> None:
    await mill.run()
    before = await picture(store)
    folder.place.rename(folder.place.with_name("elsewhere"))
    with pytest.raises(RootMissing) as refusal:
        await mill.run()
    assert "forget" in refusal.value.hint
    assert differences(await picture(store), before) == []


@pytest.mark.long
@HERE
async def test_what_waits_in_a_root_that_is_gone_waits_on_and_loses_nothing(
    mill: Mill, store: Store, folder: Folder, tmp_path: Path
) -> None:
    await mill.run()
    folder.edit("guide.md", "Put it there.", "Put it here.")
    await mill.scan()
    away = folder.place.rename(tmp_path / "unmounted")
    other = Folder(tmp_path / "other")
    other.write("o.md", "# Other\n")
    beside = Mill(store=store, roots=[other])
    report = await beside.run()
    assert [run.outcome for run in report.runs] == ["completed"] and report.lost is None
    assert any(f"1 file of notes waits for {folder.place}" in line for line in beside.said)
    found = await picture(store)
    assert found.states("File") == {"guide.md": "pending", "notes.md": "ready", "o.md": "ready"}
    assert set(found.states("MarkdownSection")) == {"Guide", "Install", "Use", "Notes", "Other"}
    away.rename(folder.place)
    mill.roots = [folder, other]
    await mill.run()
    await assert_equal_to_a_rebuild(mill)


@HERE
async def test_a_folder_that_was_forgotten_is_as_new_when_it_is_read_again(
    mill: Mill, store: Store, folder: Folder
) -> None:
    folder.write("sub/more.md", "# More\n\n[back](../guide.md)\n")
    await mill.run()
    before = await picture(store)
    assert (await forget(store, "notes/sub")).files == 1
    assert set((await picture(store)).states("Directory")) == {"."}
    await mill.run()
    assert differences(await picture(store), before) == []
    assert (await forget(store, str(folder.place))).whole
    assert (await picture(store)).nodes == {}


@pytest.mark.long
@HERE
async def test_a_root_may_be_a_single_file(store: Store, folder: Folder) -> None:
    mill = Mill(store=store, roots=[Source(path=folder.at("guide.md"))])
    await mill.run()
    folder.edit("guide.md", "wheel", "handle")
    await mill.run()
    found = await picture(store)
    assert found.states("File") == {"guide.md": "ready"}
    assert "handle" in found.of("MarkdownSection")["Use"]["content"]
    await assert_equal_to_a_rebuild(mill)
