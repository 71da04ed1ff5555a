"""What a check is, and what it finds. Whoever knows something that must hold gives a `Check`, and `verify` asks it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from graph_stores.model import Ref, Value
from graph_stores.protocol import Store
from orchestrator.paging import paged

_PAGE = 10_000
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    label: str
    uuid: str
    found: str

    @property
    def ref(self) -> Ref:
        return Ref(label=self.label, uuid=self.uuid)

    def document(self) -> dict[str, str]:
        return {"label": self.label, "uuid": self.uuid, "found": self.found}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One check that does not hold: how many nodes are against it, and the first of them."""

    check: str
    about: str
    count: int
    examples: Sequence[Example]
    hint: str

    def document(self) -> dict[str, Any]:
        """The shape that `verify --json` promises."""
        return {
            "check": self.check,
            "count": self.count,
            "examples": [example.document() for example in self.examples],
            "hint": self.hint,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What was done about one check, and to how many nodes; `left` are those of which something would be lost."""

    check: str
    count: int
    did: str
    left: int = 0

    def document(self) -> dict[str, Any]:
        return {"check": self.check, "count": self.count, "did": self.did, "left": self.left}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`notes` say what could not be looked at. `repaired` is None where nobody asked for a repair.

    `stuck` counts the nodes that `reclaim` would take back: no problem, because any job takes them back.
    """

    checked: int
    problems: Sequence[Problem]
    notes: Sequence[str] = ()
    repaired: Sequence[Repaired] | None = None
    stuck: int = 0

    def document(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "checked": self.checked,
            "problems": [problem.document() for problem in self.problems],
            "stuck": self.stuck,
            "notes": list(self.notes),
        }
        return told if self.repaired is None else {**told, "repaired": [each.document() for each in self.repaired]}


Find = Callable[[Store], AsyncIterator[Example]]
Advise = Callable[[Store, Sequence[Example]], Awaitable[str]]
"""A hint that names what was found."""
Mend = Callable[[Store, Sequence[Example]], Awaitable[str]]
"""Does something about what a check found, and says what it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """`about` says what is wrong with the nodes that `find` finds."""

    name: str
    about: str
    hint: str | Advise
    find: Find = field(repr=False)


async def problem_of(store: Store, check: Check, *, examples: int = _SHOWN) -> Problem | None:
    found = await against(store, check)
    if not found:
        return None
    hint = check.hint if isinstance(check.hint, str) else await check.hint(store, found)
    return Problem(check=check.name, about=check.about, count=len(found), examples=found[:examples], hint=hint)


async def against(store: Store, check: Check) -> list[Example]:
    """All that is against a check, in the order of their uuids."""
    first = await _once(store, check)
    # A server reads one property of a node before somebody's commit and the next one after it. What is really wrong is
    # so a moment later too.
    again = await _once(store, check) if first else {}
    return [again[uuid] for uuid in sorted(first.keys() & again.keys())]


async def _once(store: Store, check: Check) -> dict[str, Example]:
    return {example.uuid: example async for example in check.find(store)}


def asking(*questions: str, **parameters: Value) -> Find:
    """The answers to one or more questions, each of uuid, label and what was found."""
    return partial(_answers, questions=[f"check-{question}" for question in questions], parameters=parameters)


async def _answers(store: Store, questions: Sequence[str], parameters: Mapping[str, Value]) -> AsyncIterator[Example]:
    for question in questions:
        async for rows in paged(store, question, limit=_PAGE, **parameters):
            for uuid, label, found in rows:
                yield Example(label=label, uuid=uuid, found=found or "")
