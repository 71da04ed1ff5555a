"""What a migration found, would do and did: the documents that `migrate` prints."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from graph_stores.legacy import Moved


class Verdict(StrEnum):
    LEGACY = "legacy"
    MIGRATED = "migrated"
    PARTLY = "partly migrated"
    GRAPHMILL = "graphmill"
    EMPTY = "empty"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """So many nodes of one label and one generation of marks."""

    generation: str
    label: str
    count: int
    examples: Sequence[str] = ()

    def document(self) -> dict[str, Any]:
        return {
            "generation": self.generation,
            "label": self.label,
            "count": self.count,
            "examples": list(self.examples),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a store holds; `advice` says what to do about it."""

    store: str
    verdict: Verdict
    shapes: Sequence[Shape]
    advice: str
    projects: Mapping[str, int] = field(default_factory=dict)
    vectors: Sequence[Mapping[str, Any]] = ()
    left: Mapping[str, int] = field(default_factory=dict)
    """What would not be touched, by label."""

    @property
    def total(self) -> int:
        return sum(shape.count for shape in self.shapes)

    def document(self) -> dict[str, Any]:
        return {
            "store": self.store,
            "verdict": self.verdict.value,
            "shapes": [shape.document() for shape in self.shapes],
            "total": self.total,
            "projects": dict(self.projects),
            "vectors": [dict(each) for each in self.vectors],
            "left": dict(self.left),
            "advice": self.advice,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    problem: str
    label: str
    count: int
    examples: Sequence[str] = ()

    def document(self) -> dict[str, Any]:
        return {"problem": self.problem, "label": self.label, "count": self.count, "examples": list(self.examples)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Which rule moves, or moved, how many nodes of which label where."""

    store: str
    moved: Sequence[Moved]
    problems: Sequence[Problem] = ()
    unknown: Mapping[str, int] = field(default_factory=dict)
    model: str | None = None
    dimension: int | None = None
    kept: int | None = None
    """How many vectors are kept; None where they were not counted."""
    would_keep: Sequence[tuple[str | None, int]] = ()
    """How many more would be kept if a model was named: by its name, or None for one that no node names."""
    projects: Mapping[str, int] = field(default_factory=dict)
    """How many nodes are in which project."""
    home: str = ""
    """The project of the command."""
    left: Mapping[str, int] = field(default_factory=dict)
    backup: str | None = None
    seconds: float | None = None
    finalized: str | None = None
    """When the migration was made final, where it was: there are no marks of it any more."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """What a rollback could not put back, or has taken away for good, by label."""
    again: bool = False
    """Whether it had been done before."""

    def after(self, *, seconds: float, backup: str | None) -> "Outcome":
        return replace(self, seconds=seconds, backup=backup)

    @property
    def total(self) -> int:
        return sum(each.count for each in self.moved)

    def document(self) -> dict[str, Any]:
        return {
            "store": self.store,
            "rules": [
                {
                    "rule": each.rule,
                    "label": each.label,
                    "to": each.to,
                    "count": each.count,
                    "examples": list(each.examples),
                }
                for each in self.moved
            ],
            "unknown": dict(self.unknown),
            "total": self.total,
            "problems": [problem.document() for problem in self.problems],
            "vectors": {
                "model": self.model,
                "dimension": self.dimension,
                "kept": self.kept,
                "would_keep": [{"model": model, "count": count} for model, count in self.would_keep],
            },
            "projects": dict(self.projects),
            "left": dict(self.left),
            "backup": self.backup,
            "finalized": self.finalized,
            "lost": dict(self.lost),
            "seconds": None if self.seconds is None else round(self.seconds, 3),
        }


def summed(moved: Iterable[Moved]) -> tuple[list[Moved], dict[str, int]]:
    """The same rule, label and state once each, in the order of the rules; and the words that nobody knew."""
    counts: Counter[tuple[str, str, str]] = Counter()
    examples: dict[tuple[str, str, str], list[str]] = {}
    unknown: Counter[str] = Counter()
    for each in moved:
        key = (each.rule, each.label, each.to)
        counts[key] += each.count
        examples[key] = [*examples.get(key, []), *each.examples][:3]
        if each.unknown is not None:
            unknown[each.unknown] += each.count
    rows = [
        Moved(rule=rule, label=label, to=to, count=counts[rule, label, to], examples=examples[rule, label, to])
        for rule, label, to in sorted(counts, key=lambda key: (_number(key[0]), *key))
    ]
    return rows, dict(sorted(unknown.items()))


def _number(rule: str) -> int:
    number = rule.partition("-")[0]
    return int(number) if number.isdigit() else 0
