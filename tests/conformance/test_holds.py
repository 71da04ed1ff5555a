"""Holds: one at a time per name and project, until it is let go or runs out; and commits that rest on one."""

import asyncio
from typing import Any

import pytest

from graph_stores.errors import HoldLost, MissingNode
from graph_stores.model import Batch, Fence, Table
from graph_stores.protocol import Store
from orchestrator.holding import take
from tests.conformance.examples import HOUR, file, link, picture, states_of, write
from tests.conformance.place import HERE, Place
from tests.conformance.wrapped import wrapped


async def held(store: Store, name: str = "scan", *, owner: str = "me", seconds: float = HOUR) -> str:
    token = await store.hold(name, owner=owner, seconds=seconds)
    assert token is not None
    return token


async def is_free(store: Store, name: str = "scan") -> bool:
    token = await store.hold(name, owner="asking", seconds=0)
    if token is not None:
        await store.let_go(name, token=token)
    return token is not None


async def write_under(store: Store, token: str, name: str = "scan", **parts: Any) -> None:
    await store.commit(Batch(fence=Fence(name=name, token=token), **parts))


async def test_only_one_gets_a_hold(store: Store, place: Place) -> None:
    other = await place.other_handle()
    tokens = await asyncio.gather(*(each.hold("scan", owner="x", seconds=HOUR) for each in (store, other) * 10))
    assert len([token for token in tokens if token]) == 1


async def test_a_hold_is_not_given_twice_even_to_its_owner(store: Store) -> None:
    await held(store, owner="me")
    assert await store.hold("scan", owner="me", seconds=HOUR) is None


async def test_holds_of_other_names_are_others(store: Store) -> None:
    names = ["scan", "Scan", "", "scan ", '"', "é", "a:b"]
    tokens = [await held(store, name) for name in names]
    assert len(set(tokens)) == len(names)
    assert not any([await is_free(store, name) for name in names])


async def test_holds_of_other_projects_are_others(store: Store, place: Place) -> None:
    await held(store)
    if not store.capabilities.many_processes:
        await place.close()
    other = await place.open(project=f"{place.project}-other")
    await held(other)


async def test_a_hold_that_was_let_go_is_free_and_its_token_worth_nothing(store: Store) -> None:
    token = await held(store)
    await store.let_go("scan", token=token)
    assert not await store.renew("scan", token=token, seconds=HOUR)
    again = await held(store)
    assert again != token
    await store.let_go("scan", token=token)
    assert not await is_free(store)


async def test_letting_go_what_nobody_holds_is_nothing(store: Store) -> None:
    await store.let_go("scan", token="none")
    assert await is_free(store)


async def test_a_hold_that_ran_out_goes_to_the_next(store: Store) -> None:
    late = await held(store, seconds=0)
    token = await held(store)
    assert not await store.renew("scan", token=late, seconds=HOUR)
    assert await store.renew("scan", token=token, seconds=HOUR)


async def test_a_hold_that_ran_out_is_renewed_while_nobody_else_has_it(store: Store) -> None:
    token = await held(store, seconds=0)
    assert await store.renew("scan", token=token, seconds=HOUR)
    assert not await is_free(store)


async def test_renewing_sets_how_long_it_lasts_from_now(store: Store) -> None:
    token = await held(store, seconds=HOUR)
    assert await store.renew("scan", token=token, seconds=0)
    assert await is_free(store)


async def test_what_was_never_held_cannot_be_renewed(store: Store) -> None:
    assert not await store.renew("scan", token="none", seconds=HOUR)
    assert await is_free(store)


async def test_a_commit_under_a_hold_is_written(store: Store) -> None:
    token = await held(store)
    await write_under(store, token, nodes=[file("a")])
    await write_under(store, token, nodes=[file("b")], edges=[link("a", "b")])
    assert set(await states_of(store)) == {"a", "b"}


async def lost_to_another(store: Store) -> str:
    token = await held(store, seconds=0)
    await held(store)
    return token


async def lost_by_letting_go(store: Store) -> str:
    token = await held(store)
    await store.let_go("scan", token=token)
    return token


async def lost_by_time(store: Store) -> str:
    return await held(store, seconds=0)


async def never_held(_: Store) -> str:
    return "none"


async def held_by_another_name(store: Store) -> str:
    return await held(store, "another")


@pytest.mark.parametrize(
    "lose",
    [lost_to_another, lost_by_letting_go, lost_by_time, never_held, held_by_another_name],
    ids=lambda f: f.__name__,
)
async def test_a_commit_whose_hold_is_lost_writes_nothing(store: Store, lose: Any) -> None:
    await write(store, nodes=[file("a", size=1)])
    before = await picture(store)
    token = await lose(store)
    with pytest.raises(HoldLost, match="scan") as lost:
        await write_under(store, token, nodes=[file("a", size=2), file("b")], edges=[link("a", "b")])
    assert lost.value.transient
    assert await picture(store) == before


async def test_an_empty_commit_whose_hold_is_lost_says_so_too(store: Store) -> None:
    with pytest.raises(HoldLost):
        await write_under(store, "none")


async def test_a_commit_that_lost_its_hold_takes_no_other_with_it(store: Store) -> None:
    token = await held(store)
    other = await held(store, "other")
    outcomes = await asyncio.gather(
        write(store, nodes=[file("free")]),
        write_under(store, "none", nodes=[file("lost")]),
        write_under(store, token, nodes=[file("held")]),
        write_under(store, "none", nodes=[file("lost too")]),
        write_under(store, other, "other", nodes=[file("otherwise held")]),
        write(store, nodes=[file("more")]),
        write(store, nodes=[file("edgy")], edges=[link("edgy", "nobody")]),
        write_under(store, token, nodes=[file("last")]),
        return_exceptions=True,
    )
    kinds = [type(each) for each in outcomes]
    assert kinds == [type(None), HoldLost, *[type(None)] * 1, HoldLost, *[type(None)] * 2, MissingNode, type(None)]
    assert set(await states_of(store)) == {"free", "held", "otherwise held", "more", "last"}


async def test_a_hold_is_not_part_of_the_graph(store: Store) -> None:
    await held(store)
    assert await picture(store) == ({}, {})


@pytest.mark.parametrize("engine", ["neo4j"], indirect=True)
async def test_on_a_server_a_hold_lasts_beyond_the_process_that_took_it(store: Store, place: Place) -> None:
    token = await held(store)
    await place.close()
    store = await place.open()
    assert not await is_free(store)
    await write_under(store, token, nodes=[file("a")])


@pytest.mark.parametrize("engine", ["kuzu", "ladybug"], indirect=True)
async def test_on_an_embedded_graph_a_hold_ends_with_its_owner(store: Store, place: Place) -> None:
    token = await held(store)
    reopened = await place.reopen()
    with pytest.raises(HoldLost):
        await write_under(reopened, token, nodes=[file("a")])
    assert await is_free(reopened)


@HERE
async def test_a_hold_that_is_let_go_while_it_is_looked_at_is_not_taken_over(store: Store) -> None:
    """As a server may show it: the token from before somebody's commit, and the owner from after it."""

    async def ask(real: Any, question: str, *arguments: Any) -> Table:
        assert question == "holders"
        return Table(columns=["name", "owner", "token"], rows=[["scan", None, "t"]])

    token = await held(store, owner="somebody")
    torn, calls = wrapped(store, ask=ask)
    assert await take(torn, "scan", owner="me", seconds=HOUR) is None
    assert calls.calls["let_go"] == 0
    assert await store.renew("scan", token=token, seconds=HOUR)
