"""What can be wrong with a store, and that each is told in one clear line with the right exit code."""

import re
import socket

import pytest

from .conftest import Cli

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8192)
MAKE = """
import importlib, sys
engine = importlib.import_module(sys.argv[1])
connection = engine.Connection(engine.Database(sys.argv[2]))
connection.execute("CREATE NODE TABLE Thing(id INT64 PRIMARY KEY)")
"""


def test_an_unknown_scheme(cli: Cli) -> None:
    assert "did you mean kuzu" in cli.refused("init", "--store", "kuzzu:./x", code="unknown_scheme", exit_code=2).err
    assert "kuzu:PATH" in cli.refused("init", "--store", "mysql://x", code="unknown_scheme", exit_code=2).err
    assert "kuzu:PATH" in cli.refused("init", "--store", "graph", code="unknown_scheme", exit_code=2).err


def test_no_path(cli: Cli) -> None:
    assert "kuzu:PATH" in cli.refused("init", "--store", "kuzu:", code="misuse", exit_code=2).err


@pytest.mark.parametrize("command", ["init", "status"])
def test_a_folder_of_something_else(cli: Cli, command: str) -> None:
    (cli.folder / "photos").mkdir()
    (cli.folder / "photos" / "a.png").write_bytes(PNG)
    cli.refused(command, "--store", "kuzu:./photos", code="not_a_store")
    assert [file.name for file in cli.folder.rglob("*")] == ["photos", "a.png"]


@pytest.mark.long
@pytest.mark.parametrize("command", ["init", "status"])
@pytest.mark.parametrize("scheme", ["kuzu", "ladybug"])
@pytest.mark.parametrize("content", [PNG, b"hello\n"], ids=["png", "text"])
def test_a_file_of_something_else_is_left_alone(cli: Cli, command: str, scheme: str, content: bytes) -> None:
    file = cli.folder / "thing"
    file.write_bytes(content)
    cli.refused(command, "--store", f"{scheme}:./thing", code="not_a_store")
    assert file.read_bytes() == content
    assert [each.name for each in cli.folder.iterdir()] == ["thing"]


def test_an_empty_file_is_no_graph_until_init_makes_it_one(cli: Cli) -> None:
    """A kill between making the file and writing to it leaves one."""
    (cli.folder / "graph.kuzu").touch()
    cli.refused("status", code="not_a_store")
    assert cli("init").out.startswith("created")
    assert cli("status").code == 0


@pytest.mark.parametrize(("made_by", "opened_as"), [("kuzu", "ladybug"), ("ladybug", "kuzu")])
@pytest.mark.parametrize("command", ["init", "status"])
def test_a_database_of_the_other_engine(cli: Cli, made_by: str, opened_as: str, command: str) -> None:
    cli.python(MAKE, made_by, "other.db")
    outcome = cli.refused(command, "--store", f"{opened_as}:./other.db", code="not_a_store")
    assert f"call it {made_by}:" in outcome.err


def test_a_database_that_graphmill_never_touched(cli: Cli) -> None:
    cli.python(MAKE, "kuzu", "graph.kuzu")
    assert "graphmill --store kuzu:./graph.kuzu init" in cli.refused("status", code="schema_missing").err


def test_ladybug_works_like_kuzu(cli: Cli) -> None:
    store = ("--store", "ladybug:./graph.ladybug")
    assert cli(*store, "init").out.startswith("created ladybug:./graph.ladybug")
    cli.seed("ladybug:./graph.ladybug")
    assert cli(*store, "status", "--json").json["total"] == 8
    assert cli(*store, "query", "MATCH (f:File) RETURN count(*) AS n", "--json").json == [{"n": 7}]


@pytest.mark.parametrize("place", ["/proc/graph.kuzu", "/sys/graph.kuzu"])
def test_a_read_only_place(cli: Cli, place: str) -> None:
    cli.refused("init", "--store", f"kuzu:{place}", code="read_only_place")


def test_a_folder_that_is_not_there(cli: Cli) -> None:
    outcome = cli("init", "--store", "kuzu:./no/such/graph.kuzu")
    assert outcome.code == 1
    assert outcome.err.startswith("error: ")


@pytest.mark.parametrize("command", [["status"], ["query", "RETURN 1 AS x"]], ids=["status", "query"])
def test_no_graph_yet(cli: Cli, command: list[str]) -> None:
    outcome = cli.refused(*command, code="store_not_found")
    assert re.search(r"hint: .*graphmill --store kuzu:\S+ ingest PATH", outcome.err)
    assert list(cli.folder.iterdir()) == []


def test_a_database_in_use_is_asked_through_its_owner_and_kept_from_everybody_else(graph: Cli) -> None:
    (graph.folder / "notes").mkdir()
    with graph.start("ingest", "notes", "--watch", "--exclude", "words of mine") as owner:
        graph.wait_for_owner(owner)
        assert graph("query", "RETURN 1 AS one", "--json").json == [{"one": 1}]
        outcome = graph.refused("init", code="store_owned")
        owner.kill()
    told = re.search(r"process (\d+) on (\S+) \((.*)\) since (\S+)", outcome.err)
    assert told, outcome.err
    assert (int(told[1]), told[2]) == (owner.pid, socket.gethostname())
    assert told[3] == "graphmill ingest notes --watch --exclude …"
    assert graph("status").code == 0, "the lock ends with its process"


def test_an_unexpected_error_is_one_line(cli: Cli) -> None:
    (cli.folder / "sitecustomize.py").write_text("import orchestrator.config as c\nc.load = None\n")
    broken = Cli(
        folder=cli.folder,
        environment={**cli.environment, "PYTHONPATH": f"{cli.folder}:{cli.environment['PYTHONPATH']}"},
    )
    outcome = broken("status")
    assert (outcome.code, outcome.out) == (1, "")
    assert re.fullmatch(r"unexpected error: TypeError: .*; run again with -v and report it\n", outcome.err)
    assert broken("status", "--json").error["code"] == "unexpected"
    assert "Traceback" in broken("status", "-v").err


def test_misuse_is_exit_code_two(cli: Cli) -> None:
    assert "did you mean status?" in cli.refused("statsu", code="misuse", exit_code=2).err
    assert "--store" in cli.refused("status", "--stor", "x", code="misuse", exit_code=2).err
    cli.refused("status", "extra", code="misuse", exit_code=2)
    bare = cli()
    assert (bare.code, bare.out) == (2, "")
    assert bare.err.startswith("Usage: graphmill")


def test_version(cli: Cli) -> None:
    assert cli("--version").out.startswith("graphmill ")
