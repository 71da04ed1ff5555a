"""A wiki is edited and expanded again: the graph is the one of a fresh start, and what did not change costs nothing."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from graph_stores.protocol import Store
from tests.conformance.conftest import wipe
from tests.conformance.expansions import Counts, Crawler, bury, quicken_expansions
from tests.conformance.folders import WORD_LLAMA
from tests.conformance.pictures import Picture, Properties, differences
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER, Place
from tests.conformance.test_expansion_model import TITLES, Case, check_all, texts
from tests.conformance.wikis import Content, Link, Text, To, Wiki, expected, outcome_of

EXAMPLES = {"kuzu": 5, "ladybug": 1, "neo4j": 1}

Edit = Callable[[Wiki], None]

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(autouse=True)
def counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Counts:
    return quicken_expansions(monkeypatch, tmp_path / "cache")


def written(title: str, content: Content) -> Edit:
    return lambda wiki: wiki.write(title, content)


def of_one_there(edit: Callable[[Wiki, str], None]) -> st.SearchStrategy[Edit]:
    def picked(pick: int) -> Edit:
        return lambda wiki: edit(wiki, sorted(wiki.pages)[pick % len(wiki.pages)]) if wiki.pages else None

    return st.integers(0, 24).map(picked)


def _without_links(wiki: Wiki, title: str) -> None:
    page = wiki.pages[title]
    if isinstance(page, Text):
        wiki.write(title, Text(paragraphs=[(heading, []) for heading, _ in page.paragraphs]))


def _turned(wiki: Wiki, title: str) -> None:
    """What was last is first."""
    page = wiki.pages[title]
    if isinstance(page, Text):
        wiki.write(title, Text(paragraphs=page.paragraphs[::-1], categories=page.categories[::-1]))


EDITS = st.one_of(
    st.builds(written, st.sampled_from(TITLES), texts(TITLES)),
    st.builds(written, st.sampled_from(TITLES), st.builds(To, target=st.sampled_from(TITLES))),
    of_one_there(Wiki.delete),
    of_one_there(_without_links),
    of_one_there(_turned),
    # Another revision of the same words.
    of_one_there(lambda wiki, title: wiki.write(title, wiki.pages[title])),
)
# What is done to the wiki, and after how many calls of the store the expansion dies that comes after it.
TURNS = st.lists(
    st.tuples(st.lists(EDITS, min_size=1, max_size=6), st.one_of(st.none(), st.integers(5, 100))),
    min_size=1,
    max_size=3,
)


async def lasting(crawler: Crawler) -> Picture:
    """Without how a title was first heard of: at which depth, where it is no article, and whether it was asked for."""
    found = await crawler.picture()
    nodes = {key: {name: node[name] for name in node.keys() - _history(node)} for key, node in found.nodes.items()}
    return Picture(nodes=nodes, edges=found.edges, names=found.names)


def _history(node: Properties) -> set[str]:
    if node.get("_contentHash") == "missing":
        return {"_seed", "_state", "_errorType", "_errorClass", "_errorMessage", *_OF_EXPANSION}
    return {"_seed"} if node.get("expansion_state") == "processed" else {"_seed", *_OF_EXPANSION}


_OF_EXPANSION = ("expansion_depth", "expansion_state", "retry_count", "_retryCount")


@pytest.mark.long
def test_after_any_edits_the_graph_is_the_one_of_a_fresh_start(engine: str, place: Place, tmp_path: Path) -> None:
    async def check(crawler: Crawler, wiki: Wiki, case: Case, turns: list[tuple[list[Edit], int | None]]) -> None:
        order: dict[str, Any] = {"depth": case.depth, "budget": case.budget}
        await crawler.expand(case.seeds, **order)
        for edits, calls in turns:
            for edit in edits:
                edit(wiki)
            crawler.publish(wiki)
            if calls is None:
                await crawler.expand(case.seeds, **order)
            else:
                await crawler.dying(calls, case.seeds, **order)
                crawler.store = await place.reopen()
                await bury(crawler.store)
        await crawler.expand(case.seeds, **order)
        # What an expansion that died had begun is compared with the wiki by the next.
        await crawler.expand(case.seeds, **order)
        found, outcome = await lasting(crawler), outcome_of(await crawler.picture())
        await wipe(crawler.store)
        await crawler.expand(case.seeds, **order)
        assert differences(found, await lasting(crawler)) == []
        wanted = expected(wiki, case.seeds, depth=case.depth, budget=case.budget)
        assert (outcome.articles, outcome.links, outcome.stubs) == (wanted.articles, wanted.links, wanted.stubs)

    check_all(place, tmp_path / "wiki.xml", EXAMPLES[engine], check, turns=TURNS)


USE = ("Use", [Link(to="Wheel"), Link(to="Grinder")])
HISTORY = ("History", [Link(to="Weir"), Link(to="Nowhere")])
SMALL: dict[str, Content] = {
    "Mill": Text(paragraphs=[USE, HISTORY], categories=["Mills"]),
    "Wheel": Text(paragraphs=[("Use", [Link(to="Mill"), Link(to="Axle")])], categories=["Parts"]),
    "Grinder": To(target="Stone"),
    "Stone": Text(paragraphs=[("Use", [Link(to="Grinder"), Link(to="Mill"), Link(to="Quarry")])], categories=["Parts"]),
    "Weir": Text(paragraphs=[("See also", [Link(to="River")])], categories=["Water"]),
    "Axle": Text(categories=["Parts"]),
    "Quarry": Text(),
    "River": Text(categories=["Water"]),
    "Alone": Text(paragraphs=[("Use", [Link(to="Mill")])]),
}


@pytest.fixture
def wiki() -> Wiki:
    return Wiki.of(SMALL)


@pytest.fixture
def crawler(store: Store, tmp_path: Path, wiki: Wiki) -> Crawler:
    crawler = Crawler(store=store, dump=tmp_path / "wiki.xml")
    crawler.publish(wiki)
    return crawler


@HERE_AND_ON_A_SERVER
async def test_a_wiki_that_did_not_change_is_only_looked_at(crawler: Crawler, counts: Counts) -> None:
    await crawler.expand(["Mill"], depth=1, embedder=WORD_LLAMA)
    before = await crawler.picture()
    counts.clear()
    tally = (await crawler.expand(["Mill"], depth=1, embedder=WORD_LLAMA)).tally
    assert (tally.read, tally.parsed, tally.embedded, tally.deleted) == (0, 0, 0, 0)
    assert (dict(counts.read), counts.models.word_llama.given) == ({}, [])
    assert differences(await crawler.picture(), before) == []


@HERE_AND_ON_A_SERVER
async def test_an_edit_is_read_and_embedded_where_it_is_and_nowhere_else(
    crawler: Crawler, wiki: Wiki, counts: Counts
) -> None:
    await crawler.expand(["Mill"], depth=1, embedder=WORD_LLAMA)
    before = (await crawler.picture()).of("Section")
    counts.clear()
    longer = ("History", [*HISTORY[1], Link(to="Axle")])
    wiki.write("Mill", Text(paragraphs=[USE, longer], categories=["Mills"]))
    crawler.publish(wiki)
    tally = (await crawler.expand(["Mill"], depth=1, embedder=WORD_LLAMA)).tally
    assert set(counts.read) == {"Mill", "Axle"}
    assert tally.parsed == 2
    after = (await crawler.picture()).of("Section")
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"Mill › History"}
    assert tally.embedded == len(counts.models.word_llama.given) == len(changed | after.keys() - before.keys())


@pytest.mark.long
@HERE
async def test_without_stubs_nothing_is_left_that_leads_out_of_the_crawl(crawler: Crawler, wiki: Wiki) -> None:
    await crawler.expand(["Mill"], depth=1, keep_stubs=False)
    found = outcome_of(await crawler.picture())
    wanted = expected(wiki, ["Mill"], depth=1, budget=None)
    assert wanted.stubs
    inside = {ends: number for ends, number in wanted.links.items() if ends[1] not in wanted.stubs}
    assert (found.articles, found.stubs, found.links) == (wanted.articles, {}, inside)
    await crawler.expand(["Mill"], depth=2)
    assert outcome_of(await crawler.picture()).articles == expected(wiki, ["Mill"], depth=2, budget=None).articles


@HERE_AND_ON_A_SERVER
async def test_all_of_a_wiki_is_every_article_and_redirect_of_it(crawler: Crawler) -> None:
    await crawler.expand(whole=True)
    found = outcome_of(await crawler.picture())
    assert set(found.articles) == {title for title, page in SMALL.items() if isinstance(page, Text)}
    assert set(found.articles.values()) == {0}
    assert (found.redirects, found.nothing, found.stubs) == ({"Grinder": "Stone"}, {"Nowhere"}, {})
    assert found.links["Mill", "Stone"] == 1


@HERE_AND_ON_A_SERVER
async def test_a_seed_that_does_not_exist_leaves_nothing_in_a_wiki_that_is_read_whole(crawler: Crawler) -> None:
    await crawler.expand(whole=True)
    before = (await crawler.picture()).of("Article")
    await crawler.expand(["Nothing of the kind"], depth=0)
    assert len((await crawler.picture()).of("Article")) == len(before) + 1
    await crawler.expand(whole=True)
    assert (await crawler.picture()).of("Article") == before


@HERE_AND_ON_A_SERVER
async def test_two_crawls_of_a_project_are_both_there_and_the_shorter_way_counts(crawler: Crawler, wiki: Wiki) -> None:
    for seeds, depth in ((["Mill"], 2), (["Weir"], 1)):
        await crawler.expand(seeds, depth=depth)
    both = outcome_of(await crawler.picture())
    one, two = (expected(wiki, [seed], depth=depth, budget=None) for seed, depth in (("Mill", 2), ("Weir", 1)))
    shortest = {
        title: min(each.articles[title] for each in (one, two) if title in each.articles)
        for title in one.articles | two.articles
    }
    assert both.articles == shortest
    assert both.links == one.links | two.links


@pytest.mark.long
@HERE_AND_ON_A_SERVER
async def test_a_smaller_crawl_takes_nothing_away_from_a_larger_one(crawler: Crawler, counts: Counts) -> None:
    await crawler.expand(["Mill"], depth=2)
    before = outcome_of(await crawler.picture())
    counts.clear()
    await crawler.expand(["Mill"], depth=0, budget=1)
    assert outcome_of(await crawler.picture()) == before
    assert not counts.read


@pytest.mark.long
async def test_projects_of_one_store_know_nothing_of_each_other(crawler: Crawler, place: Place, wiki: Wiki) -> None:
    await crawler.expand(["Mill"], depth=1)
    before = await crawler.picture()
    await place.close()
    other = Crawler(store=await place.open(project=f"{place.project}-other"), dump=crawler.dump)
    await other.expand(["Alone"], depth=0)
    assert outcome_of(await other.picture()) == expected(wiki, ["Alone"], depth=0, budget=None)
    crawler.store = await place.reopen()
    assert differences(await crawler.picture(), before) == []


@pytest.mark.long
@pytest.mark.parametrize("engine", ["neo4j"], indirect=True)
async def test_two_jobs_at_once_make_the_graph_of_one(crawler: Crawler, place: Place, wiki: Wiki) -> None:
    others = [Crawler(store=await place.open(), dump=crawler.dump) for _ in range(2)]
    await asyncio.gather(*(each.expand(["Mill"], depth=2) for each in others))
    assert outcome_of(await crawler.picture()) == expected(wiki, ["Mill"], depth=2, budget=None)


@HERE
async def test_where_there_is_room_for_one_it_is_what_most_articles_link_to(crawler: Crawler) -> None:
    one = Text(paragraphs=[("Use", [Link(to="Axle"), Link(to="Axle"), Link(to="Weir")])])
    other = Text(paragraphs=[("Use", [Link(to="Weir")])])
    crawler.publish(Wiki.of({"One": one, "Other": other, "Axle": Text(), "Weir": Text()}))
    await crawler.expand(["One", "Other"], depth=1, budget=3)
    found = outcome_of(await crawler.picture())
    assert found.articles == {"One": 0, "Other": 0, "Weir": 1}
    assert found.stubs == {"Axle": "beyond budget"}
