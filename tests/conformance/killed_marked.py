"""Migrates a graph on a server, or takes it back, and is killed at one of the moments in which it turns to it.

`python -m tests.conformance.killed_marked URL PROJECT apply|rollback MOMENT`: moments are counted from 1, three for
each call: before it, while the server is at it, and after it.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from graph_stores import Credentials
from graph_stores.legacy import open_legacy
from orchestrator.migration.marked import MarkedMigration, Wishes
from orchestrator.migration.survey import Model, Scope

_SOON = 0.004


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class _Mortal:
    """The graph, until the moment has come."""

    def __init__(self, graph: Any, moment: int) -> None:  # Any: whatever opens
        self._graph = graph
        self._left = moment

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._graph, name)
        return self._mortal(found) if asyncio.iscoroutinefunction(found) else found

    def _mortal(self, call: Callable[..., Any]) -> Callable[..., Any]:
        async def made(*given: Any, **named: Any) -> Any:
            self._left -= 3
            if self._left == -2:
                _die()
            if self._left == -1:
                asyncio.get_running_loop().call_later(_SOON, _die)
            answer = await call(*given, **named)
            if self._left == 0:
                _die()
            return answer

        return made


async def main(url: str, project: str, verb: str, moment: int) -> None:
    credentials = Credentials(user=os.environ["NEO4J_USERNAME"], password=os.environ["NEO4J_PASSWORD"])
    graph = await open_legacy(url, project=project, credentials=credentials)
    given = Model(provider="openai", model="small", assumed=True)
    wishes = Wishes(scope=Scope(project=project, home=project), given=given)
    mortal: Any = _Mortal(graph, moment)
    await getattr(MarkedMigration(mortal, wishes), verb)()
    await graph.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
