"""Measuring in rounds, and printing what was measured as a Markdown table."""

import statistics
import time
from collections.abc import Awaitable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    what: str
    ours: float
    reference: float
    reference_name: str
    reach: float
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return self.ours / self.reference

    def __str__(self) -> str:
        kept = "yes" if self.ratio <= self.reach else "**no**"
        return (
            f"| {self.what} | {_short(self.ours)} {self.unit} "
            f"| {_short(self.reference)} {self.unit} ({self.reference_name}) "
            f"| {self.ratio:.2f} | ≤ {self.reach:g} | {kept} |"
        )


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def show(title: str, rows: list[Row]) -> None:
    print(f"\n### {title}\n")
    print("| What | graphmill | Reference | Ratio | Reach | Reached |\n|---|---|---|---|---|---|")
    for row in rows:
        print(row, flush=True)


async def timed(work: Awaitable[object]) -> float:
    start = time.perf_counter()
    await work
    return time.perf_counter() - start


def median(values: list[float]) -> float:
    return statistics.median(values)
