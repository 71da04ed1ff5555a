"""A folder that another machine has, as the command line tells of it."""

from pathlib import Path

import pytest

from orchestrator.files.roots import this_host
from tests.conformance.pictures import differences

from .corpus import write_corpus
from .jobs import Mill

# What another machine would have left: its folder is found, and nothing of it is parsed.
_ELSEWHERE = "MATCH (d:Directory) WHERE d.projectId = $project AND d.path = '.' SET d.host = 'mill-1'"
_NOT_PARSED = "MATCH (f:File) WHERE f.projectId = $project SET f._state = 'pending'"
_STORED = "MATCH (f:File) WHERE f.projectId = $project AND f._content IS NOT NULL RETURN count(*) AS count"
_RULES = "MATCH (d:Directory) WHERE d.projectId = $project AND d.path = '.' RETURN d.rules AS rules"


@pytest.mark.long
@pytest.mark.parametrize("mill_on", ["kuzu", pytest.param("neo4j", marks=pytest.mark.neo4j)], indirect=True)
def test_files_of_another_machine_are_an_error_that_names_it_and_are_parsed_once_they_are_there(mill_on: Mill) -> None:
    mill = mill_on
    write_corpus(mill.root, pages=3, modules=2)
    mill.ingest("--store-content").end()
    assert mill.ask(_STORED) == [[0]]
    assert '"storeContent": true' in mill.ask(_RULES)[0][0]
    before = mill.picture()
    mill.change(_ELSEWHERE)
    mill.change(_NOT_PARSED)
    away = mill.root.rename(mill.root.with_name("away"))
    refused = mill.start("worker", "--drain", "--json").end(1).json["error"]
    where = f"on mill-1 in {mill.root}, which {this_host()} cannot read"
    assert (refused["code"], refused["message"]) == ("files_elsewhere", f"5 files of corpus are {where}")
    assert refused["hint"] == "run a worker there, or ingest them with --store-content"
    standing = mill.standing()
    assert (standing.labels["File"], standing.in_error, mill.most_tries()) == ({"pending": 5}, 0, 0)
    refused = mill.ingest("--json").end(1).json["error"]
    assert (refused["code"], "is on mill-1 and not on" in refused["message"]) == ("root_missing", True)
    _bring_back(away, mill.root)
    mill.start("worker", "--drain").end()
    assert [line for line in differences(mill.picture(), before) if not line.startswith("Directory '.'")] == []


def _bring_back(away: Path, place: Path) -> None:
    away.rename(place)
