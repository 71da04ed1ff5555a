"""A process that claims: `python -m tests.conformance.claim_worker URI USER PROJECT...`, password in the environment.

Claims files ten at a time until none waits, in one project after the other, and prints every uuid that it got.
"""

import asyncio
import os
import sys

from graph_stores import Credentials, open_store
from graph_stores.model import Select
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle


async def drain(store: Store, owner: str) -> None:
    lifecycle = Lifecycle(store=store)
    while True:
        rows = await lifecycle.claim(states.PARSE, labels=["File"], limit=10, owner=owner, seconds=600)
        for row in rows:
            assert row.lease is not None
            print(store.project, row.uuid, row.lease.token)
        # An empty answer may only mean that others were faster.
        if not rows and not await store.nodes(Select(labels=["File"], states=["pending"], limit=1)):
            return


async def main(uri: str, user: str, *projects: str) -> None:
    credentials = Credentials(user=user, password=os.environ["NEO4J_PASSWORD"])
    for project in projects:
        store = await open_store(uri, project=project, credentials=credentials)
        try:
            await drain(store, f"process {os.getpid()}")
        finally:
            await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
