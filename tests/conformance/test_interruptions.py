"""Callers that go away: a cancelled call is whole or did not happen, and what was acknowledged before closing stays."""

import asyncio

import pytest

from graph_stores.errors import StoreClosed
from graph_stores.model import Select
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle
from tests.conformance.examples import claim, file, files, link, links, states_of, write
from tests.conformance.place import Place


async def cancelled(task: asyncio.Task[object], after: int) -> None:
    """Cancel a task after so many turns of the event loop, wherever it then is."""
    for _ in range(after):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_commit_whose_caller_went_away_is_whole_or_not_there(store: Store) -> None:
    for turns in (0, 1, 2, 5):
        pair = [file(f"{turns} a"), file(f"{turns} b")]
        commit = write(store, nodes=pair, edges=[link(f"{turns} a", f"{turns} b")])
        await cancelled(asyncio.create_task(commit), turns)
        await write(store, nodes=[file(f"{turns} c")])
        found = {uuid for uuid in await states_of(store) if uuid.startswith(f"{turns} ")}
        whole = (f"{turns} a", f"{turns} b") in await links(store)
        assert found == {f"{turns} c"} | ({f"{turns} a", f"{turns} b"} if whole else set())


async def test_nodes_claimed_for_a_caller_who_went_away_are_not_lost(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(40))
    for turns in (0, 1, 2, 5):
        await cancelled(asyncio.create_task(claim(lifecycle, limit=5, owner="gone")), turns)
        assert len(await states_of(store)) == 40
    rest = await claim(lifecycle)
    orphans = {row.uuid for row in await store.nodes(Select()) if row.lease and row.lease.owner == "gone"}
    assert {row.uuid for row in rest} | orphans == {each.uuid for each in files(40)}
    assert {row.uuid for row in rest}.isdisjoint(orphans)


async def test_what_was_acknowledged_before_closing_is_there_and_the_rest_was_refused(
    store: Store, place: Place
) -> None:
    commits = [asyncio.create_task(write(store, nodes=[file(f"f{number:05}")])) for number in range(50)]
    await commits[0]
    await store.close()
    outcomes = await asyncio.gather(*commits, return_exceptions=True)
    acknowledged = {f"f{number:05}" for number, outcome in enumerate(outcomes) if outcome is None}
    assert all(outcome is None or isinstance(outcome, StoreClosed) for outcome in outcomes)
    assert acknowledged <= set(await states_of(await place.reopen()))
