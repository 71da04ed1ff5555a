"""A process that appends to a ledger until it is killed, and says of every batch that it is on the disk."""

import sys
import time
from pathlib import Path

from orchestrator.ledger.ledger import Ledger
from orchestrator.ledger.record import Entry


def main(folder: str, name: str) -> None:
    ledger = Ledger(Path(folder), writer=name, segment_bytes=16_000)
    before, state = None, "pending"
    for number in range(1_000_000):
        at = time.time_ns() // 1000
        ledger.append(
            [
                Entry(at=at + each, node=f"{name}-{each}", label="File", before=before, after=state, tries=number)
                for each in range(10)
            ]
        )
        print(number, flush=True)
        before, state = state, {"pending": "parsing", "parsing": "pending"}[state]
        time.sleep(0.02)


if __name__ == "__main__":
    main(*sys.argv[1:])
