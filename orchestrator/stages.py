"""The stages that a worker may be restricted to, and when nothing is left for them.

The order is that in which a source passes through them; so a worker is done when nothing is on its way to its last one.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graph_stores.model import Select
from graph_stores.protocol import Store
from orchestrator.runs.records import PARTITION, RUN
from orchestrator.states import EMBED, LINK, PARSE, RECORDS, Stage, State

if TYPE_CHECKING:
    from orchestrator.worker import Step

READ = "read"
STAGES = (READ, PARSE.name, LINK.name, EMBED.name)
# What a stage works on: whole sources are parsed and linked, texts are embedded.
SOURCES = ("File", "Article")
TEXTS = ("MarkdownSection", "Scope", "TextSection", "Section")
# Labels of graphmill's own whose nodes have no text. Any other label is of texts, also one that a migration brought.
_TEXTLESS = RECORDS.union(SOURCES, ("Directory", "Category", "Wiki", "Chunk"))
# An engine cannot tell the type of what an empty list holds.
_NONE = [""]
_UNPARSED = [State.PENDING.value, State.PARSING.value]
_UNLINKED = [*_UNPARSED, State.PARSED.value, State.LINKING.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Sources that cannot be read now, by name: what waits for them is not waited for."""

    roots: Sequence[str] = ()
    wikis: Sequence[str] = ()
    away: Sequence[str] = ()
    """Roots that only other machines have."""

    def __bool__(self) -> bool:
        return bool(self.roots or self.wikis or self.away)


NOTHING_MISSING = Missing()


def works_on(stage: Stage, label: str) -> bool:
    """Whether nodes with this label are the work of the stage."""
    return label not in _TEXTLESS if stage is EMBED else label in SOURCES


async def adopted_labels(store: Store) -> list[str]:
    """Labels beyond graphmill's own: a migration brought nodes with them into the graph and gave them a state."""
    return sorted(row[0] for row in (await store.ask("adopted")).rows)


async def labels_of(store: Store, stage: Stage) -> list[str]:
    """The labels of the nodes that are the work of the stage."""
    return [*TEXTS, *await adopted_labels(store)] if stage is EMBED else list(SOURCES)


def does(stages: Set[str], step: "Step") -> bool:
    """Whether a worker of these stages does this. Whoever is left in the end consolidates, so everybody may."""
    if RUN in step.labels:
        return True
    return (READ if PARTITION in step.labels else step.stage.name) in stages


async def is_nothing_waiting(store: Store, stages: Set[str], missing: Missing = NOTHING_MISSING) -> bool:
    """Whether nothing waits for one of these stages now or is in it, whatever others could still bring."""
    waiting = [Select(labels=[PARTITION], states=_UNPARSED, limit=1)] if READ in stages and not missing else []
    passed: list[str] = []
    for stage in (PARSE, LINK, EMBED):
        if stage.name in stages:
            states = [stage.waiting.value, stage.working.value]
            if stage is not EMBED and missing:
                passed += states
            else:
                waiting.append(Select(labels=await labels_of(store, stage), states=states, limit=1))
    if any([await store.nodes(each) for each in waiting]):
        return False
    parts = _UNPARSED if READ in stages else _NONE
    return not missing or not await _ahead(store, passed or _NONE, passed or _NONE, parts, missing)


async def is_over(store: Store, stages: Set[str], missing: Missing = NOTHING_MISSING) -> bool:
    """Whether nothing waits for a stage up to the last of these, and nothing can still bring one such.

    For all but `embed`, for which everything must be at rest.
    """
    files = _UNLINKED if LINK.name in stages else _UNPARSED if PARSE.name in stages else _NONE
    # To link an article is to find others.
    articles = _NONE if files is _NONE else _UNLINKED
    return not await _ahead(store, files, articles, _UNPARSED, missing, reads=READ in stages)


async def _ahead(
    store: Store,
    files: Sequence[str],
    articles: Sequence[str],
    partitions: Sequence[str],
    missing: Missing,
    *,
    reads: bool = True,
) -> int:
    """How many of these are in these states, without what waits for a missing source.

    A partition of a missing root brings nothing; but a worker that `reads` has to find that out and fail it.
    """
    asked = {
        "files": files,
        "articles": articles,
        "partitions": partitions,
        "roots": [*missing.roots, *missing.away] or _NONE,
        "unread": [*missing.away, *(() if reads else missing.roots)] or _NONE,
        "wikis": missing.wikis or _NONE,
    }
    (left,) = (await store.ask("ahead", {name: list(values) for name, values in asked.items()})).rows[0]
    return int(left)
