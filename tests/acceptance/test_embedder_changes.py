"""The embedder of a graph is changed after edits: every command works afterwards, and all vectors are of one space."""

import shutil

from .conftest import ROOT, Cli
from .embedding_server import EmbeddingServer

LENGTHS = "MATCH (n:MarkdownSection:TextSection:Scope) RETURN DISTINCT size(n.embedding) AS length"


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
