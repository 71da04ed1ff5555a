"""The ledger held against the graph: a check for `verify`, and what mends it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack

from graph_stores.protocol import Store
from orchestrator.checking import Check, Example
from orchestrator.ledger.reading import Reading
from orchestrator.ledger.reconciliation import differences, reconcile
from orchestrator.ledger.scribe import Scribe


class LedgerDifferences:
    """`scribe` writes the ledger of whoever asks, so what it was told is no difference."""

    def __init__(self, scribe: Scribe) -> None:
        self._scribe = scribe
        self.checks = (
            Check(
                name="ledger",
                about="stand elsewhere than the ledger says",
                hint="the next job adds what is missing to the ledger, marked as reconciled; so does verify --repair",
                find=self._find,
            ),
        )

    async def mend(self, store: Store, _: Sequence[Example]) -> str:
        await reconcile(store, self._scribe, whole=True)
        return "written down in the ledger as the graph has them, and marked as reconciled"

    async def _find(self, store: Store) -> AsyncIterator[Example]:
        await asyncio.to_thread(self._scribe.flush)
        # A graph without a ledger gets one from its next job.
        if not self._scribe.folder.is_dir():
            return
        with ExitStack() as stack:
            reading = stack.enter_context(await asyncio.to_thread(Reading.open, self._scribe.folder))
            for entry in await differences(store, reading):
                found = f"{entry.before or 'nothing'} in the ledger, {entry.after or 'gone'} in the graph"
                if entry.before == entry.after:
                    found = f"{entry.after} in both, in the graph since another time"
                yield Example(label=entry.label, uuid=entry.node, found=found)
