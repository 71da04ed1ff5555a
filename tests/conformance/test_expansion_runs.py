"""The runs of an expansion: all of a wiki in ranges, a crawl level by level, and what changes while one goes on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from graph_stores.errors import Misuse
from graph_stores.model import Batch, Select
from graph_stores.protocol import Store
from orchestrator.checks import problems
from orchestrator.job import Job, Plan
from orchestrator.leases import owner_name
from orchestrator.lifecycle import Lifecycle
from orchestrator.runs.course import cancel, try_again
from orchestrator.runs.records import PARTITION, RUN, Run, counts_of, read_partitions, read_runs
from orchestrator.stages import READ
from orchestrator.states import PARSE
from orchestrator.wikipedia.forget import forget_articles
from orchestrator.wikipedia.order import Order
from orchestrator.wikipedia.titles import BEYOND_BUDGET, NO_SUCH_PAGE
from orchestrator.wikipedia.wikis import PageSource, SourceKind
from orchestrator.wikipedia.wikis import Wiki as KnownWiki
from tests.conformance.conftest import wipe
from tests.conformance.examples import PATIENCE
from tests.conformance.expansions import Counts, Crawler, bury, quicken_expansions
from tests.conformance.folders import NONE
from tests.conformance.pictures import differences
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER, Place
from tests.conformance.wikis import Link, Text, Wiki
from tests.conformance.wrapped import wrapped

PAGES = {f"Page {number:02}": Text(paragraphs=[("Use", [Link(to="Page 00")])]) for number in range(25)}


@pytest.fixture(autouse=True)
def counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Counts:
    monkeypatch.setattr("pipelines.wikipedia.dump._OF_A_SPAN", 10)
    monkeypatch.setattr("pipelines.wikipedia.dump._AT_ONCE", 5)
    return quicken_expansions(monkeypatch, tmp_path / "cache")


@pytest.fixture
def wiki() -> Wiki:
    return Wiki.of(PAGES)


@pytest.fixture
def crawler(store: Store, tmp_path: Path, wiki: Wiki) -> Crawler:
    crawler = Crawler(store=store, dump=tmp_path / "wiki.xml")
    crawler.publish(wiki)
    return crawler


async def latest(store: Store) -> Run:
    return (await read_runs(store))[0]


@HERE_AND_ON_A_SERVER
async def test_all_of_a_wiki_is_read_in_ranges_and_each_page_once(
    crawler: Crawler, store: Store, counts: Counts
) -> None:
    await crawler.expand(whole=True)
    run = await latest(store)
    partitions = await read_partitions(store, run.uuid)
    assert (run.outcome, run.source.partition(":")[0], run.watermark_after) == ("completed", "wiki", run.read_at)
    assert [(each.kind, each.offset) for each in partitions] == [("range", 10), ("range", 20), ("range", 25)]
    assert set(counts.read.values()) == {1} and len(counts.read) == 25
    assert sum((await counts_of(store, run.uuid)).values()) > 25, "articles and what was made of them"
    assert await problems(store) == []


@pytest.mark.long
@HERE
@pytest.mark.parametrize("budget", [26, None])
async def test_a_budget_that_was_not_reached_is_no_reason(crawler: Crawler, store: Store, budget: int | None) -> None:
    crawler.publish(Wiki.of({**PAGES, "Page 00": Text(paragraphs=[("Use", [Link(to="Missing")])])}))
    await crawler.expand(whole=True, budget=budget)
    assert (await store.ask("unread")).rows == [[NO_SUCH_PAGE, 1]]


@HERE
async def test_what_a_budget_has_no_room_for_is_beyond_it(crawler: Crawler, store: Store) -> None:
    await crawler.expand(whole=True, budget=5)
    crawler.publish(Wiki.of({**PAGES, "Page 00": Text(paragraphs=[("Use", [Link(to="Page 20")])])}))
    await crawler.expand(whole=True, budget=5)
    assert (await store.ask("unread")).rows == [[BEYOND_BUDGET, 1]]


@HERE
async def test_a_wiki_and_each_crawl_of_it_get_into_the_graph_together_with_their_run(
    crawler: Crawler, store: Store
) -> None:
    for seed in ("Page 00", "Page 01"):
        watched, told = wrapped(store)
        await Crawler(store=watched, dump=crawler.dump).expand([seed])
        first = next(batch for batch in told.batches if any(node.label == "Wiki" for node in batch.nodes))
        assert [node.label for node in first.nodes] == ["Wiki", RUN, PARTITION]
    assert len((await latest(store)).options["crawl"]["seeds"]) == 1


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_a_range_that_was_read_is_not_read_again_by_whoever_goes_on(
    crawler: Crawler, store: Store, place: Place, counts: Counts
) -> None:
    """Killed within the second range: another process finishes the run, without being told of it."""

    class Killed(BaseException):
        pass

    async def commit(real: Any, batch: Batch) -> None:
        offsets = [each.marks.set.get("nextOffset") for each in batch.transitions if each.node.label == PARTITION]
        if 15 in offsets:
            raise Killed
        await real(batch)

    dying, _ = wrapped(store, commit=commit)
    with pytest.raises(BaseException, match=r"Killed|unhandled") as caught:
        await Crawler(store=dying, dump=crawler.dump).expand(whole=True)
    assert "Killed" in repr(caught.value)
    crawler.store = store = await place.reopen()
    await bury(store)
    run = await latest(store)
    first, second, _ = [each.outcome for each in await read_partitions(store, run.uuid)]  # the third is read beside it
    assert run.is_open and first == "completed" and second != "completed"
    seen: list[str] = []

    async def ask(real: Any, question: str, parameters: Any = None) -> Any:
        if question == "articles":
            seen.extend(parameters["uuids"])
        return await real(question, parameters)

    watched, _ = wrapped(store, ask=ask)
    await Job(watched, Plan(embedder=NONE)).run()
    assert (await latest(store)).outcome == "completed"
    uuids = {row.name: row.uuid for row in await store.nodes(Select(labels=["Article"], limit=100))}
    first_range = {uuids[f"Page {number:02}"] for number in range(1, 10)}  # to the very first page all others link
    assert not first_range.intersection(seen), "they were not looked at again"
    assert set(counts.read) == set(PAGES)


@HERE
async def test_where_one_process_owns_the_graph_a_crawl_that_nobody_parses_for_is_refused_and_given_back(
    crawler: Crawler, store: Store
) -> None:
    order = Order(source=PageSource(kind=SourceKind.DUMP, location=(str(crawler.dump),)), titles=["Page 01"], depth=1)
    job = Job(store, Plan(expansion=order, embedder=NONE, stages=frozenset({READ})))
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(Misuse, match="the crawl waits for 1 articles that nobody here parses and links"):
            await job.run()
    (partition,) = await read_partitions(store, (await latest(store)).uuid)
    assert (partition.outcome, partition.holder) == ("waiting", None)
    await Job(store, Plan(embedder=NONE)).run()
    assert (await latest(store)).outcome == "completed"


@HERE_AND_ON_A_SERVER
async def test_a_crawl_is_one_partition_whose_offset_is_the_next_level(crawler: Crawler, store: Store) -> None:
    await crawler.expand(["Page 01"], depth=1)
    (partition,) = await read_partitions(store, (await latest(store)).uuid)
    assert (partition.kind, partition.offset, partition.outcome) == ("titles", 2, "completed")
    assert partition.key == "Page 01 to depth 1"


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_what_a_cancelled_expansion_left_is_read_by_the_next_or_when_it_is_tried_again(
    crawler: Crawler, store: Store, counts: Counts
) -> None:
    lifecycle = Lifecycle(store=store)
    for again in ("next", "retry"):
        await wipe(store)
        counts.clear()
        await only_read(store, crawler.dump)
        run = await latest(store)
        assert run.is_open and await cancel(lifecycle, run) > 0
        assert not counts.read
        if again == "next":
            await crawler.expand(whole=True)
        else:
            await try_again(lifecycle, await latest(store))
            await Job(store, Plan(embedder=NONE)).run()
        assert set(counts.read) == set(PAGES), again
        assert (await latest(store)).outcome == "completed"


async def only_read(store: Store, dump: Path, *, whole: bool = True, **asked: Any) -> None:
    """All titles are in the graph, and none is read yet."""
    source = PageSource(kind=SourceKind.DUMP, location=(str(dump),))
    plan = Plan(expansion=Order(source=source, whole=whole, **asked), embedder=NONE, stages=frozenset({READ}))
    await Job(store, plan).run()


@HERE_AND_ON_A_SERVER
async def test_a_wiki_can_be_forgotten_after_its_expansion_was_killed(crawler: Crawler, store: Store) -> None:
    await only_read(store, crawler.dump)
    lifecycle = Lifecycle(store=store)
    gone = f"{owner_name().rsplit(':', 2)[0]}:0:gone"
    assert len(await lifecycle.claim(PARSE, labels=["Article"], limit=3, owner=gone, seconds=600)) == 3
    forgotten = await forget_articles(store, "testwiki")
    assert forgotten and forgotten.whole
    assert await read_runs(store) == [] and (await crawler.picture()).nodes == {}


@HERE
async def test_an_edit_in_the_middle_of_an_expansion_is_found_by_the_next(
    crawler: Crawler, store: Store, wiki: Wiki
) -> None:
    edited = False

    async def commit(real: Any, batch: Batch) -> None:
        nonlocal edited
        await real(batch)
        if not edited and any(each.node.label == "Article" and each.to == "parsed" for each in batch.transitions):
            edited = True
            wiki.write("Page 01", Text(paragraphs=[("New", [Link(to="Page 02")])]))
            crawler.publish(wiki)

    slow, _ = wrapped(store, commit=commit)
    await Crawler(store=slow, dump=crawler.dump).expand(["Page 01"], depth=1)
    assert edited
    first = await latest(store)
    await crawler.expand(["Page 01"], depth=1)
    second = await latest(store)
    assert (second.type, second.watermark_before) == ("incremental", first.read_at)
    found = await crawler.picture()
    assert ("Page 01", "Page 02") in found.links("LINKS_TO")
    fresh = Crawler(store=store, dump=crawler.dump)
    assert differences(found, await fresh.picture()) == []


@pytest.mark.long
@HERE_AND_ON_A_SERVER
@pytest.mark.parametrize("whole", [True, False])
async def test_an_edit_after_a_run_that_was_cancelled_is_found_by_the_next(
    crawler: Crawler, store: Store, wiki: Wiki, *, whole: bool
) -> None:
    """The cancelled one had compared the pages already: that it did says nothing of later ones."""
    seeds, depth = ([], 0) if whole else (["Page 01"], 1)
    await crawler.expand(seeds, depth=depth, whole=whole)
    first = await latest(store)
    await only_read(store, crawler.dump, titles=seeds, depth=depth, whole=whole)
    await cancel(Lifecycle(store=store), await latest(store))
    wiki.write("Page 01", Text(paragraphs=[("New", [Link(to="Page 02")])]))
    crawler.publish(wiki)
    await crawler.expand(seeds, depth=depth, whole=whole)
    last, cancelled, *_ = await read_runs(store)
    assert (cancelled.outcome, last.outcome, last.watermark_before) == ("cancelled", "completed", first.read_at)
    assert ("Page 01", "Page 02") in (await crawler.picture()).links("LINKS_TO")


@HERE
async def test_an_expansion_that_could_mean_either_of_two_wikis_asks_which(crawler: Crawler, store: Store) -> None:
    """It went to Wikipedia instead, which wanted to know a contact."""
    sources = {
        "mills": PageSource(kind=SourceKind.API, location=("http://127.0.0.1:1/w/api.php",)),
        "winds": PageSource(kind=SourceKind.DUMP, location=(str(crawler.dump),)),
    }
    wikis = [KnownWiki(name=name, lang="en", source=source) for name, source in sources.items()]
    await Lifecycle(store=store).upsert([wiki.node(store.project) for wiki in wikis])
    with pytest.raises(Misuse, match=r"articles of 2 wikis \(mills, winds\)") as refusal:
        await crawler.expand(["Page 00"], is_named=False)
    assert "--api-url http://127.0.0.1:1/w/api.php, --dump" in refusal.value.hint
