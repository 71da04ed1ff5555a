"""`ingest`: the files' part of a job: roots are registered, looked through in parts, and again where asked."""

import asyncio
import contextlib
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from graph_stores.model import Ref, Select
from orchestrator.files.elsewhere import Places
from orchestrator.files.link import LinkFiles
from orchestrator.files.looks import reason_since
from orchestrator.files.parse import ParseFiles
from orchestrator.files.roots import KIND, Root, RootForgotten, RootMissing, Source, read_roots, resolve_all
from orchestrator.files.scan import READ_AGAIN, Changes, Scanner, known_files, losses_of
from orchestrator.files.watch import changes
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import transition
from orchestrator.runs.records import Part, PartitionKind, Run, RunPlan, SourceRecord, read_runs
from orchestrator.runs.sources import ALLOWED, MassDeletion, SourceLost
from orchestrator.runs.steps import Reading
from orchestrator.settle import settle_files
from orchestrator.states import State
from orchestrator.tally import Tally
from orchestrator.worker import Pause, Step, Worker, through_outages
from pipelines.files.identity import file_uuid
from pipelines.files.making import Made, Task, make
from pipelines.files.walk import WHOLE, Excluded, LeftOut, Stretch, entries_in, stretches
from pipelines.pool import Pool

# A file that takes longer to parse is an error, not a hang.
_PARSE_SECONDS = 120.0
_LOOK_AGAIN = 0.5
# How often a watch looks whether its roots were forgotten.
_LOOK_FOR_ROOTS = 2.0
# What the reason of a file says that the extra would read, and of how many files it is looked at once.
_EXTRA, _PAGE = "graphmill[office]", 2000
# How many files of each kind are named when changes are told.
_NAMED = 3
# Into how many parts a root is divided at most, and how many files and folders are worth one: each is claimed, read and
# recorded for itself.
_MOST_PARTS = 16
_WORTH_A_PART = 2000


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
        allow_deletes: bool,
        stop: asyncio.Event,
    ) -> None:
        self._lifecycle = lifecycle
        self._store = lifecycle.store
        self._sources = sources
        self._tally = tally
        self._say = say
        self._own = own
        self._rehash = rehash
        self._allow_deletes = allow_deletes
        self._stop = stop
        self._roots: Sequence[Root] = ()
        self._places = Places(
            self._store,
            say,
            own=own,
            may_delete=lambda name: allow_deletes and any(root.name == name for root in self._roots),
        )
        self._left_out: dict[tuple[str, Stretch], Sequence[LeftOut]] = {}
        self._excluded: dict[tuple[str, Stretch], Sequence[Excluded]] = {}
        self._scanners: dict[str, Scanner] = {}
        self._telling: asyncio.Task[None] | None = None
        self._untold: set[str] = set()
        """Files that a watch saw change, and did not tell what became of."""

    @property
    def left_out(self) -> list[LeftOut]:
        return [each for some in self._left_out.values() for each in some]

    @property
    def excluded(self) -> list[Excluded]:
        """What the default excludes left out."""
        return [each for some in self._excluded.values() for each in some]

    async def register(self) -> None:
        """Find out which roots are meant. One that is new gets into the graph with its first run."""
        known = await read_roots(self._store)
        roots = resolve_all(self._sources, known)
        for root in roots.values():
            if (before := known.get(root.name)) and before.rules != root.rules and not self._allow_deletes:
                await self._check_rules(root)
        for root in roots.values():
            if root.name in known and not root.secrets_checked and not root.rules.allow_secrets:
                roots[root.name] = await self._check_secrets(root)
        changed = [root for root in roots.values() if root.name in known and root != known[root.name]]
        if changed:
            await self._lifecycle.upsert([root.node(self._store.project) for root in changed])
        self._roots = list(roots.values())

    async def _check_rules(self, root: Root) -> None:
        """Refuse new rules that would delete most of a root, before they are remembered."""
        with contextlib.suppress(RootMissing):  # told when it is read
            losses = await losses_of(root, await known_files(self._store, root), own=self._own)
            if losses.refusal:
                raise losses.refusal

    async def _check_secrets(self, root: Root) -> Root:
        """Have files parsed again that were read before they were checked for secrets, and hold one or are SVG."""
        known = await known_files(self._store, root)
        read = [path for path, each in known.items() if each.hash and each.state != State.SKIP]
        if read:
            self._say(f"checking {len(read):,} files of {root.name} for secrets, once")
        held = await asyncio.to_thread(lambda: [path for path in read if reason_since(root, path)])
        busy = await self._lifecycle.mark_changed({known[path].ref: READ_AGAIN for path in held})
        return root if busy else replace(root, secrets_checked=True)

    async def steps(self, worker: Worker, stack: contextlib.AsyncExitStack, processes: int) -> Sequence[Step]:
        self._worker = worker
        pool: Pool[Task, Made] = Pool(make, processes=processes, seconds=_PARSE_SECONDS)
        await pool.start()
        stack.push_async_callback(pool.close)
        self._linker = LinkFiles(self._lifecycle, worker.owner, self._tally)
        await self._places.look()  # before anything is claimed
        parsing = ParseFiles(
            self._store, pool, self._tally, parsed=self._linker.expect, places=self._places, drop=self._linker.delete
        )
        self._linker.is_parsing = lambda: parsing.is_busy
        return [parsing, self._linker]

    @property
    def away(self) -> Sequence[str]:
        return self._places.away

    @property
    def lost(self) -> Sequence[str]:
        return self._places.lost

    async def plans(self) -> list[RunPlan]:
        await self._wake_what_an_extra_reads()
        return [await asyncio.to_thread(self._plan_of, root) for root in self._roots]

    async def _wake_what_an_extra_reads(self) -> None:
        """Files that were left out while the package that reads them was not installed, and is now."""
        if (
            not any(_EXTRA in reason for reason, _ in (await self._store.ask("skipped", {"roots": [""]})).rows)
            or not _has_extra()
        ):
            return
        after: Ref | None = None
        while rows := await self._store.nodes(
            Select(labels=["File"], states=[State.SKIP.value], after=after, limit=_PAGE)
        ):
            waiting = [row.ref for row in rows if _EXTRA in (row.error_message or "")]
            moves = [transition(ref, expected=State.SKIP, to=State.PENDING) for ref in waiting]
            await self._lifecycle.move_what_is_still_so(moves)
            after = rows[-1].ref

    async def read(self, reading: Reading) -> None:
        """Tell the graph what is in a part of a root."""
        name = _root_of(reading.run)
        root = (await read_roots(self._store)).get(name)
        if root is None:
            raise RootForgotten.of(name)
        if root.is_away:
            self._places.leave([name])
            raise Pause(f"{root.location} of {name} is on {root.host}, and not here", seconds=_LOOK_AGAIN)
        stretch = Stretch(since=reading.partition.plan["since"], until=reading.partition.plan["until"])
        run = reading.run
        if run.uuid not in self._scanners:  # one for all its stretches: what may be deleted is decided for all of them
            self._scanners[run.uuid] = self._scanner(allow_deletes=bool(run.options.get(ALLOWED)))
        scanner = self._scanners[run.uuid]
        await self._scan(scanner, root, stretch, rehash=bool(run.options.get("rehash")), reading=reading)

    async def consolidate(self, run: Run) -> None:
        """Links are resolved when files are linked, and what is gone goes when its part is read: little is left."""
        await settle_files(self._lifecycle)

    async def follow(self) -> None:
        """Go on telling the graph what changes, until the job is stopped or no root is left."""
        self._say("watching for changes; Ctrl-C ends it")
        roots = self._roots
        while roots and not self._stop.is_set():
            pause = asyncio.Event()
            looking = asyncio.create_task(self._pause_when_forgotten(roots, pause))
            try:
                await self._follow_until(roots, pause)
            finally:
                looking.cancel()
                await asyncio.wait([looking])
            roots = await self._still_known(roots)

    async def _follow_until(self, roots: Sequence[Root], pause: asyncio.Event) -> None:
        """Ends also where a root turns out to be forgotten."""
        told: dict[str, str] = {}
        async with aclosing(changes(roots, own=self._own, stop=pause)) as bursts:
            async for changed in bursts:
                for root in changed:
                    try:
                        await self._follow_changes(root)
                    except RootForgotten:
                        return
                    except SourceLost as error:
                        if told.get(root.name) != error.message:
                            self._say(f"{error.message}; {self._next_step(error)}")
                        told[root.name] = error.message
                    else:
                        told.pop(root.name, None)

    async def _pause_when_forgotten(self, roots: Sequence[Root], pause: asyncio.Event) -> None:
        """Or when the job is to stop."""
        places = {root.name: root.location for root in roots}
        stopping = asyncio.create_task(self._stop.wait())
        try:
            while not stopping.done() and places.items() <= (await self._known_places()).items():
                await asyncio.wait([stopping], timeout=_LOOK_FOR_ROOTS)
        finally:
            stopping.cancel()
            pause.set()

    async def _still_known(self, roots: Sequence[Root]) -> list[Root]:
        known = await self._known_places()
        left = [root for root in roots if known.get(root.name) == root.location]
        for root in roots:
            if root not in left:
                self._say(f"{root.name} was forgotten: {root.location} is no longer followed")
        return left

    async def _known_places(self) -> dict[str, Path]:
        roots = await through_outages(partial(read_roots, self._store), self._say)
        return {name: root.location for name, root in roots.items()}

    async def _follow_changes(self, root: Root) -> None:
        """What was found is counted and told also where not all of it can be done, as where most of a root is gone."""
        found, done = Changes(), replace(self._tally)
        runs = await through_outages(partial(read_runs, self._store, source=f"{KIND}:{root.name}"), self._say)
        run = runs[0].uuid if runs else None
        try:
            await self._scan(
                self._scanner(allow_deletes=self._allow_deletes), root, WHOLE, counted=Tally(), found=found, run=run
            )
        finally:
            self._tally.read += len({*found.new, *found.changed})
            if told := told_changes(root.name, found):
                self._say(told)
                self._untold |= {
                    file_uuid(self._store.project, root.name, each) for each in (*found.new, *found.changed)
                }
                if self._telling is None or self._telling.done():  # else it tells of these changes, too
                    self._telling = asyncio.create_task(self._tell_when_ready(done))

    async def _tell_when_ready(self, before: Tally) -> None:
        """Say what was made of the changes, once all of it is at rest."""
        began = time.monotonic()
        while not self._worker.is_idle or await through_outages(self._is_anything_left, self._say):
            await self._worker.comes_to_rest_within(_LOOK_AGAIN)
        uuids, self._untold = sorted(self._untold)[:_PAGE], set()
        for line in await through_outages(partial(self._without_text, uuids), self._say):
            self._say(line)
        embedded = self._tally.embedded - before.embedded
        texts = f"{embedded:,} text{'' if embedded == 1 else 's'} embedded, " if embedded else ""
        self._say(f"{texts}ready in {time.monotonic() - began:.1f} s")

    async def _without_text(self, uuids: Sequence[str]) -> list[str]:
        """Why the text of some of these files is not in the graph."""
        if not uuids:
            return []  # to a store it would mean all files
        rows = await self._store.nodes(
            Select(labels=["File"], uuids=uuids, states=[State.SKIP.value, State.ERROR.value], limit=_NAMED)
        )
        return [f"no text of {row.properties['root']}/{row.properties['path']}: {row.error_message}" for row in rows]

    def _next_step(self, error: SourceLost) -> str:
        if not isinstance(error, MassDeletion):
            return "waiting for it"
        graph = ("graphmill", "--store", self._store.url, "--project", self._store.project)
        return f"waiting for them; to delete them from the graph: {shlex.join((*graph, *error.command))}"

    async def obstacle(self, run: Run) -> SourceLost | None:
        return await self._places.waiting(_root_of(run))

    async def missing(self) -> Sequence[str]:
        await self._places.look(at_once=bool(self._places.lost))
        return self._places.lost

    async def left(self) -> SourceLost | None:
        await self._places.look(at_once=True)
        return await self._places.waiting()

    async def is_at_rest(self) -> bool:
        """Files that wait for a root that is missing are left to wait."""
        await self.missing()
        if not await self._is_anything_left():
            return True
        await settle_files(self._lifecycle)
        return not await self._is_anything_left()

    async def is_done_for(self, run: Run) -> bool:
        """A file comes to rest after all that is in it."""
        return not (await self._store.ask("unfinished-of-root", {"root": _root_of(run)})).rows

    async def _is_anything_left(self) -> bool:
        (left,) = (await self._store.ask("unfinished")).rows[0]
        if left and self._places.lost:
            (left,) = (await self._store.ask("unfinished-near", {"roots": list(self._places.lost)})).rows[0]
        return bool(left)

    async def settle(self) -> None:
        await settle_files(self._lifecycle)

    async def keep(self) -> None:
        await self._linker.keep()

    async def close(self) -> None:
        if self._telling:
            self._telling.cancel()
            await asyncio.wait([self._telling])
        await self._linker.close()

    def _plan_of(self, root: Root) -> RunPlan:
        entries = entries_in(root.location, root.rules, most=_MOST_PARTS * _WORTH_A_PART)
        parts = stretches(root.location, root.rules, self._own, most=max(1, entries // _WORTH_A_PART))
        return RunPlan(
            source=f"{KIND}:{root.name}",
            options={
                "location": str(root.location),
                "rehash": self._rehash,
                **({ALLOWED: True} if self._allow_deletes else {}),
            },
            parts=[
                Part(
                    kind=PartitionKind.FOLDER,
                    root=root.name,
                    key=_shown(root, stretch),
                    plan={"since": stretch.since, "until": stretch.until},
                )
                for stretch in parts
            ],
            is_full=self._rehash,
            record=partial(self._record_of, root),
        )

    async def _record_of(self, root: Root) -> SourceRecord:
        is_known = (await read_roots(self._store)).get(root.name) == root
        return SourceRecord(nodes=[] if is_known else [root.node(self._store.project)])

    def _scanner(self, *, allow_deletes: bool) -> Scanner:
        return Scanner(self._lifecycle, self._linker, self._tally, own=self._own, allow_deletes=allow_deletes)

    async def _scan(
        self,
        scanner: Scanner,
        root: Root,
        stretch: Stretch,
        *,
        rehash: bool = False,
        counted: Tally | None = None,
        reading: Reading | None = None,
        run: str | None = None,
        found: Changes | None = None,
    ) -> None:
        """Until no file changed while it was in a worker's hands."""
        counted = counted or self._tally
        while True:
            scan = partial(scanner.scan, root, rehash=rehash, tally=counted, stretch=stretch)
            scanned = await through_outages(partial(scan, reading=reading, run=run, changes=found), self._say)
            self._left_out[root.name, stretch] = scanned.left_out
            self._excluded[root.name, stretch] = scanned.excluded
            self._worker.wake()
            if not scanned.busy:
                return
            # What is only looked at again was counted already, and is looked at from the start.
            counted = Tally()
            if reading:
                await reading.move_to(0)
            await asyncio.sleep(_LOOK_AGAIN)


def _has_extra() -> bool:
    return all(find_spec(name) for name in ("pypdf", "docx"))


def told_changes(root: str, found: Changes) -> str:
    """The files that were changed, are new or gone, the first of each by name; nothing where none is."""
    kinds = {"changed": set(found.changed) - set(found.new), "new": set(found.new), "gone": set(found.gone)}
    return "; ".join(
        f"{kind}: {', '.join(f'{root}/{path}' for path in sorted(paths)[:_NAMED])}"
        + (f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else "")
        for kind, paths in kinds.items()
        if paths
    )


def _root_of(run: Run) -> str:
    """The name of the root that it is a run over."""
    return run.source.partition(":")[2]


def _shown(root: Root, stretch: Stretch) -> str:
    """What a person would call the part."""
    return root.name if stretch == WHOLE else f"{root.name}/{stretch.name}"
