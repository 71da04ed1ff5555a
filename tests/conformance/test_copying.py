"""A copy is the same graph on another engine, whatever is in it; what must not be copied is refused and told."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from graph_stores.errors import GraphmillError
from graph_stores.model import Batch, ExportedEdge, ExportedNode, Vector
from graph_stores.pages import EdgePage, NodePage, Page
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.copying.checksums import Checksums
from orchestrator.copying.copy import Copied, Copy, CopyDiffers, SameGraph, TargetNotEmpty, check_apart
from orchestrator.copying.idle import JobRuns
from orchestrator.copying.reading import Origin, reading
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import left_alone
from orchestrator.worker import Worker
from orchestrator.workers import registered
from tests.conformance.examples import Picture, article, claim, file, link, picture, ref, section, write
from tests.conformance.exports import SPACE, random_edges, random_nodes
from tests.conformance.folders import opened
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER, Place
from tests.conformance.wrapped import wrapped


@pytest.fixture
async def beside(tmp_path: Path, place: Place) -> AsyncIterator[Place]:
    """An embedded graph beside the one of the test, of the same project."""
    other = Place(url=f"kuzu:{tmp_path / 'beside'}", project=place.project)
    yield other
    await other.close()


def origin(place: Place) -> Origin:
    return Origin(url=place.url, project=place.project, credentials=place.credentials)


async def copied(source: Place, target: Store, **options: Any) -> Copied:
    """The source is read by another process, so this one lets go of it."""
    await source.close()
    return await copied_as_it_is(source, target, **options)


async def copied_as_it_is(source: Place, target: Store, **options: Any) -> Copied:
    async with reading(origin(source), again=False) as read:
        return await Copy(source=read, target=target, **options).run()


def sums(nodes: Sequence[ExportedNode], edges: Sequence[ExportedEdge]) -> Checksums:
    checksums = Checksums()
    pages: list[Page] = [*NodePage.of(nodes), *EdgePage.of(edges)]
    for page in pages:
        checksums.add(page)
    return checksums


async def check(store: Store, nodes: Sequence[ExportedNode], edges: Sequence[ExportedEdge]) -> None:
    found = [each async for each in store.export_nodes()], [each async for each in store.export_edges()]
    assert sorted(found[0], key=repr_key) == sorted(nodes, key=repr_key)
    assert {_key(each): each for each in found[1]} == {_key(each): each for each in edges}
    assert sums(*found).differences(sums(nodes, edges)) == []


def repr_key(node: ExportedNode) -> tuple[str, str]:
    return node.label, node.properties["uuid"]


def _key(edge: ExportedEdge) -> tuple[str, str, str]:
    return edge.type, edge.source.uuid, edge.target.uuid


async def test_whatever_was_exported_is_restored_exactly_and_changed_exactly(store: Store) -> None:
    """On each engine alone; what is the same on each is the same from each to each."""
    random = Random(store.project)
    await store.use_vector_space(SPACE)
    nodes = random_nodes(store.project, random, 12)
    edges = random_edges(nodes, random, 20)
    await store.restore(nodes, new=True)
    await store.restore([], edges, new=True)
    await check(store, nodes, edges)
    # The same nodes and edges with other values, among them fewer properties; and a few new ones.
    other = {node.properties["uuid"]: node for node in random_nodes(store.project, random, 12)}
    changed = [
        replace(
            node, properties={**values.properties, "uuid": node.properties["uuid"]} if index % 3 else node.properties
        )
        for index, (node, values) in enumerate(zip(nodes, other.values(), strict=True))
    ]
    fewer = [replace(edge, properties={}) if index % 2 else edge for index, edge in enumerate(edges)]
    await store.restore(changed, fewer)
    await check(store, changed, fewer)


async def test_a_node_of_another_project_is_never_written_over(store: Store, place: Place) -> None:
    await write(store, nodes=[file(f"{store.project} a")])
    before = await picture(store)
    await place.close()
    other = await place.open(project=f"{place.project} beside")
    theirs = ExportedNode(
        label="File", properties={"uuid": f"{place.project} a", "projectId": other.project, "_state": "ready"}
    )
    for new in (True, False):
        with pytest.raises(GraphmillError):
            await other.restore([theirs], new=new)
    await place.close()
    assert await picture(await place.open()) == before


async def random_graph(store: Store, random: Random) -> Picture:
    await store.use_vector_space(SPACE)
    nodes = random_nodes(store.project, random, 8)
    await store.restore(nodes, random_edges(nodes, random, 10), new=True)
    return await picture(store)


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_a_random_graph_comes_back_from_the_other_engine_as_it_was(
    store: Store, place: Place, tmp_path: Path
) -> None:
    """There from Kuzu, and back again: each graph is read by a process of its own."""
    first, last = (Place(url=f"kuzu:{tmp_path / name}", project=place.project) for name in ("first", "last"))
    before = await random_graph(await opened(first), Random(11))
    there = await copied(first, store)
    assert await picture(store) == before
    assert await store.vector_space() == SPACE
    back = await copied(place, await opened(last))
    assert await picture(last.handles[0]) == before
    assert there.document()["nodes"] == back.document()["nodes"]
    assert there.document()["edges"] == back.document()["edges"]
    await last.close()


async def grown(place: Place) -> Store:
    store = await opened(place)
    await store.use_vector_space(SPACE)
    nodes = [file("a"), file("b"), article("c"), section("d")]
    await write(
        store,
        nodes=nodes,
        edges=[link("a", "b", count=2)],
        vectors=[Vector(node=ref("d", "Section"), values=[1.0, 0.5, 0.0, 0.0, 0.0])],
    )
    return store


@HERE
async def test_what_was_in_hand_waits_again_without_a_lease_and_without_a_try(
    store: Store, place: Place, beside: Place
) -> None:
    lifecycle = Lifecycle(store=await grown(beside))
    assert len(await claim(lifecycle, labels=["File"])) == 2
    assert len(await claim(lifecycle, labels=["Article"])) == 1
    assert len(await claim(lifecycle, states.LINK, labels=["Section"])) == 1
    async with registered(Worker(lifecycle, []), stages=["parse"]):
        pass
    before, edges = await picture(lifecycle.store)
    report = await copied(beside, store)
    assert report.in_hand == 4
    wanted = {key: left_alone(key[0], node) for key, node in before.items() if key[0] != "Worker"}
    assert await picture(store) == (wanted, edges)
    states_now = {key[1]: (node["_state"], node["_retryCount"]) for key, node in wanted.items()}
    assert states_now == {"a": ("pending", 0), "b": ("pending", 0), "c": ("pending", 0), "d": ("parsed", 0)}
    assert wanted["Article", "c"]["expansion_state"] == "discovered"
    assert not any(name.startswith("_lease") for node in wanted.values() for name in node)


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_a_target_that_holds_something_is_refused_unless_it_is_to_be_merged(
    store: Store, place: Place, beside: Place
) -> None:
    await write(store, nodes=[file("a", path="mine"), file("z")], edges=[link("a", "z", count=1)])
    mine = await picture(store)
    theirs = await picture(await grown(beside))
    with pytest.raises(TargetNotEmpty, match="not empty"):
        await copied(beside, store)
    assert await picture(store) == mine
    report = await copied(beside, store, merge=True)
    both = {**mine[0], **theirs[0]}, {**mine[1], **theirs[1]}
    assert await picture(store) == both
    assert report.document()["nodes"]["File"]["count"] == 2
    assert report.begun.written_nodes == 4


def left_open(place: Place) -> list[str]:
    """What an owner that did not close the graph leaves beside it."""
    path = Path(place.url.partition(":")[2])
    lock, socket = (path.with_name(f"{path.name}.{name}") for name in ("lock", "sock"))
    return [*([lock.read_text()] if lock.read_text() else []), *([socket.name] if socket.exists() else [])]


@HERE
async def test_a_copy_that_is_refused_closes_its_source(store: Store, beside: Place) -> None:
    """Also while the process that reads it waits until somebody takes what it has read."""
    source = await opened(beside)
    await write(source, nodes=[file(f"f{number}", path="a long path" * 20_000) for number in range(20)])
    await write(store, nodes=[file("a")])
    with pytest.raises(TargetNotEmpty):
        await copied(beside, store)
    assert left_open(beside) == []
    async with reading(origin(beside), again=False):
        pass
    assert left_open(beside) == []


@HERE
async def test_vectors_of_two_models_are_not_merged(store: Store, beside: Place) -> None:
    await store.use_vector_space(replace(SPACE, model="consonants"))
    await write(store, nodes=[file("a")])
    before = await picture(store)
    await grown(beside)
    with pytest.raises(GraphmillError, match="another model"):
        await copied(beside, store, merge=True)
    assert await picture(store) == before


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_a_copy_that_broke_off_goes_on_and_writes_only_what_is_missing_or_has_changed(
    store: Store, place: Place, beside: Place
) -> None:
    await grown(beside)

    async def breaks(real: Any, page: Page) -> None:
        if isinstance(page, EdgePage):
            raise RuntimeError("the power is gone")
        await real(page)

    breaking, _ = wrapped(store, restore_page=breaks)
    with pytest.raises(RuntimeError):
        await copied(beside, breaking)
    source = await beside.open()
    await write(source, nodes=[file("a", path="changed meanwhile"), file("e")])
    now = await picture(source)
    report = await copied(beside, store)
    assert await picture(store) == now
    assert (report.begun.written_nodes, report.begun.nodes) == (2, 5)
    again = await copied(beside, store)
    assert (again.begun.written_nodes, again.begun.nodes) == (0, 5)
    # Once it is finished the target goes its own way, and the same command does not set it back.
    await write(store, nodes=[file("a", path="its own way")])
    with pytest.raises(TargetNotEmpty):
        await copied(beside, store)


@pytest.mark.long
@HERE
async def test_a_target_that_was_worked_on_before_the_copy_was_finished_is_not_set_back(
    store: Store, beside: Place
) -> None:
    await grown(beside)

    async def breaks(real: Any, name: str, text: str) -> None:
        if json.loads(text)["finished"]:
            raise RuntimeError("the power is gone")
        await real(name, text)

    breaking, _ = wrapped(store, leave_note=breaks)
    with pytest.raises(RuntimeError):
        await copied(beside, breaking)
    async with registered(Worker(Lifecycle(store=store), []), stages=["parse"]):
        await write(store, nodes=[file("a", path="its own way")])
    before = await picture(store)
    with pytest.raises(TargetNotEmpty, match=r"a copy of .* that was not finished, and was worked on since"):
        await copied(beside, store)
    assert await picture(store) == before
    assert (await copied(beside, store, merge=True)).begun.written_nodes == 1


@pytest.mark.long
@HERE
@pytest.mark.parametrize(
    ("harm", "told"),
    [("lost", "0 Article instead of 1"), ("changed", "File with other content"), ("unlinked", "0 LINKS_TO instead")],
)
async def test_a_copy_that_is_not_the_same_is_told(store: Store, beside: Place, harm: str, told: str) -> None:
    await grown(beside)

    async def harmful(real: Any, page: Page) -> None:
        match harm, page:
            case "lost", NodePage():
                page = page.only([uuid != "c" for uuid in page.uuids])
            case "changed", NodePage():
                deeper = [replace(each, properties={**each.properties, "_depth": 7}) for each in page.nodes()]
                [page] = NodePage.of(deeper)
            case "unlinked", EdgePage():
                return
        await real(page)

    broken, _ = wrapped(store, restore_page=harmful)
    with pytest.raises(CopyDiffers, match=told):
        await copied(beside, broken)


@pytest.mark.parametrize("engine", ["neo4j"], indirect=True)
async def test_a_job_that_runs_on_the_server_is_told(store: Store, place: Place, beside: Place) -> None:
    lifecycle = Lifecycle(store=store)
    other = await opened(beside)
    async with registered(Worker(lifecycle, []), stages=["parse"]):
        with pytest.raises(JobRuns, match="at work on project"):
            await copied_as_it_is(place, other)
        await write(other, nodes=[file("a")])
        with pytest.raises(JobRuns, match="at work on project"):
            await copied(beside, store)


@HERE
async def test_a_graph_that_is_in_use_or_the_same_is_told(store: Store, place: Place, beside: Place) -> None:
    await grown(beside)
    with pytest.raises(GraphmillError, match="in use by") as refusal:
        await copied_as_it_is(beside, store)
    assert refusal.value.code == "store_owned"
    with pytest.raises(SameGraph):
        check_apart(place.url, f"kuzu:{place.url.removeprefix('kuzu:')}/../{Path(place.url).name}")


@HERE
async def test_what_the_schema_of_the_target_does_not_have_is_told_by_name(store: Store) -> None:
    odd = ExportedNode(
        label="File", properties={"uuid": "a", "projectId": store.project, "_state": "ready", "colour": "red"}
    )
    with pytest.raises(GraphmillError, match="File has no property colour"):
        await store.restore([odd], new=True)
    await store.commit(Batch(nodes=[file("b")]))
    assert {key[1] for key in (await picture(store))[0]} == {"b"}


@pytest.mark.long
@HERE
@pytest.mark.parametrize(
    ("column", "told"),
    [("`my colour` STRING", "File has no property my colour"), ("born INTERVAL", "File.born is of the type INTERVAL")],
)
async def test_a_column_that_somebody_added_is_told_and_never_left_out(
    store: Store, beside: Place, column: str, told: str
) -> None:
    source = await grown(beside)
    name, kind = column.rsplit(" ", 1)
    await source.query(f"ALTER TABLE File ADD {column}", {}, write=True)
    await source.query(f"MATCH (n:File) SET n.{name} = CAST('1 day' AS {kind})", {}, write=True)
    with pytest.raises(GraphmillError, match=told):
        await copied(beside, store)


def test_a_node_has_one_content_whatever_shares_a_page_with_it() -> None:
    random = Random(3)
    nodes = random_nodes("p", random, 6)
    together = {
        (page.label, uuid): content
        for page in NodePage.of(nodes)
        for uuid, content in zip(page.uuids, page.contents(), strict=True)
    }
    for node in nodes:
        [alone] = NodePage.of([node])
        assert alone.contents() == [together[node.label, node.properties["uuid"]]]
    values = [True, 1, 1.0, "1", ["1"], [1], datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC), None]
    rows = [ExportedNode(label="File", properties={"uuid": "a", "value": value}) for value in values]
    contents = [content for page in NodePage.of(rows) for content in page.contents()]
    assert len(set(contents)) == len(values)
