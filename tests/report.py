"""What `scripts/test` knows of a suite while it runs: pytest appends a line to a file for every test that ends."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

REPORT = "GRAPHMILL_TEST_REPORT"


class Reporter:
    """The pytest plugin that writes the file. The environment variable REPORT names it."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._seconds = 0.0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._write(collected=len(session.items))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._write(failed=report.nodeid)
        self._seconds += report.duration
        if report.when == "teardown":
            self._write(ended=report.nodeid, seconds=round(self._seconds, 1))
            self._seconds = 0.0

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(failed=report.nodeid)

    def _write(self, **line: str | float) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


@dataclass(slots=True)
class SuiteProgress:
    """The file, read so far."""

    path: Path
    collected: int | None = None
    failed: dict[str, None] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each test took that has ended."""
    _position: int = 0

    @property
    def ended(self) -> int:
        return len(self.seconds)

    def read_on(self) -> None:
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as file:
            file.seek(self._position)
            while (text := file.readline()).endswith("\n"):
                self._take(json.loads(text))
                self._position = file.tell()

    def _take(self, line: dict[str, str | float]) -> None:
        if "collected" in line:
            self.collected = int(line["collected"])
        elif "failed" in line:
            self.failed[str(line["failed"])] = None
        else:
            self.seconds[str(line["ended"])] = float(line.get("seconds", 0))


def reporter() -> Reporter | None:
    path = os.environ.get(REPORT)
    return Reporter(path) if path else None
