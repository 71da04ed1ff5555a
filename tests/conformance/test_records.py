"""What runs and workers rest on at the seam: a move that keeps its lease, and the store's own time on demand."""

import datetime

import pytest

from graph_stores.errors import LeaseLost, TransitionConflict
from graph_stores.model import Batch, Update
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import new_node, step_forward
from orchestrator.states import PARSE
from tests.conformance.examples import claim_one, file, read, ref, write
from tests.conformance.place import IN_EVERY_FORM


@IN_EVERY_FORM
async def test_a_step_forward_changes_what_it_names_and_keeps_state_and_lease(store: Store) -> None:
    await write(store, nodes=[file("a", size=1), file("b", size=1)])
    lifecycle = Lifecycle(store=store)
    held = await claim_one(lifecycle)
    await store.commit(Batch(transitions=[step_forward(held, {"size": 2})], nodes=[file("found")]))
    moved = await read(store, held.uuid)
    assert (moved.state, moved.properties["size"]) == ("parsing", 2)
    assert moved.lease and held.lease and moved.lease.token == held.lease.token
    await lifecycle.heartbeat([held], seconds=60)
    await lifecycle.complete([Result(node=held)])
    assert (await read(store, held.uuid)).state == "parsed"
    assert (await read(store, "found")).state == "pending"


@IN_EVERY_FORM
async def test_who_lost_the_lease_takes_no_step_forward_and_brings_nothing_with_it(store: Store) -> None:
    await write(store, nodes=[file("a", size=1)])
    lifecycle = Lifecycle(store=store)
    held = await claim_one(lifecycle)
    await lifecycle.release([held])
    with pytest.raises((LeaseLost, TransitionConflict)):
        await store.commit(Batch(transitions=[step_forward(held, {"size": 2})], nodes=[file("found")]))
    assert (await read(store, "a")).properties["size"] == 1
    claimed = await lifecycle.claim(PARSE, labels=["File"], limit=9, owner="w", seconds=9)
    assert [row.uuid for row in claimed] == ["a"]


@IN_EVERY_FORM
async def test_an_update_can_have_the_stores_own_time(store: Store) -> None:
    worker = new_node(label="Worker", uuid="w", name="w")
    await write(store, nodes=[worker])
    times: list[datetime.datetime] = []
    for number in range(2):
        await store.commit(
            Batch(updates=[Update(node=ref("w", "Worker"), properties={"process": number}, stamp=("heartbeat",))])
        )
        row = await read(store, "w", "Worker")
        assert row.properties["process"] == number
        times.append(row.properties["heartbeat"])
    assert times[0] < times[1] and times[0].tzinfo is not None
    await store.commit(Batch(updates=[Update(node=ref("nobody", "Worker"), stamp=("heartbeat",))]))
