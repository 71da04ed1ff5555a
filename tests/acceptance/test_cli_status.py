"""`graphmill status`: the same facts as a table and as the document that scripts read."""

import re

from .conftest import Cli

KEYS = {
    "store",
    "projectId",
    "total",
    "states",
    "labels",
    "errors",
    "in_flight",
    "stuck",
    "rate_per_second",
    "eta_seconds",
    "stages",
    "workers",
    "run",
}


def test_an_empty_graph_says_what_to_do_next(graph: Cli) -> None:
    outcome = graph("status")
    assert outcome.code == 0
    assert "no nodes in project default yet" in outcome.out
    assert "next: " in outcome.out


def test_an_empty_project_names_the_projects_that_there_are(filled: Cli) -> None:
    outcome = filled("status", "--project", "defualt")
    assert "no nodes in project defualt yet" in outcome.out
    assert re.search(r"projects in this graph: default \(\d+ nodes\)", outcome.out)
    assert "next: graphmill status --project default" in outcome.out


def test_an_empty_graph_as_json(graph: Cli) -> None:
    document = graph("status", "--json").json
    assert set(document) == KEYS
    assert (document["total"], document["states"], document["labels"]) == (0, {}, {})
    assert (document["eta_seconds"], document["rate_per_second"]) == (0, 0)


def test_the_document_counts_every_node_once(filled: Cli) -> None:
    document = filled("status", "--json").json
    assert set(document) == KEYS
    assert (document["store"], document["projectId"]) == ("kuzu:./graph.kuzu", "default")
    assert document["labels"] == {
        "File": {"pending": 2, "parsing": 2, "parsed": 1, "skip": 1, "error": 1},
        "MarkdownSection": {"parsed": 1},
    }
    assert document["states"] == {"pending": 2, "parsing": 2, "parsed": 2, "skip": 1, "error": 1}
    assert list(document["states"]) == ["pending", "parsing", "parsed", "skip", "error"]
    assert document["total"] == sum(document["states"].values()) == 8
    assert document["errors"] == [{"errorType": "parse", "message": "line 3: unclosed [tag]", "count": 1}]
    assert (document["in_flight"], document["stuck"]) == (2, 2), "a lease ends with the process that owned the file"
    assert document["run"] is None


def test_there_is_no_rate_and_no_time_to_go_while_no_worker_runs(filled: Cli) -> None:
    document = filled("status", "--json").json
    stages = document["stages"]
    assert {name: stage["remaining"] for name, stage in stages.items()} == {"parse": 4, "link": 1, "embed": 0}
    assert {stage["rate_per_second"] for stage in stages.values()} == {document["rate_per_second"]} == {0}
    assert document["eta_seconds"] is None


def test_the_table_shows_labels_states_totals_and_errors(filled: Cli) -> None:
    outcome = filled("status")
    assert outcome.code == 0
    words = [line.split() for line in outcome.out.splitlines()]
    assert ["pending", "parsing", "parsed", "skip", "error", "total"] in words
    assert ["File", "2", "2", "1", "1", "1", "7"] in words
    assert ["MarkdownSection", "1", "1"] in words
    assert ["total", "2", "2", "2", "1", "1", "8"] in words
    assert re.search(
        r"^2 in flight · 2 of them stuck \(no running worker has them\) · "
        r"6 to go, no worker is running; next: graphmill worker --drain$",
        outcome.out,
        re.MULTILINE,
    )
    assert re.search(r"1 +parse +line 3: unclosed \[tag\]", outcome.out)


def test_projects_are_counted_apart(filled: Cli) -> None:
    filled.seed("kuzu:./graph.kuzu", project="other")
    assert filled("status", "--json", "--project", "other").json["total"] == 8
    assert filled("--project", "third", "status", "--json").json["total"] == 0


def test_options_may_stand_on_either_side_of_the_command(graph: Cli) -> None:
    before = graph("--json", "--store", "kuzu:./graph.kuzu", "--project", "x", "status")
    after = graph("status", "--json", "--store", "kuzu:./graph.kuzu", "--project", "x")
    assert before == after
    assert before.json["projectId"] == "x"
    assert graph("--project", "left", "status", "--project", "right", "--json").json["projectId"] == "right"


def test_status_before_init_says_so(cli: Cli) -> None:
    outcome = cli("status")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error: ")
    assert re.search(r"hint: .*graphmill --store kuzu:\S+ ingest PATH", outcome.err)
    assert not (cli.folder / "graph.kuzu").exists()
