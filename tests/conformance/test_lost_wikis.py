"""Wikis that lose most of their pages and dumps that vanish: the run fails, nothing is deleted, and it heals."""

import asyncio
import errno
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from graph_stores.errors import StoreClosed
from graph_stores.model import Batch, Select
from graph_stores.protocol import Store
from orchestrator.job import Job, Plan, Report
from orchestrator.lifecycle import Lifecycle
from orchestrator.runs.course import try_again
from orchestrator.runs.records import Run, read_runs
from orchestrator.runs.sources import MassDeletion
from orchestrator.verifying import Wanted, examine
from orchestrator.wikipedia.page_sources import DumpLost
from pipelines.wikipedia.dump import DumpPages
from tests.conformance.conftest import wipe
from tests.conformance.expansions import Crawler, bury, quicken_expansions
from tests.conformance.folders import NONE
from tests.conformance.pictures import Picture, differences
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER
from tests.conformance.wikis import Link, Text, Wiki
from tests.conformance.wrapped import wrapped

ALL = [f"Page {number:02}" for number in range(30)]
HUB = "Page 00"
ORDER: dict[str, Any] = {"seeds": [HUB], "depth": 1}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quicken_expansions(monkeypatch, tmp_path / "cache")
    monkeypatch.setattr("graph_stores.kuzu.claims._LOOK_AGAIN", 0.1)


def hub_with(titles: Sequence[str], name: str) -> Wiki:
    """A wiki with one page that links to all others."""
    others = {title: Text(paragraphs=[("Use", [Link(to=HUB)])]) for title in titles[1:]}
    return Wiki.of({HUB: Text(paragraphs=[("All", [Link(to=title) for title in titles[1:]])]), **others}, name)


@pytest.fixture
def wiki() -> Wiki:
    return hub_with(ALL, "testwiki")


@pytest.fixture
def crawler(store: Store, tmp_path: Path, wiki: Wiki) -> Crawler:
    crawler = Crawler(store=store, dump=tmp_path / "wiki.xml")
    crawler.publish(wiki)
    return crawler


async def latest(store: Store) -> Run:
    return (await read_runs(store))[0]


async def drain(store: Store) -> Report:
    async with asyncio.timeout(60):
        return await Job(store, Plan(embedder=NONE)).run()


async def killed(crawler: Crawler, order: dict[str, Any]) -> None:
    """An expansion whose process dies when it has parsed many articles, after it has found many of its own; nothing can
    be put right after it.
    """
    dead, found = False, asyncio.Event()

    async def commit(real: Any, batch: Batch) -> None:
        nonlocal dead
        if sum(each.node.label == "Article" and each.to == "parsed" for each in batch.transitions) > 1:
            await found.wait()
            dead = True
        if dead:
            raise StoreClosed("the process was killed")
        await real(batch)
        new = [node.ref for node in batch.nodes if node.state == "pending"]
        awake = [each.node for each in batch.transitions if (each.expected, each.to) == ("skip", "pending")]
        if sum(ref.label == "Article" for ref in (*new, *awake)) > 1:
            found.set()

    dying, _ = wrapped(crawler.store, commit=commit)
    with suppress(StoreClosed):
        await Crawler(store=dying, dump=crawler.dump).expand(**order)
    assert dead
    await bury(crawler.store)


async def changes(crawler: Crawler, before: Picture) -> list[str]:
    """Of articles and what is in them: the node of the wiki says that it is still to be compared."""
    found = differences(await crawler.picture(), before)
    return [line for line in found if not line.startswith("Wiki ")]


async def assert_equal_to_a_rebuild(crawler: Crawler) -> None:
    found = await crawler.picture()
    await wipe(crawler.store)
    await crawler.expand(**ORDER)
    assert differences(found, await crawler.picture()) == []


@pytest.mark.long
@HERE_AND_ON_A_SERVER
@pytest.mark.parametrize("whole", [False, True])
async def test_a_dump_that_lacks_most_pages_deletes_nothing_without_permission(
    crawler: Crawler, store: Store, wiki: Wiki, *, whole: bool
) -> None:
    order: dict[str, Any] = {"whole": True} if whole else ORDER
    await crawler.expand(**order)
    before, watermark = await crawler.picture(), (await latest(store)).watermark_after
    pages = dict(wiki.pages)
    for title in ALL[10:]:
        wiki.delete(title)
    crawler.publish(wiki)
    report = await crawler.expand(**order)
    run = await latest(store)
    assert (run.outcome, run.watermark_before, run.watermark_after) == ("failed", watermark, None)
    assert isinstance(report.lost, MassDeletion) and report.tally.deleted == 0
    shown = "Page 10, Page 11, Page 12 and 17 more"
    assert f"20 of the 30 articles of {run.source.partition(':')[2]} are missing from " in report.lost.message
    assert report.lost.message.endswith(f"({shown}); nothing was deleted")
    what = "--all" if whole else "'Page 00' --depth 1"
    assert report.lost.hint.endswith(f"graphmill expand {what} --dump {crawler.dump} --allow-deletes")
    assert await changes(crawler, before) == []
    assert (await drain(store)).lost is None and await changes(crawler, before) == [], "no run is under way"

    report = await crawler.expand(**order, allow_deletes=True)
    assert (report.lost, report.tally.deleted) == (None, 20)
    assert (await latest(store)).outcome == "completed"
    for title in ALL[10:]:
        wiki.write(title, pages[title])
    crawler.publish(wiki)
    await crawler.expand(**order)
    found = await crawler.picture()
    await wipe(store)
    await crawler.expand(**order)
    assert differences(found, await crawler.picture()) == []


@HERE
async def test_a_dump_that_is_whole_again_needs_no_permission(crawler: Crawler, store: Store, wiki: Wiki) -> None:
    await crawler.expand(**ORDER)
    before, whole = await crawler.picture(), crawler.dump.read_bytes()
    for title in ALL[10:]:
        wiki.delete(title)
    crawler.publish(wiki)
    await crawler.expand(**ORDER)
    run = await latest(store)
    crawler.dump.write_bytes(whole)
    await try_again(Lifecycle(store=store), run)
    report = await drain(store)
    assert report.lost is None and (await latest(store)).outcome == "completed"
    assert differences(await crawler.picture(), before) == []


@pytest.mark.long
@HERE
async def test_ten_articles_or_a_third_are_deleted_as_ever(crawler: Crawler, wiki: Wiki) -> None:
    await crawler.expand(**ORDER)
    for title in ALL[20:]:
        wiki.delete(title)
    crawler.publish(wiki)
    report = await crawler.expand(**ORDER)
    assert (report.lost, report.tally.deleted) == (None, 10)
    await assert_equal_to_a_rebuild(crawler)


@HERE
async def test_a_repair_deletes_no_more_articles_than_a_run_may(crawler: Crawler, store: Store, wiki: Wiki) -> None:
    await crawler.expand(**ORDER)
    before = await crawler.picture()
    for title in ALL[10:]:
        wiki.delete(title)
    crawler.publish(wiki)
    verdict = await examine(store, Wanted(wikis=True, repair=True))
    assert [(each.check, each.count) for each in verdict.problems] == [("emptied-wiki", 1)]
    command = f"graphmill expand 'Page 00' --depth 1 --dump {crawler.dump} --allow-deletes"
    assert verdict.problems[0].hint == f"if the articles are to be deleted: {command}"
    assert verdict.repaired == []
    assert differences(await crawler.picture(), before) == []


@HERE_AND_ON_A_SERVER
@pytest.mark.parametrize("whole", [False, True])
async def test_a_dump_that_vanished_fails_the_run_and_is_waited_for_without_a_try(
    crawler: Crawler, store: Store, tmp_path: Path, *, whole: bool
) -> None:
    order: dict[str, Any] = {"whole": True} if whole else ORDER
    await killed(crawler, order)
    waiting = await unread(store)
    assert 20 < len(waiting) <= 30, "what was in hand waits again"
    crawler.dump.rename(tmp_path / "away.xml")
    for _ in range(2):  # the run fails; and then there is no run any more
        report = await drain(store)
        run = await latest(store)
        assert (run.outcome, run.watermark_after) == ("failed", None)
        assert isinstance(report.lost, DumpLost) and f"no dump is at '{crawler.dump}'" in report.lost.message
        assert report.lost.message in (run.reason or "")
        assert await unread(store) == waiting and report.standing.in_error == 0

    (tmp_path / "away.xml").rename(crawler.dump)
    await try_again(Lifecycle(store=store), run)
    report = await drain(store)
    assert (report.lost, (await latest(store)).outcome) == (None, "completed")
    found = await crawler.picture()
    await wipe(store)
    await crawler.expand(**order)
    assert differences(found, await crawler.picture()) == []


async def unread(store: Store) -> dict[str, int]:
    """The articles that wait to be read, with their tries."""
    rows = await store.nodes(Select(labels=["Article"], states=["pending"], limit=100))
    return {row.name: row.retry_count for row in rows}


@pytest.mark.long
@HERE
async def test_a_dump_that_cannot_be_read_any_more_in_the_middle_of_a_run_fails_it(
    crawler: Crawler, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, away = DumpPages._reading, tmp_path / "away.xml"

    def unmounted(self: DumpPages, titles: Any, watch: Any, *, with_texts: bool) -> Any:
        if len(titles) > 1 and with_texts:
            if crawler.dump.exists():
                crawler.dump.rename(away)
            raise OSError(errno.EIO, "Input/output error")
        return real(self, titles, watch, with_texts=with_texts)

    monkeypatch.setattr(DumpPages, "_reading", unmounted)
    async with asyncio.timeout(60):
        report = await crawler.expand(**ORDER)
    run = await latest(store)
    assert run.outcome == "failed" and "the dump of " in (run.reason or "") and isinstance(report.lost, DumpLost)
    waiting = await unread(store)
    assert len(waiting) == 29 and set(waiting.values()) == {0}
    monkeypatch.setattr(DumpPages, "_reading", real)
    away.rename(crawler.dump)
    await try_again(Lifecycle(store=store), run)
    await drain(store)
    assert (await latest(store)).outcome == "completed"
    await assert_equal_to_a_rebuild(crawler)


@pytest.mark.long
@HERE_AND_ON_A_SERVER
@pytest.mark.parametrize("lost", ["first", "second"])
async def test_of_two_wikis_the_one_whose_dump_is_there_is_finished(store: Store, tmp_path: Path, lost: str) -> None:
    """More articles wait for each of them than one claim takes."""
    order: dict[str, Any] = {"whole": True}
    crawlers = {name: Crawler(store=store, dump=tmp_path / f"{name}.xml") for name in ("first", "second")}
    for name, crawler in crawlers.items():
        crawler.publish(hub_with([f"Page {number:02}" for number in range(150)], name))
        await killed(crawler, order)
    assert all(len(each) > 100 for each in (await tries_by_wiki(store)).values())
    waiting = {wiki: tries for wiki, tries in (await tries_by_wiki(store)).items() if wiki == lost}
    dump = crawlers[lost].dump.rename(tmp_path / "away.xml")

    report = await drain(store)
    assert {run.source: run.outcome for run in await read_runs(store)} == {
        f"wiki:{name}": "failed" if name == lost else "completed" for name in crawlers
    }
    assert isinstance(report.lost, DumpLost) and f"the dump of {lost} cannot be read" in report.lost.message
    assert await tries_by_wiki(store) == waiting

    dump.rename(crawlers[lost].dump)
    [failed] = [run for run in await read_runs(store) if run.outcome == "failed"]
    await try_again(Lifecycle(store=store), failed)
    await drain(store)
    assert {run.outcome for run in await read_runs(store)} == {"completed"}
    found = await crawlers[lost].picture()
    await wipe(store)
    for crawler in crawlers.values():
        await crawler.expand(**order)
    assert differences(found, await crawlers[lost].picture()) == []


@HERE_AND_ON_A_SERVER
async def test_a_new_expansion_is_finished_beside_a_wiki_whose_dump_is_lost(store: Store, tmp_path: Path) -> None:
    crawlers = {name: Crawler(store=store, dump=tmp_path / f"{name}.xml") for name in ("first", "second")}
    for name, crawler in crawlers.items():
        crawler.publish(hub_with([f"Page {number:02}" for number in range(150)], name))
    await killed(crawlers["first"], ORDER)
    crawlers["first"].dump.unlink()
    async with asyncio.timeout(60):
        await crawlers["second"].expand(**ORDER)
    assert {run.source: run.outcome for run in await read_runs(store)} == {
        "wiki:first": "failed",
        "wiki:second": "completed",
    }


async def tries_by_wiki(store: Store) -> dict[str, dict[str, int]]:
    """The articles that wait to be read, with their tries, for each wiki."""
    found: dict[str, dict[str, int]] = {}
    for row in await store.nodes(Select(labels=["Article"], states=["pending"], limit=1000)):
        found.setdefault(row.properties["wiki"], {})[row.name] = row.retry_count
    return found
