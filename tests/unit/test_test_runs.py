"""`scripts/test` says how far it is, what failed, and how to run just that again."""

import subprocess
import sys
from pathlib import Path

from tests.__main__ import LEVELS, Suite, suites
from tests.report import SuiteProgress

ROOT = Path(__file__).parents[2]
SAMPLE = "tests/unit/failing_sample.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)


def test_a_run_ends_with_what_failed_and_the_command_that_runs_it_again() -> None:
    ended = run("--all", SAMPLE)
    assert ended.returncode == 1
    assert "2 tests, 1 failed" in ended.stdout
    assert ended.stdout.endswith(f"To run just these again:\n  scripts/test --all {SAMPLE}::test_that_fails\n")
    assert ended.stdout.index('"flour".startswith("grain")') < ended.stdout.index("2 tests, 1 failed")


def test_nothing_selected_is_no_success() -> None:
    ended = run(SAMPLE, "-k", "no_such_test")
    assert ended.returncode != 0
    assert "Nothing was selected" in ended.stdout


def test_progress_is_what_the_tests_reported_so_far(tmp_path: Path) -> None:
    report = tmp_path / "report"
    suite = Suite(name="unit", marked="")
    suite.progress = SuiteProgress(report)
    assert suite.share() == "unit …"
    report.write_text('{"collected": 1200}\n{"ended": "a"}\n{"failed": "b"}\n{"ended": "b"}\n{"ended"')
    assert suite.share() == "unit 2 of 1,200, 1 failed"
    with report.open("a") as file:
        file.write(': "c"}\n')
    assert suite.share() == "unit 3 of 1,200, 1 failed"


def test_every_test_belongs_to_a_suite() -> None:
    """By engine; on Kuzu each file to one."""
    on_kuzu = [ROOT / path for suite in suites([]) if "not neo4j" in suite.marked for path in suite.paths]
    files = [file for path in on_kuzu for file in ([path] if path.is_file() else path.rglob("test_*.py"))]
    assert sorted(files) == sorted((ROOT / "tests").rglob("test_*.py"))
    assert {"neo4j", "ladybug"} <= {suite.marked for suite in suites([]) if not suite.paths}


def test_all_leaves_out_the_soak_and_what_it_repeats_for_longer() -> None:
    assert LEVELS["--all"] == ("soak", "short")
