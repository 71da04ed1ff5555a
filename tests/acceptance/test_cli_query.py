"""`graphmill query`: every form of answer, every way to ask, and what happens to a question that is wrong."""

import csv
import io
import json
import re
import signal
import time
from datetime import datetime

import psutil
import pytest

from .conftest import Cli

FILES = "MATCH (f:File) WHERE f.projectId = $project RETURN f.name AS name, f.size AS size ORDER BY name"
SLOW = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN sum(a * b) AS n"


def test_a_table_for_people(filled: Cli) -> None:
    outcome = filled("query", FILES)
    assert outcome.code == 0
    assert [line.split() for line in outcome.out.splitlines()[2:4]] == [["a.py", "0"], ["b.md", "10"]]
    assert outcome.out.rstrip().endswith("7 rows")


def test_json_is_a_list_of_objects_by_column(filled: Cli) -> None:
    rows = filled("query", FILES, "--json").json
    assert rows[:2] == [{"name": "a.py", "size": 0}, {"name": "b.md", "size": 10}]
    assert rows[-1] == {"name": "g.bin", "size": None}


def test_csv(filled: Cli) -> None:
    rows = list(csv.reader(io.StringIO(filled("query", FILES, "--csv").out)))
    assert rows[:3] == [["name", "size"], ["a.py", "0"], ["b.md", "10"]]
    assert rows[-1] == ["g.bin", ""]


def test_a_node_is_an_object_with_its_label(filled: Cli) -> None:
    (row,) = filled("query", "MATCH (f:File {name: 'a.py'}) RETURN f", "--json").json
    node = row["f"]
    assert (node["_label"], node["name"], node["path"], node["_state"]) == ("File", "a.py", "src/a.py", "parsed")
    assert datetime.fromisoformat(node["_detectedAt"]).utcoffset() is not None


def test_nodes_and_edges_are_short_in_a_table(filled: Cli) -> None:
    outcome = filled("query", "MATCH (f:File)-[h:HAS_SECTION]->(s) RETURN f, h, s")
    assert re.search(r"\(File a\.py\) +\[HAS_SECTION index: 0\] +\(MarkdownSection Intro\)", outcome.out)


def test_a_long_value_is_cut_in_the_table_only(filled: Cli) -> None:
    text = "MATCH (s:MarkdownSection) RETURN s.content AS content"
    (row,) = filled("query", text, "--json").json
    assert row["content"].endswith("long long ")
    line = filled("query", text).out.splitlines()[2]
    assert line.startswith("first line↵second line")
    assert line.rstrip().endswith("…")
    assert len(line) < 120


def test_text_from_the_graph_cannot_drive_the_terminal(graph: Cli) -> None:
    outcome = graph("query", "RETURN $text AS text", "--param", 'text="\\u001b[31mred\\u0007 [bold]x[/bold]"')
    assert "\\u001b[31mred\\u0007 [bold]x[/bold]" in outcome.out
    assert "\x1b" not in outcome.out


def test_params_are_json_where_they_can_be(graph: Cli) -> None:
    values = {"a": 1, "b": "1", "c": True, "d": [1, 2], "e": "plain text", "f": "x=y"}
    given = {"a": "1", "b": '"1"', "c": "true", "d": "[1, 2]", "e": "plain text", "f": "x=y"}
    text = "RETURN " + ", ".join(f"${name} AS {name}" for name in values)
    params = [part for name, value in given.items() for part in ("--param", f"{name}={value}")]
    assert graph("query", text, *params, "--json").json == [values]


@pytest.mark.parametrize("param", ["x", "=1", "1x=2", ""])
def test_a_malformed_param_is_misuse(graph: Cli, param: str) -> None:
    outcome = graph.refused("query", "RETURN 1 AS x", "--param", param, code="misuse", exit_code=2)
    assert "name=value" in outcome.err


def test_project_is_passed_when_it_is_used(graph: Cli) -> None:
    assert graph("query", "RETURN $project AS p", "--project", "mine", "--json").json == [{"p": "mine"}]
    assert graph("query", "RETURN $project AS p", "--param", "project=other", "--json").json == [{"p": "other"}]


@pytest.mark.parametrize("arguments", [["-"], []], ids=["dash", "nothing"])
def test_a_query_is_read_from_standard_input(graph: Cli, arguments: list[str]) -> None:
    assert graph("query", *arguments, "--json", stdin="RETURN 1 AS one").json == [{"one": 1}]


def test_no_query_at_all_is_misuse(graph: Cli) -> None:
    assert "the query is empty" in graph.refused("query", code="misuse", exit_code=2).err


def test_one_question_at_a_time(graph: Cli) -> None:
    assert "either a query" in graph.refused("query", "RETURN 1 AS x", "--list", code="misuse", exit_code=2).err
    assert graph("query", "RETURN 1 AS x", "--csv", "--json").code == 2


def test_the_catalogue_lists_name_purpose_and_text(cli: Cli) -> None:
    queries = cli("query", "--list", "--json").json
    assert queries
    assert all(set(query) == {"name", "about", "text"} for query in queries)
    shown = cli("query", "--list").out
    assert all(query["name"] in shown and query["about"] in shown for query in queries)
    assert not any(query["text"] in shown for query in queries)
    first_lines = [query["text"].splitlines()[0] for query in queries]
    assert all(line in cli("query", "--list", "-v").out for line in first_lines)
    assert not (cli.folder / "graph.kuzu").exists()


def test_queries_of_the_catalogue_run_by_their_names(filled: Cli) -> None:
    for query in filled("query", "--list", "--json").json[::5]:
        outcome = filled("query", "--name", query["name"], "--json")
        assert outcome.code == 0, (query["name"], outcome.err)
        assert isinstance(outcome.json, list)


def test_a_wrong_name_suggests_near_ones(cli: Cli) -> None:
    name = cli("query", "--list", "--json").json[0]["name"]
    outcome = cli.refused("query", "--name", f"{name}x", code="misuse", exit_code=2)
    assert f"did you mean {name}" in outcome.err


def test_a_write_is_refused_unless_asked_for(filled: Cli) -> None:
    text = "MATCH (f:File {name: 'a.py'}) SET f.size = 5"
    assert "--write" in filled.refused("query", text, code="write_refused").err
    assert filled("query", "MATCH (f:File {name: 'a.py'}) RETURN f.size AS s", "--json").json == [{"s": 0}]
    assert filled("query", "--write", text).code == 0
    assert filled("query", "MATCH (f:File {name: 'a.py'}) RETURN f.size AS s", "--json").json == [{"s": 5}]


def test_a_syntax_error_shows_where(graph: Cli) -> None:
    outcome = graph.refused("query", "MATCH (f:File) RETRUN f", code="query_failed")
    assert re.search(r"line 1, column \d+", outcome.err)


def test_an_unknown_label_is_named(graph: Cli) -> None:
    assert "Fiel" in graph.refused("query", "MATCH (f:Fiel) RETURN f", code="query_failed").err


def test_a_query_that_runs_too_long_is_stopped(graph: Cli) -> None:
    outcome = graph("query", SLOW, "--timeout", "0.5")
    assert outcome.code == 1
    # On a busy machine the engine itself may hear too late that its time is over.
    assert "longer than 0.5 s" in outcome.err or "did not answer" in outcome.err
    assert "--timeout" in outcome.err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_a_timeout_is_a_time(graph: Cli, seconds: str) -> None:
    assert "--timeout" in graph.refused("query", "RETURN 1 AS x", "--timeout", seconds, code="misuse", exit_code=2).err


def test_an_interrupted_query_ends_clean(graph: Cli) -> None:
    with graph.start("query", SLOW, "--timeout", "3600") as process:
        while psutil.Process(process.pid).cpu_times().user < 2:  # the query is running, not only Python starting
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert graph("status").code == 0


def test_a_reader_that_goes_away_is_no_error(graph: Cli) -> None:
    with graph.start("query", "UNWIND range(1, 200000) AS n RETURN n", "--csv") as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == "n\n"
        process.stdout.close()
        assert process.stderr.read() == ""


def test_json_is_one_document_even_for_odd_values(graph: Cli) -> None:
    text = "RETURN timestamp('2026-01-02 03:04:05') AS t, date('2026-01-02') AS d, {a: [1, null]} AS m, 'é😀' AS u"
    outcome = graph("query", text, "--json")
    (row,) = json.loads(outcome.out)
    assert row["t"].startswith("2026-01-02T03:04:05")
    assert (row["d"], row["m"], row["u"]) == ("2026-01-02", {"a": [1, None]}, "é😀")
