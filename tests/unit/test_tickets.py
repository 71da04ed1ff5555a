"""Tickets add up to what is allowed in a minute: never more, in whichever minute, and not less if all are used."""

from bisect import bisect_left
from random import Random

import pytest

from orchestrator.wikipedia.turns import Tickets
from pipelines.wikipedia.politeness import Limits

RATES = [1, 2, 3, 20, 49, 50, 51, 99, 200, 201, 1_000, 5_003]


def most_in_any(minute: float, arrivals: list[float]) -> int:
    return max(bisect_left(arrivals, first + minute) - at for at, first in enumerate(arrivals))


@pytest.mark.parametrize("per_minute", RATES)
def test_no_minute_has_more_requests_than_are_allowed_however_long_they_take(per_minute: int) -> None:
    tickets = Tickets(limits=Limits(per_minute=per_minute))
    random = Random(per_minute)
    arrivals = []
    for ticket in range(len(tickets)):
        now = 0.0
        while now < 150.0:
            took = random.choice([0.0, 0.0, random.uniform(0.0, 3.0)])
            # The worst there is: seen at its very end, and the next one at its very beginning.
            arrivals.append(now + random.choice([0.0, took]))
            now += took + tickets.rest(ticket)
    assert most_in_any(60.0, sorted(arrivals)) <= per_minute


@pytest.mark.parametrize("per_minute", RATES)
def test_all_that_is_allowed_can_be_asked(per_minute: int) -> None:
    tickets = Tickets(limits=Limits(per_minute=per_minute))
    uses = sum(60.0 / tickets.rest(ticket) for ticket in range(len(tickets)))
    assert uses == pytest.approx(per_minute, rel=0.01)


def test_few_enough_to_be_looked_at_each_time() -> None:
    assert [len(Tickets(limits=Limits(per_minute=each))) for each in (1, 49, 50, 10_000)] == [1, 49, 50, 50]
