"""Batches of nodes and edges: repeated without harm, all of it or nothing, deletions and unlinks first."""

import asyncio
from collections.abc import Awaitable

import pytest

from graph_stores.errors import GraphmillError, MissingNode, TransitionConflict, UnknownLabel
from graph_stores.model import Edge, Node, Select, Unlink
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import transition
from orchestrator.states import State
from tests.conformance.examples import (
    article,
    claim,
    claim_one,
    file,
    files,
    link,
    links,
    node,
    picture,
    read,
    ref,
    section,
    states_of,
    write,
)
from tests.conformance.place import IN_EVERY_FORM

pytestmark = IN_EVERY_FORM


async def test_a_new_node_has_what_it_was_given_and_the_bookkeeping_of_its_birth(store: Store) -> None:
    await write(store, nodes=[article("a", depth=2, title="Ada", word_count=7)])
    row = await read(store, "a", "Article")
    assert (row.label, row.uuid, row.project, row.name) == ("Article", "a", store.project, "name of a")
    assert (row.state, row.depth, row.retry_count, row.lease) == ("pending", 2, 0, None)
    assert (row.not_before, row.error_type, row.error_class, row.error_message) == (None, None, None, None)
    assert row.detected_at == row.state_changed_at
    assert row.detected_at.utcoffset() is not None
    assert row.properties == {
        "title": "Ada",
        "word_count": 7,
        "expansion_state": "discovered",
        "expansion_depth": 2,
        "retry_count": 0,
    }


async def test_writing_the_same_nodes_and_edges_again_changes_nothing(store: Store) -> None:
    nodes, edges = [file("a", size=1), file("b")], [link("a", "b", count=3)]
    await write(store, nodes=nodes, edges=edges)
    before = await picture(store)
    await write(store, nodes=nodes, edges=edges)
    assert await picture(store) == before


async def test_a_node_named_twice_in_one_batch_is_one_node_with_what_both_brought(store: Store) -> None:
    for _ in ("new", "there already"):
        await write(store, nodes=[file("a", size=1, path="p"), file("a", size=2, language="c")])
        assert (await read(store, "a")).properties == {"size": 2, "path": "p", "language": "c"}


async def test_an_existing_node_gets_name_and_properties_but_keeps_state_depth_and_birth(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=[article("a", depth=1, title="old", lang="en")])
    claimed = await claim_one(lifecycle, labels=["Article"])
    again = Node(
        label="Article",
        uuid="a",
        name="new name",
        state="skip",
        depth=9,
        properties={"title": "new"},
        initial={"expansion_state": "discovered", "expansion_depth": 9},
    )
    await write(store, nodes=[again])
    row = await read(store, "a", "Article")
    assert (row.name, row.properties["title"], row.properties["lang"]) == ("new name", "new", "en")
    assert (row.state, row.depth, row.lease) == ("parsing", 1, claimed.lease)
    assert (row.detected_at, row.state_changed_at) == (claimed.detected_at, claimed.state_changed_at)
    assert (row.properties["expansion_state"], row.properties["expansion_depth"]) == ("claimed", 1)


async def test_none_removes_a_property_and_what_is_not_named_stays(store: Store) -> None:
    await write(store, nodes=[file("a", language="python", size=1)])
    await write(store, nodes=[file("a", language=None)])
    assert (await read(store, "a")).properties == {"size": 1}


async def test_nodes_of_one_label_may_bring_different_properties_in_one_batch(store: Store) -> None:
    await write(store, nodes=[file("a", size=1, language="c"), file("b", path="b")])
    await write(store, nodes=[file("a", path="a"), file("b", size=2), file("c", extension="d")])
    found = {row.uuid: row.properties for row in await store.nodes(Select())}
    assert found == {
        "a": {"size": 1, "language": "c", "path": "a"},
        "b": {"path": "b", "size": 2},
        "c": {"extension": "d"},
    }


async def test_an_edge_is_there_once_per_pair_and_its_properties_are_replaced(store: Store) -> None:
    await write(store, nodes=files(2), edges=[link("f00000", "f00001", count=1)])
    await write(store, edges=[link("f00000", "f00001", count=5)])
    assert await links(store) == {("f00000", "f00001"): {"count": 5}}


async def test_an_edge_named_twice_in_one_batch_is_one_edge(store: Store) -> None:
    await write(store, nodes=files(2), edges=[link("f00000", "f00001", count=1), link("f00000", "f00001", count=2)])
    assert await links(store) == {("f00000", "f00001"): {"count": 2}}


async def test_edges_have_a_direction_and_may_come_back_to_where_they_start(store: Store) -> None:
    await write(store, nodes=files(2))
    await write(store, edges=[link("f00000", "f00001"), link("f00001", "f00000"), link("f00000", "f00000")])
    assert set(await links(store)) == {("f00000", "f00001"), ("f00001", "f00000"), ("f00000", "f00000")}


async def test_one_type_joins_the_labels_that_the_schema_says(store: Store) -> None:
    await write(store, nodes=[article("a"), article("b"), section("s")], edges=[link("a", "b", "Article")])
    await write(store, edges=[Edge(type="HAS_SECTION", source=ref("a", "Article"), target=ref("s", "Section"))])
    found = [(edge.type, edge.source, edge.target) async for edge in store.export_edges()]
    assert sorted(found) == [
        ("HAS_SECTION", ref("a", "Article"), ref("s", "Section")),
        ("LINKS_TO", ref("a", "Article"), ref("b", "Article")),
    ]


@pytest.mark.parametrize(("source", "target"), [("a", "nobody"), ("nobody", "a"), ("nobody", "nothing")])
async def test_an_edge_to_a_node_that_is_not_there_is_refused_and_nothing_is_written(
    store: Store, source: str, target: str
) -> None:
    await write(store, nodes=[file("a")])
    before = await picture(store)
    with pytest.raises(MissingNode, match="nobody"):
        await write(store, nodes=[file("b")], edges=[link("b", "a"), link(source, target)])
    assert await picture(store) == before


async def test_unlink_takes_all_edges_of_a_type_that_start_at_a_node_and_no_others(store: Store) -> None:
    await write(store, nodes=[file("a"), file("b"), node("Directory", "d")])
    await write(store, edges=[link("a", "b"), link("a", "a"), link("b", "a")])
    await write(store, edges=[Edge(type="IN_DIRECTORY", source=ref("a"), target=ref("d", "Directory"))])
    await write(store, unlinks=[Unlink(source=ref("a"), type="LINKS_TO")])
    assert set(await links(store)) == {("b", "a"), ("a", "d")}


async def test_edges_unlinked_and_written_in_one_batch_are_the_new_ones(store: Store) -> None:
    await write(store, nodes=files(3), edges=[link("f00000", "f00001", count=1)])
    await write(store, unlinks=[Unlink(source=ref("f00000"), type="LINKS_TO")], edges=[link("f00000", "f00002")])
    assert set(await links(store)) == {("f00000", "f00002")}


async def test_a_deleted_node_takes_its_edges_with_it(store: Store) -> None:
    await write(store, nodes=files(3), edges=[link("f00000", "f00001"), link("f00001", "f00002")])
    await write(store, deletions=[ref("f00001")])
    assert set(await states_of(store)) == {"f00000", "f00002"}
    assert await links(store) == {}


async def test_deleting_what_is_not_there_is_done_already(store: Store) -> None:
    await write(store, deletions=[ref("nobody"), ref("nobody")])
    assert await states_of(store) == {}


async def test_a_node_deleted_and_written_in_one_batch_is_born_again(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a", size=1), file("b")], edges=[link("a", "b")])
    await claim_one(lifecycle)
    await write(store, deletions=[ref("a")], nodes=[file("a", path="new", depth=3)])
    row = await read(store, "a")
    assert (row.state, row.depth, row.lease, row.properties) == ("pending", 3, None, {"path": "new"})
    assert await links(store) == {}


async def test_a_node_born_again_can_be_claimed_again(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    await claim_one(lifecycle)
    await write(store, deletions=[ref("a")], nodes=[file("a")])
    assert (await claim_one(lifecycle)).uuid == "a"


async def test_a_deleted_node_is_not_claimed(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(2))
    await lifecycle.delete([ref("f00000")])
    assert [row.uuid for row in await claim(lifecycle)] == ["f00001"]


async def test_a_conflict_leaves_nothing_of_the_whole_batch_behind(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a"), file("b"), file("c")], edges=[link("a", "b", count=1)])
    claimed = await claim_one(lifecycle)
    before = await picture(store)
    with pytest.raises(TransitionConflict):
        await lifecycle.complete(
            [
                Result(
                    node=claimed,
                    also=[transition(ref("b"), expected=State.LINKED, to=State.SKIP)],
                    deletions=[ref("c")],
                    unlinks=[Unlink(source=ref("a"), type="LINKS_TO")],
                    nodes=[file("d")],
                    edges=[link("d", "b")],
                )
            ]
        )
    assert await picture(store) == before


@pytest.mark.parametrize("statement", ["second of three", "last"])
async def test_an_error_inside_a_batch_leaves_nothing_of_it_and_the_store_goes_on(store: Store, statement: str) -> None:
    await write(store, nodes=[file("a")])
    before = await picture(store)
    broken = link("b", "nobody") if statement == "last" else link("nobody", "b")
    edges = [link("a", "b"), broken] if statement == "last" else [link("a", "b"), broken, link("b", "a")]
    with pytest.raises(MissingNode):
        await write(store, deletions=[ref("a")], nodes=[file("a"), file("b")], edges=edges)
    assert await picture(store) == before
    await write(store, nodes=[file("b")], edges=[link("a", "b")])
    assert set(await links(store)) == {("a", "b")}


async def test_of_batches_committed_at_once_only_the_broken_ones_fail(store: Store) -> None:
    await write(store, nodes=files(20))

    def commit(number: int) -> Awaitable[None]:
        expected = State.PENDING if number % 5 else State.LINKED
        move = transition(ref(f"f{number:05}"), expected=expected, to=State.SKIP)
        return write(store, transitions=[move], nodes=[file(f"new{number}")], edges=[link(f"new{number}", "f00000")])

    outcomes = await asyncio.gather(*map(commit, range(20)), return_exceptions=True)
    broken = [number for number, outcome in enumerate(outcomes) if outcome is not None]
    assert broken == [0, 5, 10, 15]
    assert all(isinstance(outcomes[number], TransitionConflict) for number in broken)
    found = await states_of(store)
    assert {uuid for uuid in found if uuid.startswith("new")} == {f"new{n}" for n in range(20) if n not in broken}
    assert [uuid for uuid, state in found.items() if uuid.startswith("f") and state == "pending"] == [
        f"f{number:05}" for number in broken
    ]
    assert len(await links(store)) == 16


@pytest.mark.parametrize(
    "batch",
    [
        {"nodes": [Node(label="Unheard", uuid="x", name="x", state="pending")]},
        {"edges": [Edge(type="UNHEARD", source=ref("a"), target=ref("a"))]},
    ],
    ids=["label", "type"],
)
async def test_what_the_schema_does_not_have_is_refused_by_name(store: Store, batch: dict[str, object]) -> None:
    await write(store, nodes=[file("a")])
    before = await picture(store)
    with pytest.raises(UnknownLabel, match=r"(?i)unheard"):
        await write(store, **batch)
    assert await picture(store) == before


async def test_an_empty_batch_is_nothing(store: Store) -> None:
    await write(store)
    assert await picture(store) == ({}, {})


async def test_a_closed_store_says_so_and_closing_it_again_is_harmless(store: Store) -> None:
    await store.close()
    await store.close()
    with pytest.raises(GraphmillError) as refusal:
        await write(store, nodes=[file("a")])
    assert refusal.value.code == "store_closed"
