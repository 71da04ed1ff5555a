"""Nodes that no running worker holds: one definition for reclaim, status, verify and the named query (row M5)."""

from datetime import UTC, datetime, timedelta

import pytest

import cypher
from graph_stores.errors import Misuse
from graph_stores.model import LONGEST_LEASE, Claim, Ref, Value
from graph_stores.protocol import Store
from orchestrator.checks import CHECKS
from orchestrator.lifecycle import Lifecycle
from orchestrator.progress import read_standing
from orchestrator.repair import repair
from orchestrator.states import State
from orchestrator.verifying import Wanted, examine
from orchestrator.workers import gone_owners, list_gone_owners
from tests.conformance.examples import (
    ELSEWHERE,
    claim,
    claim_one,
    file,
    files,
    put_there,
    read,
    ref,
    somebody_who_ended,
    states_of,
    write,
)
from tests.conformance.scripted_step import Scripted, worked

FAR = datetime(2099, 1, 1, tzinfo=UTC)
SOON = "soon"
WHOLE: dict[str, Value] = {"_leaseOwner": "nobody knows", "_leaseToken": "t", "_leaseUntil": SOON}
LEASES: dict[str, tuple[dict[str, Value], str | None]] = {
    "ends in 2099": (WHOLE | {"_leaseUntil": FAR}, "endless-lease"),
    "has ended": (WHOLE | {"_leaseUntil": datetime(2020, 1, 1, tzinfo=UTC)}, None),
    "has no owner": (WHOLE | {"_leaseOwner": None}, "missing-lease"),
    "has no token": (WHOLE | {"_leaseToken": None}, "missing-lease"),
    "has no end": (WHOLE | {"_leaseUntil": None}, "missing-lease"),
    "is not there": (dict.fromkeys(WHOLE), "missing-lease"),
}


async def set_by_hand(store: Store, node: Ref, **properties: Value) -> None:
    """Past every check, as a person with a query does it."""
    soon = datetime.now(UTC) + timedelta(seconds=60)
    given = {name: soon if value == SOON else value for name, value in properties.items() if value is not None}
    changes = ", ".join(f"n.{name} = {f'${name}' if name in given else 'NULL'}" for name in properties)
    await store.query(
        f"MATCH (n:{node.label}) WHERE n.uuid = $uuid SET {changes}", {"uuid": node.uuid, **given}, write=True
    )


async def listed(store: Store, engine: str) -> list[str]:
    """The nodes that `query --name stuck` lists."""
    [query] = [each for each in cypher.catalogue("neo4j" if engine == "neo4j" else "kuzu") if each.name == "stuck"]
    known = {"gone": await list_gone_owners(store) or [""], "longest": int(LONGEST_LEASE)}
    table = await store.query(query.text, {"project": store.project, **known})
    return [row[table.columns.index("uuid")] for row in table.rows]


async def counted(store: Store, engine: str) -> set[int]:
    """How many nodes are stuck, by all who can be asked."""
    verdict = await examine(store, Wanted(files=False))
    return {(await read_standing(store)).stuck, verdict.stuck, len(await listed(store, engine))}


@pytest.mark.parametrize("lease", LEASES, ids=lambda name: name.replace(" ", "_"))
async def test_all_agree_that_a_node_is_stuck_whose_lease(
    store: Store, lifecycle: Lifecycle, engine: str, lease: str
) -> None:
    properties, check = LEASES[lease]
    await write(store, nodes=files(2))
    await set_by_hand(store, ref("f00000"), _state="parsing", **properties)
    assert await counted(store, engine) == {1}
    verdict = await examine(store, Wanted(files=False))
    assert [each.check for each in verdict.problems] == ([check] if check else [])
    assert await lifecycle.reclaim(await gone_owners(store)) == 1
    assert await counted(store, engine) == {0}
    assert {row.uuid for row in await claim(lifecycle)} == {"f00000", "f00001"}


async def test_a_node_of_a_running_worker_is_not_stuck(store: Store, lifecycle: Lifecycle, engine: str) -> None:
    await write(store, nodes=files(1))
    await put_there(store, ELSEWHERE)
    await claim(lifecycle, owner=ELSEWHERE)
    assert await counted(store, engine) == {0}
    assert await lifecycle.reclaim(await gone_owners(store)) == 0
    assert await lifecycle.reclaim(await gone_owners(store, unregistered=True)) == 0, "not by force either"


async def test_a_node_of_a_process_that_has_ended_is_stuck_at_once(
    store: Store, lifecycle: Lifecycle, engine: str
) -> None:
    await write(store, nodes=files(1))
    await claim(lifecycle, owner=somebody_who_ended())
    assert await counted(store, engine) == {1}
    assert await lifecycle.reclaim(await gone_owners(store)) == 1


async def test_force_takes_a_lease_that_lasts_from_an_owner_that_is_no_worker(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(1))
    await claim(lifecycle, owner=ELSEWHERE)
    assert await lifecycle.reclaim(await gone_owners(store)) == 0
    assert await lifecycle.reclaim(await gone_owners(store, unregistered=True)) == 1
    assert (await read(store, "f00000")).state == State.PENDING


async def test_a_worker_goes_on_with_a_node_that_is_leased_until_2099(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(3))
    await set_by_hand(store, ref("f00001"), _state="parsing", **WHOLE | {"_leaseUntil": FAR})
    await set_by_hand(store, ref("f00002"), _notBefore=FAR)
    await worked(lifecycle, Scripted())
    assert set((await states_of(store)).values()) == {"parsed"}


async def test_a_delay_until_2099_keeps_no_node_from_being_claimed(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    await set_by_hand(store, ref("a"), _notBefore=FAR)
    verdict = await examine(store, Wanted(files=False))
    assert [each.check for each in verdict.problems] == ["endless-lease"]
    assert (await claim_one(lifecycle)).uuid == "a"


@pytest.mark.parametrize("what", ["lease", "delay"])
async def test_repair_ends_a_lease_or_a_delay_until_2099(store: Store, lifecycle: Lifecycle, what: str) -> None:
    await write(store, nodes=[file("a")])
    changes = {"_notBefore": FAR} if what == "delay" else {"_state": "parsing", **WHOLE, "_leaseUntil": FAR}
    await set_by_hand(store, ref("a"), **changes)
    checks = [check for check in CHECKS if check.name == "endless-lease"]
    assert [each.count for each in await repair(store, checks)] == [1]
    row = await read(store, "a")
    assert (row.state, row.lease, row.not_before) == (State.PENDING, None, None)


async def test_no_store_gives_out_a_longer_lease_than_there_can_be(store: Store) -> None:
    too_long = LONGEST_LEASE + 1
    with pytest.raises(Misuse, match="too long"):
        Claim(labels=["File"], waiting="pending", working="parsing", owner="me", limit=1, seconds=too_long)
    with pytest.raises(Misuse, match="too long"):
        await store.heartbeat([ref("a")], token="t", seconds=too_long)
    with pytest.raises(Misuse, match="too long"):
        await store.hold("scan", owner="me", seconds=too_long)
    token = await store.hold("scan", owner="me", seconds=60)
    assert token
    with pytest.raises(Misuse, match="too long"):
        await store.renew("scan", token=token, seconds=too_long)
