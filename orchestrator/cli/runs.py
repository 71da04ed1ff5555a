"""`graphmill runs`: what was read when, how far it came, and what to do about one that did not end well."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import Command, GlobalOptions, embedder_options, global_options

if TYPE_CHECKING:
    from graph_stores.protocol import Store
    from orchestrator.runs.overview import Overview

_SHOWN = 20


@click.group(params=global_options(), invoke_without_command=True)
@click.pass_context
def runs(ctx: click.Context) -> None:
    """Show the runs over each source, try one again, or cancel it. Without a command: list them."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@runs.command("list", cls=Command)
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help=f"Show at most N; else {_SHOWN}.")
@click.pass_obj
def list_(options: GlobalOptions, limit: int | None) -> None:
    """List the runs, the latest first."""
    from orchestrator.cli.session import with_store
    from orchestrator.runs.overview import overviews

    found = with_store(options, overviews)
    if options.json:
        from orchestrator.cli.text import dumps

        click.echo(dumps([each.document() for each in found[:limit]]))
        return
    from orchestrator.cli.run_tables import print_runs

    print_runs(found[: limit or _SHOWN], len(found), options.graphmill)


@runs.command(cls=Command)
@click.argument("run")
@click.pass_obj
def show(options: GlobalOptions, run: str) -> None:
    """Show one run with its partitions.

    And its watermarks, and where the nodes stand that it made or changed. RUN is its id, or how that begins.
    """
    from orchestrator.cli.session import with_store
    from orchestrator.runs.overview import overview
    from orchestrator.workers import read_workers

    async def look(store: "Store") -> "tuple[Overview, bool]":
        return await overview(store, run), any(not each.is_gone for each in await read_workers(store))

    found, anybody = with_store(options, look)
    if options.json:
        from orchestrator.cli.text import dumps

        click.echo(dumps(found.document()))
        return
    from orchestrator.cli.run_tables import print_run

    print_run(found, options.graphmill, is_worked_on=anybody)


@runs.command(cls=Command)
@click.argument("run")
@click.option("--partition", "partitions", metavar="P", multiple=True, help="Only this partition. Repeatable.")
@embedder_options
@click.pass_obj
def retry(
    options: GlobalOptions, run: str, partitions: tuple[str, ...], embedder: str | None, embedder_url: str | None
) -> int:
    """Read again what failed or was cancelled of a run, and finish it.

    What it has read already is not read again.
    """
    from orchestrator.cli.running import run as run_job
    from orchestrator.cli.session import Session
    from orchestrator.job import Plan
    from orchestrator.lifecycle import Lifecycle
    from orchestrator.runs.course import try_again
    from orchestrator.runs.records import find_run

    async def again(store: "Store") -> int:
        return len(await try_again(Lifecycle(store=store), await find_run(store, run), partitions))

    session = Session.begin(options, embedder=embedder, embedder_url=embedder_url)
    plan = Plan(embedder=session.embedder(), workers=session.settings.workers)
    return run_job(options, session, plan, create=False, until_stopped=False, first=again)


@runs.command(cls=Command)
@click.argument("run")
@click.pass_obj
def cancel(options: GlobalOptions, run: str) -> None:
    """End a run that is under way.

    Nothing more of it is begun, and what is in hand is finished. The next run of the same source reads what it left.
    """
    from orchestrator.cli.session import with_store
    from orchestrator.lifecycle import Lifecycle
    from orchestrator.runs.course import cancel as end
    from orchestrator.runs.overview import overview

    async def cancelled(store: "Store") -> "tuple[Overview, int]":
        found = await overview(store, run)
        left = await end(Lifecycle(store=store), found.run)
        return await overview(store, found.run.uuid), left

    found, left = with_store(options, cancelled)
    if options.json:
        from orchestrator.cli.text import dumps

        click.echo(dumps({**found.document(), "not_read": left}))
        return
    unread = f"; {left:,} sources were not read" if left else ""
    click.echo(f"run {found.run.short} of {found.run.source} is cancelled{unread}")
