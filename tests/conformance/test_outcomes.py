"""What becomes of claimed work: completed in one commit, given back, failed, retried, made stale by new content."""

from collections.abc import Sequence

import pytest

from graph_stores.model import Edge, Ref, Select, Unlink
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import transition
from orchestrator.retries import RetryPolicy
from orchestrator.states import ErrorClass, ErrorType, Stage, State
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
    links,
    node,
    picture,
    read,
    ref,
    section,
    states_of,
    write,
)

LABEL = ["Article"]


async def test_what_a_stage_made_and_the_new_state_appear_together(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a"), file("old", state=State.SKIP)], edges=[link("a", "old")])
    row = await claim_one(lifecycle)
    await lifecycle.complete(
        [
            Result(
                node=row,
                properties={"_contentHash": "h", "language": "python"},
                also=[transition(ref("old"), expected=State.SKIP, to=State.PENDING)],
                unlinks=[Unlink(source=ref("a"), type="LINKS_TO")],
                nodes=[node("Scope", "s", state=State.PARSED, kind="class")],
                edges=[Edge(type="DEFINED_IN", source=ref("s", "Scope"), target=ref("a"))],
            )
        ]
    )
    done = await read(store, "a")
    assert (done.state, done.lease, done.retry_count) == ("parsed", None, 0)
    assert {"_contentHash": "h", "language": "python"}.items() <= done.properties.items()
    assert done.properties["_parsedAt"] == done.state_changed_at
    assert await states_of(store) == {"a": "parsed", "old": "pending", "s": "parsed"}
    assert set(await links(store)) == {("s", "a")}


async def test_a_node_goes_all_the_way_and_each_stage_leaves_its_stamp(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    await bring(lifecycle, "File", *states.STAGES)
    row = await read(store, "a")
    assert row.state == "ready"
    assert row.properties["_parsedAt"] < row.properties["_linkedAt"] < row.properties["_embeddedAt"]


async def test_a_stage_may_end_in_another_state_that_the_table_allows(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    await lifecycle.complete([Result(node=await claim_one(lifecycle), path=[State.ERROR])])
    assert await states_of(store) == {"a": "error"}


async def test_success_forgets_the_tries_and_the_error_before_it(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    await lifecycle.fail(await claim_one(lifecycle), message="slow", error_class=ErrorClass.TRANSIENT)
    await lifecycle.complete([Result(node=await claim_one(lifecycle))])
    row = await read(store, "a")
    assert (row.retry_count, row.error_type, row.error_class, row.error_message) == (0, None, None, None)


async def test_released_work_waits_again_and_costs_no_try(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=files(3))
    await lifecycle.fail(await claim_one(lifecycle), message="slow", error_class=ErrorClass.TRANSIENT)
    rows = await claim(lifecycle)
    await lifecycle.release(rows)
    again = await store.nodes(Select())
    assert [(row.state, row.lease) for row in again] == [("pending", None)] * 3
    assert sorted(row.retry_count for row in again) == [0, 0, 1]
    assert len(await claim(lifecycle)) == 3


async def test_a_transient_failure_waits_and_tries_again_until_the_limit(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    went = [
        await lifecycle.fail(await claim_one(lifecycle), message=f"try {tries}", error_class=ErrorClass.TRANSIENT)
        for tries in (1, 2, 3)
    ]
    assert went == [State.PENDING, State.PENDING, State.ERROR]
    row = await read(store, "a")
    assert (row.state, row.retry_count, row.error_message) == ("error", 3, "try 3")
    assert (row.error_type, row.error_class) == ("parse", "transient")
    assert await claim(lifecycle) == []


async def test_a_failed_node_is_not_claimed_before_its_delay_is_over(store: Store) -> None:
    patient = Lifecycle(store=store, policy=RetryPolicy(first_delay=HOUR, longest_delay=HOUR))
    await write(store, nodes=[file("a")])
    await patient.fail(await claim_one(patient), message="busy", error_class=ErrorClass.TRANSIENT)
    row = await read(store, "a")
    assert row.not_before is not None
    assert HOUR / 2 - 1 < (row.not_before - row.state_changed_at).total_seconds() < HOUR + 1
    assert (row.state, row.error_message) == ("pending", "busy")
    assert await claim(patient) == []


async def test_a_permanent_failure_is_an_error_at_once(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    went = await lifecycle.fail(await claim_one(lifecycle), message="not text", error_class=ErrorClass.PERMANENT)
    row = await read(store, "a")
    assert went is State.ERROR
    assert (row.state, row.error_type, row.error_class) == ("error", "parse", "permanent")
    assert (row.error_message, row.retry_count, row.lease) == ("not text", 0, None)


async def failed(lifecycle: Lifecycle, label: str, uuid: str, stage: Stage, error_class: ErrorClass) -> None:
    """A node that a stage failed on for good, by its class."""
    policy = Lifecycle(store=lifecycle.store, policy=RetryPolicy(limit=1, losses=1))
    await write(lifecycle.store, nodes=[node(label, uuid)])
    await bring(lifecycle, label, *states.STAGES[: states.STAGES.index(stage)])
    await policy.fail(await claim_one(lifecycle, stage, labels=[label]), message="no", error_class=error_class)


@pytest.mark.parametrize(
    ("choice", "moved"),
    [
        ({}, {"parse": "pending", "link": "parsed", "embed": "linked"}),
        ({"error_type": ErrorType.LINK}, {"link": "parsed"}),
        ({"error_class": ErrorClass.TRANSIENT}, {"parse": "pending", "embed": "linked"}),
        ({"labels": ["Scope"]}, {"embed": "linked"}),
        ({"uuids": ["parse", "embed"]}, {"parse": "pending", "embed": "linked"}),
        ({"uuids": ["parse", "embed"], "labels": ["File"]}, {"parse": "pending"}),
        ({"error_type": ErrorType.LINK, "error_class": ErrorClass.TRANSIENT}, {}),
        ({"uuids": ["nobody"]}, {}),
    ],
    ids=str,
)
async def test_retry_sends_the_chosen_errors_back_to_the_stage_that_failed(
    store: Store, lifecycle: Lifecycle, choice: dict[str, object], moved: dict[str, str]
) -> None:
    await failed(lifecycle, "File", "parse", states.PARSE, ErrorClass.TRANSIENT)
    await failed(lifecycle, "Article", "link", states.LINK, ErrorClass.PERMANENT)
    await failed(lifecycle, "Scope", "embed", states.EMBED, ErrorClass.TRANSIENT)
    assert await lifecycle.retry_errors(**choice) == len(moved)  # type: ignore[arg-type]
    assert await states_of(store) == dict.fromkeys(["parse", "link", "embed"], "error") | moved
    for row in await store.nodes(Select()):
        if row.uuid in moved:
            assert (row.retry_count, row.error_type, row.error_message) == (0, None, None)


async def one_in_each_state(lifecycle: Lifecycle) -> set[Ref]:
    """A file in every state, named after it, with the content hash `old`."""
    ways: dict[State, tuple[Sequence[Stage], Stage | None]] = {
        State.READY: (states.STAGES, None),
        State.EMBEDDING: (states.STAGES[:2], states.EMBED),
        State.LINKED: (states.STAGES[:2], None),
        State.LINKING: (states.STAGES[:1], states.LINK),
        State.PARSED: (states.STAGES[:1], None),
        State.PARSING: ((), states.PARSE),
        State.ERROR: ((), states.PARSE),
        State.SKIP: ((), None),
        State.PENDING: ((), None),
    }
    for state, (done, begun) in ways.items():
        born = State.SKIP if state is State.SKIP else State.PENDING
        await write(lifecycle.store, nodes=[file(state, _contentHash="old", state=born)])
        await bring(lifecycle, "File", *done)
        rows = await claim(lifecycle, begun) if begun else []
        if state is State.ERROR:
            await lifecycle.fail(rows[0], message="no", error_class=ErrorClass.PERMANENT)
    assert await states_of(lifecycle.store) == {state: state for state in State}
    return {ref(state) for state in State}


async def test_new_content_sends_every_node_back_to_the_start_unless_a_worker_has_it(
    store: Store, lifecycle: Lifecycle
) -> None:
    refs = await one_in_each_state(lifecycle)
    at_work = {ref(state) for state in states.WORKING}
    before, _ = await picture(store)
    assert set(await lifecycle.mark_changed(dict.fromkeys(refs, "new"))) == at_work
    after, _ = await picture(store)
    for row in await store.nodes(Select()):
        if row.ref in at_work:
            assert after["File", row.uuid] == before["File", row.uuid]
        else:
            assert (row.state, row.properties["_contentHash"], row.retry_count) == ("pending", "new", 0)
            assert row.error_message is None
    assert {row.ref for row in await claim(lifecycle)} == refs - at_work


async def test_new_content_forgets_what_went_wrong_with_the_old(store: Store, lifecycle: Lifecycle) -> None:
    await write(store, nodes=[file("a")])
    await bring(lifecycle, "File", states.PARSE)
    await lifecycle.fail(await claim_one(lifecycle, states.LINK), message="slow", error_class=ErrorClass.TRANSIENT)
    await lifecycle.mark_changed({ref("a"): "new"})
    row = await read(store, "a")
    assert (row.state, row.retry_count) == ("pending", 0)
    assert (row.error_type, row.error_class, row.error_message) == (None, None, None)


async def test_the_same_content_is_no_change_and_no_write(store: Store, lifecycle: Lifecycle) -> None:
    refs = await one_in_each_state(lifecycle)
    before = await picture(store)
    assert await lifecycle.mark_changed(dict.fromkeys(refs, "old")) == []
    assert await picture(store) == before


async def shown(store: Store) -> tuple[object, ...]:
    row = await read(store, "a", "Article")
    assert row.properties["retry_count"] == row.retry_count
    return row.state, row.properties["expansion_state"], row.retry_count


async def test_an_article_shows_the_frontiers_words_together_with_every_state(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=[article("a")])
    assert await shown(store) == ("pending", "discovered", 0)

    row = await claim_one(lifecycle, labels=LABEL)
    assert await shown(store) == ("parsing", "claimed", 0)
    assert row.properties["claimed_at"] == row.state_changed_at

    await lifecycle.fail(row, message="slow", error_class=ErrorClass.TRANSIENT)
    assert await shown(store) == ("pending", "discovered", 1)

    await expire(lifecycle, [await claim_one(lifecycle, labels=LABEL)])
    await lifecycle.reclaim()
    assert await shown(store) == ("pending", "discovered", 2)

    await lifecycle.fail(await claim_one(lifecycle, labels=LABEL), message="slow", error_class=ErrorClass.TRANSIENT)
    assert await shown(store) == ("error", "failed", 3)

    await lifecycle.retry_errors()
    assert await shown(store) == ("pending", "discovered", 0)

    await bring(lifecycle, "Article", states.PARSE)
    assert await shown(store) == ("parsed", "loaded", 0)

    row = await claim_one(lifecycle, states.LINK, labels=LABEL)
    assert await shown(store) == ("linking", "loaded", 0)
    assert "processed_at" not in row.properties

    await lifecycle.complete([Result(node=row)])
    assert await shown(store) == ("linked", "processed", 0)
    processed = (await read(store, "a", "Article")).properties["processed_at"]

    await lifecycle.release([await claim_one(lifecycle, states.EMBED, labels=LABEL)])
    await bring(lifecycle, "Article", states.EMBED)
    assert await shown(store) == ("ready", "processed", 0)
    assert (await read(store, "a", "Article")).properties["processed_at"] == processed


async def test_other_labels_claimed_together_with_articles_do_not_show_the_frontiers_words(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=[article("a"), section("s"), file("f")])
    rows = await claim(lifecycle, labels=["Article", "File"])
    assert {row.uuid: row.properties.get("expansion_state") for row in rows} == {"a": "claimed", "f": None}
