"""Updates change nodes that are there, and nothing else: no node is made, no state or lease is touched."""

import asyncio
from typing import cast

import pytest

from graph_stores.errors import InvalidIdentifier, Misuse, TransitionConflict, UnknownLabel
from graph_stores.kuzu.store import EmbeddedStore
from graph_stores.model import OWNED, Batch, Select, Transition, Update, Value
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.states import State
from tests.conformance.examples import claim_one, file, files, link, links, node, picture, read, ref, states_of, write
from tests.conformance.place import IN_EVERY_FORM, Place


def update(uuid: str, label: str = "File", name: str | None = None, **properties: Value) -> Update:
    return Update(node=ref(uuid, label), properties=properties, name=name)


@IN_EVERY_FORM
async def test_an_update_changes_what_it_names_and_nothing_else(store: Store) -> None:
    await write(store, nodes=[file("a", size=1, path="p", depth=3), file("b", size=1)])
    before, _ = await picture(store)
    await write(store, updates=[update("a", size=2, brokenLinks=["x", "y"])])
    after, _ = await picture(store)
    assert after == before | {("File", "a"): before["File", "a"] | {"size": 2, "brokenLinks": ["x", "y"]}}


@IN_EVERY_FORM
async def test_a_name_is_changed_only_where_one_is_given(store: Store) -> None:
    await write(store, nodes=[file("a"), file("b")])
    await write(store, updates=[update("a", name="new"), update("b", size=2)])
    assert (await read(store, "a")).name == "new"
    assert (await read(store, "b")).name == "name of b"


@IN_EVERY_FORM
async def test_a_node_that_is_not_there_is_not_made(store: Store) -> None:
    await write(store, nodes=[file("a")])
    before = await picture(store)
    await write(store, updates=[update("nobody", size=2), update("a", "TextSection", startLine=1)])
    assert await picture(store) == before


@IN_EVERY_FORM
async def test_of_those_that_are_there_and_those_that_are_not_each_gets_its_due(store: Store) -> None:
    await write(store, nodes=files(30))
    await write(store, updates=[update(f"f{number:05}", size=number) for number in range(0, 60, 2)])
    rows = await store.nodes(Select(limit=100))
    assert {row.uuid: row.properties.get("size") for row in rows} == {
        f"f{number:05}": None if number % 2 else number for number in range(30)
    }


@IN_EVERY_FORM
async def test_null_removes_a_property_and_every_type_is_kept(store: Store) -> None:
    await write(store, nodes=[file("a", size=1, path="p")])
    await write(store, updates=[update("a", size=None, path="ü 'quoted'\n", _modifiedAt=2**62, brokenLinks=[])])
    properties = (await read(store, "a")).properties
    assert "size" not in properties
    assert (properties["path"], properties["_modifiedAt"]) == ("ü 'quoted'\n", 2**62)
    assert properties["brokenLinks"] == []


@IN_EVERY_FORM
async def test_updates_of_one_node_add_up_and_the_later_counts(store: Store) -> None:
    await write(store, nodes=[file("a")])
    await write(store, updates=[update("a", size=1, path="p"), update("a", size=2, name="n"), update("a")])
    row = await read(store, "a")
    assert (row.properties["size"], row.properties["path"], row.name) == (2, "p", "n")


@IN_EVERY_FORM
async def test_updates_come_after_nodes_and_deletions_and_before_edges(store: Store) -> None:
    await write(store, nodes=[file("gone")])
    await write(
        store,
        deletions=[ref("gone")],
        nodes=[file("a", size=1), file("b")],
        updates=[update("a", size=2), update("gone", size=2)],
        edges=[link("a", "b", count=1)],
    )
    assert set(await states_of(store)) == {"a", "b"}
    assert (await read(store, "a")).properties["size"] == 2
    assert await links(store) == {("a", "b"): {"count": 1}}


async def test_a_node_of_another_project_is_left_alone(store: Store, place: Place) -> None:
    uuid = f"{place.project}-shared"
    await write(store, nodes=[file(uuid, size=1)])
    await place.close()
    other = await place.open(project=f"{place.project}-other")
    await write(other, updates=[update(uuid, size=2)])
    await place.close()
    assert (await read(await place.open(), uuid)).properties["size"] == 1


async def test_an_update_leaves_a_lease_alone(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    row = await claim_one(lifecycle)
    await write(store, updates=[update("a", size=2)])
    assert (await read(store, "a")).lease == row.lease
    await lifecycle.complete([Result(node=row)])
    assert (await read(store, "a")).state == "parsed"


async def test_updates_are_nothing_where_the_rest_of_the_batch_fails(store: Store) -> None:
    await write(store, nodes=[file("a", size=1), file("b", state=State.PARSED)])
    wrong = Transition(node=ref("b"), expected=State.PENDING, to=State.PARSING)
    with pytest.raises(TransitionConflict):
        await write(store, transitions=[wrong], updates=[update("a", size=2)])
    assert (await read(store, "a")).properties["size"] == 1


@pytest.mark.parametrize("engine", ["kuzu", "ladybug"], indirect=True)
async def test_commits_that_are_written_together_keep_their_order(store: Store) -> None:
    await write(store, nodes=[file("a", size=0)])
    await asyncio.gather(write(store, updates=[update("a", size=1)]), write(store, nodes=[file("a", size=2)]))
    assert (await read(store, "a")).properties["size"] == 2
    await asyncio.gather(write(store, nodes=[file("a", size=3)]), write(store, updates=[update("a", size=4)]))
    assert (await read(store, "a")).properties["size"] == 4


@IN_EVERY_FORM
async def test_an_update_of_nothing_is_nothing(store: Store) -> None:
    await write(store, nodes=[file("a")])
    before = await picture(store)
    await write(store, updates=[update("a"), update("nobody")])
    await write(store)
    assert await picture(store) == before


async def test_what_the_store_owns_is_refused(store: Store) -> None:
    for name in OWNED:
        with pytest.raises(Misuse, match=name):
            await write(store, updates=[Update(node=ref("a"), properties={name: "x"})])


async def test_hostile_names_and_values_are_refused(store: Store) -> None:
    with pytest.raises(InvalidIdentifier):
        await write(store, updates=[Update(node=ref("a"), properties={"x = 1 //": 1})])
    with pytest.raises(InvalidIdentifier):
        await write(store, updates=[update("a", "File) DETACH DELETE (n")])
    with pytest.raises(UnknownLabel):
        await write(store, updates=[update("a", "Nothing", size=1)])
    with pytest.raises(Misuse):
        await write(store, updates=[update("a", size=2**63)])
    with pytest.raises(Misuse):
        await write(store, updates=[update("a", name="\ud800")])


@pytest.mark.parametrize("engine", ["kuzu", "ladybug"], indirect=True)
async def test_thousands_of_updates_take_few_statements(store: Store) -> None:
    sections = [node("TextSection", f"t{number:05}", state=State.PARSED) for number in range(1000)]
    await write(store, nodes=[*files(1000), *sections])
    changed = [
        *(update(each.uuid, size=7) for each in files(1000)),
        *(update(each.uuid, "TextSection", startLine=7, endLine=8) for each in sections),
    ]
    await store.commit(Batch(updates=changed))
    writer = cast(EmbeddedStore, store)._engine._writer
    # One for each label and set of properties, the number of the commit, and its end.
    assert writer is not None and writer.statements == 4
    assert {row.properties["size"] for row in await store.nodes(Select(labels=["File"], limit=2000))} == {7}
