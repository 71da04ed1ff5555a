"""Sources that disappear, as a user meets them: a clear error with the command to give next, and nothing deleted."""

import os
import pty
import select
import shlex
import sys
from pathlib import Path

import pytest

from graph_stores.errors import GraphmillError
from tests.conformance.pictures import differences

from .jobs import Mill, eventually
from .wiki_jobs import Expansion, WikiServer, grown_wiki

MANY = 700
FEW = 15


def write_files(folder: Path, count: int) -> None:
    for number in range(count):
        place = folder / str(number // 100) / f"{number}.txt"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"line of file {number}\n" * 3, encoding="utf-8")


def found_files(mill: Mill) -> int:
    try:
        return sum(mill.standing().labels.get("File", {}).values())
    except GraphmillError:  # the graph is about to be made
        return 0


def next_command(hint: str) -> list[str]:
    """The arguments of the command that a hint ends with."""
    _, _, command = hint.strip().rpartition(": graphmill ")
    return shlex.split(command)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_killed_ingest_of_a_folder_that_was_moved_away_is_finished_when_it_is_back(mill: Mill) -> None:
    write_files(mill.root, MANY)
    job = mill.ingest("--embedder", "none")
    eventually(lambda: found_files(mill) >= 500, "some files are found")
    job.kill()
    assert job.was_killed
    away = mill.root.rename(mill.root.with_name("away"))
    ended = mill.start("--project", mill.project, "worker", "--drain", "--embedder", "none").end(1)
    error, hint = ended.err.splitlines()[-2:]
    assert error.startswith("error: ") and str(mill.root) in error
    command = next_command(hint)
    assert command[:4] == ["--project", mill.project, "runs", "retry"]
    [run] = mill.cli("runs", "list", "--json").json
    assert (run["outcome"], run["watermarkAfter"], run["id"][:8]) == ("failed", None, command[-1])
    assert str(mill.root) in run["reason"]
    assert mill.standing().in_error == 0 and mill.standing().labels["File"]["pending"] > 0

    for stages in ((), ("--stages", "parse"), ("--stages", "parse,link")):
        again = mill.cli("worker", "--drain", "--embedder", "none", *stages, "--json")
        assert (again.code, again.error["code"]) == (1, "root_missing")
        assert f"files of corpus wait for {mill.root}, which is missing" in again.error["message"]

    away.rename(mill.root)
    mill.start(*command, "--embedder", "none").end()
    [run] = mill.cli("runs", "list", "--json").json
    assert (run["outcome"], run["reason"]) == ("completed", None)
    assert mill.wrong() == []
    beside = mill.beside()
    beside.ingest("--embedder", "none").end()
    assert differences(mill.picture(), beside.picture()) == []


@pytest.mark.long
def test_most_of_a_folder_is_deleted_only_with_permission_which_is_asked_for_on_a_terminal(mill: Mill) -> None:
    write_files(mill.root, FEW)
    order = ["--project", mill.project, "ingest", str(mill.root), "--embedder", "none", "--workers", "1"]
    mill.start(*order).end()
    for number in range(1, FEW):
        (mill.root / "0" / f"{number}.txt").unlink()
    ended = mill.start(*order).end(1)
    error, hint = ended.err.splitlines()[-2:]
    assert error == (
        f"error: 14 of the 15 files of corpus are gone from {mill.root} "
        "(0/1.txt, 0/10.txt, 0/11.txt and 11 more); nothing was deleted"
    )
    assert next_command(hint) == [*order, "--allow-deletes"]
    document = mill.cli(*order, "--json")
    assert (document.code, document.error["code"]) == (1, "too_many_deletes")
    assert f"error: {document.error['message']}" == error
    told, code = on_a_terminal(mill, order, typed_ahead="y\n", typed="\n")
    assert code == 1 and "14 of the 15 files of corpus" in told and found_files(mill) == FEW
    assert [run["outcome"] for run in mill.cli("runs", "list", "--json").json] == [*["failed"] * 3, "completed"]
    told, code = on_a_terminal(mill, order, typed="y\n")
    assert code == 0 and "14 deleted" in told and found_files(mill) == 1
    assert mill.wrong() == []


def on_a_terminal(mill: Mill, arguments: list[str], *, typed: str, typed_ahead: str = "") -> tuple[str, int]:
    command = mill.cli.command(*arguments)
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(mill.cli.folder)
        os.execve(sys.executable, command, {**mill.cli.environment, "TERM": "xterm", "COLUMNS": "200"})
    os.write(terminal, typed_ahead.encode())
    told = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            told += os.read(terminal, 4096)
        except OSError:  # the terminal is gone with its process
            break
        if typed and told.endswith(b"delete them from the graph? [y/N]: "):
            os.write(terminal, typed.encode())
            typed = ""
    os.close(terminal)
    return told.decode(), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.long
def test_a_wiki_that_lacks_most_of_its_pages_deletes_nothing_without_permission(mill: Mill) -> None:
    wiki = grown_wiki(30)
    with WikiServer(wiki) as server:
        expansion = Expansion(mill=mill, server=server)
        order = ("Mill 0", "--depth", "3")
        expansion.start(*order).end()
        before = mill.picture()
        for number in range(5, 30):
            wiki.delete(f"Mill {number}")
        error = expansion.start(*order, "--json").end(1).json["error"]
        assert error["code"] == "too_many_deletes"
        assert error["message"].startswith("25 of the 30 articles of grownwiki are missing from ")
        command = next_command(error["hint"])
        source = ["--api-url", server.url, "--embedder", "none"]
        assert command == ["expand", *order, "--json", *source, "--allow-deletes"]
        assert [line for line in differences(mill.picture(), before) if not line.startswith("Wiki ")] == []
        assert mill.start(*command).end().json["deleted"] == 25
