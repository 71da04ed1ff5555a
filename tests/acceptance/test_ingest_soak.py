"""What takes too long for every day: five hundred kills of one ingest, and the server itself killed under it."""

import pytest
from neo4j_server import Neo4jServer

from .conftest import Cli
from .corpus import write_corpus
from .jobs import DEADLINE, Mill, PacedEmbedder, mill_of
from .test_ingest_kills import KILLS_IN_A_ROW, check_that_kills_change_nothing

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]


@pytest.mark.parametrize("mill_on", ["kuzu", "neo4j"], indirect=True)
def test_killed_five_hundred_times_an_ingest_ends_as_an_undisturbed_one(mill_on: Mill) -> None:
    check_that_kills_change_nothing(mill_on, rounds=500 // KILLS_IN_A_ROW)


def test_a_job_goes_on_by_itself_when_neo4j_was_killed_and_started_again(
    cli: Cli, embedder: PacedEmbedder, private_neo4j: Neo4jServer
) -> None:
    with mill_of(cli, embedder, private_neo4j, keeps=True) as mill:
        write_corpus(mill.root, pages=4, modules=2)
        embedder.allow(0)
        job = mill.ingest("--json")
        assert embedder.holding.wait(DEADLINE)
        private_neo4j.kill()
        embedder.allow(None)
        private_neo4j.start()
        ended = job.end().json
        assert ended["states"] == {"ready": ended["total"]}
        assert ended["embedded"] == sum(ended["labels"][label]["ready"] for label in ("MarkdownSection", "Scope"))
        assert mill.most_tries() == 0
