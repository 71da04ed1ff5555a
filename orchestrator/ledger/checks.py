"""The ledger held against the graph: a check for `verify`, and what mends it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack

from msgspec import MsgspecError

from graph_stores.errors import GraphmillError
from graph_stores.protocol import Store
from orchestrator.checking import Check, Example
from orchestrator.ledger.reading import LedgerMissing, Reading
from orchestrator.ledger.reconciliation import differences, reconcile
from orchestrator.ledger.scribe import Scribe

UNREADABLE = "unreadable-ledger"


class LedgerDifferences:
    """`scribe` writes the ledger of whoever asks, so what it was told is no difference."""

    def __init__(self, scribe: Scribe) -> None:
        self._scribe = scribe
        self.checks = (
            Check(
                name="ledger",
                about="stand elsewhere than the ledger says",
                hint="the next job adds them to the ledger, marked as reconciled; at once: graphmill verify --repair",
                find=self._find,
            ),
            Check(
                name=UNREADABLE,
                about="ledger cannot be read, so it is not compared with the graph",
                hint="upgrade graphmill, or say where another ledger is with --ledger DIR, or go without: --no-ledger",
                find=self._unreadable,
            ),
        )

    async def mend(self, store: Store, _: Sequence[Example]) -> str:
        await reconcile(store, self._scribe, whole=True)
        return "written down in the ledger as the graph has them, and marked as reconciled"

    async def _find(self, store: Store) -> AsyncIterator[Example]:
        await asyncio.to_thread(self._scribe.flush)
        # A graph without a ledger gets one from its next job.
        if not self._scribe.folder.is_dir() or await self.why_unreadable():
            return
        with ExitStack() as stack:
            reading = stack.enter_context(await asyncio.to_thread(Reading.open, self._scribe.folder))
            for entry in await differences(store, reading):
                found = f"{entry.before or 'nothing'} in the ledger, {entry.after or 'gone'} in the graph"
                if entry.before == entry.after:
                    found = f"{entry.after} in both, in the graph since another time"
                yield Example(label=entry.label, uuid=entry.node, found=found)

    async def _unreadable(self, _: Store) -> AsyncIterator[Example]:
        if why := await self.why_unreadable():
            yield Example(label="Ledger", uuid=str(self._scribe.folder), found=why)

    async def why_unreadable(self) -> str:
        """Empty where it can be read, or is not there yet."""
        try:
            with await asyncio.to_thread(Reading.open, self._scribe.folder):
                return ""
        except LedgerMissing:
            return ""
        except GraphmillError as error:
            return error.message
        except (OSError, MsgspecError) as error:
            return str(error)
