"""What one job has done so far. Progress of the project is counted from the states; this is only of this job."""

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Tally:
    """`read` counts sources looked at, `embedded` texts that got their vector, `cached` those of
    them whose vector was in the cache."""

    read: int = 0
    parsed: int = 0
    linked: int = 0
    embedded: int = 0
    cached: int = 0
    unchanged: int = 0
    deleted: int = 0
