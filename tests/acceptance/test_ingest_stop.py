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


def test_ctrl_c_finishes_what_is_in_flight_and_nothing_is_done_again(mill: Mill, half_way: Running) -> None:
    half_way.hears(signal.SIGINT)
    half_way.until_it_says(STOPPING)
    mill.embedder.allow(None)
    ended = half_way.end(130)
    assert ended.out.startswith("40 read, ")
    standing = mill.standing()
    assert (standing.in_flight, standing.stuck, standing.in_error) == (0, 0, 0)
    again = mill.ingest("--json").end().json
    assert again["states"] == {"ready": again["total"]}
    assert mill.embedder.embedded_again() == []


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
    mill.embedder.allow(None)
    mill.ingest().end()
    assert len(mill.embedder.embedded_again()) <= CALLS * BATCH
    beside = mill.beside()
    beside.ingest().end()
    assert differences(mill.picture(), beside.picture()) == []


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
        write_corpus(mill.root, pages=4, modules=2)
        embedder.allow(0)
        job = mill.ingest("--json")
        # A server that has just started answers everything slowly once.
        assert embedder.holding.wait(2 * DEADLINE)
        private_neo4j.kill()
        embedder.allow(None)
        private_neo4j.start()
        ended = job.end(deadline=2 * DEADLINE).json
        assert ended["states"] == {"ready": ended["total"]}
        assert ended["embedded"] == sum(ended["labels"][label]["ready"] for label in ("MarkdownSection", "Scope"))
        assert mill.most_tries() == 0
