"""kill -9 all the way through an ingest: the same command goes on, and ends where an undisturbed run ends."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from orchestrator.retries import RetryPolicy
from tests.conformance.pictures import Picture, differences

from .corpus import write_corpus
from .jobs import BATCH, CALLS, DEADLINE, Mill, Running, Sent

# What loses its worker more often than this is taken for the cause of it: after so many kills a run goes to its end.
KILLS_IN_A_ROW = RetryPolicy().losses - 1


@dataclass(slots=True, kw_only=True)
class Killer:
    """Lets a folder grow, and kills the ingest of every new part in each phase of the work."""

    mill: Mill
    rounds: int
    parts: int = 0
    kills: int = 0
    in_hand: int = 0
    """How many texts the killed processes can have had in hand, in all."""
    until_first_text: float = 0.0

    def run(self) -> None:
        embedder = self.mill.embedder
        self._add()
        job = self._started(None)
        began = time.monotonic()
        assert embedder.asked.wait(DEADLINE)
        self.until_first_text = time.monotonic() - began
        job.end()
        for _ in range(self.rounds):
            self._add()
            for number in range(KILLS_IN_A_ROW):
                self._kill(number)
            embedder.allow(None)
            self.mill.ingest().end()

    def _add(self) -> None:
        write_corpus(self.mill.root / f"part-{self.parts}", pages=12, modules=6, seed=self.parts)
        self.parts += 1

    def _kill(self, number: int) -> None:
        embedder = self.mill.embedder
        begun = len(embedder.sent)
        *early, waiting, answered = range(KILLS_IN_A_ROW)
        job = self._started(None if number == answered else 0)
        if number == answered:
            assert embedder.replied.wait(DEADLINE)
        elif number == waiting:
            assert embedder.holding.wait(DEADLINE)
        else:
            # Every time a bit later on the way to its first text.
            moment = 1 + number * self.rounds + (self.parts - 2)
            embedder.asked.wait(self.until_first_text * moment / (len(early) * self.rounds))
        job.kill()
        self.kills += job.was_killed
        embedder.drop()
        self.in_hand += in_hand(embedder.sent[begun:])

    def _started(self, allowed: int | None) -> Running:
        """A job that is about to read the folder."""
        self.mill.embedder.allow(allowed)
        job = self.mill.ingest()
        assert self.mill.embedder.probed.wait(DEADLINE)
        return job


def in_hand(sent: Sequence[Sent]) -> int:
    """The texts that a killed process was waiting for, or had got and could not yet have put away."""
    waited_for = [len(each.texts) for each in sent if not each.answered]
    got = max((len(each.texts) for each in sent if each.answered), default=0)
    return sum(waited_for) + max(0, CALLS - len(waited_for)) * got


def undisturbed(mill: Mill) -> Picture:
    if mill.credentials:
        mill.wipe()
    beside = mill.beside()
    beside.ingest().end()
    return beside.picture()


def check_that_kills_change_nothing(mill: Mill, rounds: int) -> None:
    killer = Killer(mill=mill, rounds=rounds)
    killer.run()
    # One that had its answer may have come to its end before it could be killed.
    assert killer.kills >= rounds * (KILLS_IN_A_ROW - 1)
    assert len(mill.embedder.embedded_again()) <= killer.in_hand <= killer.kills * CALLS * BATCH
    assert mill.wrong() == []
    found = mill.picture()
    assert differences(found, undisturbed(mill)) == []


@pytest.mark.timeout(900)  # a minute, where nothing else runs
@pytest.mark.parametrize(
    ("mill_on", "rounds"),
    [
        pytest.param("kuzu", 3, marks=pytest.mark.long),
        pytest.param("neo4j", 2, marks=pytest.mark.long),
    ],
    indirect=["mill_on"],
)
def test_killed_over_and_over_an_ingest_ends_as_an_undisturbed_one(mill_on: Mill, rounds: int) -> None:
    check_that_kills_change_nothing(mill_on, rounds=rounds)


def test_what_was_embedded_before_a_kill_is_not_embedded_again(mill: Mill) -> None:
    write_corpus(mill.root, pages=60, modules=30)
    embedder = mill.embedder
    embedder.allow(CALLS * BATCH)
    job = mill.ingest()
    assert embedder.holding.wait(DEADLINE)
    job.kill()
    embedder.drop()
    begun = len(embedder.sent)
    embedder.allow(None)
    mill.ingest().end()
    assert len(embedder.embedded_again()) <= in_hand(embedder.sent[:begun])
