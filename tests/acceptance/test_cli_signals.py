"""What a signal does to a command that runs: a graceful end, an end at once, and what is shown meanwhile."""

import asyncio
import os
import pty
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from subprocess import Popen

import pytest

from .conftest import Cli
from .embedding_server import EmbeddingServer, Scripted

STOPPING = "stopping: finishing what is in flight; press Ctrl-C again to stop at once\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A folder and an endpoint that answers no text until `release` is set, so that a job cannot end before."""

    cli: Cli
    server: EmbeddingServer
    release: threading.Event
    arguments: tuple[str, ...]

    def start(self) -> Popen[str]:
        process = self.cli.start(*self.arguments)
        for _ in range(2):
            asyncio.run(self.server.arrival())
        return process

    def told_to_stop(self, process: Popen[str], number: int) -> None:
        process.send_signal(number)
        wait_for_line(process, STOPPING)


def wait_for_line(process: Popen[str], expected: str) -> None:
    assert process.stderr
    while (line := process.stderr.readline()) != expected:
        assert line, "the process ended without saying so"


@pytest.fixture
def held(cli: Cli) -> Iterator[Held]:
    (cli.folder / "notes").mkdir()
    (cli.folder / "notes" / "mill.md").write_text("# Mill\n\nThe stone turns grain into flour.\n")
    release = threading.Event()
    # The first request only learns how long a vector is.
    with EmbeddingServer(script=deque([Scripted(), Scripted(until=release)])) as server:
        arguments = ("ingest", "notes", "--embedder", "openai:tiny", "--embedder-url", server.url)
        try:
            yield Held(cli=cli, server=server, release=release, arguments=arguments)
        finally:
            release.set()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_a_job_that_is_stopped_ends_well_and_the_same_command_goes_on(held: Held, number: int, code: int) -> None:
    with held.start() as process:
        asked = held.cli("status", "--json")
        assert (asked.code, asked.err) == (0, ""), "it is answered while the job runs"
        assert asked.json["in_flight"] > 0
        held.told_to_stop(process, number)
        held.release.set()
        out, err = process.communicate()
    assert process.returncode == code, err
    assert "the same command goes on from here" in out
    assert "Traceback" not in err
    assert held.cli("status", "--json").json["in_flight"] == 0, "nothing is left in flight"
    again = held.cli(*held.arguments, "--json")
    assert (again.code, again.json["labels"]["MarkdownSection"]) == (0, {"ready": 1})


def test_a_second_signal_ends_the_job_at_once_and_safely(held: Held) -> None:
    with held.start() as process:
        held.told_to_stop(process, signal.SIGINT)
        while process.poll() is None:
            # Two signals right after each other are one wish, and count once.
            process.send_signal(signal.SIGINT)
            select.select([], [], [], 0.05)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, ""), err
    held.release.set()
    again = held.cli(*held.arguments, "--json")
    assert (again.code, again.json["labels"]["MarkdownSection"]) == (0, {"ready": 1})


def test_a_job_in_a_pipe_tells_now_and_then_how_far_it_is(held: Held) -> None:
    with held.start() as process:
        wait_for_line(process, "read 1 · parsed 1 · linked 1 · embedded 0, 1 to go\n")
        held.release.set()
        out, _ = process.communicate()
    assert (process.returncode, out.startswith("1 file read; 1 text embedded in ")) == (0, True)


def test_following_changes_ends_well_when_it_is_stopped(cli: Cli) -> None:
    (cli.folder / "notes").mkdir()
    (cli.folder / "notes" / "mill.md").write_text("# Mill\n\nThe stone turns grain into flour.\n")
    with EmbeddingServer() as server:
        arguments = ("ingest", "notes", "--watch", "--embedder", "openai:tiny", "--embedder-url", server.url)
        with cli.start(*arguments) as process:
            for _ in range(2):
                asyncio.run(server.arrival())
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate()
    assert process.returncode == 0, out
    assert STOPPING in err


def test_status_is_shown_again_and_again_until_it_is_stopped(filled: Cli) -> None:
    with filled.start("status", "--watch") as process:
        assert process.stdout
        assert process.stdout.readline().startswith("pending 2 · parsing 2 · parsed 2 · skip 1 · error 1 · 2 in flight")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, err) == (0, ""), out


def test_on_a_terminal_status_is_refreshed_in_place(filled: Cli) -> None:
    told, code = _on_a_terminal(filled, ["status", "--watch"], until=lambda told: told.count("Ctrl-C to stop") >= 2)
    assert code == 0
    assert "MarkdownSection" in told and "\x1b[1A" in told, "the cursor goes back up"
    assert told.rstrip().endswith("\x1b[?25h") or "\x1b[?25h" in told, "the cursor is shown again"


def test_on_a_terminal_there_is_a_bar_for_each_stage(held: Held) -> None:
    told, code = _on_a_terminal(
        held.cli,
        list(held.arguments),
        until=lambda told: "0 of 1" in told,
        then=held.release.set,
    )
    assert code == 0
    assert all(f"{stage} " in told for stage in ("read", "parse", "link", "embed"))
    assert "1 file read; 1 text embedded in " in told


def _on_a_terminal(
    cli: Cli, arguments: list[str], *, until: Callable[[str], bool], then: Callable[[], None] | None = None
) -> tuple[str, int]:
    """What the command shows on a terminal; once that is so, `then` happens, or else Ctrl-C is typed."""
    command = cli.command(*arguments)
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(cli.folder)
        os.execve(sys.executable, command, {**cli.environment, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"})
    told, waiting = b"", True
    while select.select([terminal], [], [], 60)[0]:
        try:
            told += os.read(terminal, 4096)
        except OSError:  # the terminal is gone with its process
            break
        if waiting and until(told.decode(errors="ignore")):
            waiting = False
            then() if then else os.write(terminal, b"\x03")
    os.close(terminal)
    return told.decode(), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
