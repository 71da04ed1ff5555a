"""Listeners to a store, for tests."""

from collections.abc import Sequence

from graph_stores.model import Move


class Heard:
    """A listener that keeps what it heard."""

    def __init__(self) -> None:
        self.moves: list[Move] = []
        self.closed = 0

    def hear(self, moves: Sequence[Move]) -> None:
        self.moves += moves

    def close(self) -> None:
        self.closed += 1

    def taken(self) -> list[Move]:
        taken, self.moves = self.moves, []
        return taken
