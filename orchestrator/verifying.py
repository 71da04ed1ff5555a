"""One `verify`: which checks are asked, of the graph and of its sources, and what is mended of what they find."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from graph_stores.legacy import MigrationRefused
from graph_stores.protocol import Store
from orchestrator.checking import Check, Mend, Verdict
from orchestrator.checks import CHECKS, verify
from orchestrator.files.differences import FileDifferences
from orchestrator.ledger.checks import UNREADABLE, LedgerDifferences
from orchestrator.ledger.scribe import Scribe
from orchestrator.lifecycle import Lifecycle
from orchestrator.migration import checks as migrated
from orchestrator.migration.afterwards import adopted_labels
from orchestrator.repair import repair
from orchestrator.wikipedia.differences import WikiDifferences
from orchestrator.workers import gone_owners, read_workers

MIGRATING = (
    "the nodes, because a migration was begun and is not finished: go on with it by graphmill migrate apply, "
    "or back by graphmill migrate rollback"
)
AT_WORK = "files and wikis, because a job is reading them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a person asked for beside the checks of the graph itself."""

    repair: bool = False
    files: bool = True
    rehash: bool = False
    wikis: bool = False


async def examine(
    store: Store, wanted: Wanted, *, say: Callable[[str], None] = lambda _: None, scribe: Scribe | None = None
) -> Verdict:
    """`scribe` writes the ledger that is to say what the graph says."""
    if (await store.ask("open-migration")).rows:
        if wanted.repair:
            raise MigrationRefused(
                "a migration of this graph was begun and is not finished: there is nothing to repair yet",
                hint="go on with it: graphmill migrate apply; or go back: graphmill migrate rollback",
            )
        return Verdict(checked=0, problems=[], notes=[MIGRATING])
    checks: list[Check] = list(CHECKS)
    menders: dict[str, Mend] = {}
    notes: list[str] = []
    if await adopted_labels(store):
        # Vectors are read from a graph of one's own only, which a repair has.
        checks += migrated.CHECKS if wanted.repair else migrated.CHECKS[:1]
        menders["adopted-vector"] = migrated.embed_again
    busy = any(not each.is_gone for each in await read_workers(store))
    files = FileDifferences(rehash=wanted.rehash)
    # What a job has not come to yet is no difference.
    if busy:
        notes.append(AT_WORK)
    if wanted.files and not busy:
        checks += files.checks
        menders |= files.menders
    if wanted.wikis and not busy:
        wikis = WikiDifferences(say)
        checks += wikis.checks
        menders |= wikis.menders
    if scribe and not busy:
        ledger = LedgerDifferences(scribe)
        checks += ledger.checks
        menders |= {check.name: ledger.mend for check in ledger.checks if check.name != UNREADABLE}
        if await ledger.why_unreadable():
            store.listen(None)
    repaired = await repair(store, checks, menders) if wanted.repair else None
    verdict = await verify(store, checks)
    stuck = await Lifecycle(store=store).count_stuck(await gone_owners(store))
    return replace(verdict, notes=[*notes, *files.notes], repaired=repaired, stuck=stuck)
