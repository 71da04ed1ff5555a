"""`graphmill verify`: whether everything that must hold in a graph does."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import Command, GlobalOptions

if TYPE_CHECKING:
    from orchestrator.checks import Problem, Verdict


@click.command(cls=Command)
@click.pass_obj
def verify(options: GlobalOptions) -> int:
    """Check that the graph is as it must be.

    Looks for states and leases that cannot be, parts without a whole, ready texts without their vector, doubles, and
    runs that claim more than they did. Changes nothing, and works while a job runs. Exit code 1 if there is a problem.
    """
    from orchestrator import checks
    from orchestrator.cli.session import with_store

    verdict = with_store(options, checks.verify)
    if options.json:
        from orchestrator.cli.text import dumps

        click.echo(dumps(verdict.document()))
    else:
        click.echo("\n".join(_told(verdict)))
    return 1 if verdict.problems else 0


def _told(verdict: "Verdict") -> list[str]:
    checked = f"{verdict.checked:,} node{'' if verdict.checked == 1 else 's'} checked"
    if not verdict.problems:
        return [f"{checked}, no problem"]
    count = len(verdict.problems)
    return [
        f"{checked}, {count} problem{'' if count == 1 else 's'}",
        *(line for problem in verdict.problems for line in _lines(problem)),
    ]


def _lines(problem: "Problem") -> list[str]:
    from orchestrator.cli.text import printable

    shown = [f"{each.label} {each.uuid} ({each.found})" for each in problem.examples]
    more = ["…"] if problem.count > len(shown) else []
    line = f"{problem.check}: {problem.count:,} {problem.about}: {', '.join([*shown, *more])}"
    return [printable(line), f"  hint: {problem.hint}"]
