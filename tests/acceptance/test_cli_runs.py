"""Runs on the command line: how they are shown, and what becomes of one that was killed, cancelled, or failed."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import pytest
from aiohttp import web

from pipelines.wikipedia.local_wiki import LocalWiki

from .conftest import Outcome
from .jobs import DEADLINE, Mill, Running
from .wiki_jobs import MILLS, Expansion, WikiServer

ON_BOTH = pytest.mark.parametrize("mill_on", ["kuzu", pytest.param("neo4j", marks=pytest.mark.neo4j)], indirect=True)
# The first job on a server makes the schema, and the server plans each query for the first time.
ON_A_NEW_SERVER = 3 * DEADLINE
ORDER = ("Watermill", "--depth", "2")
# What the wiki says of itself, what is under the first title, and its text.
FIRST = 3
# How many texts the wiki has within that depth.
ALL = 62
RUN = {
    "id", "source", "type", "outcome", "reason", "startedAt", "finishedAt", "watermarkBefore", "watermarkAfter",
    "options", "partitions",
}  # fmt: skip
PARTITION = {"key", "kind", "outcome", "nextOffset", "reason", "worker"}


@pytest.fixture
def expansion(mill: Mill) -> Iterator[Expansion]:
    with WikiServer(LocalWiki.from_dump(MILLS)) as server:
        yield Expansion(mill=mill, server=server)


def told(mill: Mill, *arguments: str) -> Outcome:
    outcome = mill.cli(*arguments)
    assert (outcome.code, outcome.err) == (0, ""), outcome
    return outcome


def runs(mill: Mill) -> list[dict[str, Any]]:  # Any: as JSON has it
    found: list[dict[str, Any]] = told(mill, "runs", "list", "--json").json
    return found


def shown(mill: Mill, run: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = told(mill, "runs", "show", run["id"], "--json").json
    return found


def write_notes(mill: Mill) -> None:
    for name in ("grain", "stones"):
        folder = mill.root / name
        folder.mkdir()
        (folder / "about.md").write_text(f"# About {name}\n\nThe mill has {name}.\n", encoding="utf-8")


def killed_in_the_middle(mill: Mill) -> None:
    """A job that has read everything and waits for its first vectors dies."""
    write_notes(mill)
    mill.embedder.allow(0)
    job = mill.ingest()
    assert mill.embedder.holding.wait(ON_A_NEW_SERVER)
    job.kill()
    mill.embedder.drop()
    mill.embedder.allow(None)


@pytest.mark.long
def test_runs_are_listed_the_latest_first_and_shown_with_their_partitions(mill: Mill) -> None:
    write_notes(mill)
    for _ in range(2):
        mill.ingest("--embedder", "none").end()
    second, first = runs(mill)
    assert set(first) == set(second) == RUN
    assert (first["source"], first["type"], first["outcome"]) == ("files:corpus", "full", "completed")
    assert (second["type"], second["outcome"], second["reason"]) == ("incremental", "completed", None)
    assert first["watermarkBefore"] is None
    assert first["startedAt"] <= first["watermarkAfter"] == second["watermarkBefore"] < second["watermarkAfter"]
    assert all(datetime.fromisoformat(first[name]).utcoffset() is not None for name in ("startedAt", "finishedAt"))
    assert told(mill, "runs", "list", "--limit", "1", "--json").json == [second]

    whole = shown(mill, first)
    assert {name: whole[name] for name in RUN} == first
    assert all(set(each) == PARTITION for each in whole["partition_list"])
    assert {each["outcome"] for each in whole["partition_list"]} == {"completed"}
    assert sum(each["nextOffset"] for each in whole["partition_list"]) == 2
    assert sum(first["partitions"].values()) == len(whole["partition_list"])
    assert sum(whole["nodes"].values()) > 0 == sum(shown(mill, second)["nodes"].values())

    short = first["id"][:8]
    table = told(mill, "runs", "list").out
    assert [line.split()[0] for line in table.splitlines()[2:]] == [second["id"][:8], short]
    assert told(mill, "runs").out == table
    page = told(mill, "runs", "show", short).out
    assert page.startswith(first["id"]) and "none → " in page
    _what_cannot_be_done_is_misuse(mill, short)
    assert runs(mill) == [second, first]


def _what_cannot_be_done_is_misuse(mill: Mill, completed: str) -> None:
    refused = mill.cli.refused("runs", "show", "nonsense", code="misuse", exit_code=2)
    assert "no run has an id that begins with 'nonsense'" in refused.err
    for command in ("cancel", "retry"):
        outcome = mill.cli("runs", command, completed, "--json")
        assert (outcome.code, outcome.error["code"]) == (2, "misuse")
        assert f"run {completed} of files:corpus is completed" in outcome.error["message"]


@pytest.mark.long
@ON_BOTH
def test_another_command_finishes_the_run_of_a_job_that_was_killed(mill_on: Mill) -> None:
    mill = mill_on
    killed_in_the_middle(mill)
    [left] = runs(mill)
    assert (left["outcome"], left["finishedAt"], left["watermarkAfter"]) == ("running", None, None)
    assert "no worker is running" in told(mill, "runs", "show", left["id"]).out
    parts = told(mill, "query", "--name", "partitions", "--json").json
    assert {(row["run"], row["outcome"]) for row in parts} == {(left["id"], "completed")}

    mill.start("worker", "--drain").end(deadline=ON_A_NEW_SERVER)
    [run] = runs(mill)
    assert (run["id"], run["outcome"], run["reason"]) == (left["id"], "completed", None)
    assert run["watermarkAfter"] == left["startedAt"], "the time at which the source was read, and not a later one"
    assert [row["run"] for row in told(mill, "query", "--name", "runs", "--json").json] == [run["id"]]
    counted = {row["label"] for row in told(mill, "query", "--name", "states", "--json").json}
    assert counted == {"Directory", "File", "MarkdownSection"}, "records are not contents"


def test_the_same_command_after_a_kill_goes_on_with_the_same_run(mill: Mill) -> None:
    killed_in_the_middle(mill)
    [left] = runs(mill)
    ended = mill.ingest("--json").end()
    [run] = runs(mill)
    assert (run["id"], run["outcome"], run["startedAt"]) == (left["id"], "completed", left["startedAt"])
    assert [each["id"] for each in ended.json["runs"]] == [run["id"]]


@pytest.mark.long
def test_a_run_is_cancelled_while_its_job_is_at_work_and_the_next_reads_what_it_left(expansion: Expansion) -> None:
    mill, server = expansion.mill, expansion.server
    server.allow(FIRST)
    job = expansion.start(*ORDER)
    assert server.holding.wait(DEADLINE)
    [run] = runs(mill)
    answer = told(mill, "runs", "cancel", run["id"][:8], "--json").json
    assert set(answer) == RUN | {"nodes", "partition_list", "not_read"}
    assert answer["outcome"] == "cancelled"
    server.allow(None)
    ended = job.end()
    assert "was cancelled: somebody cancelled it" in ended.out
    assert (mill.standing().in_error, mill.standing().in_flight, mill.waiting("Article", "Section")) == (0, 0, 0)
    [cancelled] = runs(mill)
    assert (cancelled["outcome"], cancelled["watermarkAfter"]) == ("cancelled", None)
    assert 0 < len(server.wiki.texts) < ALL

    expansion.start(*ORDER).end()
    latest, before = runs(mill)
    assert before == cancelled
    assert (latest["type"], latest["outcome"], latest["watermarkBefore"]) == ("full", "completed", None)
    assert (len(server.wiki.texts), server.fetched_again()) == (ALL, 0)


class Locked(WikiServer):
    """One that tells everybody to go away, once `is_locked`."""

    is_locked = False

    async def _interfere(self, request: web.Request, asked: Mapping[str, str]) -> web.StreamResponse | None:
        answer = await super()._interfere(request, asked)
        return web.Response(status=403, text="for members only") if self.is_locked else answer


@pytest.mark.long
def test_a_run_that_failed_says_why_and_is_completed_by_a_retry(mill: Mill) -> None:
    server = Locked(LocalWiki.from_dump(MILLS))
    with server:
        expansion = Expansion(mill=mill, server=server)
        expansion.start(*ORDER).end()
        server.wiki.write("Watermill", "'''Watermill''', written anew.")
        server.allow(FIRST - 1)
        job = expansion.start(*ORDER)
        assert server.holding.wait(DEADLINE)
        server.is_locked = True
        server.allow(None)
        _is_failed(mill, job)
        server.is_locked = False
        failed, first = runs(mill)
        ended = mill.start("runs", "retry", failed["id"][:8], "--json").end()
    again, _ = runs(mill)
    assert (again["id"], again["outcome"], again["reason"]) == (failed["id"], "completed", None)
    assert again["watermarkBefore"] == first["watermarkAfter"] < again["watermarkAfter"]
    assert [each["id"] for each in ended.json["runs"]] == [failed["id"]]
    assert mill.ask("MATCH (s:Section) WHERE s.content CONTAINS 'written anew' RETURN s.uuid")


def _is_failed(mill: Mill, job: Running) -> None:
    ended = job.end(1)
    failed, _ = runs(mill)
    assert (failed["outcome"], failed["watermarkAfter"]) == ("failed", None)
    assert "for members only" in failed["reason"]
    assert f"runs retry {failed['id'][:8]}" in ended.out
    page = told(mill, "runs", "show", failed["id"]).out
    assert f"runs retry {failed['id'][:8]}" in page and "for members only" in page
    assert shown(mill, failed)["partition_list"][0]["outcome"] == "failed"
