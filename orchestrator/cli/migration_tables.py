"""What a migration found and did, as people read it, and how far it is while it runs."""

import sys
import time
from types import TracebackType
from typing import Self

from graph_stores.model import Table
from orchestrator.cli.tables import print_parts, print_table
from orchestrator.cli.text import duration, printable
from orchestrator.migration.articles import RULES as OF_ARTICLES
from orchestrator.migration.marks import RULES
from orchestrator.migration.report import Found, Outcome, Verdict

_EVERY = 2.0
_DONE = {
    "plan": "{count} would be moved; next: {graphmill} migrate apply",
    "apply": "{count} moved; next: {graphmill} migrate validate",
    "validate": "{count} checked, {problems}",
    "rollback": "{count} put back as they were",
    "finalize": "{count} have no old marks any more; next: {graphmill} status",
}
_LEFT = {"apply": "do", "validate": "check"}


class Meter:
    """Tells on standard error how far a long command is: so many, so fast, so long to go."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._began = self._told = time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        now = time.monotonic()
        if not self._shown or now < self._told + _EVERY:
            return
        self._told = now
        rate = done / (now - self._began)
        left = f", {duration((of - done) / rate)} to go" if rate else ""
        print(
            f"{done:,} of {of:,} looked at ({done / max(of, 1):.0%}, {rate:,.0f}/s{left})", file=sys.stderr, flush=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is drawn that would have to be taken away."""


def print_found(found: Found, graphmill: str) -> None:
    if found.shapes:
        rows = [[each.generation, each.label, each.count, ", ".join(each.examples)] for each in found.shapes]
        print_table(Table(columns=("shape", "label", "count", "for example"), rows=rows))
    for each in found.vectors:
        made = f"{each['provider'] or 'nobody knows which'} {each['model'] or 'model'}"
        print_parts(f"{each['count']:,} with vectors of {each['dimension']} numbers, of {printable(made)}")
    if len(found.projects) > 1:
        print_parts(
            "projects: " + printable(", ".join(f"{name} ({count:,})" for name, count in found.projects.items()))
        )
    advice = (
        found.advice.replace("migrate ", f"{graphmill} migrate ", 1)
        if found.verdict is Verdict.LEGACY
        else found.advice
    )
    print_parts(printable(advice))


def print_outcome(verb: str, outcome: Outcome, graphmill: str) -> None:
    if outcome.moved and verb not in ("rollback", "finalize"):
        shown = ("for example",) if verb == "plan" else ()
        rows = [
            [each.rule, each.label, each.to, each.count, {**OF_ARTICLES, **RULES}.get(each.rule, each.rule)]
            + [", ".join(each.examples[:2])] * len(shown)
            for each in outcome.moved
        ]
        print_table(Table(columns=("rule", "label", "to", "count", "because", *shown), rows=rows))
    for word, times in outcome.unknown.items():
        print_parts(f"unknown word {printable(word)!r}: {times:,}")
    if outcome.model:
        print_parts(f"vectors that are kept: {printable(outcome.model)}, {outcome.dimension} numbers")
    if outcome.left:
        counts = ", ".join(f"{label} ({number:,})" for label, number in outcome.left.items())
        kept = "made since the migration, and still there" if verb == "rollback" else "left alone"
        print_parts(f"{kept}: {printable(counts)}")
    for problem in outcome.problems:
        examples = f": {', '.join(problem.examples)}" if problem.examples else ""
        print_parts(printable(f"problem: {problem.count:,} {problem.label} {problem.problem}{examples}"))
    if outcome.backup:
        print_parts(f"the graph as it was is in {printable(outcome.backup)}")
    if outcome.finalized and verb in ("apply", "validate"):
        print_parts(
            f"the migration was finalized ({printable(outcome.finalized)}): nothing is left of it to {_LEFT[verb]}"
        )
        return
    if outcome.again and verb == "apply":
        print_parts(f"it is migrated already; next: {printable(graphmill)} migrate validate")
        return
    count = f"{outcome.total:,} node{'' if outcome.total == 1 else 's'}"
    problems = f"{len(outcome.problems)} problems" if outcome.problems else "no problem"
    print_parts(_DONE[verb].format(count=count, graphmill=printable(graphmill), problems=problems))
