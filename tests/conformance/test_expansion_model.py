"""Random wikis are expanded as the search of `wikis.py` says: at once, in steps, by several, and with interruptions."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from tests.conformance.conftest import wipe
from tests.conformance.expansions import Counts, Crawler, bury, quicken_expansions
from tests.conformance.folders import opened
from tests.conformance.pictures import differences
from tests.conformance.place import Place
from tests.conformance.wikis import Content, Link, Text, To, Wiki, expected, outcome_of

EXAMPLES = {"kuzu": 6, "ladybug": 2, "neo4j": 2}

TITLES = [
    *("Alder", "Barley", "Cog", "Dam", "East mill", "Flour", "Grain", "Hopper", "Iron wheel", "Jack", "Kiln"),
    *("Lade", "Miller", "Northern river", "Oats", "Paddle", "Quern", "Rye", "Stone", "Tide mill", "Undershot wheel"),
    *("Vane", "Weir", "Yeast", "Zinc"),
]
HEADINGS = st.sampled_from(["History", "Use", "Use", "See also"])
CATEGORIES = st.lists(st.sampled_from(["Mills", "Rivers", "Things", "Food"]), max_size=3, unique=True)
FORMS = st.integers(0, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    pages: dict[str, Content]
    seeds: Sequence[str]
    depth: int
    budget: int | None


def texts(titles: Sequence[str], most: int = 6) -> st.SearchStrategy[Text]:
    links = st.lists(st.builds(Link, to=st.sampled_from(titles), form=FORMS), max_size=most)
    paragraphs = st.lists(st.tuples(HEADINGS, links), max_size=3)
    return st.builds(Text, paragraphs=paragraphs, categories=CATEGORIES)


def contents(titles: Sequence[str]) -> st.SearchStrategy[Content | None]:
    """Of six titles four are articles, one is a redirect and one does not exist."""
    redirects = st.builds(To, target=st.sampled_from(titles))
    return st.one_of(*[texts(titles)] * 4, redirects, st.none())


@st.composite
def cases(draw: st.DrawFn) -> Case:
    titles = TITLES[: draw(st.integers(5, len(TITLES)))]
    drawn = {title: draw(contents(titles)) for title in titles}
    return Case(
        pages={title: content for title, content in drawn.items() if content is not None},
        seeds=draw(st.lists(st.sampled_from(titles), min_size=1, max_size=4, unique=True)),
        depth=draw(st.integers(0, 4)),
        budget=draw(st.one_of(st.none(), st.integers(1, 20))),
    )


@pytest.fixture(autouse=True)
def counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Counts:
    return quicken_expansions(monkeypatch, tmp_path / "cache")


def examples(count: int) -> settings:
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


# Half a minute or less, where nothing else runs.
pytestmark = pytest.mark.timeout(900)

Check = Callable[..., Coroutine[Any, Any, None]]


def check_all(place: Place, dump: Path, count: int, check: Check, **strategies: st.SearchStrategy[Any]) -> None:
    """Run one check on random cases against one store, which is wiped in between."""
    with asyncio.Runner() as runner:
        runner.run(opened(place))

        @examples(count)
        @given(case=cases(), **strategies)
        def checked(case: Case, **drawn: Any) -> None:
            note(f"{case}")
            crawler = Crawler(store=place.handles[-1], dump=dump)
            runner.run(wipe(crawler.store))
            crawler.publish(wiki := Wiki.of(case.pages))
            runner.run(check(crawler, wiki, case, **drawn))

        try:
            checked()
        finally:
            runner.run(wipe(place.handles[-1]))
            runner.run(place.close())


async def assert_as_expected(crawler: Crawler, wiki: Wiki, case: Case) -> None:
    found = outcome_of(await crawler.picture())
    assert found == expected(wiki, case.seeds, depth=case.depth, budget=case.budget)


def test_any_wiki_is_expanded_as_a_plain_search_says(engine: str, place: Place, tmp_path: Path) -> None:
    async def check(crawler: Crawler, wiki: Wiki, case: Case) -> None:
        await crawler.expand(case.seeds, depth=case.depth, budget=case.budget)
        await assert_as_expected(crawler, wiki, case)

    check_all(place, tmp_path / "wiki.xml", EXAMPLES[engine], check)


GROWTH = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 20)), min_size=1, max_size=2)


@pytest.mark.long
def test_what_grows_in_steps_is_as_if_it_had_been_asked_for_at_once_and_nothing_is_read_twice(
    engine: str, place: Place, tmp_path: Path, counts: Counts
) -> None:
    async def check(crawler: Crawler, wiki: Wiki, case: Case, steps: list[tuple[int, int]]) -> None:
        counts.clear()
        for depth, budget in steps:
            smaller = budget if case.budget is None else min(budget, case.budget)
            await crawler.expand(case.seeds, depth=min(depth, case.depth), budget=smaller)
        await crawler.expand(case.seeds, depth=case.depth, budget=case.budget)
        await assert_as_expected(crawler, wiki, case)
        assert set(counts.read.values()) <= {1}
        grown = await crawler.picture()
        await wipe(crawler.store)
        await crawler.expand(case.seeds, depth=case.depth, budget=case.budget)
        assert differences(grown, await crawler.picture()) == []

    check_all(place, tmp_path / "wiki.xml", EXAMPLES[engine] // 2, check, steps=GROWTH)


@pytest.mark.long
def test_one_that_dies_now_and_then_ends_as_one_that_does_not(engine: str, place: Place, tmp_path: Path) -> None:
    async def check(crawler: Crawler, wiki: Wiki, case: Case, deaths: list[int]) -> None:
        order: dict[str, Any] = {"depth": case.depth, "budget": case.budget}
        for calls in deaths:
            await crawler.dying(calls, case.seeds, **order)
            crawler.store = await place.reopen()
            await bury(crawler.store)
        await crawler.expand(case.seeds, **order)
        await assert_as_expected(crawler, wiki, case)
        found = await crawler.picture()
        await wipe(crawler.store)
        await crawler.expand(case.seeds, **order)
        assert differences(found, await crawler.picture()) == []

    deaths = st.lists(st.integers(0, 120), min_size=1, max_size=3)
    check_all(place, tmp_path / "wiki.xml", EXAMPLES[engine] // 2, check, deaths=deaths)
