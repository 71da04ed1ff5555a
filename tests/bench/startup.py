"""How quickly a command answers, against the smallest program that uses the same command-line library."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.table import Row, median, show

ROUNDS = 15


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    python = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        graphmill = [python, "-m", "orchestrator.cli", "--store", f"kuzu:{Path(folder) / 'graph.kuzu'}"]
        subprocess.run([*graphmill, "init"], check=True, capture_output=True)
        commands = {
            "click": [python, "-c", "import click"],
            "engine": [python, "-c", "import click, kuzu; kuzu.Database()"],
            "help": [python, "-m", "orchestrator.cli", "--help"],
            "status": [*graphmill, "status"],
        }
        # Interleaved, so that a noisy moment hits all of them.
        times = {name: [0.0] * ROUNDS for name in commands}
        for number in range(ROUNDS):
            for name, command in commands.items():
                times[name][number] = seconds(command)
    middle = {name: median(values) for name, values in times.items()}
    reference = 'python -c "import click"'
    show(
        "Start-up",
        [
            Row(
                what="`graphmill --help`",
                ours=middle["help"],
                reference=middle["click"],
                reference_name=reference,
                reach=1.5,
            ),
            Row(
                what="`graphmill status`, empty graph",
                ours=middle["status"],
                reference=middle["engine"],
                reference_name="the same with kuzu opening an empty database",
                reach=2.0,
            ),
        ],
    )


if __name__ == "__main__":
    main()
