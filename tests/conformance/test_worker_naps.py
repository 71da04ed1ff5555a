"""When a step looks for work again: what it is told of at once, and what it finds by looking."""

from collections.abc import Sequence
from typing import Any

import pytest

from graph_stores.model import NodeRow
from graph_stores.protocol import Store
from orchestrator import worker
from orchestrator.lifecycle import Lifecycle
from orchestrator.worker import Outcome, Pause
from tests.conformance.examples import HOUR, eventually, files, write
from tests.conformance.place import HERE
from tests.conformance.scripted_step import Scripted, all_done, around, everything_is_parsed, is_in, working


@HERE
async def test_what_arrives_later_is_found_without_being_told(store: Store, lifecycle: Lifecycle) -> None:
    step = Scripted()
    async with working(lifecycle, step):
        await write(store, nodes=files(1))
        await eventually(lambda: is_in(store, "f00000", "parsed"))


@HERE
async def test_when_a_pause_is_over_it_looks_at_once(
    store: Store, lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_FIRST_NAP", HOUR)
    await write(store, nodes=files(1))
    pauses = iter([Pause("away", seconds=0.01)] * 3)

    async def away_at_first(nodes: Sequence[NodeRow]) -> Sequence[Outcome]:
        if pause := next(pauses, None):
            raise pause
        return await all_done(nodes)

    async with working(lifecycle, Scripted(script=away_at_first)):
        await eventually(lambda: is_in(store, "f00000", "parsed"))


@HERE
async def test_news_that_come_while_it_looks_are_not_missed(
    store: Store, lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_FIRST_NAP", HOUR)
    looks = 0

    async def claim(real: Any, wish: Any) -> Any:
        nonlocal looks
        found = await real(wish)
        looks += 1
        if looks == 1:
            await write(store, nodes=files(1))
            at_work.wake()
        return found

    async with working(around(lifecycle, claim=claim), Scripted()) as at_work:
        await eventually(lambda: everything_is_parsed(store))
