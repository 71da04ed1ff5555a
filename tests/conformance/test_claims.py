"""Claims: in order, in time, and exclusive however many ask at once."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from graph_stores.model import NodeRow, Select
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import transition
from orchestrator.states import Stage, State
from tests.conformance.examples import (
    HOUR,
    claim,
    claim_one,
    eventually,
    file,
    files,
    node,
    picture,
    read,
    ref,
    states_of,
    write,
)
from tests.conformance.place import Place


async def test_a_claimed_node_is_at_work_and_leased_to_its_owner(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a", size=1)])
    row = await claim_one(lifecycle, owner="worker 7", seconds=60)
    assert (row.state, row.name, row.properties) == ("parsing", "name of a", {"size": 1})
    assert row.lease is not None
    assert row.lease.owner == "worker 7"
    assert 59 < (row.lease.until - row.state_changed_at).total_seconds() < 61
    assert await read(store, "a") == row


async def test_who_says_what_it_looks_at_gets_that_and_the_bookkeeping(
    store: Store, lifecycle: Lifecycle, place: Place
) -> None:
    await write(store, nodes=[replace(file("a", size=1, path="a.md", extension=".md"), initial={"_runId": "run"})])
    row = await claim_one(lifecycle, owner="worker 7", properties=("path",))
    wanted = {"path": "a.md", "_runId": "run"}
    rest = {"size": 1, "extension": ".md"}
    assert row.properties == (wanted | rest if place.url.startswith(("bolt", "neo4j")) else wanted)
    assert row.lease is not None
    assert (row.name, row.state, row.lease.owner) == ("name of a", "parsing", "worker 7")
    assert replace(row, properties={}) == replace(await read(store, "a"), properties={})


async def test_nodes_of_one_claim_share_a_token_and_each_claim_has_its_own(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(6))
    claims = [await claim(lifecycle, limit=2) for _ in range(3)]
    tokens = [{row.lease.token for row in rows if row.lease} for rows in claims]
    assert [len(each) for each in tokens] == [1, 1, 1]
    assert len(set.union(*tokens)) == 3


async def test_claims_go_by_depth_first_and_then_by_age(store: Store, lifecycle: Lifecycle) -> None:
    for uuid, depth in {"young root": 0, "old leaf": 2, "branch": 1, "younger root": 0, "leaf": 2}.items():
        await write(store, nodes=[file(uuid, depth=depth)])
    order = [(await claim_one(lifecycle)).uuid for _ in range(5)]
    assert order == ["young root", "younger root", "branch", "old leaf", "leaf"]


async def test_one_claim_returns_its_nodes_in_order(store: Store, lifecycle: Lifecycle) -> None:
    for uuid, depth in {"c": 1, "z": 0, "b": 1, "a": 2}.items():
        await write(store, nodes=[file(uuid, depth=depth)])
    assert [row.uuid for row in await claim(lifecycle, limit=3)] == ["z", "c", "b"]


async def test_the_order_goes_across_labels(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[node("Article", "deep", depth=1), node("File", "root")])
    assert (await claim_one(lifecycle, labels=["Article", "File"])).uuid == "root"


async def test_a_node_that_came_back_keeps_its_place_in_the_order(store: Store, lifecycle: Lifecycle) -> None:
    for uuid in ("first", "second"):
        await write(store, nodes=[file(uuid)])
    await lifecycle.release([await claim_one(lifecycle)])
    assert (await claim_one(lifecycle)).uuid == "first"


async def test_a_claim_takes_no_more_than_its_limit_and_no_less_than_there_is(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(25))
    assert [len(await claim(lifecycle, limit=10)) for _ in range(4)] == [10, 10, 5, 0]


async def test_a_claim_takes_only_the_labels_it_asks_for(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("f"), node("Article", "a"), node("Scope", "s")])
    assert {row.uuid for row in await claim(lifecycle, labels=["File", "Scope"])} == {"f", "s"}
    assert (await states_of(store))["a"] == "pending"


@pytest.mark.parametrize("stage", states.STAGES, ids=lambda stage: stage.name)
async def test_a_claim_takes_only_what_waits_for_its_stage(store: Store, lifecycle: Lifecycle, stage: Stage) -> None:
    await write(store, nodes=[file("pending"), file("parsed", state=State.PARSED), file("skip", state=State.SKIP)])
    await write(store, nodes=[file("linked", state=State.SKIP)])
    await lifecycle.transition([transition(ref("linked"), expected=State.SKIP, to=State.LINKED)])
    rows = await claim(lifecycle, stage)
    assert [(row.uuid, row.state) for row in rows] == [(stage.waiting, stage.working)]


async def test_an_empty_store_has_nothing_to_claim(store: Store, lifecycle: Lifecycle) -> None:
    assert await claim(lifecycle) == []
    assert await picture(store) == ({}, {})


async def test_a_node_that_must_wait_is_passed_over_until_its_time(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("now"), file("soon", state=State.SKIP), file("late", state=State.SKIP)])
    await lifecycle.transition([transition(ref("late"), expected=State.SKIP, to=State.PENDING, delay=HOUR)])
    assert [row.uuid for row in await claim(lifecycle)] == ["now"]
    await lifecycle.transition([transition(ref("soon"), expected=State.SKIP, to=State.PENDING, delay=0.05)])
    assert [row.uuid for row in await eventually(lambda: claim(lifecycle))] == ["soon"]
    assert (await states_of(store))["late"] == "pending"


async def test_a_node_that_stopped_waiting_is_not_claimed(store: Store, lifecycle: Lifecycle) -> None:
    assert await claim(lifecycle) == []
    await write(store, nodes=[file("a"), file("b")])
    await lifecycle.transition([transition(ref("a"), expected=State.PENDING, to=State.SKIP)])
    assert [row.uuid for row in await claim(lifecycle)] == ["b"]
    assert await states_of(store) == {"a": "skip", "b": "parsing"}


async def test_a_node_that_waits_already_is_passed_over_once_it_must_wait_longer(
    store: Store, lifecycle: Lifecycle
) -> None:
    assert await claim(lifecycle) == []
    await write(store, nodes=[file("a")])
    await lifecycle.transition([transition(ref("a"), expected=State.PENDING, to=State.SKIP)])
    await lifecycle.transition([transition(ref("a"), expected=State.SKIP, to=State.PENDING, delay=HOUR)])
    assert await claim(lifecycle) == []
    assert await states_of(store) == {"a": "pending"}


async def test_a_node_born_again_has_the_place_of_its_new_birth(store: Store, lifecycle: Lifecycle) -> None:
    assert await claim(lifecycle) == []
    await write(store, nodes=[file("a"), file("b", depth=1)])
    await write(store, deletions=[ref("a")], nodes=[file("a", depth=2)])
    assert [(await claim_one(lifecycle)).uuid for _ in range(2)] == ["b", "a"]


async def test_a_node_that_must_wait_does_not_hold_up_those_behind_it(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[*files(300), *(file(f"late{number:03}", state=State.SKIP) for number in range(300))])
    late = [ref(f"late{number:03}") for number in range(300)]
    await lifecycle.transition([transition(each, expected=State.SKIP, to=State.PENDING, delay=HOUR) for each in late])
    claimed = [row.uuid for _ in range(6) for row in await claim(lifecycle, limit=50)]
    assert sorted(claimed) == [each.uuid for each in files(300)]


async def test_eight_workers_claim_four_thousand_nodes_and_each_exactly_once(
    store: Store, lifecycle: Lifecycle, place: Place
) -> None:
    await write(store, nodes=[file(f"f{number:05}", depth=number % 3) for number in range(4000)])
    workers = [lifecycle, Lifecycle(store=await place.other_handle())] * 4
    claimed = await asyncio.gather(*(drain(each, f"worker {number}") for number, each in enumerate(workers)))
    times = Counter(row.uuid for rows in claimed for row in rows)
    assert len(times) == 4000
    assert set(times.values()) == {1}
    held = {row.uuid: row.lease for rows in claimed for row in rows}
    assert {row.uuid: row.lease for row in await store.nodes(Select(limit=4000))} == held


async def test_a_person_writes_while_workers_claim_and_each_node_is_still_claimed_once(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(200))
    statement = "MATCH (n:File) WHERE n.uuid = 'f00000' SET n.size = $size"
    drained = asyncio.create_task(drain(lifecycle, "worker"))
    await asyncio.gather(*(store.query(statement, {"size": size}, write=True) for size in range(20)))
    assert sorted(row.uuid for row in await drained) == [each.uuid for each in files(200)]


async def drain(lifecycle: Lifecycle, owner: str) -> list[NodeRow]:
    """Claim ten at a time until nothing is waiting; an empty answer may only mean that others were faster."""
    rows: list[NodeRow] = []
    while some := await claim(lifecycle, limit=10, owner=owner) or await still_waiting(lifecycle):
        rows += [row for row in some if row.lease]
    return rows


async def still_waiting(lifecycle: Lifecycle) -> list[NodeRow]:
    return await lifecycle.store.nodes(Select(states=["pending"], limit=1))
