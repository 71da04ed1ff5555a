"""Many edges of one node: each is there once, with its latest properties, however they were written."""

import asyncio

import pytest

from graph_stores.errors import MissingNode
from graph_stores.model import Edge, Unlink
from graph_stores.protocol import Store
from orchestrator.states import State
from tests.conformance.examples import file, link, links, node, picture, ref, write
from tests.conformance.place import IN_EVERY_FORM, Place

# More than what is merged one by one.
MANY = 60


def sections(count: int, start: int = 0) -> list[str]:
    return [f"s{number:03}" for number in range(start, start + count)]


def contains(section: str, index: int | None, source: str = "f") -> Edge:
    properties = {} if index is None else {"index": index}
    target = ref(section, "MarkdownSection")
    return Edge(type="HAS_SECTION", source=ref(source), target=target, properties=properties)


@pytest.fixture
async def book(store: Store) -> Store:
    """A file with many sections, some of which are its own."""
    await write(
        store,
        nodes=[file("f"), file("g"), *(node("MarkdownSection", each, state=State.PARSED) for each in sections(MANY))],
        edges=[contains(each, index) for index, each in enumerate(sections(MANY // 2))],
    )
    return store


def expected(*parts: tuple[list[str], int]) -> dict[tuple[str, str], dict[str, int]]:
    return {("f", each): {"index": start + index} for of, start in parts for index, each in enumerate(of)}


@IN_EVERY_FORM
async def test_edges_to_new_nodes_are_written(book: Store) -> None:
    assert await links(book) == expected((sections(MANY // 2), 0))


@IN_EVERY_FORM
async def test_edges_that_are_there_stay_as_they_are_and_the_others_come(book: Store) -> None:
    await write(book, edges=[contains(each, index) for index, each in enumerate(sections(MANY))])
    assert await links(book) == expected((sections(MANY), 0))


@IN_EVERY_FORM
async def test_edges_that_are_there_get_their_new_properties(book: Store) -> None:
    await write(book, edges=[contains(each, index + 7) for index, each in enumerate(sections(MANY))])
    assert await links(book) == expected((sections(MANY), 7))
    await write(book, edges=[contains(each, index) for index, each in enumerate(sections(3))])
    assert await links(book) == expected((sections(3), 0), (sections(MANY - 3, 3), 10))


@IN_EVERY_FORM
async def test_edges_without_properties_keep_those_that_are_there(book: Store) -> None:
    await write(book, edges=[contains(each, None) for each in sections(MANY)])
    found = await links(book)
    assert {ends: found[ends] for ends in expected((sections(MANY // 2), 0))} == expected((sections(MANY // 2), 0))
    assert len(found) == MANY


@IN_EVERY_FORM
async def test_of_two_edges_between_the_same_ends_the_later_counts(book: Store) -> None:
    twice = [contains(each, index) for index in (1, 2) for each in sections(MANY)]
    await write(book, edges=twice)
    assert set(await links(book)) == {("f", each) for each in sections(MANY)}
    assert {each["index"] for each in (await links(book)).values()} == {2}


@IN_EVERY_FORM
async def test_unlinking_and_linking_again_in_one_batch_leaves_only_what_was_linked(book: Store) -> None:
    again = [contains(each, index) for index, each in enumerate(sections(MANY // 2, 10))]
    await write(book, unlinks=[Unlink(source=ref("f"), type="HAS_SECTION")], edges=again)
    assert await links(book) == expected((sections(MANY // 2, 10), 0))


@IN_EVERY_FORM
async def test_edges_from_and_to_nodes_of_the_same_batch_mix_with_others(book: Store) -> None:
    new = [node("MarkdownSection", each, state=State.PARSED) for each in sections(20, MANY)]
    await write(
        book,
        nodes=[*new, file("h"), file("f")],
        edges=[
            *(contains(each, index) for index, each in enumerate(sections(MANY + 20))),
            *(contains(each, index, "h") for index, each in enumerate(sections(MANY))),
        ],
    )
    found = await links(book)
    assert {ends: value for ends, value in found.items() if ends[0] == "f"} == expected((sections(MANY + 20), 0))
    assert {ends: value["index"] for ends, value in found.items() if ends[0] == "h"} == {
        ("h", each): index for index, each in enumerate(sections(MANY))
    }


@IN_EVERY_FORM
@pytest.mark.parametrize("where", ["source", "target"])
async def test_one_end_that_is_missing_refuses_all_of_many(book: Store, where: str) -> None:
    before = await picture(book)
    wrong = contains("nobody", 0) if where == "target" else contains("s000", 0, "nobody")
    with pytest.raises(MissingNode, match="nobody"):
        await write(book, edges=[*(contains(each, 5) for each in sections(MANY)), wrong])
    new = node("MarkdownSection", "new", state=State.PARSED)
    with pytest.raises(MissingNode, match="nobody"):
        await write(book, nodes=[new], edges=[contains("new", 1), contains("new", 1, "nobody")])
    assert await picture(book) == before


@IN_EVERY_FORM
async def test_many_edges_to_one_node_are_written_and_changed(store: Store) -> None:
    names = [f"f{number:03}" for number in range(MANY)]
    await write(store, nodes=[file("hub"), *map(file, names)], edges=[link(each, "hub", count=1) for each in names])
    await write(store, edges=[link(each, "hub", count=2) for each in names[10:]])
    assert await links(store) == {(each, "hub"): {"count": 1 if each in names[:10] else 2} for each in names}


@IN_EVERY_FORM
async def test_commits_at_once_on_one_hub_leave_each_edge_once(store: Store, place: Place) -> None:
    names = [f"f{number:03}" for number in range(MANY)]
    await write(store, nodes=[file("hub"), *map(file, names)])
    await asyncio.gather(*(write(store, edges=[link("hub", each, count=1) for each in names]) for _ in range(4)))
    assert await links(store) == {("hub", each): {"count": 1} for each in names}
    reopened = await place.reopen()
    assert len(await links(reopened)) == MANY
