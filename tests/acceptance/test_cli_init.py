"""`graphmill init`: made once, safe to repeat, and it says what it did."""

from .conftest import Cli


def test_init_says_what_it_made_and_what_to_type_next(cli: Cli) -> None:
    outcome = cli("init")
    assert outcome.code == 0
    assert outcome.out.splitlines() == ["created kuzu:./graph.kuzu (schema 7)", "next: graphmill ingest PATH"]
    assert (cli.folder / "graph.kuzu").exists()


def test_init_again_changes_nothing(graph: Cli) -> None:
    outcome = graph("init")
    assert outcome.code == 0
    assert outcome.out.startswith("kuzu:./graph.kuzu is up to date (schema 7)")


def test_init_as_json(cli: Cli) -> None:
    first, second = cli("init", "--json").json, cli("--json", "init").json
    expected = {"store": "kuzu:./graph.kuzu", "projectId": "default", "schema": 7, "repaired": [], "backup": None}
    assert first == {**expected, "did": "created", "schema_before": None}
    assert second == {**expected, "did": "nothing", "schema_before": 7}


def test_init_keeps_what_is_in_the_graph(filled: Cli) -> None:
    before = filled("status", "--json").json
    assert filled("init").code == 0
    assert filled("status", "--json").json["labels"] == before["labels"]


def test_init_leaves_a_graph_of_a_newer_version_alone(graph: Cli) -> None:
    raised = graph(
        "query", "--write", "MATCH (m:GraphmillMeta {key: 'schema'}) SET m.number = 99 RETURN m.number AS n", "--json"
    )
    assert raised.json == [{"n": 99}]
    for command in ("init", "status"):
        outcome = graph(command)
        assert (outcome.code, outcome.out) == (1, "")
        assert "schema version 99, this graphmill knows up to 7" in outcome.err
        assert "hint: upgrade graphmill" in outcome.err
        assert graph(command, "--json").error["code"] == "schema_newer"
