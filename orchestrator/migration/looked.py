"""What is decided outside of the graph for a page of nodes, how far the pages are, and what their rows say."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from graph_stores.legacy import MarkedGraph, MigrationRefused, Moved, Row
from orchestrator.migration.report import Problem
from orchestrator.migration.survey import Scope, examples_of, own_labels

_NAMESPACE = uuid5(NAMESPACE_URL, "graphmill:migration")
Progress = Callable[[int, int], None]
"""Called with the places that are done and all there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What had to be decided outside of the graph, of one page."""

    stale: list[int]
    lacking: Sequence[Row]
    hashes: Mapping[str, str] = field(default_factory=dict)
    """Of the texts whose vectors are kept, by place."""

    def ids(self, scope: Scope, given: set[str]) -> dict[str, str]:
        """A uuid for each node without one: from what it says of itself, and where two say the same from its place."""
        ids: dict[str, str] = {}
        for row in self.lacking:
            said = sorted((key, value) for key, value in row["said"] if value is not None)
            names = [scope.project or scope.home, row["label"], json.dumps(said, ensure_ascii=False)]
            uuid = _uuid(names)
            if uuid in given:
                uuid = _uuid([*names, str(row["place"])])
            given.add(uuid)
            ids[str(row["place"])] = uuid
        return ids


class Done:
    """How far the pages are, told as they end."""

    def __init__(self, of: int, progress: Progress) -> None:
        self._of = of
        self._done = 0
        self._progress = progress

    def add(self, page: Mapping[str, int]) -> None:
        self._done += page["last"] - page["first"] + 1
        self._progress(self._done, self._of)


def _uuid(names: Sequence[str]) -> str:
    return str(uuid5(_NAMESPACE, "\0".join(names)))


def now() -> datetime:
    """The machine's time, for nodes that have none of their own."""
    return datetime.now(UTC)


def moved_of(row: Row) -> Moved:
    return Moved(
        rule=row["rule"],
        label=row["label"],
        to=row["to"],
        count=row["count"],
        unknown=row.get("unknown"),
        examples=examples_of(row),
    )


def problems_in(rows: Sequence[Row]) -> list[Problem]:
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row["problem"]:
            key = (row["problem"], row["label"])
            counts[key] += row["count"]
            examples[key] = examples_of(row, examples.get(key, ()))
    return [
        Problem(problem=problem, label=label, count=count, examples=examples[problem, label])
        for (problem, label), count in sorted(counts.items())
    ]


async def unreconciled(graph: MarkedGraph, scope: Scope, rows: Sequence[Row]) -> list[Problem]:
    """Every rule has moved as many nodes as say that it moved them."""
    noted = await _noted(graph, scope)
    found: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if row["rule"]:
            found[row["rule"], row["label"]] += row["count"]
    return miscounted(noted, found)


def miscounted(noted: Counter[tuple[str, str]], found: Counter[tuple[str, str]]) -> list[Problem]:
    """Rules and labels of which another number was noted than is found."""
    return [
        Problem(
            problem=f"rule {rule} moved {noted[rule, label]:,}, and {found[rule, label]:,} say so",
            label=label,
            count=abs(noted[rule, label] - found[rule, label]),
        )
        for rule, label in sorted(noted.keys() | found.keys())
        if noted[rule, label] != found[rule, label]
    ]


async def gone_since(graph: MarkedGraph, scope: Scope) -> Counter[str]:
    """How many nodes that were migrated are not there any more, by label."""
    gone: Counter[str] = Counter()
    for (_, label), count in (await _noted(graph, scope)).items():
        gone[label] += count
    for row in await graph.find("migrated", {"project": scope.project, "ours": own_labels()}):
        gone[row["label"]] -= row["count"]
    return +gone


async def _noted(graph: MarkedGraph, scope: Scope) -> Counter[tuple[str, str]]:
    noted: Counter[tuple[str, str]] = Counter()
    for row in await graph.find("pages_read", {"project": scope.project}):
        for rule, label, count in json.loads(row["rules"]):
            noted[rule, label] += count
    return noted


def nothing_to_undo(record: Mapping[str, Any]) -> MigrationRefused:
    if record.get("finalized"):
        return MigrationRefused(
            "the migration was finalized: what it replaced is not there any more",
            hint="only a backup of the database can bring it back",
        )
    return MigrationRefused("there is nothing to undo: no node was migrated", hint="see: graphmill migrate detect")


def losses(gone: Mapping[str, int]) -> MigrationRefused:
    """Told before anything is put back."""
    counts = ", ".join(f"{label} ({count:,})" for label, count in sorted(gone.items()))
    return MigrationRefused(
        f"nodes of the old graph were deleted since, and a rollback cannot bring them back: {counts}",
        hint="put back all the others: graphmill migrate rollback --accept-losses",
    )
