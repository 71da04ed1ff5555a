"""A process that asks a wiki: `python -m tests.conformance.wiki_asker GIVEN`, the password in the environment.

GIVEN is JSON: where the graph and the wiki are, where this machine counts, by which limits, and how many answers are
wanted. Says `ready`, and begins when it is told to in a line.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from graph_stores import Credentials, open_store
from graph_stores.errors import TransientStoreError
from orchestrator.wikipedia.turns import shared_turns
from pipelines.wikipedia.asking import Asking, Patience
from pipelines.wikipedia.model import WikiUnavailable
from pipelines.wikipedia.politeness import Limits


async def answer(asking: Asking, name: str) -> None:
    """On a machine that is busy with other things the server or the wiki may be late: that is no reason to give up."""
    while True:
        try:
            await asking.ask({"by": name})
        except (TransientStoreError, WikiUnavailable):
            continue
        return


async def main(given: dict[str, Any]) -> None:  # Any: what JSON can hold
    credentials = Credentials(user=given["user"], password=os.environ["NEO4J_PASSWORD"])
    store = await open_store(given["uri"], project=given["project"], credentials=credentials)
    asking = Asking(
        given["wiki"],
        contact=None,
        limits=lambda _: Limits(**given["limits"]),
        say=lambda _: None,
        cache=Path(given["cache"]),
        patience=Patience(first_pause=0.1, answer=given["answer"]),
        sharing=shared_turns(store, slot_seconds=given["slot_seconds"]),
    )
    try:
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(given["answers"]):
            await answer(asking, given["name"])
    finally:
        await asking.close()
        await store.close()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
