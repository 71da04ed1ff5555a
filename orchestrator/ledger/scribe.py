"""Writes down what a store tells: the listener between a store's commits and the ledger.

Commits never wait for it. What is told is written by a thread of its own, a few moments' worth at a time, in the order
in which it was told. A server's answers to two commits may arrive in the other order: readers go by the store's times.
A ledger that cannot be written stops no job: the graph is the truth, and what is missing is found by the next
reconciliation.
"""

import logging
import queue
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graph_stores.model import Move
from orchestrator.states import WORKING

if TYPE_CHECKING:
    from orchestrator.ledger.ledger import Ledger
    from orchestrator.ledger.record import Entry

logger = logging.getLogger("graphmill.ledger")

# Small commits come by the hundred a second, and each append is synced to the disk.
_GATHERING = 0.1
_MOST_AT_ONCE = 20_000
_MICRO = 1_000_000


class Scribe:
    def __init__(self, folder: Path, *, writer: str) -> None:
        self.folder = folder
        self.writer = writer
        self._told: queue.Queue[Sequence[Move] | None] = queue.Queue()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._ledger: Ledger | None = None
        self._opening = threading.Lock()

    def hear(self, moves: Sequence[Move]) -> None:
        self._told.put(moves)
        if self._thread is None:
            # Most commands change nothing: then there is neither a thread nor a folder.
            self._thread = threading.Thread(target=self._write, name="graphmill-ledger", daemon=True)
            self._thread.start()

    def ledger(self) -> "Ledger":
        """Made when there is something to write."""
        from orchestrator.ledger.ledger import Ledger

        with self._opening:
            if self._ledger is None:
                self._ledger = Ledger.open(self.folder, writer=self.writer)
            return self._ledger

    def flush(self) -> None:
        """Wait until what was told until now is written."""
        self._told.join()

    def close(self) -> None:
        """Write what was told until now."""
        self._closing.set()
        if self._thread:
            self._told.put(None)
            self._thread.join()
        if self._ledger:
            self._ledger.close()

    def _write(self) -> None:
        """Until nothing more is told; after a failure it only listens, because a full disk is full for every batch."""
        failed = ended = False
        while not ended:
            told = [self._told.get()]
            self._closing.wait(_GATHERING)
            told += self._told_meanwhile()
            ended = None in told
            moves = [move for each in told if each for move in each]
            try:
                if moves and not failed:
                    self.ledger().append(_entries(moves, self.writer))
            except Exception as error:  # noqa: BLE001 whoever waits for it would wait for ever
                failed = True
                logger.warning("the ledger %s cannot be written, the job goes on without it: %s", self.folder, error)
            for _ in told:
                self._told.task_done()

    def _told_meanwhile(self) -> Iterator[Sequence[Move] | None]:
        count = 0
        while count < _MOST_AT_ONCE:
            try:
                told = self._told.get_nowait()
            except queue.Empty:
                return
            yield told
            if told is None:
                return
            count += len(told)


def _entries(moves: Sequence[Move], by: str) -> "list[Entry]":
    from orchestrator.ledger.record import Entry

    return [
        Entry(
            at=move.at,
            node=move.node.uuid,
            label=move.node.label,
            before=move.before,
            after=move.after,
            via=move.through,
            by=by,
            run=move.run,
            tries=move.tries + 1 if move.before in WORKING or move.after in WORKING else None,
            seconds=None if move.since is None else (move.at - move.since) / _MICRO,
            error_type=move.error_type,
            error=move.error_message,
        )
        for move in moves
    ]
