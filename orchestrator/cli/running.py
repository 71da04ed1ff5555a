"""One job from the command line: the store made ready, progress shown, signals heard, the end told.

Owns what a signal and an exit code mean. Does none of the work.
"""

import asyncio
import shlex
import sys
import termios
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import click

from graph_stores import check_schema
from graph_stores.errors import StoreOwned
from graph_stores.model import Value
from graph_stores.protocol import SchemaStatus, Store
from orchestrator.cli.failures import warn
from orchestrator.cli.live import View, following, open_view
from orchestrator.cli.options import GlobalOptions
from orchestrator.cli.process import can_ask, seconds_to_stop
from orchestrator.cli.session import Session
from orchestrator.cli.stopping import Stopping, cancel
from orchestrator.cli.stopping import run as run_async
from orchestrator.cli.summary import document, sentences
from orchestrator.cli.text import dumps, printable
from orchestrator.files.roots import KIND as FILES
from orchestrator.job import Job, Plan, Report
from orchestrator.runs.records import Run
from orchestrator.runs.sources import ALLOW, MassDeletion, SourceLost
from orchestrator.states import State

STOPPING = "stopping: finishing what is in flight; press Ctrl-C again to stop at once"
# A command that only asks owns an embedded graph for a moment, too short to be a reason to give up.
_PATIENCE = 2.0
_PAUSE = 0.1


def run(
    options: GlobalOptions,
    session: Session,
    plan: Plan,
    *,
    create: bool,
    until_stopped: bool,
    first: Callable[[Store], Awaitable[object]] | None = None,
) -> int:
    """Run the job to its end and tell what it did; returns the exit code. `first` is done before it begins.

    Raises SourceLost where a source is missing, or most of it is gone and the user does not want that deleted.
    """
    # Half of the time for what is in flight, the other half for giving back the rest.
    plan = replace(plan, grace=seconds_to_stop() / 2)
    stopping = Stopping(as_json=options.json)
    ended: _Ended | None = None
    lost: SourceLost | None
    try:
        ended = run_async(_run(options, session, plan, stopping, create=create, first=first), stopping)
        lost = ended.report.lost
    except MassDeletion as refused:  # before it began
        lost = refused
    may_ask = stopping.signal is None and not plan.allow_deletes and plan.reads
    if lost and may_ask and _may_delete(lost, options):
        plan = replace(plan, allow_deletes=True)
        ended = run_async(_run(options, session, plan, stopping, create=create, first=first), stopping)
    if lost and not ended:
        raise _with_next_command(lost, (), plan, options)
    assert ended
    stopping.has_told = True
    report = ended.report
    if report.lost and options.json:
        raise _with_next_command(report.lost, report.runs, plan, options)
    if options.json:
        click.echo(dumps(document(report)))
    else:
        lines = sentences(
            report,
            ended.skipped,
            ended.unread,
            options.graphmill,
            until_stopped=until_stopped,
            dry_run=options.again("--dry-run").replace(" --watch", ""),
            next_command=_next_command(session, ended.embedder),
        )
        click.echo("\n".join(lines))
    if report.stopped and stopping.signal and not until_stopped:
        return stopping.exit_code
    if report.lost:
        raise _with_next_command(report.lost, report.runs, plan, options)
    failed = any(run.state is State.ERROR for run in report.runs)
    return 1 if report.standing.in_error or failed else 0


def _next_command(session: Session, embedder: str) -> str:
    """What to do with what is ready: without vectors there is nothing to search."""
    if embedder == "none":
        return "query --list"
    url = session.settings.embedder_url if session.settings.origins["embedder_url"] == "--embedder-url" else None
    return f'search "…"{f" --embedder-url {shlex.quote(url)}" if url else ""}'


def _may_delete(lost: SourceLost | None, options: GlobalOptions) -> bool:
    """Ask on a terminal. Without one the answer is no."""
    if not isinstance(lost, MassDeletion) or options.json or not can_ask():
        return False
    click.echo(printable(lost.message), err=True)
    # What was typed while the job ran is no answer to a question that was not asked yet.
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    return click.confirm("delete them from the graph?", default=False, err=True)


def _with_next_command(lost: SourceLost, runs: Sequence[Run], plan: Plan, options: GlobalOptions) -> SourceLost:
    """The error with the command to give next, for the same graph and with all options that were given."""
    failed = next((run for run in runs if run.state is State.ERROR), None)
    if isinstance(lost, MassDeletion):
        again = options.again(ALLOW) if plan.reads else f"{options.graphmill} {shlex.join(lost.command)}"
        lost.hint = f"{lost.instead}; to delete them from the graph: {again}"
    elif failed:
        lost.hint = f"bring it back, then: {options.graphmill} runs retry {failed.short}"
    else:
        lost.hint = f"bring it back, then: {options.graphmill} worker --drain"
    return lost


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    report: Report
    embedder: str
    skipped: Mapping[str, int]
    unread: Mapping[str, int]


async def _run(
    options: GlobalOptions,
    session: Session,
    plan: Plan,
    stopping: Stopping,
    *,
    create: bool,
    first: Callable[[Store], Awaitable[object]] | None,
) -> _Ended:
    stopping.ask = partial(cancel, asyncio.current_task())
    store = await _store_to_own(session, create=create)
    try:
        if create:
            await make_schema(store)
        await _bring_ledger_up(session, store)
        if first:
            await first(store)
        plan = replace(plan, embedder=await session.embedder_of(store))
        report = await _run_on(options, store, plan, stopping, owner=session.owner)
        roots = [run.source.partition(":")[2] for run in report.runs if run.kind == FILES] or [""]
        skipped = {} if plan.expansion else await _counts(store, "skipped", roots=roots)
        unread = await _counts(store, "unread") if plan.expansion else {}
    finally:
        await store.close(quickly=stopping.signal is not None)
    return _Ended(report=report, embedder=plan.embedder.name, skipped=skipped, unread=unread)


async def _counts(store: Store, question: str, **parameters: Value) -> dict[str, int]:
    return {reason: int(count) for reason, count in (await store.ask(question, parameters)).rows}


async def _bring_ledger_up(session: Session, store: Store) -> None:
    """Before anything is done: what is missing in the ledger now, a process left out that is no more."""
    if scribe := session.keep_ledger(store):
        from msgspec import MsgspecError

        from orchestrator.ledger.reading import LedgerNewer
        from orchestrator.ledger.reconciliation import reconcile

        try:
            await reconcile(store, scribe)
        except (OSError, LedgerNewer, MsgspecError) as error:
            warn(f"the ledger {scribe.folder} cannot be read or written, the job goes on without it: {error}")
            store.listen(None)


async def _run_on(options: GlobalOptions, store: Store, plan: Plan, stopping: Stopping, *, owner: str) -> Report:
    with open_view() as view:
        job = Job(store, plan, say=lambda text: view.say(options.complete_commands(text)), owner=owner)
        stopping.ask, stopping.clean_up = partial(_stop, job, view), view.close
        async with following(view, job, store):
            return await job.run()


def _stop(job: Job, view: View) -> None:
    job.stop()
    view.say(STOPPING)


async def _store_to_own(session: Session, *, create: bool) -> Store:
    give_up = time.monotonic() + _PATIENCE
    while True:
        try:
            return await session.open(create=create)
        except StoreOwned:
            if time.monotonic() > give_up:
                raise
            await asyncio.sleep(_PAUSE)


async def make_schema(store: Store) -> None:
    """Where the graph is new, or was killed while it was made; whoever has something in it decides by `init`."""
    status = await store.schema()
    if await is_to_be_made(store, status):
        status = await store.migrate()
    check_schema(status, store.url)


async def is_to_be_made(store: Store, status: SchemaStatus) -> bool:
    """Whether there is no schema of this version, and nothing that a new one could harm."""
    if status.found == status.newest:
        return False
    return not (await store.ask("used" if status.found is None else "inhabited")).rows
