"""Several `graphmill worker` processes on one server: one is killed, one is stopped, and nothing is done twice."""

import signal

import pytest

from tests.conformance.pictures import differences

from .corpus import SHARED, write_corpus
from .jobs import DEADLINE, Mill, eventually

WORKERS = 4
_IN_HAND = """MATCH (n) WHERE n.projectId = $project AND n._state = 'embedding' AND n._leaseOwner IS NOT NULL
RETURN n._leaseOwner AS owner, n.content AS text"""

_LOST_BEFORE = "MATCH (n) WHERE n.projectId = $project AND n._state = 'embedding' SET n._retryCount = 1"


def texts_in_hand(mill: Mill) -> dict[int, set[str]]:
    """By the number of the process that has them."""
    held: dict[int, set[str]] = {}
    for owner, text in mill.ask(_IN_HAND):
        held.setdefault(int(owner.rsplit(":", 3)[1]), set()).add(text)
    return held


@pytest.fixture
def abandoned(shared_mill: Mill) -> Mill:
    """A graph whose ingest was killed, not for the first time, with all texts in hand: they are taken one by one."""
    mill = shared_mill
    write_corpus(mill.root, pages=20, modules=10)
    mill.embedder.allow(0)
    job = mill.ingest()
    assert mill.embedder.holding.wait(DEADLINE)
    eventually(lambda: not mill.waiting("MarkdownSection", "Scope"), "all texts are in hand")
    job.kill()
    mill.change(_LOST_BEFORE)
    mill.embedder.drop()
    mill.embedder.start_over()
    return mill


@pytest.mark.long
@pytest.mark.timeout(900)  # half a minute of it is the lease of the one that is stopped
def test_of_many_workers_one_is_killed_and_one_stopped_and_nothing_is_done_twice(abandoned: Mill) -> None:
    mill, embedder = abandoned, abandoned.embedder
    embedder.allow(0)
    workers = [mill.start("worker", "--drain", "--json") for _ in range(WORKERS)]
    everybody = {worker.process.pid for worker in workers}
    eventually(lambda: set(texts_in_hand(mill)) == everybody, "each worker has texts in hand")
    killed, stopped, *others = workers
    stopped.hears(signal.SIGSTOP)
    killed.kill()
    held = texts_in_hand(mill)
    lost = held[killed.process.pid] | held[stopped.process.pid]
    embedder.allow(None)

    ended = [worker.end() for worker in others]
    assert all(each.json["states"] == {"ready": each.json["total"]} for each in ended)
    assert all(each.json["embedded"] for each in ended)
    found = mill.picture()
    # Two workers that come to the same words at the same moment both ask for them.
    again = [text for text in embedder.embedded_again() if SHARED.strip() not in text]
    assert set(again) <= lost
    assert len(again) == len(set(again)), "nor more than once more"

    stopped.hears(signal.SIGCONT)
    late = stopped.end()
    assert mill.wrong() == []
    assert differences(mill.picture(), found) == []
    assert late.json["embedded"] == 0

    mill.wipe()
    beside = mill.beside()
    beside.ingest().end()
    assert differences(found, beside.picture()) == []
