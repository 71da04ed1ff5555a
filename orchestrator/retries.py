"""How often the work on a node may go wrong, and how long to wait in between.

Pure: randomness comes in as an argument.
"""

from dataclasses import dataclass
from random import Random

from graph_stores.model import checked_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Delays double, with jitter, up to a limit.

    A node whose worker disappeared may be innocent, having only been in the same batch as another; so it may lose more
    workers than it may fail.
    """

    limit: int = 3
    losses: int = 5
    first_delay: float = 1.0
    longest_delay: float = 300.0

    def __post_init__(self) -> None:
        checked_seconds(self.longest_delay)

    def delay(self, tries: int, random: Random) -> float:
        return min(self.longest_delay, self.first_delay * 2.0 ** min(tries - 1, 200)) * random.uniform(0.5, 1.0)


def prudent_share(limit: int, tries: int) -> int:
    """How many nodes that went wrong so often to try at once: the fewer, the sooner the guilty one is alone."""
    return max(1, limit >> 4 * tries)
