"""How often and how long: the policy of retries, which is pure. How delays grow is tested with the lifecycle."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.retries import RetryPolicy, prudent_share

LIMITS = st.integers(1, 100_000)


def test_a_node_may_lose_more_workers_than_it_may_fail() -> None:
    assert RetryPolicy().losses > RetryPolicy().limit


@given(limit=LIMITS)
def test_what_never_went_wrong_is_taken_in_full(limit: int) -> None:
    assert prudent_share(limit, 0) == limit


@given(limit=LIMITS, tries=st.integers(0, 20))
def test_the_share_is_never_empty_and_shrinks_with_every_try(limit: int, tries: int) -> None:
    assert 1 <= prudent_share(limit, tries + 1) <= prudent_share(limit, tries) <= limit


@given(limit=st.integers(1, 4096))
def test_a_poison_node_is_alone_before_its_losses_are_used_up(limit: int) -> None:
    assert prudent_share(limit, RetryPolicy().losses - 2) == 1
