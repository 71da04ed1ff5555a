"""kill -9 all the way through an ingest: the same command goes on, and ends where an undisturbed run ends."""

import time
from dataclasses import dataclass

import pytest

from tests.conformance.pictures import Picture, differences

from .corpus import write_corpus
from .jobs import CALLS, DEADLINE, Mill

KILLS = 20
# So many of them before the first text is embedded: while the folder is read, parsed and linked.
EARLY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Undisturbed:
    """What a run leaves that nobody kills; `texts` is how many it embeds, `first` after how many seconds it begins."""

    picture: Picture
    texts: int
    first: float

    @classmethod
    def of(cls, mill: Mill) -> "Undisturbed":
        embedder = mill.embedder
        beside = mill.beside()
        job = beside.ingest()
        assert embedder.probed.wait(DEADLINE)
        began = time.monotonic()
        assert embedder.asked.wait(DEADLINE)
        first = time.monotonic() - began
        job.end()
        undisturbed = cls(picture=beside.picture(), texts=len(embedder.answered), first=first)
        assert len(set(embedder.answered)) == undisturbed.texts
        if mill.credentials:
            mill.wipe()
        embedder.start_over()
        return undisturbed


def kill_often(mill: Mill, undisturbed: Undisturbed, kills: int) -> int:
    """Returns how many texts the killed processes had sent or got, and could not yet have put away."""
    in_hand = 0
    for number in range(kills):
        begun = len(mill.embedder.seen)
        _kill_once(mill, undisturbed, number, kills)
        sizes = [len(seen.texts) for seen in mill.embedder.seen[begun:] if not mill.embedder.is_free(seen.texts)]
        in_hand += CALLS * max(sizes, default=0)
    return in_hand


def _kill_once(mill: Mill, undisturbed: Undisturbed, number: int, kills: int) -> None:
    embedder = mill.embedder
    # All that is left is never done before the last kill: a process that waits is there to be killed.
    due = undisturbed.texts * max(0, number - EARLY) // (kills - EARLY)
    embedder.allow(due - len(set(embedder.answered)))
    job = mill.ingest()
    if number < EARLY:
        assert embedder.probed.wait(DEADLINE)
        embedder.asked.wait(undisturbed.first * (number + 1) / (EARLY + 1))
    else:
        assert embedder.holding.wait(DEADLINE)
    assert job.process.poll() is None, job.said
    job.kill()
    embedder.drop()


@pytest.mark.parametrize("engine", ["kuzu", "neo4j"])
def test_killed_over_and_over_an_ingest_ends_as_an_undisturbed_one(engine: str, request: pytest.FixtureRequest) -> None:
    mill: Mill = request.getfixturevalue({"kuzu": "mill", "neo4j": "shared_mill"}[engine])
    write_corpus(mill.root, pages=60, modules=30)
    undisturbed = Undisturbed.of(mill)
    in_hand = kill_often(mill, undisturbed, KILLS)
    mill.embedder.allow(None)
    mill.ingest().end()
    assert differences(mill.picture(), undisturbed.picture) == []
    assert len(mill.embedder.embedded_again()) <= in_hand
