"""Commands in messages: each can be copied and run, about the same graph as the command that printed it."""

from pathlib import Path

import pytest

from graph_stores.errors import Misuse
from orchestrator.cli.failures import report
from orchestrator.cli.options import GlobalOptions

OPTIONS = GlobalOptions(store="kuzu:./my graph", project="wiki", config=Path("mill.toml"))
GIVEN = "--store 'kuzu:./my graph' --project wiki --config mill.toml"


def test_a_command_in_a_message_gets_the_global_options_that_were_given() -> None:
    told = OPTIONS.complete_commands("mend them: graphmill verify --repair, then graphmill worker --drain")
    assert told == f"mend them: graphmill {GIVEN} verify --repair, then graphmill {GIVEN} worker --drain"


def test_a_command_is_left_as_it_is_where_no_global_option_was_given() -> None:
    assert GlobalOptions().complete_commands("see: graphmill runs list") == "see: graphmill runs list"


def test_only_commands_are_completed() -> None:
    text = "this graphmill knows up to 3; graphmill statuses; pip install graphmill"
    assert OPTIONS.complete_commands(text) == text


def test_a_command_that_names_its_store_keeps_it() -> None:
    told = OPTIONS.complete_commands("create it with: graphmill --store neo4j://here init")
    assert told == "create it with: graphmill --store neo4j://here --project wiki --config mill.toml init"


def test_completing_twice_adds_nothing() -> None:
    once = OPTIONS.complete_commands("graphmill status")
    assert OPTIONS.complete_commands(once) == once


@pytest.mark.parametrize("as_json", [False, True])
def test_the_hint_of_an_error_has_the_options(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    options = GlobalOptions(store="kuzu:./g", json=as_json)
    report(Misuse("there is no such query", hint="see: graphmill query --list"), options)
    captured = capsys.readouterr()
    assert "see: graphmill --store kuzu:./g query --list" in (captured.out if as_json else captured.err)


def test_the_same_command_again_has_each_option_once() -> None:
    options = GlobalOptions(project="wiki", arguments=("ingest", "a b", "--project", "wiki", "--exclude", "*.json"))
    assert (
        options.again("--allow-deletes") == "graphmill --project wiki ingest 'a b' --exclude '*.json' --allow-deletes"
    )
