"""What a migration found and did, as people read it, and how far it is while it runs."""

import re
import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from graph_stores.model import Table
from orchestrator.cli.tables import print_parts, print_table
from orchestrator.cli.text import duration, printable
from orchestrator.migration.articles import RULES as OF_ARTICLES
from orchestrator.migration.marks import RULES
from orchestrator.migration.report import Found, Outcome

_EVERY = 2.0
_DONE = {
    "plan": "{count} would be moved; next: {apply}",
    "apply": "{count} moved{where}; next: {validate}",
    "validate": "{count} checked, no problem\nnext: {worker}, then {finalize}\nor back: {rollback}",
    "rollback": "{count} put back as they were",
    "finalize": "{count} have no old marks any more; next: {status}",
}
_LEFT = {"apply": "do", "validate": "check"}
_VERBS = ("detect", "plan", "apply", "validate", "rollback", "finalize")
# What the verbs after apply still need of what was said to it.
_STILL_NEEDED = {"validate": ("--mapping",), "finalize": ("--mapping",), "rollback": ()}


@dataclass(frozen=True, slots=True, kw_only=True)
class NextSteps:
    """Commands about the same graph, with all options of this one that they depend on."""

    graphmill: str
    given: Mapping[str, Any]

    def migrate(self, verb: str, *more: str) -> str:
        wanted = _STILL_NEEDED.get(verb, tuple(self.given))
        words = [word for name, value in self.given.items() if name in wanted for word in _words(name, value)]
        return f"{self.graphmill} migrate {shlex.join([verb, *words, *more])}"

    def command(self, *words: str, project: str | None = None) -> str:
        of_project = f" --project {shlex.quote(project)}" if project else ""
        return f"{self.graphmill}{of_project} {shlex.join(words)}"

    def in_text(self, text: str) -> str:
        """The text with the commands in it as they have to be typed."""
        return re.sub(
            rf"(?:graphmill )?\bmigrate ({'|'.join(_VERBS)})\b( --mapping| --accept-losses)?",
            lambda match: (
                f"{self.graphmill} {match[0].removeprefix('graphmill ')}"
                if match[2] == " --mapping"
                else self.migrate(match[1], *(match[2] or "").split())
            ),
            text,
        )


def _words(name: str, value: Any) -> list[str]:
    return [name] if value is True else [name, str(value)]


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
        left = f", {duration((of - done) / rate)} to go" if rate and done < of else ""
        print(
            f"{done:,} of {of:,} looked at ({done / max(of, 1):.0%}, {rate:,.0f}/s{left})", file=sys.stderr, flush=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is drawn that would have to be taken away."""


def print_found(found: Found, steps: NextSteps) -> None:
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
    print_parts(printable(steps.in_text(found.advice)))


def print_outcome(verb: str, outcome: Outcome, steps: NextSteps) -> None:
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
    for line in _vectors(verb, outcome):
        print_parts(printable(line))
    if outcome.left:
        kept = "made since the migration, and still there" if verb == "rollback" else "left alone"
        print_parts(f"{kept}: {printable(_counted(outcome.left))}")
    if outcome.lost:
        print_parts(f"not there any more: {printable(_counted(outcome.lost))}")
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
        print_parts(f"it is migrated already; next: {printable(steps.migrate('validate'))}")
        return
    if not outcome.moved and verb == "apply":
        print_parts("there is nothing to migrate")
        return
    for line in _last_lines(verb, outcome, steps).splitlines():
        print_parts(printable(line))
    for project in filter(None, _others(outcome) if verb == "apply" else ()):
        print_parts(f"see them: {printable(steps.command('status', project=project))}")


def _last_lines(verb: str, outcome: Outcome, steps: NextSteps) -> str:
    count = f"{outcome.total:,} node{'' if outcome.total == 1 else 's'}"
    if verb == "validate" and outcome.problems:
        problems = "1 problem" if len(outcome.problems) == 1 else f"{len(outcome.problems):,} problems"
        return f"{count} checked, {problems}; back: {steps.migrate('rollback')}"
    return _DONE[verb].format(
        count=count,
        where=_where(outcome.projects),
        apply=steps.migrate("apply"),
        validate=steps.migrate("validate"),
        finalize=steps.migrate("finalize"),
        rollback=steps.migrate("rollback"),
        worker=", ".join(steps.command("worker", "--drain", project=project) for project in _others(outcome)),
        status=steps.command("status"),
    )


def _others(outcome: Outcome) -> list[str | None]:
    """The projects of the nodes; None for the one that the command was about."""
    return [project if project != outcome.home else None for project in outcome.projects] or [None]


def _vectors(verb: str, outcome: Outcome) -> list[str]:
    if not outcome.moved or verb not in ("plan", "apply", "validate"):
        return []
    of = f"{outcome.model}, {outcome.dimension} numbers"
    lines = []
    if outcome.model and outcome.kept is None:
        lines.append(f"vectors that are kept: {of}")
    elif outcome.model:
        lines.append(f"{_number(outcome.kept)} {'would be kept' if verb == 'plan' else 'kept'}: {of}")
    for model, count in outcome.would_keep:
        named = f"--embedding-model {shlex.quote(model)}" if model else "--embedding-model PROVIDER:MODEL"
        why = "" if model else ", if you know what made them: no node says it"
        lines.append(f"{_number(count)} would be kept with {named}{why}")
    return lines


def _number(vectors: int | None) -> str:
    return "1 vector" if vectors == 1 else f"{vectors or 0:,} vectors"


def _where(projects: Mapping[str, int]) -> str:
    if not projects:
        return ""
    if len(projects) == 1:
        return f", into the project {next(iter(projects))}"
    return f", into the projects {_counted(projects)}"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{label} ({number:,})" for label, number in counts.items())
