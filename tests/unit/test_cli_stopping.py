"""A command that is stopped ends, also while something in it hangs for ever."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from orchestrator.cli.stopping import DEFAULT_SECONDS, STOPPED, VARIABLE

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
