"""What a person sees while a job runs, all of it on standard error: bars on a terminal, else a line now and then.

Shows what the job counts and where the graph stands. A graph that cannot be asked just now stops the picture and not
the job.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Protocol

from graph_stores.errors import GraphmillError
from graph_stores.protocol import Store
from orchestrator.cli.process import is_terminal
from orchestrator.cli.text import duration, pace, printable
from orchestrator.job import Job
from orchestrator.progress import Pace, Standing, read_standing
from orchestrator.tally import Tally

_STAGES = (("parse", "parsed"), ("link", "linked"), ("embed", "embedded"))
# Counting a large graph may take most of a second: then it is asked less often, for the job's sake.
_SHARE = 10
# So that counts, rate and time to go fit beside it on a terminal of 80 columns.
_BAR = 24


class View(Protocol):
    every: float

    def say(self, text: str) -> None: ...

    def show(self, tally: Tally, standing: Standing) -> None: ...

    def close(self) -> None: ...


class Lines:
    """One line every few seconds, and none while nothing changes."""

    every = 5.0

    def __init__(self) -> None:
        self._last = ""

    def say(self, text: str) -> None:
        # Whoever listened may have gone away (| head), which is no reason to stop working.
        with suppress(BrokenPipeError):
            print(printable(text), file=sys.stderr, flush=True)

    def show(self, tally: Tally, standing: Standing) -> None:
        line = _line(tally, standing)
        if line != self._last:
            self.say(line)
        self._last = line

    def close(self) -> None:
        pass


class Gauge:
    """What a bar shows of one stage: counts and a filled share, which never decrease until everything is at rest.

    The total includes what is still to come from the stages before. While sources are being read no share is known.
    At rest the bar is full, whatever was thought to come: files that were to be parsed may be gone. A watch goes on
    from there with what is new.
    """

    def __init__(self) -> None:
        self.done = self.total = 0
        self.share: float | None = None
        self._rested = False

    def rest(self, done: int) -> None:
        """Nothing is left to do."""
        self.done = self.total = max(self.done, done)
        self.share, self._rested = 1.0, True

    def read(self, done: int, pace: Pace, *, is_reading: bool) -> None:
        if self._rested and pace.remaining + pace.ahead:
            self.share, self._rested = None, False
        self.done = max(self.done, done)
        self.total = max(self.total, self.done + pace.remaining + pace.ahead)
        if self.total and not (is_reading and self.share is None):
            self.share = max(self.share or 0.0, self.done / self.total)


class Bars:
    """A bar for each stage, redrawn in place; gone when the job ends."""

    every = 0.5

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=_BAR),
            TextColumn("{task.fields[told]}"),
            console=Console(stderr=True, highlight=False, markup=False, emoji=False),
            transient=True,
        )
        self._tasks = {name: self._bars.add_task(name, total=None, told="") for name in ("read", *dict(_STAGES))}
        self._gauges = {name: Gauge() for name in self._tasks}
        self._bars.start()

    def say(self, text: str) -> None:
        self._bars.console.print(printable(text))

    def show(self, tally: Tally, standing: Standing) -> None:
        rests = bool(tally.read) and not standing.remaining and not standing.is_reading
        unchanged = f", {tally.unchanged:,} unchanged" if tally.unchanged else ""
        self._draw("read", tally.read, Pace(remaining=0, rate=0.0), standing, f"{tally.read:,}{unchanged}", rests=rests)
        for name, attribute in _STAGES:
            self._draw(name, getattr(tally, attribute), standing.stages[name], standing, rests=rests)

    def close(self) -> None:
        self._bars.stop()

    def _draw(self, name: str, done: int, pace: Pace, standing: Standing, told: str = "", *, rests: bool) -> None:
        gauge = self._gauges[name]
        gauge.read(done, pace, is_reading=standing.is_reading)
        if rests:
            gauge.rest(done)
        told = told or " · ".join([f"{gauge.done:,} of {gauge.total:,}", *_pace_and_outlook(standing, name)])
        total = None if gauge.share is None else 1.0
        self._bars.update(self._tasks[name], completed=gauge.share or 0.0, total=total, told=told)


@contextmanager
def open_view() -> Iterator[View]:
    view: View = Bars() if is_terminal(sys.stderr) else Lines()
    try:
        yield view
    finally:
        view.close()


@asynccontextmanager
async def following(view: View, job: Job, store: Store) -> AsyncIterator[None]:
    """Keep the view up to date for as long as the block lasts."""
    task = asyncio.create_task(_follow(view, job, store), name="progress")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _follow(view: View, job: Job, store: Store) -> None:
    known: tuple[Tally, Standing] | None = None
    ask_at = 0.0
    started = time.monotonic()
    while True:
        await asyncio.sleep(view.every)
        if (began := time.monotonic()) >= ask_at:
            tally = replace(job.tally)
            try:
                known = tally, await read_standing(store, work=False, since=time.monotonic() - started)
            except GraphmillError as error:
                # The job hears of it as well, and decides.
                view.say(f"cannot tell where the graph stands: {error.message}")
            ask_at = time.monotonic() + _SHARE * (time.monotonic() - began)
        if known:
            view.show(job.tally, _since(*known, job.tally))


def _since(then: Tally, standing: Standing, now: Tally) -> Standing:
    """Where the graph stood then, without what the job has done since: that is not to be counted twice."""
    paces = dict(standing.stages)
    for name, done in _STAGES:
        since = getattr(now, done) - getattr(then, done)
        paces[name] = replace(paces[name], remaining=max(0, paces[name].remaining - since))
    return replace(standing, stages=paces)


def _line(tally: Tally, standing: Standing) -> str:
    parts = [f"read {tally.read:,}"]
    for name, attribute in _STAGES:
        done: int = getattr(tally, attribute)
        to_go = [f"{remaining:,} to go"] if (remaining := standing.stages[name].remaining) else []
        if done or to_go:
            parts.append(", ".join([f"{attribute} {done:,}", *to_go, *_pace_and_outlook(standing, name)]))
    return " · ".join(parts)


def _pace_and_outlook(standing: Standing, name: str) -> list[str]:
    stage = standing.stages[name]
    if not stage.remaining or not stage.eta:
        return []
    return [pace(stage.rate), f"about {duration(stage.eta)}"]
