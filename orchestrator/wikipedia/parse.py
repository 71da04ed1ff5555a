"""The parse step for articles: reads their pages, parses them in the pool, and turns what came of it into nodes.

Owns what a title becomes: an article with its sections, a redirect, or a reason why there is nothing. A section whose
words an edit left alone keeps its node, its state and its vector.
"""

import asyncio
import json
import pickle
from collections import OrderedDict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import count
from urllib.parse import quote

from graph_stores.model import Edge, Fence, Node, NodeRow, Ref, Transition, Unlink, Update, Value
from graph_stores.protocol import Store
from orchestrator.lifecycle import Result
from orchestrator.moves import new_node, transition
from orchestrator.removal import removal_of_texts, rows_of
from orchestrator.states import PARSE, ErrorClass, State
from orchestrator.tally import Tally
from orchestrator.texts import parsed_again
from orchestrator.wikipedia.page_sources import PageSources
from orchestrator.wikipedia.titles import BEYOND_DEPTH, NO_SUCH_PAGE
from orchestrator.worker import Failure, Outcome, Pause
from pipelines.pool import Pool, ProcessDied, TookTooLong
from pipelines.wikipedia.dump_errors import DumpUnreadable
from pipelines.wikipedia.identity import article_uuid, category_uuid, section_uuid
from pipelines.wikipedia.making import Made, Piece, Task
from pipelines.wikipedia.model import (
    TITLES_AT_ONCE,
    Absence,
    Absent,
    CannotParse,
    Found,
    Page,
    Pages,
    Redirect,
    Site,
    WikiUnavailable,
)

# Pages at the end of a redirect, which were sent along with it: not asked for again when their turn comes.
_MOST_AHEAD = 500
_PAUSE = 5.0
_LOOK_AGAIN = 0.5
_REVISION = "revision "
OF_A_PAGE = ("pageId", "revisionId", "revisionTimestamp", "word_count", "category", "redirects", "_links", "_sections")
# Who has none of these has nothing of a page.
_SIGNS_OF_A_PAGE = ("word_count", "category", "_sections")


class ParseArticles:
    stage = PARSE
    labels: Sequence[str] = ("Article",)
    source = "wiki"
    limit = TITLES_AT_ONCE
    # One is read while the other is parsed; whatever is in hand when the process is killed is read again.
    runners = 2
    needs: Sequence[str] | None = ("wiki", "title", "expansion_depth", "_seed", "_redirect", *_SIGNS_OF_A_PAGE)

    def __init__(self, store: Store, pool: Pool[Task, Made], tally: Tally, sources: PageSources) -> None:
        self._store = store
        self._pool = pool
        self._tally = tally
        self._sources = sources
        self._ahead: OrderedDict[str, Found] = OrderedDict()
        self._sites: dict[str, bytes] = {}

    @property
    def away(self) -> Sequence[str]:
        return sorted(self._sources.lost)

    async def is_ready(self) -> bool:
        await self._sources.look()
        return True

    async def work(self, nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        wikis = list(dict.fromkeys(node.properties.get("wiki", "") for node in nodes))
        wiki = next((each for each in wikis if each not in self._sources.lost), wikis[0])
        # What is left without an outcome is given back.
        taken = [node for node in nodes if node.properties.get("wiki", "") == wiki]
        pages = await self._sources.for_step(wiki)
        if pages is None:
            return ()
        try:
            found = await self._by_halves(pages, taken)
        except DumpUnreadable as error:
            await self._sources.drop(wiki)
            raise Pause(error.message, seconds=_LOOK_AGAIN) from error
        self._tally.read += len(taken)
        return await asyncio.gather(*(self._outcome(pages.site, node, found[node.uuid]) for node in taken))

    def fence(self) -> Fence | None:
        return None

    async def done(self, results: Sequence[Result]) -> None:
        self._tally.parsed += sum(not result.path for result in results)
        self._tally.deleted += sum(bool(result.path) and _was_article(result.node) for result in results)

    async def undone(self) -> None: ...

    async def _found(self, pages: Pages, nodes: Sequence[NodeRow]) -> dict[str, Found]:
        """What there is under the title of each node, by uuid."""
        asked = [node.properties["title"] for node in nodes if node.uuid not in self._ahead]
        reading = await pages.read(asked) if asked else None
        found = {node.uuid: self._ahead[node.uuid] for node in nodes if node.uuid in self._ahead}
        if reading:
            for node in nodes:
                if node.uuid not in found:
                    title = node.properties["title"]
                    written = reading.titles.get(title, title)
                    # A title that the wiki writes otherwise leads to it as a redirect does.
                    found[node.uuid] = (
                        reading.found[written] if written == title else Redirect(title=title, target=written)
                    )
            for title, each in reading.found.items():
                self._remember(article_uuid(self._store.project, pages.site.wiki, title), each, keep=found)
        for node in nodes:
            self._ahead.pop(node.uuid, None)
        return found

    def _remember(self, uuid: str, found: Found, *, keep: Mapping[str, Found]) -> None:
        if uuid not in keep:
            self._ahead[uuid] = found
            while len(self._ahead) > _MOST_AHEAD:
                self._ahead.popitem(last=False)

    async def _by_halves(self, pages: Pages, nodes: Sequence[NodeRow]) -> dict[str, Found | WikiUnavailable]:
        """An outage is nobody's fault; a title that the wiki fails at time and again must not stop all others."""
        try:
            return dict(await self._found(pages, nodes))
        except WikiUnavailable as error:
            if not await _answers(pages, {node.properties["title"] for node in nodes}):
                raise Pause(error.message, seconds=error.retry_after or _PAUSE) from error
            if len(nodes) == 1:
                return {nodes[0].uuid: error}
        middle = len(nodes) // 2
        return await self._by_halves(pages, nodes[:middle]) | await self._by_halves(pages, nodes[middle:])

    async def _outcome(self, site: Site, node: NodeRow, found: Found | WikiUnavailable) -> Outcome:
        if isinstance(found, WikiUnavailable):
            kind = ErrorClass.RATE_LIMIT if found.is_rate_limit else ErrorClass.NETWORK
            return Failure(node=node, message=found.message, error_class=kind)
        if isinstance(found, Redirect):
            return await self._redirect(site, node, found)
        if isinstance(found, Absent):
            if not node.properties.get("_seed"):
                return await self._left_out(node, marks_of_absence(found))
            # Somebody asked for it: that it is not there is an error, whatever it was before.
            error = {"_errorType": self.stage.error_type.value, "_errorClass": ErrorClass.MISSING.value}
            known = marks_of_absence(found) | error | {"_errorMessage": found.reason}
            return replace(await self._left_out(node, known), path=(State.ERROR,))
        return await self._article(site, node, found)

    async def _redirect(self, site: Site, node: NodeRow, found: Redirect) -> Result:
        result = await self._left_out(node, marks_of_redirect(found))
        # Whether it is to be read is decided when the level is: until then it is a stub, if it is not there already.
        stub = new_stub(self._store.project, site, found.target, node.properties.get("expansion_depth") or 0)
        return replace(result, nodes=[stub], edges=[Edge(type="REDIRECTS_TO", source=node.ref, target=stub.ref)])

    async def _left_out(self, node: NodeRow, known: Mapping[str, Value]) -> Result:
        """To skip, without what it had as an article or led to as a redirect."""
        gone = await removal_of_texts(self._store, sections_of(node))
        return Result(
            node=node,
            path=(State.PENDING, State.SKIP),
            properties={
                # Of what it never had nothing has to be taken away: each property that is written costs.
                **(dict.fromkeys(OF_A_PAGE) if any(name in node.properties for name in _SIGNS_OF_A_PAGE) else {}),
                **({"_redirect": None} if "_redirect" in node.properties else {}),
                **known,
                **_relinked(node, known.get("_redirect")),
            },
            also=gone.moves,
            deletions=gone.refs,
            unlinks=_unlinked(node),
        )

    async def _article(self, site: Site, node: NodeRow, page: Page) -> Outcome:
        task = Task(article=node.uuid, title=page.title, text=page.text or "", site=self._site(site))
        try:
            made = await self._pool.run(task)
        except CannotParse as error:
            return Failure(node=node, message=str(error), error_class=ErrorClass.PARSE)
        except TookTooLong as error:
            return Failure(node=node, message=str(error), error_class=ErrorClass.TIMEOUT)
        except ProcessDied as error:
            return Failure(node=node, message=str(error))
        categories = made.categories if page.categories is None else _in_order(page.categories, made.categories)
        return await self._result(site, node, page, made, categories)

    async def _result(self, site: Site, node: NodeRow, page: Page, made: Made, categories: Sequence[str]) -> Result:
        had = {ref.uuid: ref for ref in sections_of(node)}
        rows = {row.uuid: row for row in await rows_of(self._store, list(had.values()))}
        sections = [_Kept(article=page.title, piece=piece, row=rows.get(piece.uuid)) for piece in made.pieces]
        left = {piece.uuid for piece in made.pieces}
        gone = await removal_of_texts(self._store, [ref for uuid, ref in had.items() if uuid not in left])
        groups = [_category(self._store.project, site, title) for title in categories]
        return Result(
            node=node,
            properties={
                "pageId": page.page_id,
                "revisionId": page.revision_id,
                "revisionTimestamp": page.timestamp,
                "word_count": made.word_count,
                "category": categories[0] if categories else None,
                "redirects": sorted(page.redirects) or None,
                "_contentHash": hash_of(page),
                "_links": json.dumps(dict(made.links), ensure_ascii=False, separators=(",", ":")),
                "_sections": json.dumps([[each.piece.key, each.is_fresh] for each in sections], ensure_ascii=False),
                **({"_redirect": None, **_relinked(node, None)} if "_redirect" in node.properties else {}),
            },
            also=[*gone.moves, *(move for each in sections if (move := each.move))],
            deletions=gone.refs,
            unlinks=_unlinked(node, but="LINKS_TO"),
            nodes=[*(each.node for each in sections if each.row is None), *groups],
            updates=[each.update for each in sections if each.row is not None],
            edges=[
                *(
                    Edge(type="HAS_SECTION", source=node.ref, target=each.ref, properties={"section_index": index})
                    for index, each in enumerate(sections)
                ),
                *(Edge(type="IN_CATEGORY", source=node.ref, target=group.ref) for group in groups),
            ],
        )

    def _site(self, site: Site) -> bytes:
        """Pickled once: it may name a thousand other wikis."""
        if site.wiki not in self._sites:
            self._sites[site.wiki] = pickle.dumps(site)
        return self._sites[site.wiki]


def new_article(
    project: str,
    site: Site,
    title: str,
    depth: int,
    *,
    state: State = State.PENDING,
    initial: Mapping[str, Value] | None = None,
    properties: Mapping[str, Value] | None = None,
) -> Node:
    return new_node(
        label="Article",
        uuid=article_uuid(project, site.wiki, title),
        name=title,
        state=state,
        depth=depth,
        properties={
            "title": title,
            "wiki": site.wiki,
            "lang": site.lang,
            "url": site.article_url.replace("$1", quote(title.replace(" ", "_"), safe="/:@!$*(),;~'")),
            **(properties or {}),
        },
        initial=initial,
    )


def new_stub(project: str, site: Site, title: str, depth: int) -> Node:
    """A title that something leads to and that nobody looked at."""
    return new_article(project, site, title, depth, state=State.SKIP, initial={"_errorMessage": BEYOND_DEPTH})


def awake(ref: Ref, depth: int) -> Transition:
    """A stub is to be read after all, so far from the seeds."""
    properties = {"expansion_depth": depth}
    return transition(ref, expected=State.SKIP, to=State.PENDING, retry_count=0, properties=properties)


def marks_of_redirect(redirect: Redirect) -> dict[str, Value]:
    """What is known of a title that leads to another."""
    return {
        "_redirect": redirect.target,
        "_contentHash": hash_of(redirect),
        "_errorMessage": f"a redirect to {redirect.target}",
    }


def marks_of_absence(absent: Absent) -> dict[str, Value]:
    """What is known of a title without a page, in the same words whether a dump or an API said so."""
    reason = NO_SUCH_PAGE if absent.absence is Absence.MISSING else absent.reason
    return {"_contentHash": hash_of(absent), "_errorMessage": reason}


def hash_of(found: Found) -> str:
    """What changes when the page does."""
    if isinstance(found, Page):
        return f"{_REVISION}{found.revision_id} of {found.timestamp.isoformat()}"
    if isinstance(found, Redirect):
        return f"redirect {found.target}"
    return found.absence.value


def is_hash_of_page(digest: str) -> bool:
    return digest.startswith(_REVISION)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A section, with the node that it has from an earlier reading."""

    article: str
    piece: Piece
    row: NodeRow | None

    @property
    def name(self) -> str:
        title = self.piece.section.title
        return title if title == self.article else f"{self.article} › {title}"

    @property
    def ref(self) -> Ref:
        return Ref(label="Section", uuid=self.piece.uuid)

    @property
    def has_new_words(self) -> bool:
        return self.row is not None and self.row.properties.get("_contentHash") != self.piece.hash

    @property
    def is_fresh(self) -> bool:
        return self.row is None or self.has_new_words or self.row.state == State.PARSED

    @property
    def move(self) -> Transition | None:
        return parsed_again(self.row) if self.row is not None and self.has_new_words else None

    @property
    def node(self) -> Node:
        return new_node(
            label="Section",
            uuid=self.piece.uuid,
            name=self.name,
            state=State.PARSED,
            properties=self._shown,
        )

    @property
    def update(self) -> Update:
        return Update(node=self.ref, name=self.name, properties=self._shown)

    @property
    def _shown(self) -> dict[str, Value]:
        section = self.piece.section
        return {
            "title": section.title,
            "level": section.level,
            "content": section.content,
            "word_count": section.word_count,
            "_contentHash": self.piece.hash,
        }


def _in_order(categories: Sequence[str], written: Sequence[str]) -> list[str]:
    """As the page has them; then those that only the wiki knows, because a template made them."""
    known = set(categories)
    first = [title for title in written if title in known]
    return [*first, *(title for title in categories if title not in first)]


async def _answers(pages: Pages, but: Set[str]) -> bool:
    """Whether the wiki says anything at all, of a title that is none of these."""
    title = next(title for title in map(str, count()) if title not in but)
    try:
        await pages.look([title])
    except WikiUnavailable:
        return False
    return True


def _category(project: str, site: Site, title: str) -> Node:
    return new_node(
        label="Category",
        uuid=category_uuid(project, site.wiki, title),
        name=title,
        state=State.PARSED,
        properties={"title": title, "wiki": site.wiki},
    )


def sections_of(node: NodeRow) -> list[Ref]:
    keys = json.loads(node.properties.get("_sections") or "[]")
    return [Ref(label="Section", uuid=section_uuid(node.uuid, key)) for key, _ in keys]


def _was_article(node: NodeRow) -> bool:
    return "_sections" in node.properties


def _unlinked(node: NodeRow, *, but: str | None = None) -> list[Unlink]:
    """What a former reading wrote; the links of an article go when the new ones are there."""
    types = [
        *(("LINKS_TO", "IN_CATEGORY") if _was_article(node) else ()),
        *(("REDIRECTS_TO",) if "_redirect" in node.properties else ()),
    ]
    return [Unlink(source=node.ref, type=each) for each in types if each != but]


def _relinked(node: NodeRow, target: Value) -> dict[str, Value]:
    """A redirect that leads elsewhere now: articles that link to it have edges to where it led."""
    before = node.properties.get("_redirect")
    return {"_relink": True} if before is not None and before != target else {}
