"""What became of the pages since they were read: compared by their revisions, before anything is read again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graph_stores.model import Ref
from orchestrator.lifecycle import Lifecycle
from orchestrator.paging import paged
from orchestrator.runs.sources import MassDeletion, is_mass_deletion, listed
from orchestrator.tally import Tally
from orchestrator.wikipedia.parse import hash_of, is_hash_of_page
from orchestrator.wikipedia.titles import is_stub
from orchestrator.wikipedia.wikis import Wiki, crawl_of
from pipelines.wikipedia.model import Absent, Pages, Redirect

_PAGE = 500


@dataclass(slots=True)
class Changes:
    """`pages` are to be read again, each with what tells its new content from the old.

    `elsewhere` counts what this source does not have and another one had.
    """

    pages: dict[Ref, str] = field(default_factory=dict)
    elsewhere: int = 0
    articles: int = 0
    """How many articles the graph has of the wiki."""
    gone: dict[Ref, str] = field(default_factory=dict)
    """Those of the articles that the wiki no longer has, with their titles."""

    def refusal(self, wiki: Wiki, options: Mapping[str, Any] | None = None) -> MassDeletion | None:
        """Why the gone articles must not be deleted without permission. `options` are those of a run over the wiki."""
        if not is_mass_deletion(len(self.gone), self.articles):
            return None
        return MassDeletion(
            f"{len(self.gone):,} of the {self.articles:,} articles of {wiki.name} are missing from "
            f"{', '.join(wiki.source.location)} ({listed(sorted(self.gone.values()))}); nothing was deleted",
            command=wiki.command(crawl_of(options["crawl"]) if options and "crawl" in options else None),
        )


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
            ref = Ref(label="Article", uuid=uuid)
            written = reading.titles.get(title, title)
            found = reading.found[written] if written == title else Redirect(title=title, target=written)
            now = hash_of(found)
            was_page = before is not None and is_hash_of_page(before)
            changes.articles += was_page
            if now == before:
                tally.unchanged += 1
            elif is_another_source and isinstance(found, Absent):
                changes.elsewhere += 1
            elif before is not None:
                changes.pages[ref] = now
                if was_page and isinstance(found, Absent):
                    changes.gone[ref] = title
    return changes
