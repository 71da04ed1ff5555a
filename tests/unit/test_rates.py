"""How fast a stage is, and how long it will take: from what was done in which second."""

import pytest

from orchestrator.cli.tables import outlook
from orchestrator.progress import Pace, Standing, rate_of

NOW = 1_800_000_000.0


def batches(*ago: float, size: int) -> dict[int, int]:
    """Commits of that many nodes each, so many seconds ago."""
    return {int(NOW - seconds): size for seconds in ago}


@pytest.mark.parametrize("phase", [0, 10, 20, 30, 39])
@pytest.mark.parametrize("seconds", [5, 40, 150])
def test_the_rate_of_slow_batches_is_that_of_their_work_and_not_of_their_commits(seconds: int, phase: int) -> None:
    size = 256
    done = batches(*(phase % seconds + number * seconds for number in range(8)), size=size)
    assert rate_of(done, now=NOW) == pytest.approx(size / seconds, rel=0.4)


def test_one_batch_tells_no_rate() -> None:
    """When it was begun is not known: it was taken for the work of one second."""
    assert rate_of(batches(1, size=256), now=NOW) == 0
    assert rate_of({int(NOW) - 9: 100, int(NOW) - 8: 156}, now=NOW) == 0, "at the turn of a second"


def test_the_rate_of_a_steady_stream_is_known_after_some_seconds() -> None:
    assert rate_of(batches(*range(1, 7), size=100), now=NOW) == pytest.approx(100, rel=0.3)


def test_what_another_job_did_does_not_count() -> None:
    done = batches(*range(100, 160), size=500) | batches(*range(1, 11), size=20)
    assert rate_of(done, now=NOW, since=12) == pytest.approx(20, rel=0.3)


def standing(**stages: Pace) -> Standing:
    every = {name: stages.get(name, Pace(remaining=0, rate=0.0)) for name in ("parse", "link", "embed")}
    states = {"pending": 100}
    return Standing(
        store="kuzu:x",
        project="p",
        states=states,
        labels={"File": states},
        errors=[],
        in_flight=0,
        stuck=0,
        stages=every,
    )


def test_the_slowest_stage_decides_and_what_will_come_to_it_counts() -> None:
    found = standing(parse=Pace(remaining=100, rate=50.0), embed=Pace(remaining=10, ahead=390, rate=10.0))
    assert (found.slowest, found.rate, found.eta) == ("embed", 10.0, 40.0)


def test_nothing_is_promised_while_a_stage_with_work_has_no_rate() -> None:
    found = standing(parse=Pace(remaining=100, rate=50.0), embed=Pace(remaining=0, ahead=400, rate=0.0))
    assert (found.slowest, found.rate, found.eta) == (None, 0.0, None)


def test_where_no_worker_runs_the_command_to_go_on_is_told() -> None:
    told = outlook(standing(parse=Pace(remaining=100, rate=0.0)), "graphmill --store kuzu:x").plain
    assert told == "100 to go, no worker is running; next: graphmill --store kuzu:x worker --drain"
