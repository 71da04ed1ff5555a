"""How many nodes a worker takes at once: as many as the step likes, and fewer of those that went wrong before.

Whatever a process had in its hands when it was killed is under suspicion. It is tried in small portions, so that in the
end a poison node is alone. As most kills are nobody's fault, portions of what was lost once grow with each that comes
through.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from graph_stores.model import NodeRow
from orchestrator.retries import prudent_share
from orchestrator.states import Stage


class Taking(Protocol):
    """A step, as far as it matters here."""

    stage: Stage
    labels: Sequence[str]
    limit: int


@dataclass(slots=True, kw_only=True)
class Prudence:
    delay: float
    """After how long at most what was lost once can be claimed again."""
    _tries: dict[tuple[str, ...], int] = field(default_factory=dict)
    _passed: dict[tuple[str, ...], int] = field(default_factory=dict)
    _expected: dict[tuple[str, ...], float] = field(default_factory=dict)

    def expect_suspects(self, steps: Sequence[Taking]) -> None:
        """Something was taken back: the first claims that can meet it ask for a portion."""
        self._passed.clear()
        self._expected = dict.fromkeys(map(_kind, steps), time.monotonic() + self.delay)

    def limit(self, step: Taking) -> int:
        """How many to claim: where some went wrong there are more, and what would only be given back is not claimed."""
        tries = self._tries.get(_kind(step), 0)
        return self._portion(step, max(1, tries) if _kind(step) in self._expected else tries)

    def choose(self, step: Taking, nodes: Sequence[NodeRow], *, sent: float) -> list[NodeRow]:
        """Those of a claim that was sent then to go on with. What went wrong comes after the others, or those that
        were first in line would be lost whenever a worker is killed early."""
        kind = _kind(step)
        if sent >= self._expected.get(kind, sent):
            self._expected.pop(kind, None)
        tries = self._tries[kind] = min((node.retry_count for node in nodes), default=0)
        return [node for node in nodes if node.retry_count == tries][: self._portion(step, tries)]

    def came_through(self, step: Taking, nodes: Sequence[NodeRow]) -> None:
        if nodes[0].retry_count == 1 and len(nodes) >= self._portion(step, 1):
            self._passed[_kind(step)] = self._passed.get(_kind(step), 0) + 1

    def _portion(self, step: Taking, tries: int) -> int:
        share = prudent_share(step.limit, tries)
        return min(step.limit, share << self._passed.get(_kind(step), 0)) if tries == 1 else share


def _kind(step: Taking) -> tuple[str, ...]:
    return (step.stage.name, *step.labels)
