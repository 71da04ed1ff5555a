"""Who hears of the changes that a store commits: nobody, or one listener, which is closed after the store.

What a listener does with them is its own business; what goes wrong there undoes no commit.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from graph_stores.model import Batch, Move, Node, Transition
from graph_stores.protocol import Listener

log = logging.getLogger("graphmill.store")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(slots=True)
class Ear:
    """One for all parts of a store, so that whoever comes to listen is heard by each."""

    listener: Listener | None = None

    def tell(self, moves: Callable[[], Iterable[Move]]) -> None:
        """Only where somebody listens are the moves made at all."""
        if self.listener is None:
            return
        try:
            if heard := list(moves()):
                self.listener.hear(heard)
        except Exception:
            log.exception("what was committed could not be told")

    async def close(self) -> None:
        if listener := self.listener:
            self.listener = None
            try:
                await asyncio.to_thread(listener.close)
            except Exception:
                log.exception("what was committed could not be told to its end")


def microseconds(moment: datetime) -> int:
    """Since 1970, in UTC; a moment without a zone is taken to be in UTC."""
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def birth(node: Node, *, at: int) -> Move:
    return Move(
        node=node.ref,
        before=None,
        after=node.state,
        at=at,
        run=node.initial.get("_runId", node.properties.get("_runId")),
        error_message=node.initial.get("_errorMessage", node.properties.get("_errorMessage")),
    )


def move_of(transition: Transition, *, at: int, since: int | None, tries: int | None, run: str | None) -> Move:
    marks = transition.marks.set
    return Move(
        node=transition.node,
        before=transition.expected,
        after=transition.to,
        at=at,
        since=since,
        through=transition.through,
        tries=tries or 0,
        run=marks.get("_runId", run),
        error_type=marks.get("_errorType"),
        error_message=marks.get("_errorMessage"),
    )


def changes_state(transition: Transition) -> bool:
    return transition.expected != transition.to or bool(transition.through)


def born(batch: Batch) -> dict[str, Node]:
    """By uuid, as they would be born: of a node that is named twice the first counts."""
    nodes: dict[str, Node] = {}
    for node in batch.nodes:
        nodes.setdefault(node.uuid, node)
    return nodes
