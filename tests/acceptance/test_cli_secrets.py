"""A password is taken from the environment, a file or a hidden prompt, and is shown nowhere."""

import os
import pty
import select
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import Cli

SECRET = "correct-horse/battery:staple"


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """Takes connections and says nothing, so that a command stays alive while it is looked at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        yield server


@pytest.fixture
def no_server() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"neo4j://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    "url",
    [
        f"neo4j://neo4j:{SECRET}@127.0.0.1",
        f"bolt://:{SECRET}@127.0.0.1",
        f"neo4jj://neo4j:{SECRET}@127.0.0.1",
        f"neo4j:{SECRET}@127.0.0.1",
        f"admin:{SECRET}@127.0.0.1",
    ],
)
@pytest.mark.parametrize("way", ["flag", "environment", "file"])
def test_a_password_in_the_url_is_refused_and_not_repeated(cli: Cli, url: str, way: str) -> None:
    if way == "file":
        (cli.folder / "graphmill.toml").write_text(f'store = "{url}"')
    flags = ["--store", url] if way == "flag" else []
    env = {"GRAPHMILL_STORE": url} if way == "environment" else {}
    for arguments in (["status"], ["status", "--json"], ["status", "-v"]):
        outcome = cli(*arguments, *flags, env=env)
        assert outcome.code == 2
        assert "staple" not in outcome.out + outcome.err
        assert "NEO4J_PASSWORD" in outcome.out + outcome.err


@pytest.mark.parametrize(("way", "form"), [("environment", ["-v"]), ("file", ["--json", "-v"])])
def test_a_failure_does_not_show_the_password(cli: Cli, no_server: str, way: str, form: list[str]) -> None:
    env = {"NEO4J_PASSWORD": SECRET} if way == "environment" else {}
    if way == "file":
        file = cli.folder / "graphmill.toml"
        file.write_text(f'password = "{SECRET}"')
        file.chmod(0o600)
    outcome = cli("status", "--store", no_server, *form, env=env)
    assert outcome.code == 1
    assert "staple" not in outcome.out + outcome.err


def test_the_list_of_processes_does_not_show_the_password(cli: Cli, silent_server: socket.socket) -> None:
    url = f"neo4j://127.0.0.1:{silent_server.getsockname()[1]}"
    asking = Cli(folder=cli.folder, environment={**cli.environment, "NEO4J_PASSWORD": SECRET})
    with asking.start("status", "--store", url) as process, silent_server.accept()[0]:
        arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
        assert url.encode() in arguments
        assert not any(b"staple" in argument for argument in arguments)
        process.kill()


def test_a_person_is_asked_when_the_server_refuses_and_the_answer_is_not_echoed(cli: Cli, neo4j_server: Any) -> None:
    told = _on_a_terminal(cli, ["status", "--store", neo4j_server.uri], typed=f"{SECRET}\n")
    assert f"password of neo4j at {neo4j_server.uri}: " in told
    assert "did not accept the user 'neo4j'" in told, "the password was taken and the server asked"
    assert "staple" not in told


def _on_a_terminal(cli: Cli, arguments: list[str], *, typed: str) -> str:
    command = cli.command(*arguments)
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(cli.folder)
        os.execve(sys.executable, command, dict(cli.environment))
    told = b""
    while select.select([terminal], [], [], 30)[0]:
        try:
            told += os.read(terminal, 4096)
        except OSError:  # the terminal is gone with its process
            break
        if typed and told.endswith(b": "):
            os.write(terminal, typed.encode())
            typed = ""
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 1
    return told.decode()
