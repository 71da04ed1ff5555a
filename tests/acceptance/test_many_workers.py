"""A job of four `graphmill worker` processes: one after another is killed, the server is killed, and nothing is lost.

What is waited for are facts, so that a slow machine sees the same as a fast one.
"""

from dataclasses import dataclass, field

import pytest
from neo4j_server import Neo4jServer

from orchestrator.retries import RetryPolicy
from tests.conformance.pictures import differences

from .conftest import Cli
from .corpus import write_corpus
from .jobs import DEADLINE, Mill, PacedEmbedder, Running, eventually, mill_of

WORKERS = 4
# What loses its worker more often than this is taken for the cause of it; the process that begins the run is lost too.
KILLS_IN_A_ROW = RetryPolicy().losses - 2
# So many texts are answered for between two kills: fewer than wait, so that there always is somebody who waits.
A_FEW = 8

_HOLDERS = """MATCH (n) WHERE n.projectId = $project AND n._leaseOwner IS NOT NULL
RETURN DISTINCT n._leaseOwner AS owner"""
_RUNS = "MATCH (r:IngestionRun) WHERE r.projectId = $project RETURN r.outcome AS outcome"
_AT_WORK = "MATCH (w:Worker) WHERE w.projectId = $project AND w._state = 'pending' RETURN w.process AS process"


@dataclass(slots=True, kw_only=True)
class Crew:
    """Workers of one mill that are replaced when they are killed."""

    mill: Mill
    workers: list[Running] = field(default_factory=list)
    kills: int = 0

    def start(self, count: int = WORKERS) -> None:
        self.workers += [self.mill.start("worker", "--drain", "--json") for _ in range(count)]

    def kill_one_that_holds_something(self) -> None:
        victim, *_ = eventually(self._holders, "a worker that is alive has something in its hands")
        victim.kill()
        self.kills += victim.was_killed
        self.workers.remove(victim)
        self.start(1)

    def end(self) -> None:
        for worker in self.workers:
            worker.end()
        self.workers.clear()

    def _holders(self) -> list[Running]:
        holding = {int(owner.rsplit(":", 3)[1]) for (owner,) in self.mill.ask(_HOLDERS)}
        return [worker for worker in self.workers if worker.process.pid in holding]

    @property
    def are_all_at_work(self) -> bool:
        return {worker.process.pid for worker in self.workers} <= {process for (process,) in self.mill.ask(_AT_WORK)}


def begin(mill: Mill, part: int = 0) -> None:
    """A run whose process is killed as soon as the graph knows of it: everything else is left to the workers."""
    write_corpus(mill.root / f"part-{part}", pages=14, modules=8, seed=part)
    mill.embedder.allow(0)
    job = mill.ingest()
    eventually(lambda: len(mill.ask(_RUNS)) > part, "the run is begun")
    job.kill()
    assert job.was_killed


def check_the_end(mill: Mill, parts: int = 1) -> None:
    """Everything that must hold does, and the graph is that of a job that nobody disturbed."""
    assert mill.wrong() == []
    assert [outcome for (outcome,) in mill.ask(_RUNS)] == ["completed"] * parts
    standing = mill.standing()
    assert standing.states == {"ready": standing.total}
    found = mill.picture()
    mill.wipe()
    beside = mill.beside()
    beside.ingest().end()
    assert differences(found, beside.picture()) == []


def check_that_kills_change_nothing(mill: Mill, parts: int) -> None:
    crew = Crew(mill=mill)
    mill.start("init").end()
    for part in range(parts):
        begin(mill, part)
        crew.start()
        for _ in range(KILLS_IN_A_ROW):
            crew.kill_one_that_holds_something()
            mill.embedder.allow(A_FEW)
        mill.embedder.allow(None)
        crew.end()
    assert crew.kills == parts * KILLS_IN_A_ROW
    check_the_end(mill, parts)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_of_four_workers_one_after_another_is_killed_and_the_graph_is_as_if_none_was(shared_mill: Mill) -> None:
    check_that_kills_change_nothing(shared_mill, parts=1)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_of_four_workers_a_hundred_are_killed_and_the_graph_is_as_if_none_was(shared_mill: Mill) -> None:
    check_that_kills_change_nothing(shared_mill, parts=100 // KILLS_IN_A_ROW + 1)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_four_workers_go_on_by_themselves_when_the_server_was_killed_and_started_again(
    cli: Cli, embedder: PacedEmbedder, private_neo4j: Neo4jServer
) -> None:
    with mill_of(cli, embedder, private_neo4j, keeps=True) as mill:
        mill.start("init").end()
        begin(mill)
        crew = Crew(mill=mill)
        crew.start()
        eventually(lambda: crew.are_all_at_work, "all workers are at work")
        assert embedder.holding.wait(DEADLINE)
        private_neo4j.kill()
        embedder.allow(None)
        private_neo4j.start()
        crew.end()
        check_the_end(mill)
