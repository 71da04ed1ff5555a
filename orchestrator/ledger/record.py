"""One state change, as the one who made it tells it."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

MICRO = 1_000_000


class Entry(NamedTuple):
    """`at` is the store's clock in microseconds since the epoch; `before` is None for a new node, `after` for one that
    was removed; `via` are states that were passed in the same commit, `seconds` how long it had been in `before`."""

    at: int
    node: str
    label: str
    before: str | None
    after: str | None
    via: tuple[str, ...] = ()
    by: str = ""
    run: str | None = None
    tries: int | None = None
    seconds: float | None = None
    error_type: str | None = None
    error: str | None = None
    reconciled: bool = False
    """Found in the graph afterwards, not heard."""
    imported: bool = False
    """From a ledger of another kind."""
    was: str | None = None
    """The word that the other ledger had for `after`, where it is not the same."""
    more: dict[str, object] | None = None
    """Whatever else the other ledger had."""


def time_text(at: int) -> str:
    """ISO 8601 with six digits: of two such texts the later time is the greater one."""
    seconds, micros = divmod(at, MICRO)
    return f"{second_text(seconds)}.{micros:06d}Z"


def time_of(text: str) -> int:
    return _second_of(text[:19]) * MICRO + int(text[20:26])


# Changes come in batches: most of them share their second with the one before.
@lru_cache(maxsize=4096)
def second_text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


@lru_cache(maxsize=4096)
def _second_of(text: str) -> int:
    return int(datetime.fromisoformat(f"{text}+00:00").timestamp())
