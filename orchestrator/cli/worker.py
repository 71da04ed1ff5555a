"""`graphmill worker`: takes part in the work on a graph."""

import click

from orchestrator.cli.options import Command, GlobalOptions, embedder_options, workers_option


@click.command(cls=Command)
@click.option("--drain", is_flag=True, help="End when there is nothing left to do.")
@embedder_options
@workers_option
@click.pass_obj
def worker(
    options: GlobalOptions, drain: bool, embedder: str | None, embedder_url: str | None, workers: int | None
) -> int:
    """Work on what waits in the graph, until stopped.

    On a server any number of workers share the work, on as many machines as see the same files.
    """
    from orchestrator.cli.running import run
    from orchestrator.cli.session import Session
    from orchestrator.job import Plan

    session = Session.begin(options, embedder=embedder, embedder_url=embedder_url, workers=workers)
    plan = Plan(embedder=session.embedder(), workers=session.settings.workers, drain=drain)
    return run(options, session, plan, create=False, until_stopped=not drain)
