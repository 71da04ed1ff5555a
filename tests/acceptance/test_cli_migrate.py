"""`graphmill migrate` as people run it, killed at any moment, and the ordinary commands on what came of it."""

import re
import subprocess
import sys
from collections.abc import Iterator
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from pipelines.wikipedia.local_api import LocalWiki
from tests.conformance import old_expansions, old_tables
from tests.conformance.legacy_rules import OldNode
from tests.conformance.old_graphs import OldGraph

from .conftest import ROOT, Cli
from .wiki_jobs import MILLS, WikiServer

MODEL = ("--embedding-model", "openai:small")
TEXT = "a mill grinds grain between two stones"


@pytest.fixture
def expansion(cli: Cli) -> Cli:
    """An older expansion where graphmill looks for its graph."""
    command = [sys.executable, old_expansions.__file__, "kuzu", str(cli.folder / "graph.kuzu"), "DOUBLE[384]"]
    subprocess.run(command, check=True)
    return cli


@pytest.fixture
def old(cli: Cli, neo4j_server: Any) -> Iterator[OldGraph]:
    graph = OldGraph(server=neo4j_server, project=f"old-{uuid4().hex[:12]}")
    yield graph
    graph.wipe()


@pytest.fixture
def served(cli: Cli, old: OldGraph) -> Cli:
    environment = {
        **cli.environment,
        "GRAPHMILL_STORE": old.server.uri,
        "GRAPHMILL_PROJECT": str(old.project),
        "NEO4J_USERNAME": old.server.user,
        "NEO4J_PASSWORD": old.server.password,
    }
    return Cli(folder=cli.folder, environment=environment)


@pytest.mark.long
def test_an_expansion_is_shown_moved_checked_and_finished(expansion: Cli) -> None:
    assert "graphmill migrate plan" in expansion("migrate", "detect").out
    plan = expansion("migrate", "plan", "--json", *MODEL).json
    assert plan["total"] == sum(rule["count"] for rule in plan["rules"]) == 25
    assert (plan["unknown"], plan["problems"]) == ({"frobbing": 1}, [])
    assert expansion("migrate", "apply", "--json", *MODEL).json["total"] == 25
    assert expansion("migrate", "validate").code == 0
    status = expansion("status", "--json").json
    assert status["labels"]["Article"] == {"pending": 6, "parsed": 1, "linked": 1, "ready": 2, "skip": 2, "error": 1}
    assert expansion("verify").code == 0
    refused = expansion("migrate", "finalize")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert expansion("migrate", "finalize", "--yes").code == 0
    assert "finalized" in expansion("migrate", "rollback").err
    assert not (expansion.folder / "graph.kuzu.before-migration").exists()


@pytest.mark.long
@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(6, marks=pytest.mark.long),
        pytest.param(500, marks=pytest.mark.soak),
    ],
)
def test_a_graph_on_a_server_survives_kills_at_any_moment(served: Cli, old: OldGraph, kills: int) -> None:
    old.write([_scope(number) for number in range(4000)])
    before = old.picture()
    random = Random(7)
    verb, killed = "apply", 0
    while killed < kills:
        command = [
            "tests.conformance.killed_marked",
            old.server.uri,
            str(old.project),
            verb,
            str(random.randint(1, 60)),
        ]
        ended = subprocess.run([sys.executable, "-m", *command], env=served.environment, cwd=ROOT, check=False)
        assert ended.returncode in (0, -9)
        killed += ended.returncode == -9
        if ended.returncode == 0:
            verb = "rollback" if verb == "apply" else "apply"
    assert served("migrate", "apply", *MODEL).code == 0
    outcome = served("migrate", "validate", "--json")
    assert (outcome.code, outcome.json["total"], outcome.json["problems"]) == (0, 4000, [])
    assert {state for _, state in old.decisions().values()} == {"linked"}
    old.run("MATCH (n:Scope {uuid: 'scope 7', projectId: $project}) SET n._migratedBy = '9-structure'")
    assert served("migrate", "validate").code == 1
    assert served("migrate", "rollback").code == 0
    assert old.picture() == before


@pytest.mark.long
def test_a_worker_finishes_what_was_migrated_and_search_finds_it(served: Cli, old: OldGraph) -> None:
    old.write(
        [
            _scope(1),
            OldNode(labels=["Scope"], properties={"uuid": "pending", "content": TEXT, "schemaDirty": True}),
            OldNode(labels=["CodeBlock"], properties={"uuid": "block", "source": TEXT, "embeddingsDirty": True}),
            OldNode(labels=["Scope"], properties={"uuid": "stub", "_pending": True}),
            OldNode(labels=["File"], properties={"uuid": "unread", "path": "a.py", "state": "discovered"}),
            OldNode(labels=["File"], properties={"uuid": "unlinked", "path": "b.py", "state": "relations"}),
            OldNode(labels=["File"], properties={"uuid": "done", "path": "c.py", "state": "entities"}),
        ]
    )
    assert served("migrate", "apply").code == 0
    assert served("status", "--json").json["total"] == 7
    drained = served("worker", "--drain")
    assert drained.code == 0
    assert "2 of the files of a migrated graph" in drained.err
    assert "graphmill ingest" in old.node("unread")["_errorMessage"]
    status = served("status", "--json").json
    assert status["labels"] == {
        "CodeBlock": {"ready": 1},
        "File": {"ready": 1, "skip": 2},
        "Scope": {"ready": 2, "skip": 1},
    }
    found = served("search", TEXT, "--json").json
    assert {each["uuid"] for each in found} == {"scope 1", "pending", "block"}
    assert [each["uuid"] for each in served("search", TEXT, "--label", "CodeBlock", "--json").json] == ["block"]


@pytest.mark.long
def test_a_graph_that_nobody_knows_is_migrated_by_the_mapping_of_the_docs(served: Cli, old: OldGraph) -> None:
    example = re.findall(r"^```toml\n(.*?)^```", (ROOT / "docs" / "migrate.md").read_text(), re.DOTALL | re.MULTILINE)[
        0
    ]
    (served.folder / "mapping.toml").write_text(example)
    words = {"a": "todo", "b": "done", "c": "broken", "d": "odd"}
    old.write(
        [
            OldNode(labels=["Document"], properties={"key": key, "status": word, "body": TEXT, "vec": [1.0, 2.0],
                                                     "vec_provider": "openai", "vec_model": "small"})
            for key, word in words.items()
        ]
    )  # fmt: skip
    mapping = ("--mapping", "mapping.toml")
    plan = served("migrate", "plan", "--json", *mapping).json
    assert (plan["total"], plan["unknown"]) == (4, {"odd": 1})
    assert served("migrate", "apply", *mapping).code == 0
    states = {row["uuid"]: row["_state"] for row in old.nodes() if row["_migratedBy"]}
    assert states == {"a": "pending", "b": "ready", "c": "error", "d": "pending"}
    validated = served("migrate", "validate")
    assert (validated.code, "unknown word 'odd': 1" in validated.out, validated.err) == (0, True, "")
    assert served("verify").code == 0
    assert served("migrate", "rollback").code == 0
    (served.folder / "mapping.toml").write_text('state = "status"\nwrods = 1\n')
    assert "line 2" in served("migrate", "plan", *mapping).err


@pytest.mark.long
def test_tables_that_nobody_knows_are_migrated_by_a_mapping_and_worked_on(cli: Cli) -> None:
    graph = cli.folder / "graph.kuzu"
    subprocess.run([sys.executable, old_tables.__file__, "kuzu", str(graph)], check=True)
    before = graph.read_bytes()
    lines = ['labels = ["Document", "Paragraph"]', 'text = "body"', 'state = "status"', 'name = "heading"']
    (cli.folder / "mapping.toml").write_text("\n".join([*lines, "[words]", 'todo = "pending"', 'broken = "error"']))
    assert cli("migrate", "apply", "--mapping", "mapping.toml").code == 0
    done = cli("worker", "--drain", "--json").json
    assert done["labels"] == {"Document": {"ready": 4, "error": 1}, "Paragraph": {"ready": 3}}
    assert cli("verify").code == 0
    assert "Document" in cli("errors").out
    found = cli("search", "anything", "--json").json
    assert sorted(each["label"] for each in found) == ["Document"] * 4 + ["Paragraph"] * 3
    refused = cli("copy", "kuzu:graph.kuzu", "kuzu:other.kuzu")
    assert (refused.code, "Paragraph.extra is of the type STRUCT" in refused.err) == (2, True)
    assert not (cli.folder / "other.kuzu").exists()
    assert cli("ledger", "validate").code == 0
    assert cli("migrate", "rollback").code == 0
    assert graph.read_bytes() == before
    left = {path.name for path in cli.folder.glob("graph.kuzu*")}
    assert left - {"graph.kuzu.lock"} == {"graph.kuzu", "graph.kuzu.vectors"}, "the ledger was of what is gone"


def _scope(number: int) -> OldNode:
    own = {"uuid": f"scope {number}", "name": f"scope {number}", "content": TEXT, "embeddingsDirty": True}
    return OldNode(labels=["Scope"], properties=own)


HALF_READ = """
import kuzu
run = kuzu.Connection(kuzu.Database("graph.kuzu")).execute
run("CREATE NODE TABLE Article(title STRING PRIMARY KEY, expansion_state STRING, expansion_depth INT32)")
run("CREATE NODE TABLE Section(section_id STRING PRIMARY KEY, title STRING, content STRING, embedding DOUBLE[384])")
run("CREATE REL TABLE HAS_SECTION(FROM Article TO Section, section_index INT32)")
run("CREATE REL TABLE LINKS_TO(FROM Article TO Article, link_type STRING)")
states = {"Windmill": "processed", "Watermill": "claimed", "Millstone": "discovered", "Flour": "failed"}
for title, state in states.items():
    run("CREATE (:Article {title: $t, expansion_state: $s, expansion_depth: 0})", {"t": title, "s": state})
run("CREATE (:Section {section_id: 'Windmill#0', title: 'Windmill', content: 'It turns wind into work.'})")
run("MATCH (a:Article {title: 'Windmill'}), (s:Section) CREATE (a)-[:HAS_SECTION {section_index: 0}]->(s)")
"""


@pytest.mark.long
def test_what_an_expansion_had_not_read_is_read_after_its_migration(cli: Cli) -> None:
    cli.python(HALF_READ)
    with WikiServer(LocalWiki.from_dump(MILLS)) as server:
        assert cli("migrate", "apply", "--api-url", server.url, "--wiki", "millswiki").code == 0
        assert cli("retry").code == 0
        assert cli("worker", "--drain", "--json").json["labels"]["Article"]["ready"] == 4
        # The articles are those that an expansion makes: none of them is there twice.
        again = cli("expand", "Windmill", "--depth", "0", "--api-url", server.url, "--json")
        assert again.code == 0, again.err
    titles = [row["title"] for row in cli("query", "MATCH (a:Article) RETURN a.title AS title", "--json").json]
    assert len(titles) == len(set(titles)) > 4
    assert cli("verify").code == 0


def test_an_older_graph_is_not_made_over_by_init_and_the_way_to_it_is_told(expansion: Cli) -> None:
    before = (expansion.folder / "graph.kuzu").read_bytes()
    assert "migrate detect" in expansion("status").err
    refused = expansion("init")
    assert refused.code != 0
    assert "migrate detect" in refused.err
    assert expansion("migrate", "plan", "--json", *MODEL).json["total"] == 25
    assert (expansion.folder / "graph.kuzu").read_bytes() == before
