"""What a server means by Retry-After: seconds, whole or not, or a date."""

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def seconds_to_wait(header: str | None, longest: float, now: datetime | None = None) -> float | None:
    """From 0 up to `longest`; None where there is no header or it makes no sense."""
    seconds = _seconds(header.strip(), now or datetime.now(UTC)) if header else None
    if seconds is None or math.isnan(seconds):
        return None
    return min(max(seconds, 0.0), longest)


def _seconds(header: str, now: datetime) -> float | None:
    try:
        return float(header)
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - now).total_seconds()
