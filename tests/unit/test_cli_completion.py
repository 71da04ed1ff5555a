"""What a shell offers, that it needs no engine, and `-h` everywhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from cypher import catalogue
from orchestrator.cli.entry import _group
from orchestrator.cli.options import GlobalOptions
from orchestrator.ledger.place import folder_of

ROOT = Path(__file__).parents[2]


def offered(*arguments: str, typed: str = "") -> list[str]:
    shell = ShellComplete(_group(), {"obj": GlobalOptions()}, "graphmill", "_GRAPHMILL_COMPLETE")
    return [item.value for item in shell.get_completions(list(arguments), typed)]


def test_names_of_queries_labels_stores_and_embedders_are_offered() -> None:
    assert offered("query", "--name") == [each.name for each in catalogue("neo4j")]
    assert offered("query", "--name", typed="broken") == ["broken-links"]
    assert offered("search", "--label") == ["MarkdownSection", "Scope", "TextSection", "Section"]
    assert {"File", "Article", "Scope"} <= set(offered("errors", "--label"))
    assert offered("--store", typed="k") == ["kuzu:"]
    assert offered("ingest", "--embedder", typed="n") == ["none"]
    assert "search" in offered(typed="s") and "list" in offered("runs")


def test_projects_are_those_that_have_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = f"kuzu:{tmp_path / 'graph.kuzu'}"
    for project in ("notes", "a/b c", "x" * 300):
        folder_of(store, project, None).mkdir(parents=True)
    assert offered("status", "--project") == ["a/b c", "default", "notes"]
    assert offered("--store", "kuzu:elsewhere.kuzu", "status", "--project") == ["default"]
    (tmp_path / "graphmill.toml").write_text("this is no TOML")
    assert offered("status", "--project") == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["graph.kuzu.ledger", "graphmill.toml"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_through_the_command_itself_and_imports_no_engine(tmp_path: Path) -> None:
    told = (
        "import sys; from orchestrator.cli import main\ntry: main()\nfinally: print(*sys.modules, file=open('m', 'w'))"
    )
    command = tmp_path / "graphmill"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{told}" "$@"\n')
    command.chmod(0o755)
    script = """
        eval "$(_GRAPHMILL_COMPLETE=bash_source graphmill)"
        COMP_WORDS=(graphmill query --name exp) COMP_CWORD=3
        _graphmill_completion graphmill
        echo "${COMPREPLY[@]}"
    """
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
    )
    expected = "expansion-depths expansion-progress expansion-queue expansion-stale expansion-states"
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, expected, "")
    assert not {"kuzu", "ladybug", "neo4j", "numpy", "rich"} & set((tmp_path / "m").read_text().split())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--store ku", "kuzu:"),
        ("--store kuzu : ./gr", "./graph.kuzu"),
        ("--store = kuzu : gr", "graph.kuzu"),
        ("--store kuzu : ./graph.kuzu sear", "search"),
        ("there-is-no-such-command sear", "search"),
    ],
)
def test_bash_completes_what_it_splits_at_colons(words: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "graph.kuzu").touch()
    given = {"COMP_WORDS": f"graphmill {words}".replace(" ", "\n"), "COMP_CWORD": str(len(words.split()))}
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator.cli"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "_GRAPHMILL_COMPLETE": "bash_complete", **given},
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.stdout.strip().removeprefix("plain,"), done.stderr) == (expected, "")


def _commands(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [path]
    if isinstance(command, click.Group):
        with click.Context(command) as ctx:
            for name in command.list_commands(ctx):
                below = command.get_command(ctx, name)
                assert below is not None
                found += _commands(below, (*path, name))
    return found


@pytest.mark.parametrize("path", _commands(_group()), ids=lambda path: " ".join(path) or "graphmill")
def test_h_is_help_everywhere_and_fits_a_terminal(path: tuple[str, ...]) -> None:
    short, long = (CliRunner().invoke(_group(), [*path, flag], obj=GlobalOptions()) for flag in ("-h", "--help"))
    assert (short.exit_code, short.output) == (0, long.output)
    assert short.output.startswith("Usage: ") and "-h, --help" in short.output
    assert max(map(len, short.output.splitlines())) <= 80
