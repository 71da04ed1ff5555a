"""What a killed process could not write down, where somebody else has moved the node on since.

Its last change is then known from the next one: that says which state the node left, and since when it had been there.
More than one step is not made up.
"""

from msgspec.structs import replace

from orchestrator.ledger.lines import Record
from orchestrator.ledger.record import time_of, time_text
from orchestrator.states import STEPS

_MICRO = 1_000_000


def step_before(record: Record, *, known: str | None, since: str) -> Record | None:
    """The one change that is missing between where a node was known to be and the record; None if there are more."""
    if record.seconds is None or (known, record.before) not in STEPS:
        return None
    entered = time_of(record.at) - round(record.seconds * _MICRO)
    if entered <= time_of(since):
        return None
    return replace(
        record,
        at=time_text(entered),
        before=known,
        after=record.before,
        via=(),
        by="",
        tries=None,
        seconds=(entered - time_of(since)) / _MICRO,
        error_type=None,
        error=None,
        reconciled=True,
    )
