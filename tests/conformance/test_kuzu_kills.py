"""kill -9 in every window of an embedded store: it opens again, acknowledged batches are whole, nothing is half."""

import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

COMMITTING = ["log expected", "committed", "noted", "log sealed"]
CHECKPOINTING = [
    "guard copied",
    "guard in place",
    "checkpointed",
    "sealed",
    "reopened",
    "guard lifted",
    "guard removed",
]
PUTTING_BACK = ["leftovers removed", "log put back", "file put back", "copy removed"]


@dataclass
class Victim:
    """Starts writers on one database, one after the other, and remembers what was acknowledged."""

    engine: str
    path: Path
    acknowledged: int = 0
    kills: int = 0

    def run(self, die_at: str = "-", *, close: bool = False, kill_after: tuple[str, float] | None = None) -> None:
        """Run until it dies of itself, or kill it some seconds after it printed a line."""
        command = [sys.executable, "-m", "tests.conformance.kill_writer", self.engine, str(self.path), die_at]
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(command + ["close"] * close, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
        ):
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    self._note(line)
                    if kill_after and line.startswith(kill_after[0]):
                        time.sleep(kill_after[1])
                        process.kill()
                        kill_after = None
            except BaseException:
                process.kill()
                raise
            process.wait()
            errors.seek(0)
            said = errors.read()
        assert process.returncode in (-signal.SIGKILL, 0), said
        assert process.returncode or die_at == "-", f"the writer never came to {die_at!r}"
        self.kills += process.returncode != 0

    def _note(self, line: str) -> None:
        word, _, number = line.partition(" ")
        if word == "ack":
            self.acknowledged = int(number)
        elif word == "found":
            # One more than acknowledged is whole too: the kill came between the commit and its acknowledgement.
            assert self.acknowledged <= int(number) <= self.acknowledged + 1, (number, self.acknowledged)
            self.acknowledged = int(number)


@pytest.fixture(params=["kuzu", "ladybug"])
def victim(request: pytest.FixtureRequest, tmp_path: Path) -> Victim:
    return Victim(engine=request.param, path=tmp_path / "graph")


@pytest.mark.parametrize("kills", [pytest.param(4, marks=pytest.mark.short), pytest.param(14, marks=pytest.mark.long)])
def test_killed_while_writing_keeps_every_acknowledged_batch(victim: Victim, kills: int) -> None:
    moments = random.Random(kills)
    for _ in range(kills):
        victim.run(kill_after=("ack", moments.random() * 0.25))
    victim.run(close=True)
    assert victim.kills == kills


@pytest.mark.long
def test_killed_in_every_window_of_a_commit_recovers(victim: Victim) -> None:
    for moment in COMMITTING:
        victim.run(close=True)
        victim.run(moment)
    victim.run(close=True)
    assert victim.kills == len(COMMITTING)


@pytest.mark.long
def test_killed_in_every_window_of_a_checkpoint_recovers(victim: Victim) -> None:
    for moment in CHECKPOINTING:
        victim.run(moment)
    victim.run(close=True)
    assert victim.kills == len(CHECKPOINTING)


@pytest.mark.long
def test_killed_inside_the_engines_own_checkpoint_recovers(victim: Victim) -> None:
    kills = 10
    moments = random.Random(kills)
    for _ in range(kills):
        victim.run(kill_after=("step guard in place", moments.random() * 0.02))
    victim.run(close=True)
    assert victim.kills == kills


@pytest.mark.long
def test_killed_in_every_window_of_closing_recovers(victim: Victim) -> None:
    for moment in CHECKPOINTING:
        victim.run(close=True)  # the log of a killed writer is brought into a new file instead
        victim.run(moment, close=True)
    victim.run(close=True)
    assert victim.kills == len(CHECKPOINTING)


@pytest.mark.long
def test_killed_in_every_window_of_recovery_recovers(victim: Victim) -> None:
    for moment in PUTTING_BACK:
        victim.run("checkpointed")
        victim.run(moment)
    victim.run(close=True)
    assert victim.kills == 2 * len(PUTTING_BACK)
