"""The same commands over a real Neo4j server, and what is said when it cannot be used."""

import re
import signal
import socket
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from neo4j_server import Neo4jServer

from .conftest import Cli
from .jobs import DEADLINE

SLOW = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN sum(a * b) AS n"


@pytest.fixture
def served(cli: Cli, neo4j_server: Any) -> Iterator[Cli]:
    """`graphmill` set up for the server and for a project of its own, by the environment alone."""
    environment = {
        **cli.environment,
        "GRAPHMILL_STORE": neo4j_server.uri,
        "GRAPHMILL_PROJECT": f"cli-{uuid4().hex[:12]}",
        "NEO4J_USERNAME": neo4j_server.user,
        "NEO4J_PASSWORD": neo4j_server.password,
    }
    served = Cli(folder=cli.folder, environment=environment)
    assert served("init").code == 0
    yield served
    served("query", "--write", "MATCH (n {projectId: $project}) DETACH DELETE n")


@pytest.fixture(scope="module")
def open_neo4j(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    """A server of these tests' own that lets everyone in."""
    server = Neo4jServer(tmp_path_factory.mktemp("open"), auth=False)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def no_server() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"bolt://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.long
def test_init_again_changes_nothing(served: Cli) -> None:
    assert served("init", "--json").json["did"] == "nothing"


def test_status_and_query_answer_as_they_do_elsewhere(served: Cli) -> None:
    project = served.environment["GRAPHMILL_PROJECT"]
    served.seed(served.environment["GRAPHMILL_STORE"], project=project)
    document = served("status", "--json").json
    assert document["projectId"] == project
    assert document["labels"] == {
        "File": {"pending": 2, "parsing": 2, "parsed": 1, "skip": 1, "error": 1},
        "MarkdownSection": {"parsed": 1},
    }
    text = "MATCH (f:File {projectId: $project})-[h:HAS_SECTION]->(s) RETURN f, h, s.title AS title, f._parsedAt AS at"
    (row,) = served("query", text, "--json").json
    assert (row["f"]["_label"], row["h"]["_type"], row["title"]) == ("File", "HAS_SECTION", "Intro")
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", row["at"])
    assert "(File a.py)" in served("query", text).out


@pytest.mark.long
def test_queries_of_the_catalogue_run_by_their_names(served: Cli) -> None:
    for query in served("query", "--list", "--json").json[::10]:
        outcome = served("query", "--name", query["name"], "--json")
        assert outcome.code == 0, (query["name"], outcome.out)


@pytest.mark.long
def test_odd_values_are_written_as_iso_8601_or_text(served: Cli) -> None:
    text = (
        "RETURN datetime('2026-01-02T03:04:05Z') AS t, date('2026-01-02') AS d, duration('P1DT2H') AS l, "
        "point({x: 1, y: 2}) AS p, [1, null] AS a"
    )
    (row,) = served("query", text, "--json").json
    assert (row["t"], row["d"], row["a"]) == ("2026-01-02T03:04:05+00:00", "2026-01-02", [1, None])
    assert row["l"] == "P1DT2H"
    assert row["p"]


def test_a_write_is_refused_by_the_server(served: Cli) -> None:
    assert "--write" in served.refused("query", "CREATE (:File {uuid: 'x'})", code="write_refused").err


@pytest.mark.long
def test_a_syntax_error_shows_where(served: Cli) -> None:
    outcome = served.refused("query", "MATCH (f:File) RETRUN f", code="query_failed")
    assert re.search(r"line 1, column \d+", outcome.err)


@pytest.mark.long
def test_a_query_that_runs_too_long_is_stopped(served: Cli) -> None:
    outcome = served("query", SLOW, "--timeout", "0.5")
    assert outcome.code == 1
    assert "longer than 0.5 s" in outcome.err


def test_a_wrong_password(served: Cli) -> None:
    outcome = served.refused("status", code="authentication_failed", env={"NEO4J_PASSWORD": "not-the-password"})
    assert "not-the-password" not in outcome.err
    assert "NEO4J_PASSWORD" in outcome.err


@pytest.mark.long
def test_no_password_and_no_terminal_to_ask_on(served: Cli) -> None:
    outcome = served.refused("status", code="password_missing", env={"NEO4J_PASSWORD": ""})
    assert "needs a password for neo4j" in outcome.err
    assert "hint: set NEO4J_PASSWORD" in outcome.err


def test_a_server_without_authentication_needs_no_password(cli: Cli, open_neo4j: Neo4jServer) -> None:
    for arguments, password in (("init", ""), ("status", ""), ("status", "any")):
        outcome = cli(arguments, "--store", open_neo4j.uri, env={"NEO4J_PASSWORD": password})
        assert outcome.code == 0, (arguments, outcome.err)
        assert "password" not in outcome.out + outcome.err


def test_a_worker_waits_for_its_server_and_then_works(cli: Cli, open_neo4j: Neo4jServer) -> None:
    assert cli("init", "--store", open_neo4j.uri).code == 0
    open_neo4j.stop()
    with cli.start("worker", "--drain", "--store", open_neo4j.uri) as worker:
        assert worker.stderr
        line = worker.stderr.readline()
        assert line == f"waiting for the server: cannot reach {open_neo4j.uri}: Connection refused (Ctrl-C stops)\n"
        open_neo4j.start()
        assert worker.stderr.readline() == f"{open_neo4j.uri} answers\n"
        _, rest = worker.communicate(timeout=DEADLINE)
    assert worker.returncode == 0, rest


def test_a_worker_that_waits_ends_at_ctrl_c(cli: Cli, no_server: str) -> None:
    with cli.start("worker", "--store", no_server) as worker:
        assert worker.stderr
        assert "Ctrl-C stops" in worker.stderr.readline()
        worker.send_signal(signal.SIGINT)
        assert "stopped" in worker.communicate(timeout=DEADLINE)[1]
    assert worker.returncode == 130


@pytest.mark.long
@pytest.mark.parametrize("url", ["bolt://no-such-host.invalid", "bolt+s"])
def test_a_worker_does_not_wait_for_what_can_never_be(served: Cli, url: str) -> None:
    store = served.environment["GRAPHMILL_STORE"].replace("bolt", url) if url == "bolt+s" else url
    served.refused("worker", "--store", store, code="store_unavailable")


@pytest.mark.long
def test_a_worker_does_not_wait_with_a_wrong_password(served: Cli) -> None:
    served.refused("worker", code="authentication_failed", env={"NEO4J_PASSWORD": "not-the-password"})


@pytest.mark.long
def test_a_database_that_is_not_there(served: Cli) -> None:
    url = f"{served.environment['GRAPHMILL_STORE']}/nosuchdatabase"
    assert "nosuchdatabase" in served.refused("status", "--store", url, code="unknown_database").err


@pytest.mark.parametrize("scheme", ["neo4j", "bolt"])
@pytest.mark.parametrize("password", ["x", ""], ids=["with a password", "without"])
def test_a_server_that_is_down(cli: Cli, no_server: str, scheme: str, password: str) -> None:
    url = no_server.replace("bolt", scheme)
    outcome = cli.refused("status", "--store", url, code="store_unavailable", env={"NEO4J_PASSWORD": password})
    assert f"cannot reach {url}: Connection refused" in outcome.err
