"""`expand`: from seeds outwards over one wiki, until every article of the crawl is read.

Owns the course of an expansion: whether it goes on or begins anew, what is looked at again, when a level is read.
"""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial

from graph_stores.errors import Misuse
from graph_stores.model import Fence, Ref, Update
from orchestrator.holding import holding
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import transition
from orchestrator.paging import paged, portions
from orchestrator.runs.records import Part, PartitionKind, Run, RunPlan, SourceRecord
from orchestrator.runs.sources import ALLOWED, SourceLost
from orchestrator.runs.steps import CannotGoOn, Reading, Stopped
from orchestrator.settle import settle_articles
from orchestrator.states import State
from orchestrator.tally import Tally
from orchestrator.wikipedia.link import LinkArticles
from orchestrator.wikipedia.order import Order, part_of
from orchestrator.wikipedia.outages import answered
from orchestrator.wikipedia.page_sources import PageSources, dump_lost
from orchestrator.wikipedia.parse import ParseArticles, awake, marks_of_absence, new_article
from orchestrator.wikipedia.refresh import changed_pages
from orchestrator.wikipedia.tidy import is_cut, tidy
from orchestrator.wikipedia.titles import is_stub
from orchestrator.wikipedia.walk import Reach, Walk
from orchestrator.wikipedia.wikis import KIND, Crawl, PageSource, SourceKind, Wiki, crawl_of, read_wikis, several_wikis
from orchestrator.worker import Step, Worker, looks, through_outages
from pipelines.pool import Pool
from pipelines.wikipedia.dump_errors import DumpUnreadable
from pipelines.wikipedia.making import Made, Task, make
from pipelines.wikipedia.model import Absent, Page, Pages, Site, Span, WikiUnavailable

HOLD = "expand"
# A page that takes longer to parse is an error, not a hang.
_PARSE_SECONDS = 60.0
_PAGE = 1000
# Titles that do not exist lie all over the table, and an embedded engine keeps whatever a commit touched of it until
# the next checkpoint: the fewer commits, the less. But what an API has said is not to be asked again after a kill.
_LOOKED_AT = {SourceKind.DUMP: 10_000, SourceKind.API: _PAGE}
# How many articles may wait while all of a wiki is read: what is in memory at once, whatever its size.
_MOST_WAITING = 2000
_SHORTEST_LOOK, _LONGEST_LOOK = 0.02, 0.25
# How often it is written down that a long level is being read.
_GETTING_AHEAD = 30.0
_SEED = {"_seed": True}
_BEGIN = (State.PENDING, State.PARSING)
_END = (State.LINKING, State.LINKED, State.EMBEDDING)


class Expansion:
    """The articles' part of a job. Without an order it only works on what waits in the graph."""

    away: Sequence[str] = ()

    def __init__(self, lifecycle: Lifecycle, order: Order | None, tally: Tally, say: Callable[[str], None]) -> None:
        self.allow_deletes = False
        self.is_read = True  # whether there is, or may come, somebody who parses and links what is found
        self._lifecycle = lifecycle
        self._store = lifecycle.store
        self._order = order
        self._tally = tally
        self._say = say
        self.sources = PageSources(self._store, say, self._nap)
        self._reached: dict[str, Reach] = {}

    async def steps(self, worker: Worker, stack: contextlib.AsyncExitStack, processes: int) -> Sequence[Step]:
        self._worker = worker
        stack.push_async_callback(self.sources.close)
        if self._order:
            self._order = replace(self._order, source=await self._source(self._order))
            pages = await self.sources.open(self._order.source)
            known = (await read_wikis(self._store)).get(pages.site.wiki)
            together = known.source.together_with(self._order.source) if known else self._order.source
            if together != self._order.source:
                self._order = replace(self._order, source=together)
                pages = await self.sources.open(together)
            self._site = pages.site
        pool: Pool[Task, Made] = Pool(make, processes=processes, seconds=_PARSE_SECONDS)
        await pool.start()
        stack.push_async_callback(pool.close)
        return [
            ParseArticles(self._store, pool, self._tally, self.sources),
            LinkArticles(self._store, self._tally, self.sources),
        ]

    async def plans(self) -> list[RunPlan]:
        """What the order asks for, written down with the wiki, so that any process can go on with it."""
        if self._order is None:
            return []
        order, pages = self._order, await self.sources.of(self._site.wiki)
        seeds = await answered(lambda: self._seeds(order, pages), self._say)
        crawl = Crawl(seeds=tuple(seeds), depth=order.depth, budget=order.budget, whole=order.whole)
        before = (await read_wikis(self._store)).get(self._site.wiki)
        parts, first = [Part(kind=order.kind, key=order.name)], []
        if order.whole and order.budget is None:
            parts = [part_of(span) for span in await pages.spans()]
            first = [Part(kind=PartitionKind.CHANGES, key="changes")] if before else []
        return [
            RunPlan(
                source=f"{KIND}:{self._site.wiki}",
                options={
                    "crawl": asdict(crawl),
                    "source": order.source.kind.value,
                    "location": list(order.source.location),
                    "keep_stubs": order.keep_stubs,
                    **({ALLOWED: True} if self.allow_deletes else {}),
                },
                parts=parts,
                first=first,
                # Whatever became of the last run, what it had compared may have changed since.
                marks=[Update(node=before.ref(self._store.project), properties={"_stale": True})] if before else [],
                record=partial(self._record_of, order, crawl),
                turn=self._alone,
            )
        ]

    async def read(self, reading: Reading) -> None:
        """Read everything that a part of a run asks for."""
        try:
            await self._read(reading)
        except DumpUnreadable as error:
            crawl = crawl_of(reading.run.options["crawl"])
            raise dump_lost(_name_of(reading.run), error, [crawl]) from error

    async def _read(self, reading: Reading) -> None:
        if reading.partition.kind is PartitionKind.RANGE:
            await self._read_span(reading, await self.sources.of(_name_of(reading.run)))
            return
        async with self._alone():
            wiki, pages = await self._wiki_of(reading.run)
            if wiki.is_stale:
                wiki = await self._refresh(wiki, pages, reading.run)
            if reading.partition.kind is not PartitionKind.CHANGES:
                await self._read_through(wiki.name, reading=reading)
                reach = await self._crawl(wiki, pages, reading, crawl_of(reading.run.options["crawl"]))
                if reach:
                    self._reached[reading.run.uuid] = reach

    async def consolidate(self, run: Run) -> None:
        """Depths, redirects, reasons, and what has no reason to be there any more."""
        crawl = crawl_of(run.options["crawl"])
        async with self._alone():
            wiki, pages = await self._wiki_of(run)
            await self._read_through(wiki.name)
            if crawl.whole and not await is_cut(self._store, wiki):
                await self._look_behind_links(pages, run, _LOOKED_AT[wiki.source.kind])
            known = {crawl: self._reached[run.uuid]} if run.uuid in self._reached else {}
            tidied = await tidy(self._lifecycle, wiki, known, keep_stubs=run.options["keep_stubs"])
            self._tally.deleted += tidied.removed
            for each in tidied.unfinished:
                seeds = ", ".join(each.seeds)
                self._say(f"the crawl from {seeds} to depth {each.depth} is not finished: expand it again")
            await self._finish(wiki)

    async def is_at_rest(self) -> bool:
        await settle_articles(self._lifecycle)
        (left,) = (await self._store.ask("unfinished-articles")).rows[0]
        if left and self.sources.lost:
            (left,) = (await self._store.ask("unfinished-articles-near", {"wikis": sorted(self.sources.lost)})).rows[0]
        return not left

    async def is_done_for(self, run: Run) -> bool:
        """One crawl tells where another one leads: they come to rest together."""
        return False

    async def obstacle(self, run: Run) -> SourceLost | None:
        return await self._waiting_for(_name_of(run))

    async def missing(self) -> Sequence[str]:
        return sorted(self.sources.lost)

    async def left(self) -> SourceLost | None:
        for wiki in self.sources.lost:
            if left := await self._waiting_for(wiki):
                return left
        return None

    async def _waiting_for(self, wiki: str) -> SourceLost | None:
        """Why articles of the wiki are not read, where they wait for its dump."""
        lost = self.sources.lost.get(wiki)
        return lost if lost and await self._unread(wiki) else None

    async def _unread(self, wiki: str) -> int:
        (left,) = (await self._store.ask("expanding", {"wiki": wiki})).rows[0]
        return int(left)

    async def settle(self) -> None:
        await settle_articles(self._lifecycle)

    async def keep(self) -> None: ...

    async def close(self) -> None: ...

    def _alone(self) -> contextlib.AbstractAsyncContextManager[Fence]:
        """What is read for one crawl tells where another one leads: they go one after the other."""
        waiting = "another job expands this project; waiting for it"
        return holding(self._store, HOLD, owner=self._worker.owner, waiting=lambda: self._say(waiting))

    async def _wiki_of(self, run: Run) -> tuple[Wiki, Pages]:
        """Asked while alone: what is written back must not be older than what another job has asked for meanwhile."""
        name = _name_of(run)
        return (await read_wikis(self._store))[name], await self.sources.of(name)

    async def _seeds(self, order: Order, pages: Pages) -> list[str]:
        """The titles to begin with, as the wiki writes them. One that does not exist is told at once."""
        titles = list(order.titles)
        for category in order.categories:
            members = await pages.members(category.name, depth=category.depth)
            if not members:
                raise Misuse(f"no article is in the category {category.name!r}", hint="check its name")
            titles += members
        reading = await pages.look(list(dict.fromkeys(titles))) if titles else None
        if reading:
            for title in dict.fromkeys(titles):
                end = reading.end_of(title)
                if isinstance(end, Absent):
                    near = [each for each in await pages.near(title) if each != title]
                    meant = f"; did you mean {', '.join(near)}?" if near else ""
                    self._say(f"{title}: {end.reason}{meant}")
        return list(dict.fromkeys(reading.titles.get(title, title) for title in titles)) if reading else []

    async def _record_of(self, order: Order, crawl: Crawl) -> SourceRecord:
        """The wiki with the crawl. Asked while alone: another job may have asked for another crawl."""
        before = (await read_wikis(self._store)).get(self._site.wiki)
        wiki = before or Wiki(name=self._site.wiki, lang=self._site.lang, source=order.source)
        wiki = replace(await self._without_mistakes(wiki), source=order.source, lang=self._site.lang).with_crawl(crawl)
        if before:
            wiki = replace(wiki, is_moved=before.is_moved or before.source.location != order.source.location)
        node = wiki.ref(self._store.project)
        is_at_rest = before is not None and before.state is State.READY
        moves = [transition(node, expected=State.READY, through=_BEGIN, to=State.PARSED)] if is_at_rest else []
        return SourceRecord(nodes=[wiki.node(self._store.project)], transitions=moves)

    async def _without_mistakes(self, wiki: Wiki) -> Wiki:
        """A crawl that found none of its seeds is forgotten when another one begins."""
        walk = Walk(store=self._store, wiki=wiki.name)
        seeds = [replace(crawl, depth=0, budget=None) for crawl in wiki.crawls if not crawl.whole]
        found = {crawl.seeds: await walk.go(crawl) for crawl in seeds}
        mistaken = {seeds for seeds, reach in found.items() if reach.complete and not reach.depths}
        if not mistaken:
            return wiki
        kept = [crawl for crawl in wiki.crawls if crawl.whole or crawl.seeds not in mistaken]
        return replace(wiki, crawls=kept, is_unswept=True)

    async def _finish(self, wiki: Wiki) -> None:
        wiki = replace(wiki, is_unswept=False)
        await self._lifecycle.upsert([wiki.node(self._store.project)])
        node = wiki.ref(self._store.project)
        move = transition(node, expected=State.PARSED, through=_END, to=State.READY)
        await self._lifecycle.move_what_is_still_so([move])  # a process that was killed may have got as far

    async def _refresh(self, wiki: Wiki, pages: Pages, run: Run) -> Wiki:
        """Have what changed since read again. That something did is written down first: it is tidied up in the end."""
        changes = await answered(
            lambda: changed_pages(self._lifecycle, pages, self._tally, is_another_source=wiki.is_moved), self._say
        )
        if not run.options.get(ALLOWED) and (refusal := changes.refusal(wiki, run.options)):
            raise refusal
        if changes.elsewhere:
            self._say(f"{changes.elsewhere:,} titles of the graph are not in this source, and stay as they are")
        if changes.pages:
            wiki = replace(wiki, is_unswept=True)
            await self._lifecycle.upsert([wiki.node(self._store.project)])
            marks = {ref: {"_runId": run.uuid} for ref in changes.pages}
            await self._lifecycle.mark_changed(changes.pages, marks)
        wiki = replace(wiki, is_stale=False, is_moved=False)
        await self._lifecycle.upsert([wiki.node(self._store.project)])
        return wiki

    async def _crawl(self, wiki: Wiki, pages: Pages, reading: Reading, crawl: Crawl) -> Reach | None:
        walk = Walk(
            store=self._store,
            wiki=wiki.name,
            read=partial(self._read_level, reading, pages.site, are_seeds=not crawl.whole),
            peek=lambda titles: answered(lambda: _peek(pages, titles), self._say),
        )
        if not crawl.whole:
            return await walk.go(crawl)
        await self._first_of_all(walk, pages, crawl.budget or 0)
        return None

    async def _read_span(self, reading: Reading, pages: Pages) -> None:
        span = Span(**reading.partition.plan)
        async for place, titles in pages.titles_in(span, after=max(span.after, reading.offset)):
            await self._admit(pages.site, titles, depth=0, seeds=False, run=reading.run)
            await reading.move_to(place)
            await self._read_through(pages.site.wiki, leaving=_MOST_WAITING)

    async def _first_of_all(self, walk: Walk, pages: Pages, budget: int) -> None:
        reach = Reach()
        async for titles in pages.all_titles():
            await walk.take(titles, 0, budget, reach)
            if len(reach.depths) >= budget:
                break

    async def _read_level(
        self, reading: Reading, site: Site, titles: Sequence[str], depth: int, *, are_seeds: bool
    ) -> None:
        for some in portions(titles, _PAGE):
            await reading.may_go_on()
            await self._admit(site, some, depth=depth, seeds=are_seeds and depth == 0, run=reading.run)
        await self._read_through(site.wiki, reading=reading)
        if depth + 1 > reading.offset:
            await reading.move_to(depth + 1)

    async def _admit(self, site: Site, titles: Sequence[str], *, depth: int, seeds: bool, run: Run) -> None:
        """Have titles read that nobody has looked at yet."""
        marks = {"_runId": run.uuid, **(_SEED if seeds else {})}
        made = [new_article(self._store.project, site, title, depth, properties=marks) for title in titles]
        nodes = {node.uuid: node for node in made}
        rows = {row[0]: row for row in (await self._store.ask("articles", {"uuids": list(nodes)})).rows}
        stubs = [Ref(label="Article", uuid=uuid) for uuid, row in rows.items() if is_stub(row[1], row[2])]
        new = [node for uuid, node in nodes.items() if uuid not in rows]
        if new:
            await self._lifecycle.upsert(new)
        await self._lifecycle.update([Update(node=ref, properties=marks) for ref in stubs])
        if stubs:
            await self._lifecycle.move_what_is_still_so([awake(ref, depth) for ref in stubs])
        self._worker.wake()

    async def _read_through(self, wiki: str, *, leaving: int = 0, reading: Reading | None = None) -> None:
        """Wait until every article that is to be read is read and linked, whoever does it."""
        seen, noted = None, time.monotonic()
        async for _ in looks(_SHORTEST_LOOK, _LONGEST_LOOK):
            left = await through_outages(partial(self._unread, wiki), self._say)
            if left <= leaving:
                return
            if wiki in self.sources.lost:
                raise self.sources.lost[wiki]
            if self._worker.is_stopping:  # nobody here reads any more
                raise Stopped
            if not self.is_read:
                hint = "an embedded graph has one process: give it --stages read,parse,link"
                raise CannotGoOn(f"the crawl waits for {left:,} articles that nobody here parses and links", hint=hint)
            if left != seen:  # others may have brought something for this process
                seen = left
                self._worker.wake()
                if reading and time.monotonic() > noted + _GETTING_AHEAD:
                    noted = time.monotonic()
                    await reading.move_to(reading.offset)

    async def _look_behind_links(self, pages: Pages, run: Run, at_once: int) -> None:
        """Where all of a wiki is read, a title that was not among them does not exist; this is how it is told.

        Again, where one does exist after all: it may link to others.
        """
        while await self._look_behind(pages, run, at_once):
            await self._read_through(pages.site.wiki)

    async def _look_behind(self, pages: Pages, run: Run, at_once: int) -> bool:
        """Whether there was anything to read."""
        found = False
        async for rows in paged(self._store, "remembered", limit=at_once, wiki=pages.site.wiki):
            stubs = {row[1]: row[0] for row in rows if is_stub(row[2], row[3])}
            absent: dict[str, Absent] = {}
            for some in portions(list(stubs), _PAGE):
                reading = await answered(partial(pages.look, some), self._say)
                absent |= {title: end for title in some if isinstance(end := reading.end_of(title), Absent)}
            await self._lifecycle.update(
                [
                    Update(node=Ref(label="Article", uuid=stubs[title]), properties=marks_of_absence(end))
                    for title, end in absent.items()
                ]
            )
            there = [title for title in stubs if title not in absent]
            for some in portions(there, _PAGE):
                await self._admit(pages.site, some, depth=1, seeds=False, run=run)
            found = found or bool(there)
        return found

    async def _source(self, order: Order) -> PageSource:
        known = list((await read_wikis(self._store)).values())
        if order.is_named or not known:
            return order.source
        if len(known) > 1:
            raise several_wikis(known)
        return replace(known[0].source, contact=order.source.contact or known[0].source.contact)

    async def _nap(self, seconds: float) -> None:
        """Whoever stops the job does not wait for the wiki."""
        if await self._worker.is_stopped_within(seconds):
            raise WikiUnavailable("the job was stopped while it waited for the wiki")


def _name_of(run: Run) -> str:
    """Of the wiki that it is a run over."""
    return run.source.partition(":")[2]


async def _peek(pages: Pages, titles: Sequence[str]) -> list[bool]:
    reading = await pages.look(titles)
    return [isinstance(reading.end_of(title), Page) for title in titles]
