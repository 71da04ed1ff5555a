"""Migrates an embedded graph, and is killed at one of the moments in which it touches a file.

`python -m tests.conformance.killed_migration URL MOMENT`: moments are counted from 1, and 0 is none; prints how many
there were, of a run that came to its end.
"""

import asyncio
import os
import signal
import sys
from typing import Any

from graph_stores.legacy import open_legacy
from orchestrator.migration.making import TableWishes
from orchestrator.migration.survey import Model
from orchestrator.migration.tables import TableMigration
from orchestrator.migration.wiki import WikiChoice

_TOUCHES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree")
_seen: list[str] = []


def _watch(moment: int, path: str) -> None:
    def hook(event: str, arguments: tuple[Any, ...]) -> None:  # Any: of any event
        writes = event == "open" and str(arguments[1] or "r")[0] in "wa" and path in str(arguments[0])
        if writes or (event in _TOUCHES and path in str(arguments)):
            _seen.append(event)
            if len(_seen) == moment:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


async def main(url: str) -> None:
    graph = await open_legacy(url, project="default")
    model = Model(provider="openai", model="small", assumed=True)
    wishes = TableWishes(project="default", model=model, wiki=WikiChoice(lang="en"))
    await TableMigration(graph, wishes, lambda done, of: None).apply()
    await graph.close()
    print(len(_seen))


if __name__ == "__main__":
    _watch(int(sys.argv[2]), sys.argv[1].partition(":")[2])
    asyncio.run(main(sys.argv[1]))
