"""Every damage that `verify` finds is mended as far as it can be: the next job ends in the graph of a fresh build."""

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from graph_stores.model import Edge, Value, VectorSpace
from graph_stores.protocol import Store
from orchestrator import stray
from orchestrator.checks import CHECKS, problems
from orchestrator.copying.idle import JobRuns
from orchestrator.files.differences import FileDifferences
from orchestrator.ledger.checks import LedgerDifferences
from orchestrator.ledger.scribe import Scribe
from orchestrator.lifecycle import Lifecycle
from orchestrator.migration import checks as migrated
from orchestrator.repair import MENDERS, repair
from orchestrator.states import State
from orchestrator.stray import NodesLeft
from orchestrator.verifying import AT_WORK, Wanted, examine
from orchestrator.wikipedia.differences import WikiDifferences
from orchestrator.worker import Worker
from orchestrator.workers import registered
from pipelines.files.identity import chunk_uuid
from tests.conformance.examples import node, states_of, write
from tests.conformance.expansions import Crawler, quicken_expansions
from tests.conformance.folders import WORD_LLAMA, Folder, Mill, opened, quicken
from tests.conformance.pictures import differences, picture
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER, Place
from tests.conformance.wikis import Link, Text, Wiki

PAGES = 26


def grow(folder: Folder) -> None:
    """Pages that each link to the next one's heading, modules that call each other, and a text in pieces."""
    for number in range(PAGES):
        later = (number + 1) % PAGES
        link = f"../sub{later % 3}/p{later:02}.md#page-{later:02}"
        text = f"# Page {number:02}\n\nAbout [the next]({link}), which is not number {number}.\n"
        folder.write(f"sub{number % 3}/p{number:02}.md", text)
    folder.write("code/mill.py", "def turn():\n    return 'grain'\n\n\ndef stop():\n    return turn()\n")
    for name in ("long", "longer", "longest"):
        folder.write(f"{name}.md", f"# The {name}\n\n" + f"Grain is ground {name} between stones. " * 1500)


def section(number: int) -> str:
    return f"MATCH (n:MarkdownSection) WHERE n.projectId = $project AND n.name = 'Page {number:02}'"


def page(number: int) -> str:
    return f"MATCH (n:File) WHERE n.projectId = $project AND n.name = 'p{number:02}.md'"


def made(label: str, properties: str) -> str:
    """A node by hand; one server holds the uuids of all projects."""
    return f"CREATE (:{label} {{uuid: '{label} of ' + $project, projectId: $project, {properties}}})"


DAMAGE: Mapping[str, list[str]] = {
    "state": [
        f"{page(0)} SET n._state = 'polished'",
        f"{section(1)} SET n._state = NULL",
        "MATCH (n:Directory) WHERE n.projectId = $project AND n.path = 'sub1' SET n._state = 'gone'",
        "MATCH (n:Chunk) WHERE n.projectId = $project AND n.name = 'The long (1)' SET n._state = 'cut'",
        "MATCH (n:Article) WHERE n.projectId = $project AND n.title = 'Mill' SET n._state = NULL",
    ],
    "idle-lease": [f"{page(2)} SET n._leaseOwner = 'nobody', n._leaseToken = 't'"],
    "missing-lease": [f"{page(3)} SET n._state = 'parsing'", f"{section(4)} SET n._state = 'embedding'"],
    "endless-lease": [
        f"{section(17)} SET n._state = 'embedding', n._leaseOwner = 'x', n._leaseToken = 't', n._leaseUntil = $far"
    ],
    "lone-part": [
        "MATCH (n:MarkdownSection)<-[e:HAS_SECTION]-() WHERE n.projectId = $project AND n.name = 'Page 05' DELETE e",
        "MATCH (n:Scope)-[e:DEFINED_IN]->(f:File) WHERE n.projectId = $project AND n.name = 'turn' DELETE e",
    ],
    "lone-file": ["MATCH (n:File)-[e:IN_DIRECTORY]->(d) WHERE n.projectId = $project AND n.name = 'p06.md' DELETE e"],
    "missing-vector": [f"{section(7)} SET n.embedding = NULL"],
    "foreign-vector": [f"{section(8)} SET n._embeddingProvider = 'another'"],
    "missing-hash": [f"{section(9)} SET n._embeddingHash = NULL"],
    "odd-vector": [f"{section(10)} SET n.embedding = $zero"],
    "stale-vector": [
        f"{section(11)} SET n.content = 'edited by hand'",
        "MATCH (n:Section) WHERE n.projectId = $project AND n.title = 'Use' SET n.content = 'edited by hand'",
    ],
    "lost-piece": [
        "MATCH (n:MarkdownSection) WHERE n.projectId = $project AND n.name = 'The longer' SET n._chunks = 1",
    ],
    "stray": [
        f"{section(15)} SET n._state = 'pending'",
        f"{section(16)} SET n._state = 'parsed'",
        "MATCH (n:Scope) WHERE n.projectId = $project AND n.name = 'stop' SET n._state = 'pending'",
        "MATCH (n:Directory) WHERE n.projectId = $project AND n.path = 'sub2' SET n._state = 'pending'",
        "MATCH (n:Chunk) WHERE n.projectId = $project AND n.name = 'The longest (1)' SET n._state = 'pending'",
    ],
    "unsettled": [f"{section(12)} SET n._state = 'linked'"],
    "twin": [
        made("File", "name: 'p13.md', _state: 'skip', root: 'notes', path: 'sub1/p13.md'"),
        made("Category", "name: 'Parts', _state: 'ready', wiki: $wiki, title: 'Parts'"),
    ],
    "expansion-state": [
        "MATCH (n:Article) WHERE n.projectId = $project AND n.title = 'Wheel' SET n.expansion_state = 'failed'",
    ],
    "outcome": [
        "MATCH (n:IngestionRun) WHERE n.projectId = $project AND n.source <> 'files:notes' SET n.outcome = 'running'",
    ],
    "early-run": [
        "MATCH (r:IngestionRun)-[:HAS_PARTITION]->(n:Partition) WHERE r.projectId = $project "
        "AND r.source = 'files:notes' SET n._state = 'error', n.outcome = 'failed'",
    ],
    "lone-partition": [made("Partition", "name: 'lone', _state: 'ready', outcome: 'completed'")],
    "early-watermark": [
        made(
            "IngestionRun",
            "name: 'early', _state: 'error', outcome: 'failed', type: 'full', source: 'files:other', startedAt: $now, "
            "readAt: $now, finishedAt: $now, watermarkAfter: $now, options: '{}'",
        )
    ],
    "watermark-gone-back": [
        "MATCH (n:IngestionRun) WHERE n.projectId = $project AND n.source <> 'files:notes' "
        "AND n._state = 'ready' SET n.watermarkBefore = $late",
    ],
    "lost-part": [
        f"{section(14)} DETACH DELETE n",
        "MATCH (n:Section) WHERE n.projectId = $project AND n.title = 'Parts' DETACH DELETE n",
    ],
}


async def harm(store: Store, statement: str) -> None:
    wikis = (await store.ask("wikis")).rows or [("", "")]
    given: dict[str, Value] = {
        "project": store.project,
        "zero": [0.0] * 256,
        "now": datetime(2024, 3, 1, tzinfo=UTC),
        "late": datetime(2124, 3, 2, tzinfo=UTC),
        "wiki": wikis[0][1],
        "far": datetime(2099, 1, 1, tzinfo=UTC),
    }
    used = {name: value for name, value in given.items() if f"${name}" in statement}
    await store.query(statement, used, write=True)


def test_whatever_is_found_in_a_graph_is_mended_and_seen_to_be() -> None:
    names = {check.name for check in CHECKS}
    assert names == set(MENDERS) == set(DAMAGE)


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_after_a_repair_the_next_job_ends_in_the_graph_of_a_fresh_build(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken_expansions(monkeypatch, tmp_path / "cache")
    folder = Folder(tmp_path / "notes")
    grow(folder)
    mill = Mill(store=store, roots=[folder])
    crawler = Crawler(store=store, dump=tmp_path / "wiki.xml")
    crawler.publish(
        Wiki.of(
            {
                "Mill": Text(paragraphs=[("Use", [Link(to="Wheel"), Link(to="Nowhere")])]),
                "Wheel": Text(paragraphs=[("Parts", [Link(to="Mill")])], categories=["Parts"]),
            }
        )
    )
    await mill.run()
    await crawler.expand(["Mill"], depth=1, embedder=WORD_LLAMA)
    before = await picture(store)
    for name, statements in DAMAGE.items():
        for statement in statements:
            await harm(store, statement)
        assert name in {problem.check for problem in await problems(store)}, name
    done = await repair(store, CHECKS)
    assert {each.check for each in done} == set(DAMAGE)
    assert all(each.count and each.did for each in done)
    assert await problems(store) == []
    await mill.run()
    await crawler.expand(["Mill"], depth=1, embedder=WORD_LLAMA)
    assert differences(await picture(store), before) == []
    assert await problems(store) == []
    assert await repair(store, CHECKS) == []


@pytest.mark.long
@HERE
async def test_nothing_is_removed_that_cannot_be_read_again_right_now(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken_expansions(monkeypatch, tmp_path / "cache")
    folder = Folder(tmp_path / "notes")
    grow(folder)
    mill = Mill(store=store, roots=[folder])
    crawler = Crawler(store=store, dump=tmp_path / "wiki.xml")
    crawler.publish(
        Wiki.of(
            {
                "Mill": Text(paragraphs=[("Use", [Link(to="Wheel")])]),
                "Wheel": Text(paragraphs=[("Parts", [Link(to="Mill")])], categories=["Parts"]),
            }
        )
    )
    await mill.run()
    await crawler.expand(["Mill"], depth=1, embedder=WORD_LLAMA)
    fresh = await picture(store)
    for name in ("state", "lone-part", "lone-file", "stale-vector", "lost-piece", "twin", "lost-part"):
        for statement in DAMAGE[name]:
            await harm(store, statement)
    folder.place.rename(tmp_path / "unmounted")
    (tmp_path / "wiki.xml").rename(tmp_path / "unmounted.xml")
    before = await texts_in(store)
    done = {each.check: each for each in await repair(store, CHECKS)}
    assert {name: each.left for name, each in done.items() if each.left} == {
        "lone-part": 2, "lone-file": 1, "stale-vector": 2, "twin": 2, "lost-part": 4
    }  # fmt: skip
    after = await texts_in(store)
    # Pieces are cut anew from their text, which is in the graph.
    assert {ref: text for ref, text in before.items() if ref[0] != "Chunk"} == {
        ref: text for ref, text in after.items() if ref[0] != "Chunk"
    }
    (tmp_path / "unmounted").rename(folder.place)
    (tmp_path / "unmounted.xml").rename(tmp_path / "wiki.xml")
    assert all(each.left == 0 for each in await repair(store, CHECKS))
    await mill.run()
    await crawler.expand(["Mill"], depth=1, embedder=WORD_LLAMA)
    assert await problems(store) == []
    assert differences(await picture(store), fresh) == []


async def texts_in(store: Store) -> dict[tuple[str, str], Value]:
    return {
        (node.label, node.properties["uuid"]): node.properties.get("content") async for node in store.export_nodes()
    }


@HERE
async def test_files_that_were_added_changed_and_removed_are_found_and_repaired(
    store: Store, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken(monkeypatch, tmp_path / "cache")
    folder = Folder(tmp_path / "notes")
    for name in ("same", "edited", "deleted", "sly"):
        folder.write(f"{name}.md", f"# {name}\n\nAbout [it](edited.md), as it was.\n")
    mill = Mill(store=store, roots=[folder])
    await mill.run()
    assert (await examine(store, Wanted())).problems == []
    folder.edit("edited.md", "as it was", "as it is")
    folder.delete("deleted.md")
    folder.write("added.md", "# added\n")
    stat = folder.at("sly.md").stat()
    folder.at("sly.md").write_text(folder.at("sly.md").read_text().replace("as it was", "as it WAS"))
    os.utime(folder.at("sly.md"), ns=(stat.st_atime_ns, stat.st_mtime_ns))
    found = {each.check: each for each in (await examine(store, Wanted())).problems}
    assert {name: each.examples[0].found for name, each in found.items()} == {
        "unread-file": "notes/added.md",
        "changed-file": "notes/edited.md",
        "gone-file": "notes/deleted.md",
    }
    assert (await examine(store, Wanted(files=False))).problems == []
    verdict = await examine(store, Wanted(rehash=True))
    assert {each.check: each.count for each in verdict.problems}["changed-file"] == 2
    mended = await examine(store, Wanted(repair=True, rehash=True))
    assert mended.problems == []
    assert mended.repaired
    await mill.run()
    other = Place(url=f"kuzu:{tmp_path / 'beside'}", project=place.project)
    fresh = await opened(other)
    await Mill(store=fresh, roots=[folder]).run()
    assert differences(await picture(store), await picture(fresh)) == []
    await other.close()


@HERE
async def test_a_root_that_is_gone_is_told_and_not_mended_and_one_elsewhere_is_only_told(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken(monkeypatch, tmp_path / "cache")
    folder = Folder(tmp_path / "notes")
    folder.write("a.md", "# a\n")
    await Mill(store=store, roots=[folder]).run()
    before = await picture(store)
    (tmp_path / "notes").rename(tmp_path / "moved")
    verdict = await examine(store, Wanted(repair=True))
    assert [(each.check, each.examples[0].found) for each in verdict.problems] == [
        ("gone-root", f"notes at {tmp_path / 'notes'}")
    ]
    assert (verdict.repaired, differences(await picture(store), before)) == ([], [])
    await harm_host(store)
    verdict = await examine(store, Wanted())
    assert (verdict.problems, list(verdict.notes)) == (
        [],
        ["notes is on another-machine and cannot be compared from here"],
    )


async def harm_host(store: Store) -> None:
    await store.query("MATCH (d:Directory) WHERE d.path = '.' SET d.host = 'another-machine'", {}, write=True)


@pytest.mark.long
@HERE
async def test_articles_with_another_revision_are_found_where_that_is_asked_for(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken_expansions(monkeypatch, tmp_path / "cache")
    wiki = Wiki.of({"Mill": Text(paragraphs=[("Use", [Link(to="Wheel")])]), "Wheel": Text(paragraphs=[("Parts", [])])})
    crawler = Crawler(store=store, dump=tmp_path / "wiki.xml")
    crawler.publish(wiki)
    await crawler.expand(["Mill"], depth=1, embedder=WORD_LLAMA)
    assert (await examine(store, Wanted(wikis=True))).problems == []
    wiki.write("Wheel", Text(paragraphs=[("Parts", [Link(to="Mill")])]))
    crawler.publish(wiki)
    assert (await examine(store, Wanted())).problems == []
    [problem] = (await examine(store, Wanted(wikis=True))).problems
    assert (problem.check, problem.count) == ("changed-article", 1)
    verdict = await examine(store, Wanted(wikis=True, repair=True))
    assert [each.check for each in verdict.repaired or ()] == ["changed-article"]
    await crawler.expand(["Mill"], depth=1, embedder=WORD_LLAMA)
    assert (await examine(store, Wanted(wikis=True))).problems == []


@pytest.mark.parametrize("engine", ["neo4j"], indirect=True)
async def test_nothing_is_mended_while_a_job_runs(store: Store) -> None:
    lifecycle = Lifecycle(store=store)
    async with registered(Worker(lifecycle, []), stages=["parse"]):
        assert AT_WORK in (await examine(store, Wanted())).notes
        with pytest.raises(JobRuns):
            await repair(store, CHECKS)


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_a_job_ends_where_a_text_waits_for_what_is_over_for_its_file(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken(monkeypatch, tmp_path / "cache")
    monkeypatch.setattr(stray, "_LOOK", 0.05)
    monkeypatch.setattr(stray, "_SURE", 0.2)
    folder = Folder(tmp_path / "notes")
    for number in range(3):
        folder.write(f"sub/p{number:02}.md", f"# Page {number:02}\n\nAbout nothing but number {number}.\n")
    mill = Mill(store=store, roots=[folder])
    await mill.run()
    before = await picture(store)
    await harm(store, f"{section(0)} SET n._state = 'pending'")
    await harm(store, f"{section(1)} SET n._state = 'parsed'")
    await harm(store, f"{page(1)} SET n._state = 'linked'")
    await harm(store, "MATCH (n:Directory) WHERE n.projectId = $project AND n.path = 'sub' SET n._state = 'pending'")
    await mill.run()
    assert differences(await picture(store), before) == []
    await harm(store, f"{section(2)} SET n._state = 'polished'")
    await harm(store, f"{page(2)} SET n._state = 'linked'")
    with pytest.raises(NodesLeft, match="what is left: 1 File linked, 1 MarkdownSection polished"):
        await mill.run()
    await repair(store, CHECKS)
    await mill.run()
    assert differences(await picture(store), before) == []


def test_every_check_is_told_of_in_the_documentation(tmp_path: Path) -> None:
    checks = [
        *CHECKS,
        *migrated.CHECKS,
        *FileDifferences(rehash=False).checks,
        *WikiDifferences(lambda _: None).checks,
        *LedgerDifferences(Scribe(tmp_path / "ledger", writer="nobody")).checks,
    ]
    text = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    rows = text.partition("| Check | Nodes that |")[2].partition("\n\n")[0].splitlines()[2:]
    told = {name for row in rows for name in re.findall(r"`([\w-]+)`", row.split("|")[1])}
    assert told == {check.name for check in checks}


@HERE_AND_ON_A_SERVER
async def test_a_piece_is_cut_again_however_many_there_are(store: Store) -> None:
    await store.use_vector_space(VectorSpace(provider="p", model="m", dimension=2))
    whole = node("MarkdownSection", "long text", state=State.READY, content="many words", _chunks=2)
    piece = node("Chunk", chunk_uuid(whole.uuid, 1500), state=State.READY, content="words")
    edge = Edge(type="HAS_CHUNK", source=whole.ref, target=piece.ref, properties={"index": 1500})
    await write(store, nodes=[whole, piece], edges=[edge])
    await repair(store, [check for check in CHECKS if check.name == "lost-piece"])
    assert await states_of(store) == {whole.uuid: "linked"}
