"""Runs and their partitions as the graph holds them: each `ingest` and `expand` of a source is one.

Owns their properties and how they are found. What they have done is never counted here: it is asked of the graph.
"""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from graph_stores.errors import Misuse
from graph_stores.model import Edge, Node, NodeRow, Ref, Transition, Update
from graph_stores.protocol import Store
from orchestrator.moves import new_node
from orchestrator.states import AT_REST, OUTCOMES, State

RUN, PARTITION = "IngestionRun", "Partition"
_NAMESPACE = uuid5(NAMESPACE_URL, "graphmill:runs")
SHORT = 8


class RunType(StrEnum):
    FULL = "full"
    INCREMENTAL = "incremental"


class PartitionKind(StrEnum):
    FOLDER = "folder"
    TITLES = "titles"
    CATEGORY = "category"
    RANGE = "range"
    CHANGES = "changes"

    @property
    def is_settled(self) -> bool:
        """Whether what was read of it stays as it was: a dump does not change, a folder may."""
        return self is PartitionKind.RANGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A partition to be: what a person calls it, and what its reader needs to know."""

    kind: PartitionKind
    key: str
    plan: Mapping[str, Any] = field(default_factory=dict)  # Any: as JSON has it
    root: str | None = None
    """Of which root it is a part: only a machine that has it can read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """What the graph knows of a source, as a new run leaves it."""

    nodes: Sequence[Node] = ()
    transitions: Sequence[Transition] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What a command wants of one source. `options` tell one wish from another.

    `first` are parts that only a new run has, and `marks` what is to be known when one begins: going on with a run that
    was not finished needs neither. `record` tells, asked in `turn`, what the graph is to hold of the source. It is
    committed with the run: a source that is known has a run that reads it.
    """

    source: str
    options: Mapping[str, Any]
    parts: Sequence[Part]
    first: Sequence[Part] = ()
    marks: Sequence[Update] = ()
    is_full: bool = False
    record: Callable[[], Awaitable[SourceRecord]] | None = None
    turn: Callable[[], AbstractAsyncContextManager[object]] = nullcontext


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    uuid: str
    name: str
    source: str
    type: RunType
    state: State
    options: Mapping[str, Any]
    reason: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    read_at: datetime | None = None
    watermark_before: datetime | None = None
    watermark_after: datetime | None = None

    @property
    def ref(self) -> Ref:
        return Ref(label=RUN, uuid=self.uuid)

    @property
    def is_open(self) -> bool:
        return self.state not in AT_REST

    @property
    def outcome(self) -> str:
        return OUTCOMES[RUN][self.state].value

    @property
    def kind(self) -> str:
        """A source is named by what it is and a name: `files:notes`."""
        return self.source.partition(":")[0]

    @property
    def short(self) -> str:
        """Enough of its id to name it by."""
        return self.uuid[:SHORT]

    def document(self) -> dict[str, Any]:
        """The shape that `runs list --json` promises."""
        times = {
            "startedAt": self.started_at,
            "finishedAt": self.finished_at,
            "watermarkBefore": self.watermark_before,
            "watermarkAfter": self.watermark_after,
        }
        return {
            "id": self.uuid,
            "source": self.source,
            "type": self.type.value,
            "outcome": self.outcome,
            "reason": self.reason,
            **{name: time.isoformat() if time else None for name, time in times.items()},
            "options": dict(self.options),
        }

    def node(self) -> Node:
        return new_node(
            label=RUN,
            uuid=self.uuid,
            name=self.name,
            properties={
                "source": self.source,
                "type": self.type.value,
                "options": json.dumps(self.options, sort_keys=True),
                "watermarkBefore": self.watermark_before,
                "_runId": self.uuid,
            },
        )

    @classmethod
    def from_row(cls, row: NodeRow) -> "Run":
        found = row.properties
        return cls(
            uuid=row.uuid,
            name=row.name,
            source=found["source"],
            type=RunType(found["type"]),
            state=State(row.state),
            options=json.loads(found["options"]),
            reason=row.error_message,
            started_at=found.get("startedAt"),
            finished_at=found.get("finishedAt"),
            read_at=found.get("readAt"),
            watermark_before=found.get("watermarkBefore"),
            watermark_after=found.get("watermarkAfter"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """`offset` is how far it is read, in units of its kind."""

    uuid: str
    run: str
    kind: PartitionKind
    key: str
    plan: Mapping[str, Any]
    offset: int
    state: State
    reason: str | None = None
    holder: str | None = None

    @property
    def ref(self) -> Ref:
        return Ref(label=PARTITION, uuid=self.uuid)

    @property
    def outcome(self) -> str:
        return OUTCOMES[PARTITION][self.state].value

    def document(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "kind": self.kind.value,
            "outcome": self.outcome,
            "nextOffset": self.offset,
            "reason": self.reason,
            "worker": self.holder,
        }

    @classmethod
    def from_row(cls, row: NodeRow) -> "Partition":
        found = row.properties
        return cls(
            uuid=row.uuid,
            run=found["_runId"],
            kind=PartitionKind(found["kind"]),
            key=found["key"],
            plan=json.loads(found.get("plan") or "{}"),
            offset=found.get("nextOffset") or 0,
            state=State(row.state),
            reason=row.error_message,
            holder=row.lease.owner if row.lease else None,
        )


def run_uuid(project: str, source: str, number: int) -> str:
    return str(uuid5(_NAMESPACE, "\0".join((project, RUN, source, str(number)))))


def partition_uuid(run: str, key: str) -> str:
    return str(uuid5(_NAMESPACE, "\0".join((run, PARTITION, key))))


def partition_node(run: Run, part: Part, index: int) -> Node:
    return new_node(
        label=PARTITION,
        uuid=partition_uuid(run.uuid, part.key),
        name=part.key,
        depth=index,  # they are read in their order
        properties={
            "kind": part.kind.value,
            "key": part.key,
            "root": part.root,
            "plan": json.dumps(part.plan, sort_keys=True),
            "_runId": run.uuid,
        },
        initial={"nextOffset": 0},
    )


def partition_edge(run: Run, part: Part, index: int) -> Edge:
    target = Ref(label=PARTITION, uuid=partition_uuid(run.uuid, part.key))
    return Edge(type="HAS_PARTITION", source=run.ref, target=target, properties={"index": index})


async def read_runs(store: Store, *, source: str | None = None, only_open: bool = False) -> list[Run]:
    """The project's runs, the latest first."""
    asked = {"source": source or "", "open": only_open}
    rows = (await store.ask("runs", asked)).rows
    return [
        Run(
            uuid=row[0],
            name=row[1],
            source=row[2],
            type=RunType(row[3]),
            state=State(row[4]),
            options=json.loads(row[5]),
            reason=row[6],
            started_at=row[7],
            finished_at=row[8],
            read_at=row[9],
            watermark_before=row[10],
            watermark_after=row[11],
        )
        for row in rows
    ]


async def read_partitions(store: Store, run: str) -> list[Partition]:
    """A run's partitions in the order in which they were planned."""
    rows = (await store.ask("partitions", {"run": run})).rows
    return [
        Partition(
            uuid=row[0],
            run=run,
            kind=PartitionKind(row[1]),
            key=row[2],
            plan=json.loads(row[3] or "{}"),
            offset=row[4] or 0,
            state=State(row[5]),
            reason=row[6],
            holder=row[7],
        )
        for row in rows
    ]


async def counts_of(store: Store, run: str) -> dict[str, int]:
    """How many nodes the run made or changed last, by state."""
    counts: Counter[str] = Counter()
    for state, count in (await store.ask("made-by-run", {"run": run})).rows:
        counts[state] += count
    return {state.value: counts[state.value] for state in State if counts[state.value]}


async def partitions_by_outcome(store: Store) -> dict[str, dict[str, int]]:
    """How many partitions of each run have come to what."""
    found: dict[str, Counter[str]] = {}
    for run, state, count in (await store.ask("partition-states")).rows:
        found.setdefault(run, Counter())[OUTCOMES[PARTITION][State(state)].value] += count
    return {run: dict(counts) for run, counts in found.items()}


async def find_run(store: Store, name: str) -> Run:
    """The run whose id begins like that; Misuse where that is none or several."""
    found = [run for run in await read_runs(store) if run.uuid.startswith(name)]
    if len(found) != 1:
        how_many = "no run has" if not found else f"{len(found)} runs have"
        raise Misuse(f"{how_many} an id that begins with {name!r}", hint="see them with: graphmill runs list")
    return found[0]
