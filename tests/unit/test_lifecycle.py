"""What the one writer of states decides before any engine is asked. There is no store here: calling one fails."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from itertools import pairwise
from random import Random
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_stores.model import LONGEST_LEASE, Lease, NodeRow, Ref, Transition, Vector
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import new_node, transition
from orchestrator.retries import RetryPolicy
from orchestrator.states import ErrorClass, InvalidTransition, State

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FILE = Ref(label="File", uuid="f")
ARTICLE = Ref(label="Article", uuid="a")
LEGAL = [(before, after) for before in State for after in sorted(states.MOVES[before])]
ILLEGAL = [(before, after) for before in State for after in State if after not in states.MOVES[before]]


class NoStore:
    def __getattr__(self, verb: str) -> Callable[..., Awaitable[None]]:
        async def fail(*arguments: object, **options: object) -> None:
            pytest.fail(f"{verb} reached the engine")

        return fail


STORELESS = Lifecycle(store=cast(Store, NoStore()))


def row(state: State, *, label: str = "File", retry_count: int = 0) -> NodeRow:
    return NodeRow(
        label=label,
        uuid="u",
        project="p",
        name="n",
        state=state.value,
        depth=0,
        retry_count=retry_count,
        detected_at=NOW,
        state_changed_at=NOW,
        not_before=None,
        error_type=None,
        error_class=None,
        error_message=None,
        lease=Lease(owner="w", token="t", until=NOW) if state in states.WORKING else None,
        properties={},
    )


def moved(before: State, after: State, node: Ref = FILE, retry_count: int | None = None) -> Transition:
    return transition(node, expected=before, to=after, retry_count=retry_count)


@pytest.mark.parametrize(("before", "after"), ILLEGAL)
def test_an_illegal_move_cannot_even_be_built(before: State, after: State) -> None:
    with pytest.raises(InvalidTransition):
        moved(before, after)


@pytest.mark.parametrize(("before", "after"), LEGAL)
def test_a_legal_move_says_what_it_expects_and_where_it_goes(before: State, after: State) -> None:
    move = transition(FILE, expected=before, to=after, token="t", expired=True, delay=2.5)
    assert (move.node, move.expected, move.to) == (FILE, before.value, after.value)
    assert (move.token, move.expired, move.delay) == ("t", True, 2.5)


@pytest.mark.parametrize("to", [State.PENDING, State.READY, State.SKIP, State.LINKED])
async def test_completing_into_a_state_the_table_does_not_have_never_reaches_the_engine(to: State) -> None:
    stage = states.LINK if to is not State.LINKED else states.PARSE
    with pytest.raises(InvalidTransition):
        await STORELESS.complete([Result(node=row(stage.working), path=[to])])


@pytest.mark.parametrize(
    "verb",
    [
        lambda node: STORELESS.complete([Result(node=node)]),
        lambda node: STORELESS.release([node]),
        lambda node: STORELESS.fail(node, message="no", error_class=ErrorClass.TRANSIENT),
    ],
    ids=["complete", "release", "fail"],
)
async def test_a_node_that_nobody_works_on_cannot_be_completed_released_or_failed(
    verb: Callable[[NodeRow], Awaitable[object]],
) -> None:
    for state in sorted(set(State) - set(states.WORKING)):
        with pytest.raises(InvalidTransition, match=state):
            await verb(row(state))


@pytest.mark.parametrize("state", [State.PARSING, State.LINKING, State.EMBEDDING, State.ERROR])
def test_a_node_cannot_be_born_where_only_work_leads(state: State) -> None:
    with pytest.raises(InvalidTransition):
        new_node(label="File", uuid="u", name="n", state=state)


@pytest.mark.parametrize(("before", "after"), LEGAL)
def test_a_stage_stamps_its_time_when_it_is_done_and_at_no_other_move(before: State, after: State) -> None:
    stamps = {
        (State.PARSING, State.PARSED): ("_parsedAt",),
        (State.LINKING, State.LINKED): ("_linkedAt",),
        (State.EMBEDDING, State.READY): ("_embeddedAt",),
    }
    assert moved(before, after).marks.stamp == stamps.get((before, after), ())


@pytest.mark.parametrize("after", sorted(states.MOVES[State.ERROR]))
def test_every_way_out_of_error_wipes_it_unless_something_else_is_to_be_said(after: State) -> None:
    wiped = {"_errorType": None, "_errorClass": None, "_errorMessage": None}
    assert moved(State.ERROR, after).marks.set == wiped
    kept = transition(FILE, expected=State.ERROR, to=after, properties={"_errorMessage": "seen by Ada"})
    assert kept.marks.set == {**wiped, "_errorMessage": "seen by Ada"}


@pytest.mark.parametrize("after", sorted(states.MOVES[State.SKIP]))
def test_every_way_out_of_skip_wipes_the_reason_for_it(after: State) -> None:
    assert moved(State.SKIP, after).marks.set == {"_errorType": None, "_errorClass": None, "_errorMessage": None}


def test_the_reason_for_a_skip_comes_with_the_move_into_it() -> None:
    move = transition(FILE, expected=State.LINKED, to=State.SKIP, properties={"_errorMessage": "nothing in it"})
    assert move.marks.set == {"_errorMessage": "nothing in it"}


def test_several_steps_are_one_move_with_the_stamp_of_every_stage_they_complete() -> None:
    move = transition(
        FILE, expected=State.PARSED, through=[State.LINKING, State.LINKED, State.EMBEDDING], to=State.READY
    )
    assert (move.expected, move.to) == ("parsed", "ready")
    assert move.marks.stamp == ("_linkedAt", "_embeddedAt")


def test_a_step_that_the_table_does_not_have_is_refused_also_in_between() -> None:
    with pytest.raises(InvalidTransition, match="from linked to ready"):
        transition(FILE, expected=State.PARSED, through=[State.LINKING, State.LINKED], to=State.READY)


def test_an_article_that_takes_several_steps_at_once_shows_the_last_and_when_it_was_processed() -> None:
    move = transition(ARTICLE, expected=State.PARSED, through=[State.LINKING, State.LINKED], to=State.SKIP)
    assert move.marks.set == {"expansion_state": None}
    assert move.marks.stamp == ("_linkedAt", "processed_at")


CHUNK = new_node(label="Chunk", uuid="c", name="c", state=State.READY)


@pytest.mark.parametrize("vectors", [[], [Vector(node=CHUNK.ref, values=None)], [Vector(node=FILE, values=[1.0])]])
async def test_a_node_is_not_born_ready_without_its_vector(vectors: list[Vector]) -> None:
    with pytest.raises(InvalidTransition, match="without its vector"):
        await STORELESS.complete([Result(node=row(State.EMBEDDING), nodes=[CHUNK], vectors=vectors)])


def test_a_result_is_touched_by_whoever_moves_one_of_its_nodes() -> None:
    other = moved(State.PARSED, State.PENDING, Ref(label="Scope", uuid="s"))
    result = Result(node=row(State.PARSING), also=[other])
    assert result.touched == {Ref(label="File", uuid="u"), Ref(label="Scope", uuid="s")}


@pytest.mark.parametrize(("before", "after"), LEGAL)
def test_an_article_shows_its_state_in_the_frontiers_words_with_every_move(before: State, after: State) -> None:
    move = moved(before, after, ARTICLE, retry_count=2)
    assert move.marks.set["expansion_state"] == states.expansion_state(after, retries_left=True)
    assert move.marks.set["_retryCount"] == move.marks.set["retry_count"] == 2


@pytest.mark.parametrize(("before", "after"), LEGAL)
def test_an_article_is_processed_when_its_links_are_and_not_again_when_work_is_given_back(
    before: State, after: State
) -> None:
    stamped = "processed_at" in moved(before, after, ARTICLE).marks.stamp
    assert stamped == ((before, after) == (State.LINKING, State.LINKED))


@pytest.mark.parametrize(("before", "after"), LEGAL)
def test_other_labels_never_show_the_expansion_vocabulary(before: State, after: State) -> None:
    move = moved(before, after, retry_count=1)
    assert {name for name in (*move.marks.set, *move.marks.stamp) if not name.startswith("_")} == set()


def test_a_move_without_a_retry_count_leaves_it_alone() -> None:
    assert "_retryCount" not in moved(State.PENDING, State.SKIP).marks.set


def test_an_article_is_born_with_the_frontiers_words_that_its_rebirth_does_not_touch() -> None:
    article = new_node(label="Article", uuid="a", name="Ada", depth=2, properties={"title": "Ada"})
    assert article.properties == {"title": "Ada"}
    assert article.initial == {
        "_retryCount": 0,
        "expansion_state": "discovered",
        "expansion_depth": 2,
        "retry_count": 0,
    }


def test_other_labels_are_born_with_bookkeeping_only() -> None:
    assert new_node(label="File", uuid="f", name="f").initial == {"_retryCount": 0}


POLICIES = st.builds(
    RetryPolicy,
    limit=st.integers(1, 100),
    first_delay=st.floats(0, 1e4, allow_nan=False),
    longest_delay=st.floats(0, LONGEST_LEASE, allow_nan=False),
)


@given(policy=POLICIES, tries=st.integers(1, 5000), seed=st.integers())
def test_a_delay_is_between_half_and_all_of_the_doubled_one_and_never_above_the_longest(
    policy: RetryPolicy, tries: int, seed: int
) -> None:
    whole = min(policy.longest_delay, policy.first_delay * 2 ** min(tries - 1, 200))
    assert whole * 0.5 <= policy.delay(tries, Random(seed)) <= whole


@given(tries=st.integers(1, 60), seed=st.integers())
def test_the_same_seed_gives_the_same_delay(tries: int, seed: int) -> None:
    assert RetryPolicy().delay(tries, Random(seed)) == RetryPolicy().delay(tries, Random(seed))


@given(seed=st.integers())
def test_delays_grow_from_try_to_try_until_the_longest(seed: int) -> None:
    delays = [RetryPolicy().delay(tries, Random(seed)) for tries in range(1, 16)]
    assert all(earlier <= later for earlier, later in pairwise(delays))
    assert delays[-1] == RetryPolicy().delay(10, Random(seed)) <= RetryPolicy().longest_delay


def test_jitter_spreads_the_nodes_that_failed_together() -> None:
    random = Random(1)
    assert len({RetryPolicy().delay(3, random) for _ in range(100)}) > 90
