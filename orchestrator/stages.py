"""The stages that a worker may be restricted to, and when nothing is left for them.

The order is that in which a source passes through them; so a worker is done when nothing is on its way to its last one.
"""

from collections.abc import Set
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


async def is_nothing_waiting(store: Store, stages: Set[str]) -> bool:
    """Whether nothing waits for one of these stages now or is in it, whatever others could still bring."""
    waiting = [Select(labels=[PARTITION], states=_UNPARSED, limit=1)] if READ in stages else []
    for stage in (PARSE, LINK, EMBED):
        if stage.name in stages:
            states = [stage.waiting.value, stage.working.value]
            waiting.append(Select(labels=await labels_of(store, stage), states=states, limit=1))
    return not any([await store.nodes(each) for each in waiting])


async def is_over(store: Store, stages: Set[str]) -> bool:
    """Whether nothing waits for a stage up to the last of these, and nothing can still bring one such.

    For all but `embed`, for which everything must be at rest.
    """
    files = _UNLINKED if LINK.name in stages else _UNPARSED if PARSE.name in stages else _NONE
    # To link an article is to find others.
    articles = _NONE if files is _NONE else _UNLINKED
    (left,) = (await store.ask("ahead", {"files": files, "articles": articles})).rows[0]
    return not left
