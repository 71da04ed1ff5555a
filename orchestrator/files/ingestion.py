"""`ingest`: the files' part of a job: roots are registered, looked through, and looked through again where asked."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from orchestrator.files.link import LinkFiles
from orchestrator.files.parse import ParseFiles
from orchestrator.files.roots import Root, Source, read_roots, resolve
from orchestrator.files.scan import Scanner
from orchestrator.files.watch import changes
from orchestrator.lifecycle import Lifecycle
from orchestrator.settle import settle_files
from orchestrator.tally import Tally
from orchestrator.worker import Step, Worker, through_outages
from pipelines.files.making import Made, Task, make
from pipelines.files.walk import LeftOut
from pipelines.pool import Pool

# A file that takes longer to parse is an error, not a hang.
_PARSE_SECONDS = 120.0
_LOOK_AGAIN = 0.5


class Ingestion:
    """Without sources it only works on what waits in the graph."""

    def __init__(
        self,
        lifecycle: Lifecycle,
        sources: Sequence[Source],
        tally: Tally,
        say: Callable[[str], None],
        *,
        own: Path | None,
        rehash: bool,
        watch: bool,
        stop: asyncio.Event,
    ) -> None:
        self._lifecycle = lifecycle
        self._store = lifecycle.store
        self._sources = sources
        self._tally = tally
        self._say = say
        self._own = own
        self._rehash = rehash
        self._watch = watch
        self._stop = stop
        self._roots: Sequence[Root] = ()
        self._left_out: dict[str, Sequence[LeftOut]] = {}

    @property
    def left_out(self) -> list[LeftOut]:
        return [each for some in self._left_out.values() for each in some]

    async def register(self) -> None:
        known = await read_roots(self._store)
        roots: dict[str, Root] = {}
        for source in self._sources:
            root = resolve(source, {**known, **roots})
            roots[root.name] = root
        changed = [root.node(self._store.project) for root in roots.values() if root != known.get(root.name)]
        if changed:
            await self._lifecycle.upsert(changed)
        self._roots = list(roots.values())

    async def steps(self, worker: Worker, stack: contextlib.AsyncExitStack, processes: int) -> Sequence[Step]:
        self._worker = worker
        pool: Pool[Task, Made] = Pool(make, processes=processes, seconds=_PARSE_SECONDS)
        await pool.start()
        stack.push_async_callback(pool.close)
        self._linker = LinkFiles(self._lifecycle, worker.owner, self._tally)
        return [ParseFiles(self._store, pool, self._tally, parsed=self._linker.expect), self._linker]

    async def read(self) -> None:
        """Tell the graph what is in the roots, and go on telling it where changes are followed."""
        scanner = Scanner(self._lifecycle, self._linker, self._tally, own=self._own)
        await self._scan(scanner, self._roots, rehash=self._rehash)
        if self._watch:
            self._say("watching for changes; Ctrl-C ends it")
            async for changed in changes(self._roots, own=self._own, stop=self._stop):
                await self._scan(scanner, [root for root in changed if root.location.exists()], counted=Tally())

    async def is_at_rest(self) -> bool:
        await settle_files(self._lifecycle)
        (left,) = (await self._store.ask("unfinished")).rows[0]
        return not left

    async def settle(self) -> None:
        await settle_files(self._lifecycle)

    async def keep(self) -> None:
        await self._linker.keep()

    async def close(self) -> None:
        await self._linker.close()

    async def _scan(
        self, scanner: Scanner, roots: Sequence[Root], *, rehash: bool = False, counted: Tally | None = None
    ) -> None:
        """Until no file changed while it was in a worker's hands."""
        left, counted = list(roots), counted or self._tally
        while left:
            again: list[Root] = []
            for root in left:
                scan = partial(scanner.scan, root, rehash=rehash, tally=counted)
                scanned = await through_outages(scan, self._say)
                self._left_out[root.name] = scanned.left_out
                again += [root] if scanned.busy else []
                self._worker.wake()
            # What is only looked at again was counted already.
            left, counted = again, Tally()
            if left:
                await asyncio.sleep(_LOOK_AGAIN)
