"""The ledger beside a real graph: it says what the graph says, and what it could not hear it learns from the graph."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from graph_stores.model import Select
from graph_stores.neo4j.commits import Attempt
from graph_stores.neo4j.connection import Connection
from graph_stores.protocol import Store
from orchestrator.leases import owner_name
from orchestrator.ledger.checks import LedgerDifferences
from orchestrator.ledger.life import life_of
from orchestrator.ledger.lines import Record
from orchestrator.ledger.pace import done_lately
from orchestrator.ledger.reading import Reading
from orchestrator.ledger.reconciliation import differences, reconcile
from orchestrator.ledger.scribe import Scribe
from orchestrator.ledger.validation import validate
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.states import ErrorClass
from orchestrator.verifying import Wanted, examine
from tests.conformance.examples import bring, claim, claim_one, files, ref, write
from tests.conformance.place import HERE

T = TypeVar("T")

# A process of this machine that is not there any more.
GONE = owner_name().rsplit(":", 2)[0].rsplit(":", 1)[0] + ":4194303:1:abcdef"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


@pytest.fixture
async def scribe(store: Store, folder: Path) -> AsyncIterator[Scribe]:
    """One that is told everything; closed by the test, or else with it."""
    scribe = Scribe(folder, writer=owner_name())
    store.listen(scribe)
    yield scribe
    store.listen(None)
    scribe.close()


async def missing(store: Store, folder: Path) -> list[tuple[str, str | None, str | None]]:
    with Reading.open(folder) as reading:
        return sorted((each.node, each.before, each.after) for each in await differences(store, reading))


def life(folder: Path, node: str) -> list[Record]:
    with Reading.open(folder) as reading:
        return life_of(list(reading.listing.histories()), node)


async def test_every_change_is_written_down_with_who_did_it_and_how_it_went(
    store: Store, lifecycle: Lifecycle, scribe: Scribe, folder: Path
) -> None:
    await write(store, nodes=files(3))
    await lifecycle.fail(await claim_one(lifecycle), message="no luck", error_class=ErrorClass.TRANSIENT)
    await lifecycle.complete([Result(node=row) for row in await claim(lifecycle)])
    await lifecycle.delete([ref("f00002")])
    scribe.close()
    assert await missing(store, folder) == []
    assert validate(folder).problems == {}
    failed = next(record for node in ("f00000", "f00001", "f00002") for record in life(folder, node) if record.error)
    assert (failed.before, failed.after, failed.tries, failed.error_type) == ("parsing", "pending", 1, "parse")
    assert (failed.error, failed.by) == ("no luck", scribe.writer)
    assert failed.seconds is not None and failed.seconds > 0
    assert [record.after for record in life(folder, "f00002")][-2:] == ["parsed", None]
    assert [record.tries for record in life(folder, failed.node)][:5] == [None, 1, 1, 2, 2]


async def test_what_nobody_heard_is_added_once_and_marked(
    store: Store, lifecycle: Lifecycle, scribe: Scribe, folder: Path
) -> None:
    await write(store, nodes=files(4))
    scribe.close()
    store.listen(None)
    brought, removed = await bring_one_and_remove_another(lifecycle)
    assert len(await missing(store, folder)) == 2
    later = Scribe(folder, writer=owner_name())
    assert await reconcile(store, later) == 2
    assert await reconcile(store, later) == 0
    later.close()
    assert await missing(store, folder) == []
    assert validate(folder).problems == {}
    moved = life(folder, brought)[-1]
    assert (moved.before, moved.after, moved.reconciled, moved.by) == ("pending", "parsed", True, "")
    gone = life(folder, removed)[-1]
    assert (gone.before, gone.after, gone.reconciled) == ("pending", None, True)


async def bring_one_and_remove_another(lifecycle: Lifecycle) -> tuple[str, str]:
    """Which of them, too: a claim takes whichever it likes of those that are equally near."""
    brought = await claim_one(lifecycle)
    await lifecycle.complete([Result(node=brought)])
    removed = "f00002" if brought.uuid != "f00002" else "f00001"
    await lifecycle.delete([ref(removed)])
    return brought.uuid, removed


async def test_a_graph_that_never_had_a_ledger_gets_one_with_where_it_stands(
    store: Store, lifecycle: Lifecycle, folder: Path
) -> None:
    await write(store, nodes=files(5))
    brought, _ = await bring_one_and_remove_another(lifecycle)
    scribe = Scribe(folder, writer=owner_name())
    assert await reconcile(store, scribe) == 4
    scribe.close()
    assert await missing(store, folder) == []
    assert {record.reconciled for record in life(folder, brought)} == {True}


async def test_a_writer_that_was_killed_has_its_last_changes_looked_for_even_where_the_numbers_agree(
    store: Store, lifecycle: Lifecycle, folder: Path
) -> None:
    killed = Scribe(folder, writer=GONE)
    store.listen(killed)
    await write(store, nodes=files(2))
    await lifecycle.complete([Result(node=await claim_one(lifecycle))])
    # All was written, and the end of its segment was not: as after a kill.
    killed._closing.set()
    killed._told.put(None)
    assert killed._thread
    killed._thread.join()
    store.listen(None)
    # One goes back and another forward: as many nodes in each state as before.
    [done] = await store.nodes(Select(states=["parsed"]))
    await lifecycle.mark_changed({done.ref: "new"})
    other = next(row for row in await claim(lifecycle, limit=2) if row.uuid != done.uuid)
    await lifecycle.release([row for row in await store.nodes(Select(states=["parsing"])) if row.uuid == done.uuid])
    await lifecycle.complete([Result(node=other)])
    scribe = Scribe(folder, writer=owner_name())
    assert await reconcile(store, scribe) == 2
    assert await reconcile(store, scribe) == 0
    scribe.close()
    assert await missing(store, folder) == []
    with Reading.open(folder) as reading:
        assert reading.unclean == []


async def test_a_flipped_byte_is_named_and_what_it_hid_is_found_in_the_graph(
    store: Store, lifecycle: Lifecycle, folder: Path
) -> None:
    killed = Scribe(folder, writer=GONE)
    store.listen(killed)
    await write(store, nodes=files(2))
    await bring(lifecycle, "File")
    await lifecycle.complete([Result(node=row) for row in await claim(lifecycle)])
    killed._closing.set()
    killed._told.put(None)
    assert killed._thread
    killed._thread.join()
    store.listen(None)
    [segment] = folder.glob("*.jsonl")
    text = bytearray(segment.read_bytes())
    text[text.rindex(b'"parsed"') + 2] ^= 1
    segment.write_bytes(text)
    with Reading.open(folder) as reading:
        assert [damage.file for damage in reading.damage] == [segment.name]
    scribe = Scribe(folder, writer=owner_name())
    assert await reconcile(store, scribe) == 1
    scribe.close()
    assert await missing(store, folder) == []


async def test_a_ledger_that_cannot_be_written_stops_nobody(store: Store, lifecycle: Lifecycle, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be")
    scribe = Scribe(tmp_path / "taken", writer=owner_name())
    store.listen(scribe)
    await write(store, nodes=files(3))
    await lifecycle.complete([Result(node=row) for row in await claim(lifecycle)])
    store.listen(None)
    scribe.close()
    assert {row.state for row in await store.nodes(Select())} == {"parsed"}


async def test_the_ledger_tells_how_fast_the_work_goes(
    store: Store, lifecycle: Lifecycle, scribe: Scribe, folder: Path
) -> None:
    assert done_lately(folder, window=60) is None
    await write(store, nodes=files(10))
    await lifecycle.complete([Result(node=row) for row in await claim(lifecycle)])
    scribe.close()
    known = done_lately(folder, window=3600)
    assert known is not None
    assert {name: sum(done.values()) for name, done in known.items()} == {"parse": 10}


async def test_verify_finds_what_the_ledger_does_not_say_and_writes_it_down(
    store: Store, lifecycle: Lifecycle, scribe: Scribe, folder: Path
) -> None:
    await write(store, nodes=files(3))
    only_the_ledger = Wanted(files=False)
    assert "ledger" not in {each.check for each in (await examine(store, only_the_ledger, scribe=scribe)).problems}
    store.listen(None)
    await bring_one_and_remove_another(lifecycle)
    [problem] = [
        each for each in (await examine(store, only_the_ledger, scribe=scribe)).problems if each.check == "ledger"
    ]
    assert {each.found for each in problem.examples} == {
        "pending in the ledger, parsed in the graph",
        "pending in the ledger, gone in the graph",
    }
    store.listen(scribe)
    await LedgerDifferences(scribe).mend(store, problem.examples)
    assert await missing(store, folder) == []


@HERE
async def test_a_ledger_that_nobody_can_read_is_one_problem_and_the_rest_is_checked(
    store: Store, lifecycle: Lifecycle, scribe: Scribe, folder: Path
) -> None:
    await write(store, nodes=files(3))
    await store.query("MATCH (n:File) WHERE n.uuid = 'f00001' SET n._state = 'polished'", {}, write=True)
    scribe.flush()
    [segment] = folder.glob("*.jsonl")
    header, *rest = segment.read_bytes().split(b"\n")
    body = header[:-18].replace(b'{"ledger":1', b'{"ledger":2')
    segment.write_bytes(b"\n".join([b'%b,"crc":"%08x"}' % (body, zlib.crc32(body)), *rest]))
    before = segment.read_bytes()
    for repair in (False, True):
        found = (await examine(store, Wanted(files=False, repair=repair), scribe=scribe)).problems
        [problem] = [each for each in found if each.check == "unreadable-ledger"]
        assert (problem.count, problem.examples[0].uuid) == (1, str(folder))
        assert "has format 2 of the ledger" in problem.examples[0].found
        assert ("state" in {each.check for each in found}) is not repair
    assert segment.read_bytes() == before


async def test_a_claim_that_a_killed_process_could_not_write_down_is_known_from_what_came_after(
    store: Store, lifecycle: Lifecycle, scribe: Scribe, folder: Path
) -> None:
    await write(store, nodes=files(1))
    store.listen(None)
    await claim_one(lifecycle)
    store.listen(scribe)
    await lifecycle.release(await store.nodes(Select(states=["parsing"])))
    scribe.close()
    born, claimed, released = life(folder, "f00000")
    assert (claimed.before, claimed.after, claimed.reconciled) == ("pending", "parsing", True)
    assert born.at < claimed.at < released.at
    verdict = validate(folder)
    assert verdict.problems == {}
    assert sum(verdict.odd.values()) == 1


async def test_a_graph_that_is_older_than_its_ledger_is_right_all_the_same(
    store: Store, lifecycle: Lifecycle, scribe: Scribe, folder: Path
) -> None:
    await write(store, nodes=files(3))
    backup = [node async for node in store.export_nodes()]
    brought, removed = await bring_one_and_remove_another(lifecycle)
    scribe.close()
    store.listen(None)
    await store.restore(backup)
    assert await missing(store, folder) == sorted([(brought, "parsed", "pending"), (removed, None, "pending")])
    later = Scribe(folder, writer=owner_name())
    assert await reconcile(store, later) == 2
    assert await reconcile(store, later) == 0
    later.close()
    assert await missing(store, folder) == []
    assert validate(folder).problems == {}


@pytest.mark.parametrize("engine", ["neo4j"], indirect=True)
async def test_a_node_claimed_before_the_answer_to_its_creation_came_has_a_whole_chain(
    store: Store, lifecycle: Lifecycle, scribe: Scribe, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its creation was written down after the claim, and `ledger validate` found that it came from nothing twice."""
    committed, answered = asyncio.Event(), asyncio.Event()
    write_at_once = Connection.write

    async def write_late(connection: Connection, work: Callable[..., Awaitable[T]], **options: float) -> T:
        answer = await write_at_once(connection, work, **options)
        if isinstance(work, Attempt) and work.batch.nodes:
            committed.set()
            await answered.wait()
        return answer

    monkeypatch.setattr(Connection, "write", write_late)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(write(store, nodes=files(1)))
        await committed.wait()
        [row] = await claim(lifecycle)
        answered.set()
    await lifecycle.complete([Result(node=row)])
    scribe.close()
    verdict = validate(folder)
    assert (verdict.document()["problems"], verdict.odd) == ([], {})
    assert [each.after for each in life(folder, row.uuid)] == ["pending", "parsing", "parsed"]
