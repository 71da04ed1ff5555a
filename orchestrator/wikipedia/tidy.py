"""What is left to do when every article of a crawl is read: depths, reasons, and what has no reason to be there.

Follows every crawl that was ever asked of the wiki, so that one does not undo another. Can be repeated at any time.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from graph_stores.model import Batch, Edge, Ref, Unlink, Update, Value
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle
from orchestrator.paging import paged, portions
from orchestrator.removal import away, removal_of_texts, rows_of
from orchestrator.states import State
from orchestrator.wikipedia.link import lead_through_redirects, linking, links_in
from orchestrator.wikipedia.parse import OF_A_PAGE, marks_of_redirect, sections_of
from orchestrator.wikipedia.titles import BEYOND_BUDGET, BEYOND_DEPTH, Standing, is_stub, standing_of
from orchestrator.wikipedia.walk import Reach, Walk
from orchestrator.wikipedia.wikis import Crawl, Wiki
from pipelines.wikipedia.model import Redirect

T = TypeVar("T")

_PAGE = 1000
_AT_ONCE = 100
# What is looked at together, and written together: titles in the order of their uuids lie all over the table, and an
# embedded engine keeps whatever a commit touched of it until the next checkpoint.
_LOOKED_AT = 10_000


@dataclass(slots=True)
class _Found:
    """What a look at every title brought to light. There may be many times as many stubs as articles."""

    stubs: list[Ref] = field(default_factory=list)
    unreached: list[Ref] = field(default_factory=list)
    passed_no_more: list[Ref] = field(default_factory=list)
    """Redirects and titles of nothing that no crawl comes past: whoever starts afresh would not look at them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """How many articles nothing leads to any more, and which crawls were not read to their end."""

    removed: int
    unfinished: Sequence[Crawl]


async def tidy(
    lifecycle: Lifecycle, wiki: Wiki, known: Mapping[Crawl, Reach], *, keep_stubs: bool = True, in_doubt: bool = False
) -> Tidied:
    """`known` is what a crawl that just ended holds. While one of the crawls is not complete it may still come to need
    what nothing leads to, so that nothing is taken away, unless `in_doubt` it is to be.
    """
    store = lifecycle.store
    walk = Walk(store=store, wiki=wiki.name)
    crawls = [crawl for crawl in wiki.crawls if not crawl.whole]
    reaches = [known.get(crawl) or await walk.go(crawl) for crawl in crawls]
    is_whole = any(crawl.whole for crawl in wiki.crawls)
    reach = _merged(reaches)
    reach.is_cut = await is_cut(store, wiki)
    found = await _look(lifecycle, wiki, reach, is_whole=is_whole, with_stubs=False)
    is_sure = (in_doubt or all(each.complete for each in reaches)) and not is_whole
    unreached = found.unreached if is_sure else []
    apart = [*unreached, *(found.passed_no_more if is_sure else [])]
    await _in_pages(apart, lambda some: _to_stubs(store, some, reach), page=_AT_ONCE)
    await _resolve_stubs(lifecycle, wiki)
    await lead_through_redirects(lifecycle)
    if wiki.is_unswept or apart:
        await _sweep(lifecycle, wiki)
    if not keep_stubs:
        found = await _look(lifecycle, wiki, reach, is_whole=is_whole, with_stubs=True)
        await _in_pages(found.stubs, lifecycle.delete)
    unfinished = [crawl for crawl, each in zip(crawls, reaches, strict=True) if not each.complete]
    return Tidied(removed=len(unreached), unfinished=unfinished)


async def is_cut(store: Store, wiki: Wiki) -> bool:
    """Whether all of the wiki was asked for, up to a budget that was reached."""
    budgets = [crawl.budget for crawl in wiki.crawls if crawl.whole and crawl.budget is not None]
    if not budgets or any(crawl.whole and crawl.budget is None for crawl in wiki.crawls):
        return False
    articles = 0
    async for rows in _pages_of_titles(store, wiki):
        articles += sum(
            not redirect and standing_of(state, reason, kind) is Standing.ARTICLE
            for _, _, state, reason, redirect, _, _, kind in rows
        )
    return articles >= max(budgets)


async def _resolve_stubs(lifecycle: Lifecycle, wiki: Wiki) -> None:
    """Stubs that are known to redirect to an article, although nobody read them: links to them are links to it."""
    store = lifecycle.store
    async for rows in paged(store, "redirected", limit=_AT_ONCE, wiki=wiki.name):
        leading = {
            wiki.article(store.project, title): Redirect(title=title, target=row[1]) for row in rows for title in row[2]
        }
        known = (await store.ask("articles", {"uuids": [ref.uuid for ref in leading]})).rows
        unread = [_ref(row[0]) for row in known if is_stub(row[1], row[2])]
        stubs = {ref: leading[ref] for ref in unread}
        await store.commit(
            Batch(
                updates=[Update(node=stub, properties=marks_of_redirect(each)) for stub, each in stubs.items()],
                edges=[
                    Edge(type="REDIRECTS_TO", source=stub, target=wiki.article(store.project, each.target))
                    for stub, each in stubs.items()
                ],
            )
        )


def _merged(reaches: Sequence[Reach]) -> Reach:
    merged = Reach()
    for reach in reaches:
        merged.beyond_budget |= reach.beyond_budget
        merged.passed |= reach.passed
        for uuid, depth in reach.depths.items():
            merged.depths[uuid] = min(depth, merged.depths.get(uuid, depth))
    return merged


async def _look(lifecycle: Lifecycle, wiki: Wiki, reach: Reach, *, is_whole: bool, with_stubs: bool) -> _Found:
    """Look at every title, and have those put right whose depth or reason is another by now."""
    found = _Found()
    async for rows in _pages_of_titles(lifecycle.store, wiki):
        updates: list[Update] = []
        for uuid, _, state, reason, redirect, _, depth, kind in rows:
            ref = _ref(uuid)
            if is_stub(state, reason):
                if with_stubs:
                    found.stubs.append(ref)
                if reason != (wanted := _why_not(uuid, reach)):
                    updates.append(Update(node=ref, properties={"_errorMessage": wanted}))
            elif redirect or standing_of(state, reason, kind) is Standing.NOTHING:
                leads_to = wiki.article(lifecycle.store.project, redirect).uuid if redirect else None
                if not is_whole and uuid not in reach.passed and leads_to not in reach.depths:
                    found.passed_no_more.append(ref)
            else:
                shortest = 0 if is_whole else reach.depths.get(uuid)
                if shortest is None:
                    found.unreached.append(ref)
                elif shortest != depth:
                    updates.append(Update(node=ref, properties={"expansion_depth": shortest}))
        await lifecycle.update(updates)
    return found


def _why_not(uuid: str, reach: Reach) -> str:
    return BEYOND_BUDGET if reach.is_cut or uuid in reach.beyond_budget else BEYOND_DEPTH


async def _to_stubs(store: Store, refs: Sequence[Ref], reach: Reach) -> None:
    rows = await rows_of(store, refs)
    gone = await removal_of_texts(store, [text for row in rows for text in sections_of(row)])
    nothing = dict.fromkeys((*OF_A_PAGE, "_contentHash", "_redirect", "_seed"))
    moves = [
        away(
            row,
            {
                **nothing,
                "_errorMessage": _why_not(row.uuid, reach),
                "_relink": True if "_redirect" in row.properties else None,
            },
        )
        for row in rows
    ]
    types = ("LINKS_TO", "IN_CATEGORY", "REDIRECTS_TO")
    await store.commit(
        Batch(
            transitions=[*moves, *gone.moves],
            deletions=gone.refs,
            unlinks=[Unlink(source=row.ref, type=each) for row in rows for each in types],
        )
    )


async def _sweep(lifecycle: Lifecycle, wiki: Wiki) -> None:
    """Remove titles that no article links to, and categories that hold none.

    Where all of a wiki was asked for, its redirects and skipped pages belong to it; a page that is not there does not.
    """
    store = lifecycle.store
    is_whole = any(crawl.whole for crawl in wiki.crawls)
    supported = {wiki.article(store.project, seed).uuid for crawl in wiki.crawls for seed in crawl.seeds}
    async for page in linking(store, wiki.name):
        for _, _, links in page:
            supported |= {wiki.article(store.project, title).uuid for title in links_in(links)}
    redirects: dict[str, str] = {}
    titles: list[str] = []
    async for rows in _pages_of_titles(store, wiki):
        for uuid, _, state, reason, target, _, _, kind in rows:
            if target:
                redirects[uuid] = wiki.article(store.project, target).uuid
            is_missing = state == State.ERROR and standing_of(state, reason, kind) is Standing.NOTHING
            if is_missing or (state == State.SKIP and not is_whole):
                titles.append(uuid)
    for redirect in [each for each in redirects if each in supported]:
        end = redirect
        while (following := redirects.get(end)) and following not in supported:
            supported.add(following)
            end = following
    unsupported = [_ref(uuid) for uuid in titles if uuid not in supported]
    await _in_pages(unsupported, lifecycle.delete, page=_AT_ONCE)
    while rows := (await store.ask("empty-categories", {"limit": _PAGE})).rows:
        await lifecycle.delete([Ref(label="Category", uuid=uuid) for (uuid,) in rows])


def _pages_of_titles(store: Store, wiki: Wiki) -> AsyncIterator[Sequence[Sequence[Value]]]:
    return paged(store, "remembered", limit=_LOOKED_AT, wiki=wiki.name)


async def _in_pages(whole: Sequence[T], do: Callable[[Sequence[T]], Awaitable[None]], *, page: int = _PAGE) -> None:
    for some in portions(whole, page):
        await do(some)


def _ref(uuid: str) -> Ref:
    return Ref(label="Article", uuid=uuid)
