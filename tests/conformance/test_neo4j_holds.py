"""Holds under Neo4j's real locks: a commit looks at its hold under the lock, and keeps the lock to its end."""

import asyncio
from collections.abc import AsyncIterator
from typing import cast
from uuid import uuid4

import pytest
from neo4j import AsyncDriver, AsyncGraphDatabase

import cypher
from graph_stores.errors import HoldLost
from graph_stores.model import LONGEST_LEASE, Batch, Fence, Update
from graph_stores.neo4j.commits import AlreadyCommitted, Attempt
from graph_stores.neo4j.plan import plan
from graph_stores.neo4j.store import Neo4jStore
from graph_stores.protocol import Store
from tests.conformance.examples import HOUR, eventually, file, read, ref, states_of, write
from tests.conformance.place import Place
from tests.conftest import Neo4jAccess


@pytest.fixture
def engine(neo4j_server: Neo4jAccess) -> str:
    return "neo4j"


@pytest.fixture
async def driver(neo4j_server: Neo4jAccess) -> AsyncIterator[AsyncDriver]:
    auth = (neo4j_server.user, neo4j_server.password)
    async with AsyncGraphDatabase.driver(neo4j_server.uri, auth=auth, notifications_min_severity="OFF") as driver:
        yield driver


async def blocked(driver: AsyncDriver) -> bool:
    """Whether somebody waits for a lock."""
    text = "SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN count(*) AS n"
    return bool((await driver.execute_query(text)).records[0]["n"])


async def test_a_commit_that_waits_while_its_hold_is_taken_away_writes_nothing(
    store: Store, driver: AsyncDriver
) -> None:
    token = await store.hold("scan", owner="me", seconds=HOUR)
    assert token is not None
    async with driver.session() as session:
        taking = await session.begin_transaction()
        take_away = "MATCH (h:GraphmillHold {token: $token}) SET h.token = 'of another'"
        await (await taking.run(take_away, token=token)).consume()
        commit = asyncio.create_task(store.commit(Batch(nodes=[file("a")], fence=Fence(name="scan", token=token))))
        await eventually(lambda: blocked(driver))
        await taking.commit()
    with pytest.raises(HoldLost):
        await commit
    assert await states_of(store) == {}


async def test_nobody_gets_a_hold_before_the_commit_that_rests_on_it_has_ended(
    store: Store, place: Place, driver: AsyncDriver
) -> None:
    token = await store.hold("scan", owner="me", seconds=HOUR)
    assert token is not None
    await write(store, nodes=[file("a"), file("b")])
    async with driver.session() as session:
        in_the_way = await session.begin_transaction()
        lock = cypher.render("neo4j", "lock", label="File")
        await (await in_the_way.run(lock, rows=["a"])).consume()
        fence = Fence(name="scan", token=token)
        commit = asyncio.create_task(store.commit(Batch(updates=[Update(node=ref("a"), name="x")], fence=fence)))
        await eventually(lambda: blocked(driver))
        renewing = asyncio.create_task(store.renew("scan", token=token, seconds=0))
        taking = asyncio.create_task((await place.open()).hold("scan", owner="other", seconds=HOUR))
        done, _ = await asyncio.wait({renewing, taking}, timeout=0.3)
        assert not done
        await in_the_way.commit()
    await commit
    assert (await read(store, "a")).name == "x"
    assert await renewing
    await taking


async def test_a_commit_that_happened_is_not_called_lost_because_its_hold_is(store: Store) -> None:
    token = await store.hold("scan", owner="me", seconds=HOUR)
    assert token is not None
    batch = Batch(nodes=[file("a")], fence=Fence(name="scan", token=token))
    commits = cast(Neo4jStore, store)._commits
    attempt = Attempt(
        op=uuid4().hex,
        swept=[],
        project=store.project,
        batch=batch,
        steps=plan(batch, dimension=0),
        spaces=commits._spaces,
    )
    commits._finished.append(attempt.op)
    # As the connection does when the answer was lost: the same once more.
    await commits._connection.write(attempt)
    await store.let_go("scan", token=token)
    with pytest.raises(AlreadyCommitted):
        await commits._connection.write(attempt)
    assert await states_of(store) == {"a": "pending"}


@pytest.mark.parametrize("end", ["datetime('2099-01-01T00:00:00Z')", "NULL"], ids=["in 2099", "never"])
async def test_a_hold_that_ends_later_than_any_can_is_taken(store: Store, driver: AsyncDriver, end: str) -> None:
    assert await store.hold("wiki:here:slot:0", owner="nobody knows", seconds=HOUR)
    text = f"MATCH (h:GraphmillHold {{projectId: $project}}) SET h.until = {end}"
    await driver.execute_query(text, project=store.project)
    held = await store.ask("held", {"prefix": "wiki:", "longest": LONGEST_LEASE})
    assert not held.rows, "those who look which one is free find it free"
    assert await store.hold("wiki:here:slot:0", owner="me", seconds=HOUR)
    assert await store.hold("wiki:here:slot:0", owner="another", seconds=HOUR) is None
