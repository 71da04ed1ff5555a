"""The demo as a newcomer runs it: it works, it was really stopped half way, and it leaves a graph to go on with."""

import os
import re
import signal
import time

import pytest

from .conftest import Cli, Outcome
from .jobs import DEADLINE


@pytest.mark.long
def test_the_demo_shows_all_of_it_and_again_finds_nothing_to_do(cli: Cli) -> None:
    told = _played(cli, "demo", "shown")
    commands = re.findall(r"^\$ graphmill (\w+)", told.out, re.MULTILINE)
    assert commands == ["expand", "expand", "ingest", "status", "query", "search"]
    assert "pressed Ctrl-C half way" in told.out
    assert re.search(r"^\$ graphmill search .*\n\S+ +Overshot wheel › Where it is used", told.out, re.MULTILINE)
    assert f"cd {cli.folder / 'shown'}\n" in told.out
    shown = Cli(folder=cli.folder / "shown", environment=cli.environment)
    _compare_with_the_wiki(shown)
    again = _played(cli, "demo", "shown", "--json")
    assert again.json["folder"] == str(shown.folder)
    # Where there is nothing to read nobody stops half way, and so nothing goes on.
    assert [each["command"].split()[1] for each in again.json["commands"]] == commands[1:]
    assert {each["exit_code"] for each in again.json["commands"]} == {0}
    _compare_with_the_wiki(shown)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_the_demo_ends_what_it_started_when_it_is_told_to_end(cli: Cli, number: signal.Signals) -> None:
    environment = {**cli.environment, "TMPDIR": str(cli.folder)}
    process = Cli(folder=cli.folder, environment=environment).start("demo", start_new_session=True)
    while not list(cli.folder.glob("graphmill-demo-*/graph.kuzu.lock")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    # A terminal tells everybody, a service manager the one that it started.
    (os.killpg if number is signal.SIGINT else os.kill)(process.pid, number)
    # Whoever was left behind would hold the other ends of these pipes.
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 128 + number, err


def test_a_folder_with_other_things_in_it_is_left_alone(cli: Cli) -> None:
    (cli.folder / "own").mkdir()
    (cli.folder / "own" / "letter.txt").write_text("dear all")
    cli.refused("demo", "own", code="misuse", exit_code=2)
    assert [path.name for path in (cli.folder / "own").iterdir()] == ["letter.txt"]


def test_a_folder_that_cannot_be_made_is_named(cli: Cli) -> None:
    (cli.folder / "file").write_text("")
    assert "file" in cli.refused("demo", "file", code="misuse", exit_code=2).err


@pytest.mark.parametrize("option", [("--store", "kuzu:./other.kuzu"), ("--project", "other"), ("--config", "x.toml")])
def test_the_demo_takes_no_graph_of_somebody_else(cli: Cli, option: tuple[str, str]) -> None:
    cli.refused("demo", *option, code="misuse", exit_code=2)
    assert not any(cli.folder.iterdir())


def _played(cli: Cli, *arguments: str) -> Outcome:
    """Where somebody has settings of their own, which must not get in."""
    (cli.folder / "graphmill.toml").write_text('store = "bolt://127.0.0.1:1"\n')
    settings = {"GRAPHMILL_STORE": "bolt://127.0.0.1:1", "GRAPHMILL_EMBEDDER": "openai:none", "GRAPHMILL_RATE": "1"}
    process = Cli(folder=cli.folder, environment={**cli.environment, **settings}).start(*arguments)
    out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, out + err
    return Outcome(code=process.returncode, out=out, err=err)


def _compare_with_the_wiki(shown: Cli) -> None:
    states = shown("status", "--json").json["labels"]
    # Two pages are missing, and of the redirects those are there that somebody links to.
    assert states["Article"]["ready"] == 69
    assert set(states["Article"]) == {"ready", "skip"}
    assert set(states["Section"]) <= {"ready", "skip"}
    assert states["File"]["ready"] > 0
