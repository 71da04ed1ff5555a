"""Holds in the owner's memory: time by the monotonic clock, and a commit that rests on one keeps it to its end."""

from dataclasses import dataclass

import pytest

from graph_stores.kuzu.frontier import Clock
from graph_stores.kuzu.holds import Holds
from graph_stores.model import Fence


@dataclass
class Time:
    now: float = 100.0

    def clock(self) -> Clock:
        return Clock(monotonic=lambda: self.now)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def holds(time: Time) -> Holds:
    return Holds(time.clock())


def taken(holds: Holds, seconds: float = 10) -> str:
    token = holds.take("scan", owner="me", seconds=seconds)
    assert token is not None
    return token


def test_a_hold_runs_out_at_its_time_and_not_before(holds: Holds, time: Time) -> None:
    taken(holds)
    time.now += 9.9
    assert holds.take("scan", owner="other", seconds=10) is None
    time.now += 0.1
    assert holds.take("scan", owner="other", seconds=10)


def test_a_renewed_hold_lasts_from_the_renewal(holds: Holds, time: Time) -> None:
    token = taken(holds)
    time.now += 9
    assert holds.renew("scan", token=token, seconds=10)
    time.now += 9
    assert holds.take("scan", owner="other", seconds=10) is None


@pytest.mark.parametrize("let_go", [False, True])
def test_nobody_gets_a_hold_before_the_commits_that_rest_on_it_end(holds: Holds, time: Time, let_go: bool) -> None:
    token = taken(holds)
    fence = Fence(name="scan", token=token)
    with holds.kept([fence, None, fence]) as standing:
        assert standing == [True, True, True]
        time.now += 60
        if let_go:
            holds.let_go("scan", token=token)
        assert holds.take("scan", owner="other", seconds=10) is None
    assert holds.take("scan", owner="other", seconds=10)


def test_a_commit_that_fails_keeps_the_hold_no_longer(holds: Holds, time: Time) -> None:
    token = taken(holds)
    with pytest.raises(RuntimeError), holds.kept([Fence(name="scan", token=token)]):
        raise RuntimeError
    time.now += 60
    assert holds.take("scan", owner="other", seconds=10)


def test_a_fence_stands_only_while_the_hold_lasts(holds: Holds, time: Time) -> None:
    fences = [Fence(name="scan", token=taken(holds)), Fence(name="scan", token="another"), Fence(name="x", token="y")]
    with holds.kept(fences) as standing:
        assert standing == [True, False, False]
    time.now += 10
    with holds.kept(fences) as standing:
        assert standing == [False, False, False]
