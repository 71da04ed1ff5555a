"""What becomes of an article of an older expansion, by its word and by what the graph has of it. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from orchestrator.states import State

RULES = MappingProxyType(
    {
        "w1-not-read": "it was only discovered, or being read",
        "w2-half-read": "its sections are not all there",
        "w3-not-linked": "it was read, and its links were not",
        "w4-complete": "every section has its vector",
        "w4-no-vectors": "vectors are missing, or nobody knows of which model they are",
        "w5-redirect-alias": "it has links and no text",
        "w6-legacy-empty": "it has neither text nor links: perhaps an error that was swallowed",
        "w6-retry-empty": "it was empty, and is to be read again",
        "w7-failed": "it had failed",
        "s-of-article": "a section goes with its article",
        "s-lone": "a section without an article",
        "c-category": "a category waits for what it holds",
        "k-chunk": "a piece of a text, with its vector",
        "k-no-vector": "a piece of a text whose vector cannot be kept: the text is embedded anew",
        "10-unknown-word": "its state is a word that nobody knows",
    }
)
REDIRECT_ALIAS, LEGACY_EMPTY = "redirect alias", "legacy empty"
_WAITING = (None, "", "discovered", "claimed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """`vectors` says that every section has one that is kept; `gap`, that a number is missing among them."""

    word: str | None
    sections: int
    gap: bool
    links: int
    vectors: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    rule: str
    state: State
    reason: str | None = None


def fate(facts: Facts, *, retry_empty: bool = False) -> Fate:
    """The first line of the table that fits."""
    word = facts.word.lower() if facts.word else facts.word
    if word in _WAITING:
        return Fate(rule="w1-not-read", state=State.PENDING)
    if word == "failed":
        return Fate(rule="w7-failed", state=State.ERROR, reason="it failed in the expansion that was migrated")
    if word == "loaded" and (not facts.sections or facts.gap):
        return Fate(rule="w2-half-read", state=State.PENDING)
    if word == "loaded" and not facts.links:
        return Fate(rule="w3-not-linked", state=State.PARSED)
    if word not in ("loaded", "processed"):
        return Fate(rule="10-unknown-word", state=State.PENDING)
    if facts.sections:
        if facts.vectors:
            return Fate(rule="w4-complete", state=State.READY)
        return Fate(rule="w4-no-vectors", state=State.LINKED)
    if facts.links:
        return Fate(rule="w5-redirect-alias", state=State.SKIP, reason=REDIRECT_ALIAS)
    if retry_empty:
        return Fate(rule="w6-retry-empty", state=State.PENDING)
    return Fate(rule="w6-legacy-empty", state=State.SKIP, reason=LEGACY_EMPTY)


def fate_of_section(article: State, *, vector: bool) -> State:
    """What is read again or not yet linked waits for that; else it is ready with its vector, or waits for one."""
    if article in (State.LINKED, State.READY):
        return State.READY if vector else State.LINKED
    return State.PARSED


def has_gap(places: Sequence[int]) -> bool:
    """Whether a number is missing, or there twice; they may begin with 0 or with 1."""
    return bool(places) and (
        min(places) not in (0, 1) or sorted(places) != list(range(min(places), min(places) + len(places)))
    )


def place_of(section_id: str, index: int | None) -> int:
    """The number of a section: what its edge says, or the end of its key, `<title>#<n>`."""
    if index is not None:
        return index
    number = section_id.rpartition("#")[2]
    return int(number) if number.isdigit() else 0


def keys_of(titles: Sequence[str]) -> list[str]:
    """What expansion names sections by: the first is the lead, and of the same title there may be several."""
    seen: Counter[str] = Counter()
    keys: list[str] = []
    for place, title in enumerate(titles):
        name = title if place else ""
        seen[name] += 1
        keys.append(f"{name}\0{seen[name]}")
    return keys
