"""Where a title stands in an expansion, as far as the graph knows."""

from enum import StrEnum

from orchestrator.runs.course import CANCELLED
from orchestrator.states import ErrorClass, State

BEYOND_DEPTH = "beyond depth"
BEYOND_BUDGET = "beyond budget"
NO_SUCH_PAGE = "there is no such page"
_STUB_REASONS = frozenset({BEYOND_DEPTH, BEYOND_BUDGET, CANCELLED})
_IN_WORK = frozenset({State.PENDING, State.PARSING, State.PARSED, State.LINKING})


class Standing(StrEnum):
    UNKNOWN = "unknown"
    """Nobody has looked yet what there is under the title."""
    IN_WORK = "in work"
    ARTICLE = "article"
    NOTHING = "nothing"


def is_stub(state: str, reason: str | None) -> bool:
    return state == State.SKIP and reason in _STUB_REASONS


def standing_of(state: str, reason: str | None, error_class: str | None) -> Standing:
    """Of a title that is no redirect. An article that could not be read is one all the same."""
    if state in _IN_WORK:
        return Standing.IN_WORK
    if is_stub(state, reason):
        return Standing.UNKNOWN
    if state == State.SKIP or (state == State.ERROR and error_class == ErrorClass.MISSING):
        return Standing.NOTHING
    return Standing.ARTICLE
