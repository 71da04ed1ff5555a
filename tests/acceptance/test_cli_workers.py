"""`graphmill worker` and the workers that `status` shows: who is at work, who disappeared, and who may not join."""

import re
import socket
from typing import Any

import pytest

from orchestrator.workers import AtWork

from .conftest import Cli
from .corpus import write_corpus
from .jobs import DEADLINE, Mill, Running, eventually

SET_SCHEMA = """
import kuzu, sys
with kuzu.Database("graph.kuzu") as database, kuzu.Connection(database) as connection:
    connection.execute("MATCH (m:GraphmillMeta {key: 'schema'}) SET m.number = $number", {"number": int(sys.argv[1])})
"""
READ_STATES = """
import kuzu
with kuzu.Database("graph.kuzu", read_only=True) as database, kuzu.Connection(database) as connection:
    with connection.execute("MATCH (n:File:Worker) RETURN label(n), n.uuid, n._state ORDER BY n.uuid") as rows:
        print(rows.get_all())
"""
UNREACHABLE = ("--embedder", "openai:x", "--embedder-url", "http://127.0.0.1:1/v1")


def told(mill: Mill) -> dict[int, dict[str, Any]]:
    """What `status` tells of each worker, by its process."""
    outcome = mill.cli("status", "--json")
    assert outcome.code == 0, outcome.out
    return {each["process"]: each for each in outcome.json["workers"]}


def workers(mill: Mill) -> dict[int, AtWork]:
    """The same, without a process for the question."""
    return {each.known.process: each for each in mill.standing().workers}


def is_holding(mill: Mill, job: Running) -> bool:
    assert job.process.poll() is None, job.said
    found = workers(mill).get(job.process.pid)
    return bool(found and found.holds)


@pytest.fixture
def held_up(mill_on: Mill) -> tuple[Mill, Running]:
    """A job that has every text in its hands, and gets no answer."""
    write_corpus(mill_on.root, pages=4, modules=2)
    mill_on.embedder.allow(0)
    job = mill_on.ingest()
    assert mill_on.embedder.holding.wait(DEADLINE), job.said
    eventually(lambda: not mill_on.waiting("MarkdownSection", "Scope"), "all texts are in hand")
    return mill_on, job


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mill_on", ["kuzu"], indirect=True)
def test_an_embedded_graph_shows_its_own_worker_and_turns_another_away(held_up: tuple[Mill, Running]) -> None:
    mill, job = held_up
    pid = job.process.pid
    [shown] = told(mill).values()
    assert (shown["host"], shown["process"], shown["state"]) == (socket.gethostname(), pid, "working")
    assert shown["stages"] == ["read", "parse", "link", "embed"]
    assert shown["holds"] > 0
    assert 0 <= shown["heartbeat_age_seconds"] < DEADLINE
    assert re.search(rf"^{socket.gethostname()} +{pid} +\S+ +all +\d+ +\d+ (s|min) ago$", table(mill), re.MULTILINE)

    refusal = mill.cli.refused("worker", "--drain", code="store_owned").err
    assert f"is in use by process {pid} on {socket.gethostname()}" in refusal
    assert "worked on by one process at a time\nhint: a job that runs there does all the work that waits" in refusal

    job.kill()
    mill.embedder.drop()
    assert workers(mill)[pid].is_gone
    assert re.search(rf" {pid} .* ago, disappeared$", table(mill), re.MULTILINE)
    mill.embedder.allow(None)
    ended = mill.start("worker", "--drain", "--json").end().json
    assert ended["states"] == {"ready": ended["total"]}
    assert [(each["process"], each["state"], each["holds"]) for each in ended["workers"]] == [(pid, "disappeared", 0)]


def table(mill: Mill) -> str:
    outcome = mill.cli("status")
    assert outcome.code == 0, outcome.err
    return outcome.out


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mill_on", ["neo4j"], indirect=True)
def test_of_two_workers_one_is_killed_and_the_other_takes_over(held_up: tuple[Mill, Running]) -> None:
    mill, job = held_up
    first = mill.start("worker", "--drain", "--json")
    eventually(lambda: first.process.pid in workers(mill), "the first worker has joined")
    job.kill()
    eventually(lambda: is_holding(mill, first), "it takes over from the job")
    second = mill.start("worker", "--drain", "--json", "--stages", "link,embed")
    eventually(lambda: second.process.pid in workers(mill), "the second worker has joined")
    found = told(mill)
    assert (found[first.process.pid]["state"], found[second.process.pid]["state"]) == ("working", "working")
    assert found[second.process.pid]["stages"] == ["link", "embed"]

    first.kill()
    assert told(mill)[first.process.pid]["state"] == "disappeared"
    eventually(lambda: is_holding(mill, second), "it takes over from the first")
    mill.embedder.drop()
    mill.embedder.allow(None)
    ended = second.end().json
    assert ended["states"] == {"ready": ended["total"]}
    gone = {each["process"]: (each["state"], each["holds"]) for each in ended["workers"]}
    assert gone == {job.process.pid: ("disappeared", 0), first.process.pid: ("disappeared", 0)}


@pytest.mark.long
@pytest.mark.parametrize(("number", "code"), [(99, "schema_newer"), (1, "schema_older")])
def test_a_worker_of_another_version_does_not_start(filled: Cli, number: int, code: str) -> None:
    filled.python(SET_SCHEMA, str(number))
    before = filled.python(READ_STATES)
    refusal = filled.refused("worker", "--drain", "--embedder", "none", code=code).err
    assert f"the graph has schema version {number}, this graphmill" in refusal
    advice = (
        "upgrade graphmill" if number == 99 else "bring it up to date with: graphmill --store kuzu:./graph.kuzu init"
    )
    assert f"\nhint: {advice}" in refusal
    assert filled.python(READ_STATES) == before, "nothing was claimed and nobody joined"


def test_a_stage_that_is_none_is_refused_by_name(graph: Cli) -> None:
    refusal = graph.refused("worker", "--stages", "parse,embde", code="misuse", exit_code=2).err
    assert "'embde' is none of the stages read, parse, link, embed; did you mean embed?" in refusal
    graph.refused("worker", "--stages", ",", code="misuse", exit_code=2)


@pytest.mark.parametrize("processes", ["--concurrency", "--workers"])
def test_a_worker_that_does_not_embed_needs_no_embedder(graph: Cli, processes: str) -> None:
    outcome = graph("worker", "--drain", "--stages", "read, parse,link", processes, "2", *UNREACHABLE)
    assert outcome.code == 0, outcome.err
    assert "--workers" not in graph("worker", "--help").out
