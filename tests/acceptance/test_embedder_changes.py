"""The embedder of a graph is changed after edits: every command works afterwards, and all vectors are of one space."""

import shutil

import pytest

from .conftest import ROOT, Cli
from .corpus import write_corpus
from .embedding_server import EmbeddingServer
from .jobs import Mill

LENGTHS = "MATCH (n:MarkdownSection:TextSection:Scope) RETURN DISTINCT size(n.embedding) AS length"


@pytest.mark.long
def test_another_embedder_after_an_edit_leaves_a_graph_that_works(cli: Cli) -> None:
    """Changing the vector column itself crashed Kuzu here, and every command after it."""

    def done(*words: str) -> str:
        outcome = cli(*words)
        assert outcome.code == 0, (words, outcome.code, outcome.out, outcome.err)
        return outcome.out

    shutil.copytree(ROOT / "examples/mill", cli.folder / "mill")
    done("ingest", "mill")
    (cli.folder / "mill/new.md").write_text("# New\n\nnew text\n")
    done("ingest", "mill")
    with EmbeddingServer(dimension=8) as short, EmbeddingServer(dimension=300) as long:
        for server in (short, long):
            done("ingest", "mill", "--embedder", f"openai:{server.dimension}", "--embedder-url", server.url)
            assert done("query", LENGTHS, "--csv").split() == ["length", str(server.dimension)]
    done("ingest", "mill", "--embedder", "none")
    (cli.folder / "mill/new.md").write_text("# New\n\nanother text\n")
    done("ingest", "mill", "--embedder", "wordllama")
    assert done("query", LENGTHS, "--csv").split() == ["length", "256"]
    assert "no problem" in done("verify")


ON_BOTH = pytest.mark.parametrize(
    "mill_on", ["kuzu", pytest.param("neo4j", marks=[pytest.mark.neo4j, pytest.mark.soak])], indirect=True
)
EMBEDDED = "MATCH (n:{label}) WHERE n.projectId = $project RETURN n._state, size(n.embedding), count(*)"


def embedded(mill: Mill) -> set[tuple[str, int | None]]:
    """In which states the texts are, and how long their vectors."""
    labels = ("MarkdownSection", "Scope")
    return {(state, length) for label in labels for state, length, _ in mill.ask(EMBEDDED.format(label=label))}


@pytest.mark.long
@ON_BOTH
def test_the_same_model_with_vectors_of_another_length_makes_all_of_them_anew(mill_on: Mill) -> None:
    """A job that knows the model's name asks the endpoint only once there is a text for it."""
    mill, server = mill_on, mill_on.embedder
    write_corpus(mill.root, pages=6, modules=2)
    texts = mill.ingest("--json").end().json["embedded"]
    assert embedded(mill) == {("ready", 8)}
    server.dimension = 16
    assert mill.ingest("--json").end().json["embedded"] == 0
    assert embedded(mill) == {("ready", 8)}
    (mill.root / "new.md").write_text("# New\n\nnew text\n")
    assert mill.ingest("--json").end().json["embedded"] == texts + 1
    assert embedded(mill) == {("ready", 16)}
    server.dimension = 8
    (mill.root / "new.md").write_text("# New\n\nanother text\n")
    server.forget()
    assert mill.ingest("--json").end().json["embedded"] == texts + 1
    assert embedded(mill) == {("ready", 8)}
    assert len(server.texts) == 2, "what the cache knows of the length is asked for once"
    assert mill.wrong() == []


@pytest.mark.long
@ON_BOTH
def test_a_worker_refuses_the_same_model_with_vectors_of_another_length(mill_on: Mill) -> None:
    mill, server = mill_on, mill_on.embedder
    write_corpus(mill.root, pages=6, modules=2)
    mill.ingest().end()
    server.refuses = ("new text",)
    (mill.root / "new.md").write_text("# New\n\nnew text\n")
    mill.ingest().end(None)
    assert embedded(mill) == {("ready", 8), ("error", None)}
    server.refuses, server.dimension = (), 16
    mill.start("retry").end()
    refused = mill.start("worker", "--drain").end(2)
    error, hint = refused.err.splitlines()[-2:]
    assert "of openai:paced (8 numbers), this worker would make others of openai:paced (16 numbers)" in error
    assert hint == (
        "hint: give --embedder-url of the endpoint that made them, "
        f"or have all texts embedded again: graphmill ingest {mill.root} --embedder openai:paced"
    )
    assert embedded(mill) == {("ready", 8), ("linked", None)}
    server.dimension = 8
    mill.start("worker", "--drain").end()
    assert embedded(mill) == {("ready", 8)}
    assert mill.wrong() == []
