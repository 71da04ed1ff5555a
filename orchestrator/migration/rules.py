"""The rules for a row of a table with marks: those of `cypher/neo4j/migration/apply.cypher`, where nodes are on a
server. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from graph_stores.model import Value, VectorSpace
from orchestrator.states import State

_WORD_STATES = (State.PENDING, State.PARSED, State.LINKED)
_TO = {
    "3-error": State.ERROR,
    "5-embeddings-dirty": State.LINKED,
    "5-leftover-flag": State.READY,
    "6-stale-vector": State.LINKED,
    "7-vectors-complete": State.READY,
    "8-nothing-to-embed": State.SKIP,
    "9-structure": State.LINKED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What the rules rest on beside a row: which vectors a label needs, and what those that are kept are of."""

    needs: Mapping[str, Sequence[str]]
    space: VectorSpace | None
    assumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What a row says of itself, and what its label needs."""

    word: str | None
    goal: str | None
    is_placeholder: bool
    is_unread: bool
    is_dirty: bool
    is_trusted: bool
    has_vector: bool
    is_incomplete: bool
    is_of_other_length: bool
    is_of_other_model: bool
    is_stale: bool
    is_searched: bool
    is_whole: bool
    is_never_embedded: bool
    has_text: bool
    is_connected: bool


def rule_of(signs: Signs) -> tuple[str, State]:
    """The first rule that fits, and where it leads."""
    rule = _rule(signs)
    if rule == "4-state-word" and signs.goal:
        return rule, State(signs.goal)
    return rule, _TO.get(rule, State.PENDING)


def _rule(signs: Signs) -> str:
    if signs.is_placeholder:
        return "1-placeholder"
    if signs.is_unread:
        return "2-schema-dirty"
    if signs.goal == State.ERROR:
        return "3-error"
    if signs.word is not None and signs.goal is None:
        return "10-unknown-word"
    if signs.goal in _WORD_STATES or (signs.goal == State.SKIP and (signs.is_trusted or not signs.is_dirty)):
        return "4-state-word"
    if signs.is_dirty and not (signs.is_trusted and signs.goal == State.READY):
        return "5-embeddings-dirty"
    return _rule_by_vectors(signs)


def _rule_by_vectors(signs: Signs) -> str:
    lacking = signs.is_incomplete or signs.is_of_other_length
    if signs.is_dirty and not (
        lacking or signs.is_stale or (signs.is_searched and (signs.is_of_other_model or not signs.has_vector))
    ):
        return "5-leftover-flag"
    if signs.has_vector and (signs.is_stale or signs.is_of_other_model):
        return "6-stale-vector"
    if signs.has_vector and not lacking:
        return "7-vectors-complete"
    if signs.goal == State.READY and not signs.has_vector and not signs.is_incomplete and signs.is_whole:
        return "7-vectors-complete"
    if (not signs.has_vector and signs.is_never_embedded) or not signs.has_text:
        return "8-nothing-to-embed"
    return "9-structure" if signs.is_connected else "9-no-structure"


def moment(value: Value) -> datetime | None:
    """A time in UTC, as an embedded engine has it; None for what is none."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
