"""What a command costs before it does anything: heavy modules are imported by those who use them."""

import pytest

from .conftest import Cli

ENGINES = {"kuzu", "ladybug", "neo4j"}
HEAVY = {"pyarrow", "numpy", "pandas", "networkx", "torch", "requests", "pygments", "pathspec", "watchfiles"}
HEAVY |= {
    "aiohttp",
    "wordllama",
    "tokenizers",
    "tree_sitter",
    "lxml",
    "docutils",
    "markdown_it",
    "semantic_text_splitter",
}
SHOW = {"rich"}
# The command runs inside this one, which then tells what was imported.
DUMP = """
import sys
from orchestrator.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=open("modules", "w"))
"""


def imported(cli: Cli, *arguments: str) -> set[str]:
    cli.python(DUMP, *arguments)
    return set((cli.folder / "modules").read_text().split())


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["ingest", "--help"], ["search", "--help"]], ids=" ".join
)
def test_help_imports_nothing_heavy(cli: Cli, arguments: list[str]) -> None:
    assert not imported(cli, *arguments) & (ENGINES | HEAVY | SHOW | {"asyncio"})


@pytest.mark.parametrize(
    "arguments", [["status"], ["query", "RETURN 1 AS one"], ["errors"]], ids=lambda arguments: arguments[0]
)
def test_an_embedded_graph_needs_only_its_own_engine(graph: Cli, arguments: list[str]) -> None:
    modules = imported(graph, *arguments)
    assert not modules & (HEAVY | {"ladybug", "neo4j"})
    assert {"kuzu", "rich"} <= modules


def test_json_does_without_the_tables(graph: Cli) -> None:
    assert not imported(graph, "status", "--json") & (HEAVY | SHOW)


def test_files_are_read_without_what_asks_wikis(cli: Cli) -> None:
    (cli.folder / "notes").mkdir()
    (cli.folder / "notes" / "mill.md").write_text("# Mill\n\nA mill grinds grain into flour.\n")
    assert not imported(cli, "ingest", "notes") & {
        "aiohttp",
        "mwparserfromhell",
        "neo4j",
        "ladybug",
        "torch",
        "docutils",
    }
