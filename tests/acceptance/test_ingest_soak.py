"""What takes too long for every day: five hundred kills of one ingest."""

import pytest

from .jobs import Mill
from .test_ingest_kills import KILLS_IN_A_ROW, check_that_kills_change_nothing

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]


@pytest.mark.parametrize("mill_on", ["kuzu", "neo4j"], indirect=True)
def test_killed_five_hundred_times_an_ingest_ends_as_an_undisturbed_one(mill_on: Mill) -> None:
    check_that_kills_change_nothing(mill_on, rounds=500 // KILLS_IN_A_ROW)
