"""What became of the pages since they were read: compared by their revisions, before anything is read again."""

from dataclasses import dataclass, field

from graph_stores.model import Ref
from orchestrator.lifecycle import Lifecycle
from orchestrator.paging import paged
from orchestrator.tally import Tally
from orchestrator.wikipedia.parse import hash_of
from orchestrator.wikipedia.titles import is_stub
from pipelines.wikipedia.model import Absent, Pages, Redirect

_PAGE = 500


@dataclass(slots=True)
class Changes:
    """`pages` are to be read again, each with what tells its new content from the old.

    `elsewhere` counts what this source does not have and another one had.
    """

    pages: dict[Ref, str] = field(default_factory=dict)
    elsewhere: int = 0


async def changed_pages(lifecycle: Lifecycle, pages: Pages, tally: Tally, *, is_another_source: bool) -> Changes:
    """Articles, redirects and what was missing: any may have become another. Titles nobody looked at are left alone.

    What another source does not have is not gone for that: dumps come in parts.
    """
    changes = Changes()
    async for rows in paged(lifecycle.store, "remembered", limit=_PAGE, wiki=pages.site.wiki):
        known = {
            title: (uuid, hash_) for uuid, title, state, reason, _, hash_, *_ in rows if not is_stub(state, reason)
        }
        reading = await pages.look(list(known))
        for title, (uuid, before) in known.items():
            written = reading.titles.get(title, title)
            found = reading.found[written] if written == title else Redirect(title=title, target=written)
            now = hash_of(found)
            if now == before:
                tally.unchanged += 1
            elif is_another_source and isinstance(found, Absent):
                changes.elsewhere += 1
            elif before is not None:
                changes.pages[Ref(label="Article", uuid=uuid)] = now
    return changes
