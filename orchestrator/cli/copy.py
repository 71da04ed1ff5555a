"""`graphmill copy`: brings a project from one graph into another."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import Command, GlobalOptions

if TYPE_CHECKING:
    from orchestrator.copying.copy import Copied


@click.command(cls=Command)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option(
    "--merge", is_flag=True, help="Copy into a project that is not empty; where both have a node, FROM's wins."
)
@click.pass_obj
def copy(options: GlobalOptions, source: str, target: str, merge: bool) -> int:
    """Copy a project into another graph, of any engine.

    With its states, vectors and runs. FROM and TO are kuzu:PATH, ladybug:PATH or neo4j://HOST. What was being worked on
    waits again in the copy. In the end both graphs are compared. Stopped or killed, the same command goes on.
    """
    from orchestrator.cli.copying import run

    copied, code = run(options, source, target, merge=merge)
    if copied is None:
        return code
    if options.json:
        from orchestrator.cli.text import dumps

        click.echo(dumps(copied.document()))
    else:
        click.echo("\n".join(_told(copied)))
    return code


def _told(copied: "Copied") -> list[str]:
    from orchestrator.cli.text import printable

    nodes, records = copied.counts
    edges = sum(each.count for each in copied.checksums.edges.values())
    begun = copied.begun
    of_runs = f", {_count(records, 'record')} of runs" if records else ""
    lines = [f"{_count(nodes, 'node')}{of_runs} and {_count(edges, 'relationship')} in {copied.seconds:,.1f} s"]
    if begun.written_nodes < nodes + records:
        lines.append(f"{_count(nodes + records - begun.written_nodes, 'node')} had been there already")
    if copied.in_hand:
        lines.append(f"{_count(copied.in_hand, 'node')} had been in somebody's hands: in the copy they wait")
    if copied.left:
        counted = ", ".join(f"{label} ({number:,})" for label, number in copied.left.items())
        lines.append(
            printable(
                "not copied, nor their relationships, as they have no state in project "
                f"{copied.origin.project}: {counted}"
            )
        )
    lines += [
        "verified: counts and checksums of every label and relationship agree",
        f"next: graphmill --store {printable(copied.target)} --project {printable(copied.origin.project)} status",
    ]
    return lines


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
