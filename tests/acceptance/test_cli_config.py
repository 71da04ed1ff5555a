"""Where settings come from, which one wins, and what is said about a file that is wrong."""

import os
from pathlib import Path
from typing import Any

import pytest

from .conftest import Cli


def write(folder: Path, text: str, *, name: str = "graphmill.toml", mode: int = 0o600) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    return file


def refused(cli: Cli, *arguments: str) -> dict[str, str]:
    cli.refused("status", *arguments, code="invalid_config", exit_code=2)
    return cli("status", "--json", *arguments).error


def project(cli: Cli, *arguments: str, env: dict[str, str] | None = None) -> str:
    outcome = cli("status", "--json", *arguments, env=env)
    assert outcome.code == 0, outcome.out
    return str(outcome.json["projectId"])


def test_flags_beat_environment_beats_file_beats_default(graph: Cli) -> None:
    assert project(graph) == "default"
    write(graph.folder, 'project = "file"')
    assert project(graph) == "file"
    assert project(graph, env={"GRAPHMILL_PROJECT": "environment"}) == "environment"
    assert project(graph, "--project", "flag", env={"GRAPHMILL_PROJECT": "environment"}) == "flag"


def test_the_nearest_file_above_is_found(graph: Cli) -> None:
    write(graph.folder, 'store = "kuzu:./graph.kuzu"\nproject = "above"')
    below = graph.folder / "a" / "b"
    below.mkdir(parents=True)
    document = Cli(folder=below, environment=graph.environment)("status", "--json").json
    assert (document["projectId"], document["store"]) == ("above", f"kuzu:{graph.folder}/graph.kuzu")


def test_a_named_file_is_used_and_its_paths_are_beside_it(graph: Cli) -> None:
    place = graph.folder / "etc"
    place.mkdir()
    file = write(place, 'store = "kuzu:../graph.kuzu"\nproject = "named"', name="other.toml")
    write(graph.folder, 'project = "nearest"')
    assert project(graph, "--config", str(file)) == "named"


def test_the_store_of_the_environment_is_used(graph: Cli) -> None:
    other = graph.folder / "other.kuzu"
    assert graph("init", env={"GRAPHMILL_STORE": f"kuzu:{other}"}).code == 0
    assert other.exists()


def test_a_missing_file_is_named(cli: Cli) -> None:
    assert "nowhere.toml" in refused(cli, "--config", "nowhere.toml")["message"]
    assert refused(cli, "--config", ".")["message"] == "cannot read .: Is a directory"


def test_an_unknown_key_gets_a_suggestion(cli: Cli) -> None:
    write(cli.folder, 'projetc = "x"')
    assert "unknown key 'projetc'" in refused(cli)["message"]
    assert refused(cli)["hint"] == "did you mean project?"
    write(cli.folder, 'colour = "x"')
    assert refused(cli)["hint"].startswith("the keys are store, project, user, password, roots, ")
    write(cli.folder, 'embedder_key = "x"')
    assert refused(cli)["hint"] == "a key is no part of this file: set GRAPHMILL_EMBEDDER_KEY"


@pytest.mark.parametrize("text", ["project = 3", 'project = ""', "[project]\nname = 'x'"])
def test_a_value_of_the_wrong_kind_is_refused(cli: Cli, text: str) -> None:
    write(cli.folder, text)
    assert "project in " in refused(cli)["message"]


def shown(cli: Cli, *arguments: str, env: dict[str, str] | None = None) -> dict[str, tuple[Any, str]]:
    document = cli("config", "show", "--json", *arguments, env=env).json
    return {key: (entry["value"], entry["from"]) for key, entry in document.items()}


def test_config_show_says_where_each_value_came_from(cli: Cli) -> None:
    settings = ['project = "p"', 'roots = ["docs", "/srv"]', 'exclude = ["*.log"]', "workers = 3", 'embedder = "none"']
    file = write(cli.folder, "\n".join(settings))
    found = shown(cli, "--store", "kuzu:x", env={"GRAPHMILL_EMBEDDER": "openai:m", "NEO4J_PASSWORD": "hunter2"})
    assert found == {
        "store": ("kuzu:x", "--store"),
        "project": ("p", str(file)),
        "user": ("neo4j", "default"),
        "password": ("(set)", "NEO4J_PASSWORD"),
        "roots": ([f"{cli.folder}/docs", "/srv"], str(file)),
        "include": ([], "default"),
        "exclude": (["*.log"], str(file)),
        "default_excludes": (None, "default"),
        "embedder": ("openai:m", "GRAPHMILL_EMBEDDER"),
        "embedder_url": (None, "default"),
        "embedder_key": (None, "default"),
        "api_url": (None, "default"),
        "lang": ("en", "default"),
        "contact": (None, "default"),
        "rate": (None, "default"),
        "workers": (3, str(file)),
        "ledger": (None, "default"),
    }
    lines = [line.split() for line in cli("config", "show", "--project", "q").out.splitlines()]
    assert ["project", "q", "--project"] in lines
    assert ["embedder", "none", str(file)] in lines
    assert ["store", "kuzu:./graph.kuzu", "default"] in lines


def test_bad_toml_names_the_line(cli: Cli) -> None:
    write(cli.folder, 'project = "x"\nstore kuzu')
    assert "line 2" in refused(cli)["message"]


def test_a_file_that_is_no_text_is_refused(cli: Cli) -> None:
    (cli.folder / "graphmill.toml").write_bytes(b"\x89PNG\xff\xfe")
    assert "not a text file" in refused(cli)["message"]


def test_a_password_that_others_can_read_is_warned_about(graph: Cli) -> None:
    file = write(graph.folder, 'password = "hunter2"', mode=0o644)
    outcome = graph("status", "--json")
    assert outcome.code == 0
    assert f"warning: {file} holds a password" in outcome.err
    assert "chmod 600" in outcome.err
    assert "hunter2" not in outcome.out + outcome.err
    file.chmod(0o600)
    assert graph("status").err == ""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_that_a_stranger_left_in_a_shared_place_is_not_trusted(cli: Cli) -> None:
    file = write(cli.folder, 'store = "neo4j://evil.example"', mode=0o644)
    os.chown(file, 4321, 4321)
    assert "belongs to another user" in refused(cli)["message"]
    assert cli("status", "--config", str(file)).err.startswith("error: cannot reach neo4j://evil.example")


def test_a_project_needs_a_name(cli: Cli) -> None:
    outcome = cli("status", "--project", " ")
    assert outcome.code == 2
    assert "the project has no name" in outcome.err
