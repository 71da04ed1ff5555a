"""A run as it is shown: with its partitions and with what it did, all of it asked of the graph."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_stores.protocol import Store
from orchestrator.runs.records import (
    Partition,
    Run,
    counts_of,
    find_run,
    partitions_by_outcome,
    read_partitions,
    read_runs,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """`nodes` counts what the run made or changed. It and `partitions` are filled where one run is asked for."""

    run: Run
    outcomes: Mapping[str, int]
    partitions: Sequence[Partition] = ()
    nodes: Mapping[str, int] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        shown: dict[str, Any] = {**self.run.document(), "partitions": dict(self.outcomes)}
        if self.partitions:
            shown |= {"nodes": dict(self.nodes), "partition_list": [each.document() for each in self.partitions]}
        return shown


async def overviews(store: Store) -> list[Overview]:
    outcomes = await partitions_by_outcome(store)
    return [Overview(run=run, outcomes=outcomes.get(run.uuid, {})) for run in await read_runs(store)]


async def current(store: Store) -> Overview | None:
    """The run under way, or else the last one."""
    found = await overviews(store)
    return next((each for each in found if each.run.is_open), found[0] if found else None)


async def overview(store: Store, name: str) -> Overview:
    run = await find_run(store, name)
    partitions = await read_partitions(store, run.uuid)
    return Overview(
        run=run,
        outcomes=(await partitions_by_outcome(store)).get(run.uuid, {}),
        partitions=partitions,
        nodes=await counts_of(store, run.uuid),
    )
