"""What interrupts a job half way: a person, a supervisor, an embedder that is away. The same command then goes on."""

import signal

import pytest
from neo4j_server import Neo4jServer

from orchestrator.cli.running import STOPPING
from tests.conformance.pictures import differences

from .conftest import Cli
from .corpus import write_corpus
from .jobs import BATCH, CALLS, DEADLINE, Mill, PacedEmbedder, Running, mill_of

SOME = 40


@pytest.fixture
def half_way(mill: Mill) -> Running:
    """An ingest that has embedded some of its texts and waits for the others."""
    write_corpus(mill.root, pages=20, modules=20)
    mill.embedder.allow(SOME)
    job = mill.ingest()
    assert mill.embedder.holding.wait(DEADLINE)
    return job


def ends_right(mill: Mill) -> list[str]:
    """The same command again ends as a run does that nobody stopped. Returns what was embedded a second time."""
    mill.embedder.allow(None)
    mill.ingest().end()
    again = mill.embedder.embedded_again()
    found = mill.picture()
    beside = mill.beside()
    beside.ingest().end()
    assert differences(found, beside.picture()) == []
    return again


def test_ctrl_c_finishes_what_is_in_flight(mill: Mill, half_way: Running) -> None:
    half_way.hears(signal.SIGINT)
    half_way.until_it_says(STOPPING)
    mill.embedder.allow(None)
    ended = half_way.end(130)
    standing = mill.standing()
    assert (standing.in_flight, standing.stuck, standing.in_error) == (0, 0, 0)
    assert ended.out.count("\n") == 2
    assert ended.out.startswith("40 read, ")
    assert ends_right(mill) == []


def test_sigterm_gives_back_what_cannot_be_finished(mill: Mill, half_way: Running) -> None:
    half_way.hears(signal.SIGTERM)
    ended = half_way.end(143)
    assert STOPPING in ended.err
    standing = mill.standing()
    assert (standing.in_flight, standing.stuck, standing.in_error) == (0, 0, 0)
    assert standing.remaining > 0
    assert f"stopped with {standing.remaining} nodes left: the same command goes on from here" in ended.out
    assert mill.most_tries() == 0
    mill.embedder.drop()
    assert len(ends_right(mill)) <= CALLS * BATCH


def test_a_job_waits_for_an_embedder_that_is_away_and_blames_no_text(mill: Mill, half_way: Running) -> None:
    embedder = mill.embedder
    embedder.away = True
    embedder.allow(None)
    half_way.until_it_says("the embedder does not answer")
    assert mill.most_tries() == 0
    embedder.away = False
    half_way.end()
    assert mill.most_tries() == 0
    standing = mill.standing()
    assert (standing.in_error, standing.remaining) == (0, 0)


def test_a_job_goes_on_by_itself_when_neo4j_was_killed_and_started_again(
    cli: Cli, embedder: PacedEmbedder, private_neo4j: Neo4jServer
) -> None:
    with mill_of(cli, embedder, private_neo4j, keeps=True) as mill:
        write_corpus(mill.root, pages=20, modules=20)
        embedder.allow(SOME)
        job = mill.ingest("--json")
        assert embedder.holding.wait(DEADLINE)
        private_neo4j.kill()
        embedder.allow(None)
        private_neo4j.start()
        ended = job.end()
        assert ended.json["states"] == {"ready": ended.json["total"]}
        assert ended.json["embedded"] > SOME
        assert mill.most_tries() == 0
