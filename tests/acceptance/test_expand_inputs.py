"""What can be asked of `graphmill expand`, who else may take part, and what the graph answers about it meanwhile."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from pipelines.wikipedia.local_wiki import LocalWiki

from .jobs import DEADLINE, Mill, eventually
from .wiki_jobs import MILLS, Expansion, WikiServer, grown_wiki

_LONG_AGO = """MATCH (a:Article) WHERE a.projectId = $project AND a._state = 'parsing'
SET a._leaseUntil = timestamp('2001-01-01 00:00:00')"""

_OWNERS = """MATCH (a:Article) WHERE a.projectId = $project AND a._leaseOwner IS NOT NULL
RETURN DISTINCT a._leaseOwner AS owner"""


@pytest.fixture
def server() -> Iterator[WikiServer]:
    with WikiServer(LocalWiki.from_dump(MILLS)) as server:
        yield server


@pytest.fixture
def expansion(mill: Mill, server: WikiServer) -> Expansion:
    return Expansion(mill=mill, server=server)


def named(mill: Mill, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = mill.start("query", "--name", name, "--json").end().json
    return rows


@pytest.mark.long
def test_a_title_that_does_not_exist_is_told_with_near_ones_and_the_rest_goes_on(expansion: Expansion) -> None:
    mill = expansion.mill
    ended = expansion.start("Watermil", "Windmill", "--depth", "0").end(1)
    [line] = [line for line in ended.err.splitlines() if "Watermil:" in line]
    assert "did you mean" in line
    assert "Watermill" in line
    [error] = mill.start("errors", "--json").end().json
    assert (error["class"], error["name"], error["errorType"]) == ("missing", "Watermil", "parse")
    assert mill.picture().states("Article")["Windmill"] == "ready"
    assert expansion.start("Watermil", "Windmill", "--depth", "0").end(1).err.count("Watermil:") == 1
    for options in ((), ("--yes",)):
        refused = mill.start("--project", mill.project, "forget", "Nowhere", *options).end(2).err
        assert "is in no root of the project, and is no title that was expanded from" in refused
        assert "its wikis are: " in refused


@pytest.mark.long
def test_titles_come_from_a_file_and_from_a_category(expansion: Expansion) -> None:
    mill = expansion.mill
    titles = mill.cli.folder / "titles.txt"
    titles.write_text("Watermill\n\n  windmill  \n", encoding="utf-8")
    expansion.start("--titles-file", str(titles), "--depth", "0").end()
    assert articles(mill) == {"Watermill", "Windmill"}
    expansion.start("--category", "Windmills", "--depth", "0").end()
    members = set(expansion.server.wiki.members("Windmills"))
    pages = {title for title in members if (page := expansion.server.wiki.page(title)) and page.namespace == 0}
    assert len(pages) > 3
    assert articles(mill) == {"Watermill", "Windmill", *pages}


def articles(mill: Mill) -> set[str]:
    return {title for title, state in mill.picture().states("Article").items() if state == "ready"}


@pytest.mark.long
def test_the_queries_to_watch_an_expansion_give_the_numbers_of_the_moment(expansion: Expansion) -> None:
    mill, server = expansion.mill, expansion.server
    server.allow(3)  # what the wiki says of itself, what is under the title, and its text
    job = expansion.start("Watermill", "--depth", "1")
    assert server.holding.wait(DEADLINE)
    linked = len({title for (_, title) in mill_links(mill)})
    eventually(lambda: in_states(mill).get("claimed"), "all that the article links to is claimed")
    assert linked > 10
    assert in_states(mill) == {"processed": 1, "claimed": linked}
    assert named(mill, "expansion-queue") == [{"queue_size": 0}]
    [progress] = named(mill, "expansion-progress")
    assert (progress["loaded_count"], progress["total"]) == (1, 1 + linked)
    assert progress["percent_complete"] == pytest.approx(100 / (1 + linked))
    assert named(mill, "expansion-stale") == []
    job.kill()
    server.drop()
    mill.change(_LONG_AGO)
    stale = {row["title"] for row in named(mill, "expansion-stale")}
    assert stale == {title for _, title in mill_links(mill)}
    server.allow(None)
    expansion.start("Watermill", "--depth", "1").end()
    found = len(articles(mill))
    assert in_states(mill) == {"processed": found}
    assert named(mill, "expansion-queue") == [{"queue_size": 0}]
    [progress] = named(mill, "expansion-progress")
    assert (progress["loaded_count"], progress["total"], progress["percent_complete"]) == (found, found, 100.0)
    assert named(mill, "expansion-stale") == []


def mill_links(mill: Mill) -> list[list[Any]]:
    return mill.ask("MATCH (a:Article)-[:LINKS_TO]->(b:Article) RETURN a.title AS source, b.title AS target")


def in_states(mill: Mill) -> dict[str, int]:
    return {row["state"]: row["count"] for row in named(mill, "expansion-states")}


@pytest.mark.long
@pytest.mark.timeout(900)
def test_another_worker_takes_part_in_an_expansion(shared_mill: Mill) -> None:
    with WikiServer(grown_wiki()) as server:
        expansion = Expansion(mill=shared_mill, server=server)
        server.allow(4)
        job = expansion.start("Mill 0", "--depth", "2", "--json")
        assert server.holding.wait(DEADLINE)
        worker = shared_mill.start("worker", "--embedder", "none", "--json")
        eventually(lambda: len(owners(shared_mill)) > 1, "both have articles in hand")
        server.allow(None)
        ended = job.end().json
        worker.hears(signal.SIGTERM)
        helped = worker.end(0).json
        assert set(ended["states"]) <= {"ready", "skip"}
        assert helped["parsed"] > 0
        # What a redirect leads to is sent along with it, whoever reads that by its own title.
        assert server.fetched_again() <= server.redirects


def owners(mill: Mill) -> set[str]:
    return {owner for (owner,) in mill.ask(_OWNERS)}
