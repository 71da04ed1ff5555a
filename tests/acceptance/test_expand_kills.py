"""kill -9 all the way through an expansion: the same command goes on, and ends where an undisturbed one ends."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from orchestrator.retries import RetryPolicy
from tests.conformance.expansions import comparable
from tests.conformance.pictures import differences

from .jobs import Mill
from .wiki_jobs import Expansion, WikiServer, grown_wiki

# What loses its worker more often than this is taken for the cause of it: after so many kills a run goes to its end.
KILLS_IN_A_ROW = RetryPolicy().losses - 1


@pytest.fixture
def server() -> Iterator[WikiServer]:
    with WikiServer(grown_wiki()) as server:
        yield server


@dataclass(slots=True, kw_only=True)
class Killer:
    """Kills the expansion in each phase of its work, and then asks for a larger one."""

    expansion: Expansion
    rounds: int
    kills: int = 0
    in_hand: int = 0

    def run(self) -> None:
        server = self.expansion.server
        for number in range(self.rounds):
            server.allow(number)
            self._kill(number)
            for moment in range(1, KILLS_IN_A_ROW):
                server.allow(moment % 2, of_texts=True)
                self._kill(number)
            server.allow(None)
            self.expansion.start(*order(number)).end()

    def _kill(self, number: int) -> None:
        server = self.expansion.server
        begun = len(server.requests)
        job = self.expansion.start(*order(number))
        while not server.holding.wait(0.05) and job.process.poll() is None:
            pass
        job.kill()
        server.drop()
        self.kills += job.was_killed
        self.in_hand += server.handed_out(begun) if job.was_killed else 0


def order(number: int) -> tuple[str, ...]:
    """Larger each time."""
    return ("Mill 0", "--depth", str(number + 2), "--max-articles", str(80 * (number + 1)))


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("mill_on", "rounds"),
    [
        ("kuzu", 2),
        pytest.param("neo4j", 2, marks=pytest.mark.soak),
    ],
    indirect=["mill_on"],
)
def test_killed_over_and_over_an_expansion_ends_as_an_undisturbed_one(
    mill_on: Mill, server: WikiServer, rounds: int
) -> None:
    expansion = Expansion(mill=mill_on, server=server)
    killer = Killer(expansion=expansion, rounds=rounds)
    killer.run()
    # The last of each round may have come to its end before it could be killed.
    assert killer.kills >= rounds * (KILLS_IN_A_ROW - 1)
    # What a redirect leads to is sent along with it.
    assert server.fetched_again() <= killer.in_hand + server.redirects
    assert mill_on.wrong() == []
    found = comparable(mill_on.picture())
    if mill_on.credentials:
        mill_on.wipe()
    beside = expansion.beside()
    beside.start(*order(rounds - 1)).end()
    assert differences(found, comparable(beside.mill.picture())) == []
