"""Thousands of nodes at once: verbs that work in pages and batches do all of it, and only once."""

from itertools import count
from secrets import token_hex

import pytest

from graph_stores import path_of
from graph_stores.model import Batch, Select
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.states import State
from tests.conformance.examples import (
    HOUR,
    article,
    bring,
    claim,
    expire,
    file,
    files,
    link,
    links,
    ref,
    states_of,
    write,
)


@pytest.mark.long
async def test_a_huge_batch_is_written_whole(store: Store) -> None:
    chain = [link(f"f{number:05}", f"f{number + 1:05}", count=number) for number in range(0, 19_999, 10)]
    await write(store, nodes=files(20_000), edges=chain)
    progress = await store.progress(finished=(), window=HOUR)
    assert [(each.label, each.state, each.count) for each in progress.counts] == [("File", "pending", 20_000)]
    assert len(await links(store)) == len(chain)


@pytest.mark.long
async def test_the_space_of_what_was_deleted_is_given_back_and_the_rest_stays(
    store: Store, lifecycle: Lifecycle
) -> None:
    texts = [file(f"f{number:04}", mimeType=token_hex(2000)) for number in range(2000)]
    await write(store, nodes=texts, edges=[link("f0000", "f0001")])
    await store.commit(Batch(deletions=[each.ref for each in texts[2:]]))
    freed = await store.give_space_back()
    assert (freed > 1e6) == (path_of(store.url) is not None), "a server uses its space again"
    assert (await states_of(store), len(await links(store))) == ({"f0000": "pending", "f0001": "pending"}, 1)
    assert len(await claim(lifecycle, limit=10)) == 2, "and the work goes on"


@pytest.mark.long
async def test_thousands_of_expired_leases_are_taken_back_in_one_go(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(1200))
    await expire(lifecycle, await claim(lifecycle, limit=1200))
    assert await lifecycle.reclaim() == 1200
    assert set((await states_of(store)).values()) == {"pending"}
    assert await lifecycle.reclaim() == 0


@pytest.mark.long
async def test_thousands_of_errors_are_retried_in_one_go(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(1200))
    rows = await claim(lifecycle, limit=1200)
    await lifecycle.complete([Result(node=row, path=[State.ERROR], properties={"_errorType": "parse"}) for row in rows])
    assert await lifecycle.retry_errors() == 1200
    assert len(await claim(lifecycle, limit=1200)) == 1200


@pytest.mark.long
async def test_thousands_of_changes_are_marked_in_one_go(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[*files(1100), article("a", state=State.PARSED)])
    await bring(lifecycle, "File", states.PARSE)
    [busy, *_] = await claim(lifecycle, states.LINK, limit=1)
    hashes = {ref(each.uuid): "new" for each in files(1100)} | {ref("a", "Article"): "new"}
    assert await lifecycle.mark_changed(hashes) == [busy.ref]
    rows = await store.nodes(Select(limit=2000))
    assert {row.state for row in rows if row.ref != busy.ref} == {"pending"}
    assert {row.properties.get("_contentHash") for row in rows if row.ref != busy.ref} == {"new"}


@pytest.mark.long
async def test_the_export_of_a_large_graph_comes_piece_by_piece_while_others_write(store: Store) -> None:
    await write(store, nodes=files(5000), edges=[link(f"f{number:05}", "f00000") for number in range(3000)])
    seen = set()
    numbers = count()
    async for exported in store.export_nodes():
        seen.add(exported.properties["uuid"])
        if next(numbers) % 1000 == 0:
            await write(store, nodes=[file("f00000", size=len(seen))])
    assert seen == {each.uuid for each in files(5000)}
    assert len([edge async for edge in store.export_edges()]) == 3000


@pytest.mark.long
async def test_a_large_answer_comes_whole(store: Store) -> None:
    await write(store, nodes=files(3000))
    table = await store.query("MATCH (n:File) WHERE n.projectId = $p RETURN n", {"p": store.project})
    assert {row[0]["uuid"] for row in table.rows} == {each.uuid for each in files(3000)}
