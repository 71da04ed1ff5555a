"""`scripts/test`: runs the suites side by side, shows how far each is, and says at the end what failed."""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.report import REPORT, SuiteProgress

# By level: the markers of the tests that it leaves out.
LEVELS = {"": ("long", "torch", "soak"), "--all": ("soak", "short"), "--soak": ("short",)}
NOTHING_COLLECTED = 5
# More than there are cores: tests wait for a server, for child processes and for the disk.
AT_ONCE = 4
SLOWEST = 5
_KUZU = "not ladybug and not neo4j"


@dataclass(slots=True, kw_only=True)
class Suite:
    """Tests that share one process, because the native modules of Kuzu and Ladybug cannot, and one Neo4j server."""

    name: str
    marked: str
    paths: Sequence[str] = ()
    attached: bool = False
    """Whether it has the terminal, so that -s and --pdb work."""
    yields: bool = True
    """Whether it leaves the processor to a suite that does not: the longest one, which would run alone at the end."""
    folder: Path = field(init=False)
    progress: SuiteProgress = field(init=False)
    process: subprocess.Popen[bytes] | None = None
    began: float = 0.0

    def start(self, folder: Path, without: Sequence[str], arguments: Sequence[str]) -> None:
        self.folder = folder / self.name.replace(" ", "-")
        self.folder.mkdir()
        self.progress = SuiteProgress(self.folder / "report")
        marked = " and ".join([self.marked, *(f"not {marker}" for marker in without)])
        yields = ["nice", "-n", "5"] if self.yields else []
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*yields, sys.executable, "-m", "pytest", "-q", "-m", marked, *self.paths, *arguments],
                env={**os.environ, REPORT: str(self.progress.path)},
                stdin=None if self.attached else subprocess.DEVNULL,
                stdout=None if self.attached else log,
                stderr=None if self.attached else subprocess.STDOUT,
            )
        self.began = time.monotonic()

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        return self.process.poll() if self.process else None

    @property
    def failed(self) -> bool:
        return self.code not in (None, 0, NOTHING_COLLECTED)

    def share(self) -> str:
        self.progress.read_on()
        total = self.progress.collected
        failed = f", {len(self.progress.failed)} failed" if self.progress.failed else ""
        return f"{self.name} {self.progress.ended:,} of {total:,}{failed}" if total else f"{self.name} …"

    def told(self) -> str:
        """The line for a suite that has ended."""
        failed = len(self.progress.failed)
        outcome = "ok" if not self.failed else f"{failed} FAILED" if failed else f"FAILED (exit code {self.code})"
        return f"{self.name:22}{self.progress.ended:6,} tests{time.monotonic() - self.began:7.0f} s  {outcome}"


def suites(arguments: Sequence[str]) -> list[Suite]:
    """The longest first, so that none is left to run alone at the end; with arguments, pytest's selection by engine."""
    if arguments:
        return [
            Suite(name="kuzu", marked=_KUZU, attached=True, yields=False),
            Suite(name="neo4j", marked="neo4j"),
            Suite(name="ladybug", marked="ladybug"),
        ]
    return [
        Suite(name="neo4j", marked="neo4j", yields=False),
        Suite(name="kuzu conformance a-j", marked=_KUZU, paths=_conformance("a-j")),
        Suite(name="kuzu conformance k-z", marked=_KUZU, paths=_conformance("k-z")),
        Suite(name="kuzu acceptance", marked=_KUZU, paths=["tests/acceptance"]),
        Suite(name="ladybug", marked="ladybug"),
        Suite(name="unit", marked=_KUZU, paths=["tests/unit"]),
    ]


def _conformance(initials: str) -> list[str]:
    return sorted(str(path) for path in Path("tests/conformance").glob(f"test_[{initials}]*.py"))


def run(waiting: list[Suite], folder: Path, without: Sequence[str], arguments: Sequence[str]) -> Iterator[Suite]:
    """Every suite as it ends."""
    running: list[Suite] = []
    line = StatusLine()
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.append(waiting.pop(0))
                running[-1].start(folder, without, arguments)
            if not any(suite.attached for suite in running):
                line.show(" · ".join(suite.share() for suite in running))
            time.sleep(0.2)
            for suite in [suite for suite in running if suite.code is not None]:
                running.remove(suite)
                suite.progress.read_on()
                line.clear()
                yield suite
    finally:
        line.clear()
        for suite in running:
            assert suite.process
            suite.process.send_signal(signal.SIGINT)  # on SIGTERM, pytest would leave the servers that it started
        for suite in running:
            assert suite.process
            suite.process.wait()


class StatusLine:
    """How far the suites are: one line that changes on a terminal, else a line a minute."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._next = time.monotonic() + 60

    def show(self, text: str) -> None:
        if self._terminal:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() > self._next:
            self._next += 60
            print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def details(suite: Suite) -> str:
    """What pytest said of the failures, without the dots."""
    said = suite.log.read_text(encoding="utf-8", errors="replace")
    starts = [place for title in ("= FAILURES =", "= ERRORS =") if (place := said.find(title)) >= 0]
    return said[said.rfind("\n", 0, min(starts)) + 1 :] if starts else said[-10_000:]


def main(arguments: list[str]) -> int:
    level = arguments.pop(0) if arguments[:1] and arguments[0] in LEVELS else ""
    began = time.monotonic()
    ended: list[Suite] = []
    with tempfile.TemporaryDirectory(prefix="graphmill-test-") as folder:
        for suite in run(suites(arguments), Path(folder), LEVELS[level], arguments):
            ended.append(suite)
            if arguments and suite.code != NOTHING_COLLECTED:
                print(suite.log.read_text(encoding="utf-8", errors="replace"), end="")
            elif not arguments:
                print(suite.told(), flush=True)
        broken = [suite for suite in ended if suite.failed]
        if not arguments:
            for suite in broken:
                print(f"\n{suite.name}:\n{details(suite)}")
    failed = [test for suite in broken for test in suite.progress.failed]
    total = sum(suite.progress.ended for suite in ended)
    if not arguments:
        print("\n".join(["", "The slowest:", *slowest(ended)]))
    print(f"\n{total:,} tests, {len(failed)} failed, {time.monotonic() - began:.0f} s")
    if failed:
        print("\n".join(["", *failed, "", "To run just these again:", _again(level, failed)]))
    if broken:
        return 1
    if not total:
        print("Nothing was selected. Tests marked long or torch run with scripts/test --all, soak with --soak.")
        return NOTHING_COLLECTED
    return 0


def slowest(ended: Sequence[Suite]) -> list[str]:
    """The tests that took longest, with their seconds."""
    seconds = {test: took for suite in ended for test, took in suite.progress.seconds.items()}
    return [f"{seconds[test]:6.0f} s  {test}" for test in sorted(seconds, key=lambda test: -seconds[test])[:SLOWEST]]


def _again(level: str, failed: Sequence[str]) -> str:
    return "  " + shlex.join(["scripts/test", *([level] if level else []), *failed])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # or the suites would go on alone
    with suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]))
    sys.exit(130)
