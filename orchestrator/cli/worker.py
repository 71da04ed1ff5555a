"""`graphmill worker`: takes part in the work on a graph."""

import click

from orchestrator.cli.options import Command, GlobalOptions, embedder_options, ledger_options, processes_option


def _stages(ctx: click.Context, param: click.Parameter, value: str | None) -> frozenset[str]:
    from orchestrator.cli.failures import did_you_mean
    from orchestrator.stages import STAGES

    if value is None:
        return frozenset(STAGES)
    given = [name.strip() for name in value.split(",") if name.strip()]
    for name in given or [value]:
        if name not in STAGES:
            meant = did_you_mean(name, STAGES)
            raise click.BadParameter(f"{name!r} is none of the stages {', '.join(STAGES)}{meant}", ctx, param)
    return frozenset(given)


@click.command(cls=Command)
@click.option("--drain", is_flag=True, help="End when there is nothing left to do.")
@click.option("--stages", metavar="S,…", callback=_stages, help="Only some of read, parse, link and embed.")
@embedder_options
@click.option("--contact", metavar="WHO", help="Your address, told to a wiki that does not know it.")
@processes_option("--concurrency")
@processes_option("--workers", hidden=True)
@ledger_options
@click.pass_obj
def worker(
    options: GlobalOptions,
    drain: bool,
    stages: frozenset[str],
    embedder: str | None,
    embedder_url: str | None,
    contact: str | None,
    concurrency: int | None,
    workers: int | None,
) -> int:
    """Work on what waits in the graph, until stopped.

    Waits for a server that does not answer yet. On a server any number of workers share the work, on as many machines
    as reach it.
    """
    from graph_stores.errors import StoreOwned
    from orchestrator.cli.running import run
    from orchestrator.cli.session import Session
    from orchestrator.job import Plan

    session = Session.begin(
        options,
        waits=True,
        embedder=embedder,
        embedder_url=embedder_url,
        contact=contact,
        workers=concurrency or workers,
    )
    settings = session.settings
    plan = Plan(
        embedder=session.embedder(), workers=settings.workers, drain=drain, stages=stages, contact=settings.contact
    )
    try:
        return run(options, session, plan, create=False, until_stopped=not drain)
    except StoreOwned as owned:
        raise StoreOwned(
            f"{owned.message}, and an embedded graph is worked on by one process at a time",
            hint="a job that runs there does all the work that waits; for more processes start it with more --workers, "
            "or share the work on a server: --store neo4j://HOST",
        ) from owned
