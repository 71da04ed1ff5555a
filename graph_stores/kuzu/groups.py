"""Which waiting batches can be written in one transaction without changing what each of them means."""

from asyncio import Future
from collections.abc import Sequence

from graph_stores.model import Batch

Waiting = tuple[Batch, "Future[None]"]


def split(waiting: Sequence[Waiting]) -> tuple[list[Waiting], list[Waiting]]:
    """Those that must wait for the next group, and the first group: batches in order that touch different nodes."""
    group: list[Waiting] = []
    touched: set[str] = set()
    for position, (batch, future) in enumerate(waiting):
        footprint = _footprint(batch)
        # Deletions come first in a transaction, so they may not share it with somebody's edges to the same node.
        if group and (batch.deletions or group[0][0].deletions or not footprint.isdisjoint(touched)):
            return list(waiting[position:]), group
        group.append((batch, future))
        touched |= footprint
    return [], group


def merged(batches: Sequence[Batch]) -> Batch:
    """All of them in one, without their fences, which are each batch's own."""
    if len(batches) == 1:
        return batches[0]
    return Batch(
        transitions=[item for batch in batches for item in batch.transitions],
        deletions=[item for batch in batches for item in batch.deletions],
        unlinks=[item for batch in batches for item in batch.unlinks],
        nodes=[item for batch in batches for item in batch.nodes],
        updates=[item for batch in batches for item in batch.updates],
        edges=[item for batch in batches for item in batch.edges],
        vectors=[item for batch in batches for item in batch.vectors],
    )


def _footprint(batch: Batch) -> set[str]:
    return {
        *(item.node.uuid for item in batch.transitions),
        *(item.uuid for item in batch.deletions),
        *(item.source.uuid for item in batch.unlinks),
        *(item.uuid for item in batch.nodes),
        *(item.node.uuid for item in batch.updates),
        *(item.source.uuid for item in batch.edges),
        *(item.node.uuid for item in batch.vectors),
    }
