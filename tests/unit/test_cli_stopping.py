"""A command that is stopped ends, also while something in it hangs for ever."""

import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from orchestrator.cli.process import DEFAULT_SECONDS, VARIABLE
from orchestrator.cli.stopping import STOPPED

# What hangs is a thread that cannot be cancelled, as that of an engine in a long query.
HANGS = """
import asyncio, sys, time
from orchestrator.cli.stopping import Stopping, run

async def hang():
    print("hanging", flush=True)
    await asyncio.to_thread(time.sleep, 3600)

run(hang(), {stopping}, as_json="--json" in sys.argv)
"""
ASKED_IN_VAIN = 'Stopping(as_json="--json" in sys.argv)'


@contextmanager
def hanging(*arguments: str, stopping: str = "None", seconds: float = 0.2) -> Iterator[subprocess.Popen[str]]:
    code = HANGS.format(stopping=stopping)
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, VARIABLE: str(seconds)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == "hanging\n"
        yield process


@pytest.mark.parametrize(
    ("stopping", "told"), [("None", "stopped"), (ASKED_IN_VAIN, STOPPED)], ids=["cancelled", "asked"]
)
def test_ctrl_c_ends_a_command_although_a_thread_of_it_hangs(stopping: str, told: str) -> None:
    with hanging(stopping=stopping) as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, "", f"{told}\n")


def test_sigterm_ends_a_job_that_hangs_with_a_document_for_scripts() -> None:
    with hanging("--json", stopping=ASKED_IN_VAIN) as process:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
    assert (process.returncode, err) == (143, f"{STOPPED}\n")
    assert json.loads(out)["error"] == {"code": "stopped", "message": STOPPED, "hint": ""}


def test_a_second_signal_ends_it_at_once() -> None:
    with hanging(stopping=ASKED_IN_VAIN, seconds=3600) as process:
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(0.3)
            except subprocess.TimeoutExpired:
                continue
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, "", "")


def test_a_command_ends_within_two_seconds_unless_told_otherwise() -> None:
    assert DEFAULT_SECONDS < 2


FILL = """
import os, signal, sys

def as_if_it_came_just_before_the_write():
    '''Ctrl-C does not interrupt the thread that writes, so that no handler runs.'''
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})

def fill(stream):
    os.set_blocking(stream, False)
    while True:
        try:
            os.write(stream, bytes(65536))
        except BlockingIOError:
            break
    os.set_blocking(stream, True)
"""
BLOCKS_IN_THE_LOOP = """
from orchestrator.cli.stopping import Stopping, run

async def work():
    as_if_it_came_just_before_the_write()
    print("full", file=sys.{other}, flush=True)
    print("blocked", file=sys.{full}, flush=True)

fill({number})
run(work(), {stopping})
"""
BLOCKS_AFTER_IT = """
import signal
from orchestrator.cli.stopping import Stopping, run

async def work():
    signal.raise_signal(signal.SIGTERM)

fill({number})
run(work(), Stopping(as_json=False))
print("full", file=sys.{other}, flush=True)
print("blocked", file=sys.{full}, flush=True)
"""
BLOCKS_A_COMMAND = """
from orchestrator.cli import entry
from orchestrator.cli.process import command

def main():
    as_if_it_came_just_before_the_write()
    print("full", file=sys.{other}, flush=True)
    print("blocked", file=sys.{full}, flush=True)

fill({number})
entry.main = main
command()
"""


@pytest.mark.parametrize("full", ["stdout", "stderr"])
@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        (BLOCKS_IN_THE_LOOP.replace("{stopping}", "None"), 130),
        (BLOCKS_IN_THE_LOOP.replace("{stopping}", ASKED_IN_VAIN), 130),
        (BLOCKS_AFTER_IT, 143),
        (BLOCKS_A_COMMAND, 130),
    ],
    ids=["cancelled", "asked", "printing its result", "without a loop"],
)
def test_a_command_ends_although_nothing_reads_what_it_prints(code: str, exit_code: int, full: str) -> None:
    other, number = ("stderr", 1) if full == "stdout" else ("stdout", 2)
    command = [sys.executable, "-c", FILL + code.format(full=full, other=other, number=number)]
    environment = {**os.environ, VARIABLE: "3" if exit_code == 143 else "0.2"}  # 143: the time runs before it prints
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        heard = process.stderr if full == "stdout" else process.stdout
        assert heard
        assert heard.readline() == b"full\n"
        if exit_code == 130:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == exit_code


def test_an_ignored_ctrl_c_stays_ignored() -> None:
    code = """
import asyncio, signal
from orchestrator.cli.stopping import Stopping, run

async def work():
    signal.raise_signal(signal.SIGINT)
    await asyncio.sleep(0.5)

signal.signal(signal.SIGINT, signal.SIG_IGN)
stopping = Stopping(as_json=False)
run(work(), stopping)
print(stopping.signal)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", "")


def test_ctrl_c_at_a_question_for_a_password_gives_the_terminal_its_echo_back() -> None:
    code = """
import click
from orchestrator.cli.process import hidden_input
from orchestrator.cli.stopping import run

async def work():
    with hidden_input():
        click.prompt("password", hide_input=True, err=True)

run(work())
"""
    outside, inside = pty.openpty()
    environment = {**os.environ, VARIABLE: "0.2"}
    command = [sys.executable, "-c", code]
    try:
        with subprocess.Popen(
            command, env=environment, stdin=inside, stdout=inside, stderr=inside, start_new_session=True
        ) as process:
            while _has_echo(inside):
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        assert _has_echo(inside)
    finally:
        os.close(outside)
        os.close(inside)


def _has_echo(terminal: int) -> bool:
    return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)


@pytest.mark.parametrize("begun", ["", "import orchestrator.cli.entry"], ids=["imports", "shutdown"])
def test_ctrl_c_while_python_starts_or_ends_leaves_no_traceback(begun: str) -> None:
    code = """
import signal, sys
from orchestrator.cli import entry, process
entry.main = lambda: None
class Interrupting:
    def find_spec(self, name, *_):
        if name == "orchestrator.cli.entry":
            signal.raise_signal(signal.SIGINT)
if "{begun}":
    process.command()
    signal.raise_signal(signal.SIGINT)
else:
    del sys.modules["orchestrator.cli.entry"]
    sys.meta_path.insert(0, Interrupting())
    process.command()
"""
    done = subprocess.run([sys.executable, "-c", code.format(begun=begun)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
