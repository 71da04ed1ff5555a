"""What a worker does with a graph that was migrated: texts that are in the graph already are sent on to be embedded.

No file or article will ever bring them further: the graph is all that there is of them. A file that no folder of
graphmill's has is not read: it is set aside, with the way to have it read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from graph_stores.model import NodeRow, Select, Transition
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import transition
from orchestrator.stages import TEXTS, adopted_labels
from orchestrator.states import State

__all__ = ["Sent", "adopted_labels", "send_on_what_was_migrated"]

EMPTY = "a placeholder: nothing was ever read for it"
NO_FOLDER = (
    "a file of a migrated graph, in no folder that graphmill knows: to have it read, graphmill ingest its folder"
)
NO_WIKI = "an article of a migrated graph, of no wiki that graphmill knows: to have it read, graphmill expand its title"
_PAGE = 1000
# What a file or an article must have to be read, and what is said where it has not.
_READ_FROM = {"File": ("root", NO_FOLDER), "Article": ("wiki", NO_WIKI)}
_TO_LINKED = {State.PENDING: (State.PARSING, State.PARSED, State.LINKING), State.PARSED: (State.LINKING,)}
_TO_SKIP = {State.PENDING: (), State.PARSED: (State.LINKING, State.LINKED)}


@dataclass(slots=True)
class Sent:
    """What was moved of a migrated graph before the work began."""

    texts: int = 0
    files: int = 0
    articles: int = 0

    def lines(self) -> list[str]:
        found = []
        if self.texts:
            found.append(f"{self.texts:,} texts of a migrated graph are taken on from where they were")
        if self.files:
            found.append(
                f"skipped, in no folder that graphmill knows: {self.files:,} of the files of a migrated graph; "
                "to have them read: graphmill ingest FOLDER"
            )
        if self.articles:
            found.append(
                f"skipped, of no wiki that graphmill knows: {self.articles:,} of the articles of a migrated graph; "
                "to have them read: graphmill expand TITLE"
            )
        return found


async def send_on_what_was_migrated(lifecycle: Lifecycle, adopted: Sequence[str]) -> Sent:
    """Where nothing was migrated nothing is looked for."""
    sent = Sent()
    if not (await lifecycle.store.ask("was-migrated")).rows:
        return sent
    page = Select(labels=[*TEXTS, *adopted, *_READ_FROM], states=[State.PENDING.value, State.PARSED.value], limit=_PAGE)
    while rows := await lifecycle.store.nodes(page):
        aside = [_aside(row) for row in rows if row.label in _READ_FROM and not _can_be_read(row)]
        texts = [_onwards(row) for row in rows if row.label not in _READ_FROM and _is_migrated(row, adopted)]
        unmoved = set(await lifecycle.move_what_is_still_so(aside))
        sent.files += sum(each.node.label == "File" for each in aside if each.node not in unmoved)
        sent.articles += sum(each.node.label == "Article" for each in aside if each.node not in unmoved)
        sent.texts += len(texts) - len(await lifecycle.move_what_is_still_so(texts))
        page = replace(page, after=rows[-1].ref)
    return sent


def _is_migrated(row: NodeRow, adopted: Sequence[str]) -> bool:
    """A text that a run has made waits for its file or article, and is never pending: it is born parsed."""
    return "_runId" not in row.properties or row.label in adopted or row.state == State.PENDING


def _onwards(row: NodeRow) -> Transition:
    state = State(row.state)
    if state is State.PENDING and not row.properties.get("content"):
        return transition(row.ref, expected=state, to=State.SKIP, properties={"_errorMessage": EMPTY})
    return transition(row.ref, expected=state, through=_TO_LINKED[state], to=State.LINKED)


def _can_be_read(row: NodeRow) -> bool:
    name, _ = _READ_FROM[row.label]
    return bool(row.properties.get(name))


def _aside(row: NodeRow) -> Transition:
    state = State(row.state)
    _, reason = _READ_FROM[row.label]
    return transition(
        row.ref, expected=state, through=_TO_SKIP[state], to=State.SKIP, properties={"_errorMessage": reason}
    )
