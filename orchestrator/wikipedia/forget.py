"""Takes a crawl out of the graph again, or a whole wiki, with all that no other crawl leads to."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from graph_stores.errors import Misuse
from graph_stores.protocol import Store
from orchestrator.holding import holding
from orchestrator.leases import is_gone, owner_name
from orchestrator.lifecycle import Lifecycle
from orchestrator.runs.course import forget_runs
from orchestrator.wikipedia.tidy import tidy
from orchestrator.wikipedia.wikis import KIND, Wiki, read_wikis


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenArticles:
    """`whole` says that the wiki went with its last crawl."""

    wiki: str
    articles: int
    whole: bool


async def is_known(store: Store, what: str) -> bool:
    """Whether it is the name of a wiki or a title that was expanded from."""
    wikis = await read_wikis(store)
    return what in wikis or bool(_expanded_from(wikis, what))


def _expanded_from(wikis: Mapping[str, Wiki], title: str) -> list[Wiki]:
    wanted = _folded(title)
    return [wiki for wiki in wikis.values() if any(wanted in map(str.casefold, crawl.seeds) for crawl in wiki.crawls)]


def _folded(title: str) -> str:
    return title.replace("_", " ").strip().casefold()


async def forget_articles(store: Store, what: str) -> ForgottenArticles | None:
    """`what` is a title that was expanded from, or the name of a wiki; None where it is neither."""
    wikis = await read_wikis(store)
    if what in wikis:
        return await _forget(store, wikis[what], replace(wikis[what], crawls=()))
    wanted, found = _folded(what), _expanded_from(wikis, what)
    if len(found) > 1:
        raise Misuse(
            f"{what} was expanded from in several wikis: {', '.join(wiki.name for wiki in found)}",
            hint="forget a whole wiki by its name, or expand into projects of their own",
        )
    for wiki in found:
        kept = [
            replace(crawl, seeds=tuple(seed for seed in crawl.seeds if seed.casefold() != wanted))
            for crawl in wiki.crawls
        ]
        left = tuple(crawl for crawl in kept if crawl.seeds or crawl.whole)
        return await _forget(store, wiki, replace(wiki, crawls=left))
    return None


async def _forget(store: Store, wiki: Wiki, left: Wiki) -> ForgottenArticles:
    lifecycle = Lifecycle(store=store)
    await forget_runs(lifecycle, f"{KIND}:{wiki.name}", whole=not left.crawls)
    await lifecycle.reclaim(is_gone)  # what a process that was killed had in hand
    async with holding(store, "expand", owner=owner_name(), waiting=lambda: None):
        # Written down first: if this ends in between, the next expansion tidies up.
        left = replace(left, is_unswept=True)
        await lifecycle.upsert([left.node(store.project)])
        articles = (await tidy(lifecycle, left, {}, in_doubt=True)).removed
        if not left.crawls:
            await lifecycle.delete([wiki.ref(store.project)])
    return ForgottenArticles(wiki=wiki.name, articles=articles, whole=not left.crawls)
