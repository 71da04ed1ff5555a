"""`scripts/bench NAME…`: runs the named benchmarks, each in a process of its own, and prints their tables."""

import os
import subprocess
import sys
from pathlib import Path

BENCHMARKS = {
    "startup": ["tests.bench.startup"],
    "ledger": ["tests.bench.ledger"],
    "ingest": ["tests.bench.ingest kuzu", "tests.bench.ingest neo4j", "tests.bench.embedding", "tests.bench.code"],
    "stores": ["tests.bench.stores kuzu", "tests.bench.stores ladybug", "tests.bench.stores neo4j"],
    "wikipedia": ["tests.bench.wikipedia"],
    "workers": ["tests.bench.workers"],
    "copy": ["tests.bench.copy"],
    "migrate": ["tests.bench.migrate kuzu", "tests.bench.migrate neo4j"],
    "compare": ["tests.bench.compare"],
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown or not names:
        print(f"usage: scripts/bench {'|'.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    commands = [command.split() for name in names for command in BENCHMARKS[name]]
    # Where the local Neo4j server is.
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "scripts")}
    return max(subprocess.run([sys.executable, "-m", *command], env=environment).returncode for command in commands)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
