"""Where a project stands and what went wrong in it: the same answers from every engine."""

from graph_stores.model import Edge
from graph_stores.protocol import Store
from orchestrator import failed, states
from orchestrator.failed import Filter, Kind
from orchestrator.lifecycle import Lifecycle
from orchestrator.progress import WINDOW, read_standing
from orchestrator.states import ErrorClass, ErrorType, State
from orchestrator.worker import Worker
from orchestrator.workers import registered
from tests.conformance.examples import bring, claim, claim_one, file, files, node, ref
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


async def test_each_stage_has_what_waits_for_it_and_its_own_rate(store: Store, lifecycle: Lifecycle) -> None:
    await lifecycle.upsert(files(6))
    await bring(lifecycle, "File", states.PARSE)
    await claim_one(lifecycle, states.LINK)
    await lifecycle.upsert([file("late"), node("Scope", "s1", state=State.PARSED), node("Directory", "d")])
    await bring(lifecycle, "Scope", states.LINK)
    stages = (await read_standing(store)).stages
    assert {name: pace.remaining for name, pace in stages.items()} == {"parse": 1, "link": 6, "embed": 1}
    assert 6 / (WINDOW + 1) < stages["parse"].rate <= 6
    assert [(stages[name].rate, stages[name].eta) for name in ("link", "embed")] == [(0, None), (0, None)]


async def test_the_rates_are_known_right_after_a_restart(place: Place, store: Store, lifecycle: Lifecycle) -> None:
    await lifecycle.upsert([*files(4), *(node("Scope", f"s{number}", state=State.PARSED) for number in range(4))])
    await bring(lifecycle, "File", states.PARSE, states.LINK, states.EMBED)
    await bring(lifecycle, "Scope", states.LINK, states.EMBED)
    await lifecycle.upsert([file("more")])
    # Where nobody ever worked, as in a copy, the times are those of another graph.
    assert (await read_standing(store)).rate == 0
    async with registered(Worker(lifecycle, []), stages=["parse"]):
        pass
    before = await read_standing(store)
    await store.close()
    after = await read_standing(await place.open())
    assert after.states == before.states == {"pending": 1, "ready": 8}
    for standing in (before, after):
        assert all(4 / (WINDOW + 1) < pace.rate <= 4 for pace in standing.stages.values())
        assert 8 / (WINDOW + 1) < standing.rate <= 8
        assert standing.eta is not None and standing.eta >= 1 / 8


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
    }
    assert [each.uuid for each in await failed.failed(store, Filter(labels=["Scope"]), limit=None)] == ["t"]
    assert [each.uuid for each in await failed.failed(store, Filter(), limit=3)] == ["a", "b", "s"]


async def test_files_without_text_are_counted_by_reason(store: Store, lifecycle: Lifecycle) -> None:
    reasons = {"a": "binary", "b": "too large", "c": "binary", "d": None}
    await lifecycle.upsert([file(uuid, state=State.SKIP, _errorMessage=reason) for uuid, reason in reasons.items()])
    assert [tuple(row) for row in (await store.ask("skipped")).rows] == [("binary", 2), ("too large", 1)]


async def test_whether_anybody_has_something_in_the_database_is_known(store: Store, lifecycle: Lifecycle) -> None:
    if not store.capabilities.many_processes:
        assert not (await store.ask("inhabited")).rows, "the bookkeeping does not count"
    await lifecycle.upsert([file("a")])
    for question in ("used", "inhabited"):
        [[project, count]] = (await store.ask(question)).rows
        assert (project, count > 0) == (store.project, True)
