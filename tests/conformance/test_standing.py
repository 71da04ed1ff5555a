"""Where a project stands and what went wrong in it: the same answers from every engine."""

import time
from dataclasses import replace

from graph_stores.model import Edge
from graph_stores.protocol import Store
from orchestrator import failed, states
from orchestrator.failed import Filter, Kind
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import transition
from orchestrator.progress import read_standing
from orchestrator.states import ErrorClass, ErrorType, State
from tests.conformance.examples import (
    ELSEWHERE,
    bring,
    claim,
    claim_one,
    file,
    files,
    node,
    put_there,
    read,
    ref,
    write,
)
from tests.conformance.place import Place


async def test_an_empty_project_has_nothing_to_do(store: Store) -> None:
    standing = await read_standing(store)
    assert (standing.total, standing.remaining, standing.rate, standing.eta) == (0, 0, 0, 0)
    assert {name: (pace.remaining, pace.rate, pace.eta) for name, pace in standing.stages.items()} == {
        "parse": (0, 0, 0),
        "link": (0, 0, 0),
        "embed": (0, 0, 0),
    }


async def test_an_empty_project_names_those_that_have_nodes(place: Place, lifecycle: Lifecycle) -> None:
    await lifecycle.upsert(files(3))
    assert (await read_standing(lifecycle.store)).others == {}
    standing = await read_standing(await place.reopen(project=f"{place.project}-typo"))
    assert standing.others[place.project] == 3
    assert standing.document()["projects"][place.project] == 3


async def test_each_stage_has_what_waits_for_it_and_what_will_come_to_it(store: Store, lifecycle: Lifecycle) -> None:
    await lifecycle.upsert(files(6))
    await bring(lifecycle, "File", states.PARSE)
    await claim_one(lifecycle, states.LINK)
    texts = [node("Scope", f"s{number}", state=State.PARSED) for number in range(12)]
    await lifecycle.upsert([file("late"), *texts, node("Directory", "d")])
    await bring(lifecycle, "Scope", states.LINK)
    await lifecycle.upsert([node("Scope", "unlinked", state=State.PARSED)])
    stages = (await read_standing(store)).stages
    assert {name: pace.remaining for name, pace in stages.items()} == {"parse": 1, "link": 6, "embed": 12}
    # A file has two texts here, and so will the one that is not parsed; another text is still to be linked.
    assert {name: pace.ahead for name, pace in stages.items()} == {"parse": 0, "link": 1, "embed": 3}


async def test_there_is_a_rate_only_while_a_worker_runs(store: Store, lifecycle: Lifecycle) -> None:
    await lifecycle.upsert(files(8))
    done = {"parse": {int(time.time()) - ago: 30 for ago in (1, 11, 21, 31)}}
    assert (await read_standing(store, done=done)).stages["parse"].rate == 0
    worker = await put_there(store, ELSEWHERE)
    assert 2 < (await read_standing(store, done=done, since=60)).stages["parse"].rate < 4
    await lifecycle.transition([transition(worker, expected=State.PENDING, to=State.SKIP)])
    standing = await read_standing(store, done=done, since=60)
    assert (standing.stages["parse"].rate, standing.eta, standing.is_worked_on) == (0, None, False)


async def test_what_was_done_is_read_from_the_times_on_the_nodes(store: Store, lifecycle: Lifecycle) -> None:
    await lifecycle.upsert([*files(8), *(node("Scope", f"s{number}", state=State.PARSED) for number in range(4))])
    await put_there(store, ELSEWHERE)
    await bring(lifecycle, "File", states.PARSE)
    await bring(lifecycle, "Scope", states.LINK, states.EMBED)
    rows = (await store.ask("pace", {"seconds": 600})).rows
    done = {stage: sum(count for name, _, count, _ in rows if name == stage) for stage in ("parse", "link", "embed")}
    assert done == {"parse": 8, "link": 0, "embed": 4}
    assert all(abs((now - second).total_seconds()) < 600 for _, second, _, now in rows)


async def test_another_project_moves_nothing_here(place: Place, store: Store, lifecycle: Lifecycle) -> None:
    await lifecycle.upsert(files(3))
    await bring(lifecycle, "File", states.PARSE, states.LINK, states.EMBED)
    await store.close()
    other = await read_standing(await place.open(project=f"{place.project}-other"))
    assert (other.total, other.rate, other.stages["parse"].rate) == (0, 0, 0)


async def fail_some(lifecycle: Lifecycle) -> None:
    """Two files that cannot be parsed for one reason, a section and a scope that cannot be embedded for another."""
    parents = [file("a", root="docs", path="a.md"), file("b", root="docs", path="b.py"), file("c", path="c.md")]
    texts = [
        node("MarkdownSection", "s", state=State.PARSED, startLine=12),
        node("Scope", "t", state=State.PARSED, startLine=7),
    ]
    edges = [
        Edge(type="HAS_SECTION", source=ref("a"), target=ref("s", "MarkdownSection"), properties={"index": 0}),
        Edge(type="DEFINED_IN", source=ref("t", "Scope"), target=ref("b")),
    ]
    await lifecycle.upsert([*parents, *texts], edges)
    for row in await claim(lifecycle):
        if row.uuid != "c":
            await lifecycle.fail(row, message="odd bytes", error_class=ErrorClass.PERMANENT)
    for label in ("MarkdownSection", "Scope"):
        await bring(lifecycle, label, states.LINK)
        row = await claim_one(lifecycle, states.EMBED, labels=[label])
        for _ in range(2):
            await lifecycle.fail(row, message="no answer", error_class=ErrorClass.TRANSIENT)
            row = await claim_one(lifecycle, states.EMBED, labels=[label])
        await lifecycle.fail(row, message="no answer", error_class=ErrorClass.TRANSIENT)


async def test_errors_are_grouped_by_what_went_wrong_most_frequent_first(store: Store, lifecycle: Lifecycle) -> None:
    await fail_some(lifecycle)
    parse = Kind(label="File", error_type="parse", error_class="permanent", message="odd bytes", count=2)
    section, scope = (
        Kind(label=label, error_type="embed", error_class="transient", message="no answer", count=1)
        for label in ("MarkdownSection", "Scope")
    )
    assert await failed.kinds(store, Filter()) == [parse, section, scope]
    assert await failed.kinds(store, Filter(labels=["Scope", "File"])) == [parse, scope]
    assert await failed.kinds(store, Filter(error_type=ErrorType.EMBED)) == [section, scope]
    assert await failed.kinds(store, Filter(error_class=ErrorClass.PERMANENT)) == [parse]
    assert await failed.kinds(store, Filter(error_type=ErrorType.LINK)) == []


async def test_errors_are_listed_with_the_file_and_line_they_come_from(store: Store, lifecycle: Lifecycle) -> None:
    await fail_some(lifecycle)
    nodes = await failed.failed(store, Filter(), limit=None)
    assert [(each.label, each.uuid, each.source) for each in nodes] == [
        ("File", "a", "docs/a.md"),
        ("File", "b", "docs/b.py"),
        ("MarkdownSection", "s", "docs/a.md:12"),
        ("Scope", "t", "docs/b.py:7"),
    ]
    assert nodes[2].document() == {
        "uuid": "s",
        "label": "MarkdownSection",
        "name": "name of s",
        "errorType": "embed",
        "message": "no answer",
        "retryCount": 3,
        "class": "transient",
        "source": "docs/a.md:12",
        "path": None,
        "line": 12,
    }
    assert [each.uuid for each in await failed.failed(store, Filter(labels=["Scope"]), limit=None)] == ["t"]
    assert [each.uuid for each in await failed.failed(store, Filter(), limit=3)] == ["a", "b", "s"]


async def test_files_without_text_are_counted_by_reason(store: Store, lifecycle: Lifecycle) -> None:
    reasons = {"a": "binary", "b": "too large", "c": "binary", "d": None}
    of_notes = {"c": "notes"}
    await lifecycle.upsert(
        [
            file(uuid, state=State.SKIP, _errorMessage=reason, root=of_notes.get(uuid, "mill"))
            for uuid, reason in reasons.items()
        ]
    )
    for roots, found in (([""], [("binary", 2), ("too large", 1)]), (["notes"], [("binary", 1)]), (["other"], [])):
        assert [tuple(row) for row in (await store.ask("skipped", {"roots": roots})).rows] == found


async def test_whether_anybody_has_something_in_the_database_is_known(store: Store, lifecycle: Lifecycle) -> None:
    if not store.capabilities.many_processes:
        assert not (await store.ask("inhabited")).rows, "the bookkeeping does not count"
    await lifecycle.upsert([file("a")])
    for question in ("used", "inhabited"):
        [[project, count]] = (await store.ask(question)).rows
        assert (project, count > 0) == (store.project, True)


async def test_a_part_of_a_run_that_failed_is_no_node_in_error_and_is_retried_with_its_run_only(
    store: Store, lifecycle: Lifecycle
) -> None:
    await write(store, nodes=[node("Partition", "part")])
    away = {"_state": "error", "_errorType": "parse", "_errorMessage": "the folder is away"}
    [part] = await store.exported("Partition", ["part"])
    await store.restore([replace(part, properties={**part.properties, **away})])
    assert (await read_standing(store)).errors == []
    assert await lifecycle.retry_errors() == 0
    assert (await read(store, "part", "Partition")).state == "error"
