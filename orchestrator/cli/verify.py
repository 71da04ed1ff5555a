"""`graphmill verify`: whether everything that must hold in a graph does, and mending what does not."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import Command, GlobalOptions, ledger_options

if TYPE_CHECKING:
    from orchestrator.checking import Problem, Repaired, Verdict


_OF_ONE = {
    "are roots of which": "is a root of which",
    "are roots that are": "is a root that is",
    "are wikis that lack": "is a wiki that lacks",
    "are parts of": "is part of",
    "are partitions of": "is a partition of",
    "are ready although a part of them": "is ready although a part of it",
    "came by a migration and are": "came by a migration and is",
    "are ": "is ",
    "have ": "has ",
    "set ": "sets ",
    "stand ": "stands ",
    "do not hold what was made of them": "does not hold what was made of it",
}


@click.command(cls=Command)
@click.option("--repair", is_flag=True, help="Send wrong nodes back to the stage that makes them anew.")
@click.option("--sources/--no-sources", default=True, help="Compare files with their folders.  [default: sources]")
@click.option("--rehash", is_flag=True, help="Read every file, also where size and time are unchanged.")
@click.option("--wikis", is_flag=True, help="Also ask the wikis whether articles changed.")
@ledger_options
@click.pass_obj
def verify(options: GlobalOptions, repair: bool, sources: bool, rehash: bool, wikis: bool) -> int:
    """Check that graph, sources and ledger agree.

    Looks for states and leases that cannot be, lost parts, vectors that do not belong to their text, doubles, runs that
    claim more than they did, and files that were changed since. Changes nothing without --repair, and works while a job
    runs. Exit code 1 if there is a problem.
    """
    from orchestrator.cli.session import Session
    from orchestrator.verifying import Wanted, examine

    wanted = Wanted(repair=repair, files=sources, rehash=rehash, wikis=wikis)
    session = Session.begin(options)
    verdict = session.run(
        lambda store: examine(store, wanted, say=_say, scribe=session.keep_whole_ledger(store)), share=not repair
    )
    problems = [replace(each, hint=options.complete_commands(each.hint)) for each in verdict.problems]
    verdict = replace(verdict, problems=problems, notes=[options.complete_commands(note) for note in verdict.notes])
    if options.json:
        from orchestrator.cli.text import dumps

        click.echo(dumps(verdict.document()))
    else:
        click.echo("\n".join(_told(verdict, options.graphmill)))
    return 1 if verdict.problems else 0


def _say(text: str) -> None:
    from orchestrator.cli.text import printable

    click.echo(printable(text), err=True)


def _told(verdict: "Verdict", graphmill: str) -> list[str]:
    from orchestrator.cli.text import printable

    repaired = [line for each in verdict.repaired or () for line in _mended(each, graphmill)]
    checked = f"{verdict.checked:,} node{'' if verdict.checked == 1 else 's'} checked"
    count = len(verdict.problems)
    left = " left" if repaired else ""
    found = f"{count} problem{'' if count == 1 else 's'}{left}" if count else f"no problem{left}"
    return [
        *repaired,
        f"{checked}, {found}",
        *_stuck(verdict.stuck, graphmill),
        *(f"not looked at: {printable(note)}" for note in verdict.notes),
        *(line for problem in verdict.problems for line in _lines(problem)),
        *([f"next: {graphmill} worker --drain"] if any(each.count for each in verdict.repaired or ()) else []),
    ]


def _stuck(count: int, graphmill: str) -> list[str]:
    if not count:
        return []
    nodes = "1 node is" if count == 1 else f"{count:,} nodes are"
    return [f"{nodes} stuck, no running worker has them; any job takes them back, or: {graphmill} reclaim"]


def _mended(repaired: "Repaired", graphmill: str) -> list[str]:
    done = [f"{repaired.check}: {repaired.count:,} {repaired.did}"] if repaired.count else []
    if repaired.left:
        done.append(
            f"{repaired.check}: {repaired.left:,} left as they are, because their files or articles cannot be read "
            f"right now; when they can: {graphmill} verify --repair"
        )
    return done


def agreeing(count: int, about: str) -> str:
    """What is said of several nodes, said of one."""
    if count != 1:
        return about
    for several, one in _OF_ONE.items():
        if about.startswith(several):
            return one + about[len(several) :]
    return about


def _lines(problem: "Problem") -> list[str]:
    from orchestrator.cli.text import printable

    shown = [f"{each.label} {each.uuid} ({each.found})" for each in problem.examples]
    more = ["…"] if problem.count > len(shown) else []
    line = f"{problem.check}: {problem.count:,} {agreeing(problem.count, problem.about)}: {', '.join([*shown, *more])}"
    return [printable(line), f"  hint: {problem.hint}"]
