"""What interrupts an expansion half way: a supervisor, a wiki that is away or asks to wait. It then goes on."""

import signal
from collections.abc import Iterator

import pytest

from orchestrator.cli.running import STOPPING
from pipelines.wikipedia.local_wiki import LocalWiki
from tests.conformance.expansions import comparable
from tests.conformance.pictures import differences

from .jobs import DEADLINE, Mill, Running, eventually
from .wiki_jobs import MILLS, Expansion, WikiServer

ORDER = ("Watermill", "--depth", "2")
# What the wiki says of itself, what is under the first title, and its text.
FIRST = 3


@pytest.fixture
def expansion(mill: Mill) -> Iterator[Expansion]:
    with WikiServer(LocalWiki.from_dump(MILLS)) as server:
        yield Expansion(mill=mill, server=server)


@pytest.fixture
def half_way(expansion: Expansion) -> Running:
    """An expansion that has read its first article and waits for the next."""
    expansion.server.allow(FIRST)
    job = expansion.start(*ORDER)
    assert expansion.server.holding.wait(DEADLINE)
    return job


@pytest.mark.long
def test_sigterm_leaves_nothing_in_flight_and_nothing_is_fetched_again(expansion: Expansion, half_way: Running) -> None:
    mill, server = expansion.mill, expansion.server
    half_way.hears(signal.SIGTERM)
    half_way.until_it_says(STOPPING)
    server.allow(None)
    ended = half_way.end(143)
    standing = mill.standing()
    assert (standing.in_flight, standing.stuck, standing.in_error) == (0, 0, 0)
    assert "the same command goes on from here" in ended.out
    assert mill.most_tries() == 0
    expansion.start(*ORDER).end()
    assert server.fetched_again() == 0
    beside = expansion.beside()
    beside.start(*ORDER).end()
    assert differences(comparable(mill.picture()), comparable(beside.mill.picture())) == []


def test_an_expansion_waits_for_a_wiki_that_is_away_and_blames_no_article(
    expansion: Expansion, half_way: Running
) -> None:
    mill, server = expansion.mill, expansion.server
    server.close()
    half_way.until_it_says("; waiting ")
    assert mill.most_tries() == 0
    server.allow(None)
    server.open()
    half_way.end()
    standing = mill.standing()
    assert (standing.in_error, standing.remaining, mill.most_tries()) == (0, 0, 0)


@pytest.mark.long
def test_a_wiki_that_asks_to_wait_is_waited_for(expansion: Expansion, half_way: Running) -> None:
    mill, server = expansion.mill, expansion.server
    server.refusal = {"Retry-After": "1"}
    server.allow(None)
    eventually(lambda: server.refused > 0, "somebody is told to come back")
    assert mill.most_tries() == 0
    server.refusal = None
    half_way.end()
    standing = mill.standing()
    assert (standing.in_error, standing.remaining, mill.most_tries()) == (0, 0, 0)
