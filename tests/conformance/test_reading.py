"""Reading back: filters and pages, counts that are derived from the states, and the export of everything."""

from collections.abc import AsyncIterator

import pytest

from graph_stores.model import NodeRow, Ref, Select, StateCount
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle
from orchestrator.states import ErrorClass, State
from tests.conformance.examples import (
    HOUR,
    article,
    bring,
    claim,
    claim_one,
    expire,
    file,
    files,
    link,
    node,
    picture,
    read,
    ref,
    section,
    states_of,
    write,
)
from tests.conformance.place import IN_EVERY_FORM


@pytest.fixture
async def mixed(store: Store, lifecycle: Lifecycle) -> Store:
    """Files in error of both classes, one at work, one whose lease ran out, and nodes of other labels."""
    await write(store, nodes=[file("broken"), file("slow", depth=1), file("stuck", depth=2), file("work", depth=3)])
    await lifecycle.fail(await claim_one(lifecycle), message="not text", error_class=ErrorClass.PERMANENT)
    for _ in range(lifecycle.policy.limit):
        await lifecycle.fail(await claim_one(lifecycle), message="timeout", error_class=ErrorClass.TRANSIENT)
    await expire(lifecycle, [await claim_one(lifecycle)])
    await claim_one(lifecycle)
    await write(store, nodes=[file("wait"), article("wiki"), section("part")])
    return store


FILTERS: list[tuple[Select, str]] = [
    (Select(), "wiki broken slow stuck wait work part"),
    (Select(labels=["Article", "Section"]), "wiki part"),
    (Select(states=["error"]), "broken slow"),
    (Select(states=["error", "parsed"]), "broken slow part"),
    (Select(uuids=["wait", "wiki", "nobody"]), "wiki wait"),
    (Select(uuids=["wait", "wiki"], labels=["File"]), "wait"),
    (Select(uuids=["wait", "broken"], states=["error"]), "broken"),
    (Select(error_type="parse", states=["error"]), "broken slow"),
    (Select(error_type="link"), ""),
    (Select(error_class="permanent"), "broken"),
    (Select(error_class="transient", states=["error"]), "slow"),
    (Select(expired=True, states=["parsing"]), "stuck"),
    (Select(expired=True, states=["parsing"], labels=["Article"]), ""),
    (Select(expired=True, states=["linking"]), ""),
    (Select(states=["parsing"]), "stuck work"),
    (Select(states=["ready"]), ""),
    (Select(labels=["Directory"]), ""),
    (Select(limit=2), "wiki broken"),
    (Select(after=ref("slow")), "stuck wait work part"),
    (Select(after=ref("slow"), labels=["File"], limit=2), "stuck wait"),
    (Select(after=ref("slow"), states=["parsing"], expired=True), "stuck"),
    (Select(after=ref("stuck"), states=["parsing"], expired=True), ""),
    (Select(after=ref("no such node")), "slow stuck wait work part"),
    (Select(after=ref("part", "Section")), ""),
]


@IN_EVERY_FORM
async def test_every_filter_lets_through_what_it_says_ordered_by_label_and_uuid(mixed: Store) -> None:
    for select, uuids in FILTERS:
        assert [row.uuid for row in await mixed.nodes(select)] == uuids.split(), select


@IN_EVERY_FORM
async def test_hundreds_of_nodes_are_read_by_their_keys_in_order(store: Store) -> None:
    await write(store, nodes=files(300))
    wanted = [f"f{number:05}" for number in range(299, -100, -2) if number >= 0]
    rows = await store.nodes(Select(uuids=[*wanted, *wanted, "nobody"], limit=1000))
    assert [row.uuid for row in rows] == sorted(wanted)
    page = await store.nodes(Select(uuids=wanted, limit=10, after=ref("f00100")))
    assert [row.uuid for row in page] == [f"f{number:05}" for number in range(101, 121, 2)]


async def test_pages_of_any_size_are_the_whole(store: Store) -> None:
    await write(store, nodes=[node(label, f"{label}{number}") for label in ("File", "Scope") for number in range(12)])
    whole = [row.ref for row in await store.nodes(Select())]
    assert whole == sorted(whole)
    for size in (1, 7, 12, 24, 1000):
        assert [ref async for ref in paged(store, size)] == whole


async def paged(store: Store, size: int) -> AsyncIterator[Ref]:
    after = None
    while rows := await store.nodes(Select(limit=size, after=after)):
        assert len(rows) <= size
        after = rows[-1].ref
        for row in rows:
            yield row.ref


async def test_progress_counts_every_node_in_exactly_one_state(mixed: Store) -> None:
    progress = await mixed.progress(finished=["error"], window=HOUR)
    assert sorted(progress.counts, key=lambda each: (each.label, each.state)) == [
        StateCount(label="Article", state="pending", count=1),
        StateCount(label="File", state="error", count=2),
        StateCount(label="File", state="parsing", count=2),
        StateCount(label="File", state="pending", count=1),
        StateCount(label="Section", state="parsed", count=1),
    ]
    assert progress.finished == 2
    assert {(each.error_type, each.message, each.count) for each in progress.errors} == {
        ("parse", "not text", 1),
        ("parse", "timeout", 1),
    }


async def test_progress_of_an_empty_graph_is_nothing(store: Store) -> None:
    progress = await store.progress(finished=["ready"], window=HOUR)
    assert (list(progress.counts), list(progress.errors)) == ([], [])
    assert progress.finished == 0


async def test_errors_are_grouped_by_what_they_say_and_the_most_frequent_come_first(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=files(6))
    for row, message in zip(await claim(lifecycle), "abbbab", strict=True):
        await lifecycle.fail(row, message=message, error_class=ErrorClass.PERMANENT)
    progress = await store.progress(finished=(), window=HOUR)
    assert [(each.message, each.count) for each in progress.errors] == [("b", 4), ("a", 2)]


async def test_finished_counts_only_what_came_to_rest_inside_the_window(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(3))
    await bring(lifecycle, "File", *states.STAGES)
    assert (await store.progress(finished=["ready", "skip"], window=HOUR)).finished == 3
    assert (await store.progress(finished=["skip"], window=HOUR)).finished == 0
    assert (await store.progress(finished=["ready"], window=0.0)).finished == 0


async def test_counts_follow_the_states_through_a_whole_run(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(30))
    for stage, done in zip(states.STAGES, ["parsed", "linked", "ready"], strict=True):
        rows = await claim(lifecycle, stage)
        held = await store.progress(finished=(), window=HOUR)
        assert [(each.state, each.count) for each in held.counts] == [(stage.working, 30)]
        await lifecycle.release(rows)
        await bring(lifecycle, "File", stage)
        progress = await store.progress(finished=(), window=HOUR)
        assert [(each.state, each.count) for each in progress.counts] == [(done, 30)]


async def test_the_export_has_every_node_with_every_property_and_every_edge(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a", size=1, _contentHash="h"), file("b"), article("w", title="W", depth=2)])
    await write(store, edges=[link("a", "b", count=4), link("b", "a"), link("w", "w", "Article")])
    [claimed, _] = await claim(lifecycle)
    nodes, edges = await picture(store)
    assert set(nodes) == {("File", "a"), ("File", "b"), ("Article", "w")}
    assert edges == {("LINKS_TO", "a", "b"): {"count": 4}, ("LINKS_TO", "b", "a"): {}, ("LINKS_TO", "w", "w"): {}}
    assert claimed.lease is not None
    expected = {
        "uuid": "a",
        "projectId": store.project,
        "name": "name of a",
        "size": 1,
        "_contentHash": "h",
        "_state": "parsing",
        "_depth": 0,
        "_retryCount": 0,
        "_detectedAt": claimed.detected_at,
        "_stateChangedAt": claimed.state_changed_at,
        "_leaseOwner": claimed.lease.owner,
        "_leaseToken": claimed.lease.token,
        "_leaseUntil": claimed.lease.until,
    }
    assert nodes["File", "a"] == expected
    assert NodeRow.from_row("File", nodes["File", "a"]) == claimed


async def test_an_export_left_in_the_middle_holds_nothing_up(store: Store) -> None:
    await write(store, nodes=files(3000))
    export = store.export_nodes()
    first = await anext(export)
    await write(store, deletions=[ref(first.properties["uuid"])])
    await export.aclose()  # type: ignore[attr-defined]
    assert len(await states_of(store)) == 2999


async def test_a_row_reads_the_same_as_it_was_claimed(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a", size=1, state=State.PENDING)])
    assert await read(store, "a") != (claimed := await claim_one(lifecycle))
    assert await read(store, "a") == claimed
