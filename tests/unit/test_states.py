"""The state machine against the design's table, which is written out here a second time on purpose."""

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator import states
from orchestrator.states import ErrorType, ExpansionState, InvalidTransition, State

TABLE = """
    pending:   parsing skip
    parsing:   parsed error pending
    parsed:    linking pending
    linking:   linked error parsed
    linked:    embedding skip pending
    embedding: ready error linked
    ready:     pending linked
    skip:      pending linked
    error:     pending parsed linked
"""
LEGAL = {
    (State(before), State(after))
    for before, following in (line.split(":") for line in TABLE.strip().replace(" " * 4, "").splitlines())
    for after in following.split()
}
ILLEGAL = sorted(set(product(State, State)) - LEGAL)


def reachable(start: State) -> set[State]:
    found = {start}
    while further := {after for before, after in LEGAL if before in found} - found:
        found |= further
    return found


def test_the_table_has_the_moves_of_the_design_and_no_others() -> None:
    assert {(before, after) for before, following in states.MOVES.items() for after in following} == LEGAL


def test_the_table_cannot_be_changed_at_run_time() -> None:
    with pytest.raises(TypeError):
        states.MOVES[State.READY] = frozenset(State)  # type: ignore[index]


@pytest.mark.parametrize(("before", "after"), sorted(LEGAL))
def test_a_legal_move_passes(before: State, after: State) -> None:
    states.check(before, after)


@pytest.mark.parametrize(("before", "after"), ILLEGAL)
def test_every_other_move_is_refused_and_the_message_names_both_states_and_the_legal_ones(
    before: State, after: State
) -> None:
    with pytest.raises(InvalidTransition) as refusal:
        states.check(before, after)
    legal = {following for origin, following in LEGAL if origin is before}
    assert all(word in refusal.value.message for word in {before, after, *legal})
    assert not refusal.value.transient


@given(st.lists(st.sampled_from(State)))
def test_a_random_walk_only_ever_makes_moves_of_the_table(wishes: list[State]) -> None:
    here = State.PENDING
    for wish in wishes:
        legal = (here, wish) in LEGAL
        try:
            states.check(here, wish)
        except InvalidTransition:
            assert not legal
        else:
            assert legal
            here = wish


@pytest.mark.parametrize("state", State)
def test_no_state_is_a_dead_end(state: State) -> None:
    assert State.READY in reachable(state)


def test_work_begins_only_where_it_waits_and_errors_come_only_from_work() -> None:
    for stage in states.STAGES:
        assert {before for before, after in LEGAL if after is stage.working} == {stage.waiting}
    assert {before for before, after in LEGAL if after is State.ERROR} == set(states.WORKING)
    assert {before for before, after in LEGAL if after is State.READY} == {State.EMBEDDING}


@pytest.mark.parametrize(
    ("error_type", "state"),
    [(ErrorType.PARSE, State.PENDING), (ErrorType.LINK, State.PARSED), (ErrorType.EMBED, State.LINKED)],
)
def test_a_retry_goes_back_to_the_stage_that_failed(error_type: ErrorType, state: State) -> None:
    assert states.retry_state(error_type) is state
    assert (State.ERROR, state) in LEGAL


def test_content_changes_are_taken_in_every_state_but_pending_and_while_somebody_works() -> None:
    assert {State.PARSED, State.LINKED, State.READY, State.SKIP, State.ERROR} == states.CHANGEABLE


@pytest.mark.parametrize(
    ("state", "retries_left", "shown"),
    [
        (State.PENDING, True, ExpansionState.DISCOVERED),
        (State.PARSING, True, ExpansionState.CLAIMED),
        (State.PARSED, True, ExpansionState.LOADED),
        (State.LINKING, True, ExpansionState.LOADED),
        (State.LINKED, True, ExpansionState.PROCESSED),
        (State.EMBEDDING, True, ExpansionState.PROCESSED),
        (State.READY, True, ExpansionState.PROCESSED),
        (State.SKIP, True, None),
        (State.ERROR, True, ExpansionState.DISCOVERED),
        (State.ERROR, False, ExpansionState.FAILED),
    ],
)
def test_each_state_is_shown_in_the_vocabulary_of_the_frontier(
    state: State, retries_left: bool, shown: ExpansionState | None
) -> None:
    assert states.expansion_state(state, retries_left=retries_left) is shown


@pytest.mark.parametrize("state", sorted(set(State) - {State.ERROR}))
def test_retries_left_make_no_difference_outside_error(state: State) -> None:
    assert states.expansion_state(state, retries_left=False) is states.expansion_state(state, retries_left=True)


@pytest.mark.parametrize("state", State)
def test_a_node_is_born_pending_parsed_skipped_or_ready_with_its_vector_and_nothing_else(state: State) -> None:
    if state in {State.PENDING, State.PARSED, State.SKIP, State.READY}:
        states.check_birth(state)
    else:
        with pytest.raises(InvalidTransition, match=state):
            states.check_birth(state)


@given(st.lists(st.sampled_from(State), min_size=2, max_size=6))
def test_a_way_is_legal_if_each_of_its_steps_is(path: list[State]) -> None:
    steps = list(pairwise(path))
    if set(steps) <= LEGAL:
        assert list(states.check_path(path)) == [
            stage for step in steps for stage in states.STAGES if step == (stage.working, stage.done)
        ]
    else:
        with pytest.raises(InvalidTransition):
            states.check_path(path)


def test_a_way_through_every_stage_completes_them_all_in_order() -> None:
    assert (
        states.check_path(
            [*(state for stage in states.STAGES for state in (stage.waiting, stage.working)), State.READY]
        )
        == states.STAGES
    )


def test_a_way_that_only_leads_back_completes_nothing() -> None:
    assert states.check_path([State.EMBEDDING, State.LINKED, State.PENDING, State.PARSING, State.PENDING]) == ()
