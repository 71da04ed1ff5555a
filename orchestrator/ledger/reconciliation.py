"""Brings the ledger up to the graph, which is the truth: what a crash kept from being written down is added, marked.

What happened in between is not made up: a reconciled record says where the ledger had left the node and where the
graph has it, at the time that the graph tells.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime

from graph_stores.listening import microseconds
from graph_stores.protocol import Store
from orchestrator.holding import holding
from orchestrator.ledger.latest import Latest
from orchestrator.ledger.reading import LedgerMissing, Reading
from orchestrator.ledger.record import Entry, time_of
from orchestrator.ledger.scribe import Scribe
from orchestrator.paging import paged
from orchestrator.workers import read_workers

_PAGE = 50_000
# Whoever else is at work writes down what it committed within this time.
_ON_ITS_WAY = 1.0
_EVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A node as the graph has it."""

    node: str
    label: str
    state: str
    at: int
    run: str | None


async def reconcile(store: Store, scribe: Scribe, *, whole: bool = False) -> int:
    """Add what is missing; returns how many changes that were. Costs little where nothing is.

    `whole` compares every node, also where nothing points to a difference.
    """
    async with holding(store, "ledger", owner=scribe.writer, waiting=lambda: None):
        others = any(each.known.name != scribe.writer and not each.is_gone for each in await read_workers(store))
        with ExitStack() as stack:
            reading = await asyncio.to_thread(_opened, scribe, stack)
            since = _EVER if whole else _since(reading)
            if since is None and (others or await _adds_up(store, reading)):
                return 0
            # What comes into the ledger from here on may be younger than what is read of the graph.
            until = reading.newest if reading else None
            entries = await _missing(store, scribe, since or _EVER, others=others, until=until)
            if since not in (None, _EVER) and not others and not await _adds_up(store, reading, entries):
                entries = await _missing(store, scribe, _EVER, others=others, until=until)
            if entries:
                await asyncio.to_thread(scribe.ledger().append, entries)
            if reading and reading.unclean:
                await asyncio.to_thread(scribe.ledger().settle, reading.unclean)
    return len(entries)


async def differences(store: Store, reading: Reading | None) -> list[Entry]:
    """What would have to be added for the ledger to say what the graph says."""
    found = {each.node: each async for each in _found(store, _EVER)}
    until = reading.newest if reading else None
    return await asyncio.to_thread(lambda: list(_compared(found, _latest(reading), whole=True, until=until)))


def _opened(scribe: Scribe, stack: ExitStack) -> Reading | None:
    try:
        return stack.enter_context(Reading.open(scribe.folder))
    except LedgerMissing:
        return None


def _since(reading: Reading | None) -> datetime | None:
    """From when on something may be missing because somebody did not end well; None if nobody did."""
    if reading is None or not (reading.unclean or reading.damage):
        return None
    if reading.damage or not all(each.last for each in reading.unclean):
        return _EVER
    earliest = min(time_of(each.last) for each in reading.unclean)
    return datetime.fromtimestamp(earliest / 1_000_000, UTC)


async def _missing(store: Store, scribe: Scribe, since: datetime, *, others: bool, until: int | None) -> list[Entry]:
    """The graph first and the ledger after it: what is in the ledger only is then news, and not missing."""
    found = {each.node: each async for each in _found(store, since)}
    if others:
        await asyncio.sleep(_ON_ITS_WAY)
    return await asyncio.to_thread(_compared_with_ledger, scribe, found, since == _EVER and not others, until)


def _compared_with_ledger(scribe: Scribe, found: Mapping[str, Found], whole: bool, until: int | None) -> list[Entry]:
    with ExitStack() as stack:
        return list(_compared(found, _latest(_opened(scribe, stack)), whole=whole, until=until))


def _latest(reading: Reading | None) -> Iterable[Latest]:
    return reading.latest(removed=True) if reading else ()


def _compared(
    found: Mapping[str, Found], latest: Iterable[Latest], *, whole: bool, until: int | None
) -> Iterator[Entry]:
    """`whole`: everything was asked for, so what was not found is gone, and a graph that is older than the ledger (one
    that came back from a backup) is right all the same. What the ledger has since `until` is news."""
    known: set[str] = set()
    for each in latest:
        known.add(each.node)
        certain = whole and until is not None and each.time <= until
        if there := found.get(each.node):
            if there.at > each.time or (there.state != each.state and (certain or there.at == each.time)):
                yield _entry(there, each)
        elif certain and each.state is not None:
            yield _gone(each)
    for node, there in found.items():
        if node not in known:
            yield _entry(there, None)


def _entry(found: Found, latest: Latest | None) -> Entry:
    return Entry(
        at=max(found.at, latest.time + 1) if latest and found.at < latest.time else found.at,
        node=found.node,
        label=found.label,
        before=latest.state if latest else None,
        after=found.state,
        run=found.run,
        reconciled=True,
    )


def _gone(latest: Latest) -> Entry:
    at = max(time.time_ns() // 1000, latest.time + 1)
    return Entry(at=at, node=latest.node, label=latest.label, before=latest.state, after=None, reconciled=True)


async def _found(store: Store, since: datetime) -> AsyncIterator[Found]:
    async for rows in paged(store, "changed-since", limit=_PAGE, since=since):
        for node, label, state, at, run in rows:
            yield Found(node=node, label=label, state=state, at=_micros(at), run=run)


def _micros(at: datetime | int) -> int:
    return at if isinstance(at, int) else microseconds(at)


async def _adds_up(store: Store, reading: Reading | None, entries: Iterable[Entry] = ()) -> bool:
    """Whether the ledger, with these added, has as many nodes in each state as the graph."""
    progress = await store.progress(finished=[], window=0.0)
    counted = Counter({(each.label, each.state): each.count for each in progress.counts if each.count})
    known = Counter(await asyncio.to_thread(reading.counts) if reading else {})
    for entry in entries:
        known[entry.label, entry.before or ""] -= 1
        known[entry.label, entry.after or ""] += 1
    return counted == Counter({key: count for key, count in known.items() if key[1] and count})
