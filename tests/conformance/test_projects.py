"""Projects share a graph and nothing else; what was committed is there when the store is opened again."""

import pytest

from graph_stores.errors import GraphmillError, MissingNode, TransitionConflict
from graph_stores.model import Select, Unlink, Vector, VectorSpace
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import transition
from orchestrator.states import ErrorClass, State
from tests.conformance.examples import (
    AT_ONCE,
    HOUR,
    article,
    bring,
    claim,
    claim_one,
    expire,
    file,
    files,
    link,
    links,
    picture,
    read,
    ref,
    section,
    states_of,
    write,
)
from tests.conformance.place import IN_EVERY_FORM, Place

pytestmark = IN_EVERY_FORM


@pytest.fixture
async def theirs(place: Place, store: Store, lifecycle: Lifecycle) -> Lifecycle:
    """Another project in a graph where a first one has files that wait, one that failed and one that is stuck."""
    await write(store, nodes=[file("broken")])
    await lifecycle.fail(await claim_one(lifecycle), message="no", error_class=ErrorClass.PERMANENT)
    await write(store, nodes=[file("stuck")])
    await expire(lifecycle, [await claim_one(lifecycle)])
    await write(store, nodes=[file("waits"), file("linked")], edges=[link("waits", "linked", count=1)])
    return Lifecycle(store=await place.reopen(project=f"{place.project}-other"), policy=AT_ONCE)


async def the_first(place: Place) -> Store:
    return await place.reopen()


async def test_another_project_sees_nothing(theirs: Lifecycle) -> None:
    store = theirs.store
    assert await picture(store) == ({}, {})
    assert await store.nodes(Select()) == []
    assert await store.nodes(Select(uuids=["waits"], labels=["File"])) == []
    assert await store.nodes(Select(expired=True)) == []
    progress = await store.progress(finished=["error"], window=HOUR)
    assert (list(progress.counts), list(progress.errors)) == ([], [])
    assert progress.finished == 0


async def test_another_project_claims_reclaims_and_retries_nothing(theirs: Lifecycle, place: Place) -> None:
    assert await claim(theirs) == []
    assert await theirs.reclaim() == 0
    assert await theirs.retry_errors() == 0
    assert await theirs.mark_changed({ref("waits"): "new"}) == []
    after = await states_of(await the_first(place))
    assert after == {"broken": "error", "stuck": "parsing", "waits": "pending", "linked": "pending"}


async def test_another_project_can_change_nothing(theirs: Lifecycle, place: Place) -> None:
    before = await picture(await the_first(place))
    store = await place.reopen(project=theirs.store.project)
    await write(store, nodes=[file("own")])
    await write(store, deletions=[ref("waits")], unlinks=[Unlink(source=ref("waits"), type="LINKS_TO")])
    with pytest.raises(TransitionConflict) as refusal:
        await write(store, transitions=[transition(ref("waits"), expected=State.PENDING, to=State.SKIP)])
    assert refusal.value.conflicts[0].found is None
    with pytest.raises(MissingNode):
        await write(store, edges=[link("own", "waits")])
    with pytest.raises(MissingNode):
        await write(store, edges=[link("waits", "own")])
    with pytest.raises(GraphmillError):
        await write(store, nodes=[file("waits", size=666)])
    assert await states_of(store) == {"own": "pending"}
    assert await picture(await the_first(place)) == before


async def test_another_projects_vector_cannot_be_written(place: Place, store: Store) -> None:
    space = VectorSpace(provider="p", model="m", dimension=2)
    await store.use_vector_space(space)
    await write(store, nodes=[section("a")])
    other = await place.reopen(project=f"{place.project}-other")
    await other.use_vector_space(space)
    with pytest.raises(GraphmillError):
        await write(other, vectors=[Vector(node=ref("a", "Section"), values=[1.0, 0.0])])
    nodes, _ = await picture(await the_first(place))
    assert "embedding" not in nodes["Section", "a"]


async def test_projects_work_side_by_side(theirs: Lifecycle, place: Place) -> None:
    await write(theirs.store, nodes=[file("a"), file("b")], edges=[link("a", "b", count=5)])
    await bring(theirs, "File", *states.STAGES)
    assert await states_of(theirs.store) == {"a": "ready", "b": "ready"}
    first = await the_first(place)
    assert set(await states_of(first)) == {"broken", "stuck", "waits", "linked"}
    assert set(await links(first)) == {("waits", "linked")}


async def test_everything_survives_close_and_open(store: Store, lifecycle: Lifecycle, place: Place) -> None:
    await write(store, nodes=[*files(50), article("a", title="A")], edges=[link("f00000", "f00001", count=3)])
    await bring(lifecycle, "File", states.PARSE)
    await claim(lifecycle, states.LINK, limit=5)
    await lifecycle.fail(await claim_one(lifecycle, labels=["Article"]), message="no", error_class=ErrorClass.PERMANENT)
    before = await picture(store)
    reopened = await place.reopen()
    assert await picture(reopened) == before
    assert [row.lease is not None for row in await reopened.nodes(Select(states=["linking"]))] == [True] * 5


async def test_work_goes_on_in_the_same_order_after_close_and_open(
    store: Store, lifecycle: Lifecycle, place: Place
) -> None:
    for uuid, depth in {"second": 1, "first": 0, "third": 1}.items():
        await write(store, nodes=[file(uuid, depth=depth)])
    assert (await claim_one(lifecycle)).uuid == "first"
    reopened = Lifecycle(store=await place.reopen())
    assert [row.uuid for row in await claim(reopened)] == ["second", "third"]


async def test_a_delay_survives_close_and_open(store: Store, lifecycle: Lifecycle, place: Place) -> None:
    await write(store, nodes=[file("a", state=State.SKIP), file("b")])
    await lifecycle.transition([transition(ref("a"), expected=State.SKIP, to=State.PENDING, delay=HOUR)])
    reopened = Lifecycle(store=await place.reopen())
    assert [row.uuid for row in await claim(reopened)] == ["b"]
    assert (await read(reopened.store, "a")).not_before is not None


async def test_a_lease_that_ran_out_is_taken_back_after_close_and_open(
    store: Store, lifecycle: Lifecycle, place: Place
) -> None:
    await write(store, nodes=files(3))
    await expire(lifecycle, await claim(lifecycle))
    reopened = Lifecycle(store=await place.reopen(), policy=AT_ONCE)
    assert await reopened.reclaim() == 3
    assert [row.retry_count for row in await claim(reopened)] == [1, 1, 1]
