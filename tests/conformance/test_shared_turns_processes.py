"""Ten processes that work on one graph are together as polite to a wiki as one, also where some are killed."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from graph_stores.protocol import Store
from pipelines.wikipedia.politeness import Limits
from tests.conformance.asked_wiki import Wiki, serving
from tests.conftest import Neo4jAccess

ROOT = Path(__file__).parents[2]
ON_A_SERVER = pytest.mark.parametrize("engine", ["neo4j"], indirect=True)


@pytest.fixture
async def wiki() -> AsyncIterator[Wiki]:
    async with serving() as wiki:
        yield wiki


@dataclass(slots=True)
class Askers:
    """Processes that ask a wiki, each as a machine of its own; one that is killed may be started again."""

    server: Neo4jAccess
    given: dict[str, Any]
    folder: Path
    processes: dict[str, Process] = field(default_factory=dict)
    ends: dict[str, "asyncio.Task[Any]"] = field(default_factory=dict)

    async def start(self, name: str) -> None:
        given = json.dumps(self.given | {"name": name, "cache": str(self.folder / name)})
        self.processes[name] = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.conformance.wiki_asker", given),
            cwd=ROOT,
            env=os.environ | {"NEO4J_PASSWORD": self.server.password},
            stdin=PIPE,
            stdout=PIPE,
        )

    async def is_ready(self, name: str) -> bool:
        stdout = self.processes[name].stdout
        return stdout is not None and await stdout.readline() == b"ready\n"

    def go(self, name: str) -> None:
        self.ends[name] = asyncio.create_task(self.processes[name].communicate(b"\n"))

    async def kill(self, name: str) -> None:
        self.processes[name].kill()
        await self.ends[name]


@asynccontextmanager
async def askers_of(server: Neo4jAccess, given: dict[str, Any], folder: Path) -> AsyncIterator[Askers]:
    askers = Askers(server, given, folder)
    try:
        yield askers
    finally:
        for name, process in askers.processes.items():
            if process.returncode is None:
                process.kill()
            await (askers.ends[name] if name in askers.ends else process.communicate())


@pytest.mark.long
@ON_A_SERVER
async def test_ten_machines_keep_the_limits_of_one_also_where_some_are_killed(
    store: Store, neo4j_server: Neo4jAccess, wiki: Wiki, tmp_path: Path
) -> None:
    limits = Limits(per_minute=10, in_flight=3, minute=2.0)
    names = [f"machine-{number}" for number in range(10)]
    restarts: list[asyncio.Task[None]] = []
    given = {
        "uri": neo4j_server.uri,
        "user": neo4j_server.user,
        "project": store.project,
        "wiki": wiki.url,
        "limits": asdict(limits),
        "slot_seconds": 4.0,
        "answer": 10.0,
        "answers": 3,
    }
    async with askers_of(neo4j_server, given, tmp_path) as askers:

        async def restart(name: str) -> None:
            await askers.start(name)
            assert await askers.is_ready(name)
            askers.go(name)

        async def kill_some(name: str, number: int) -> None:
            """In the middle of its request."""
            if number in (6, 12, 18):
                await askers.kill(name)
                restarts.append(asyncio.create_task(restart(name)))

        wiki.before_answer = kill_some
        for name in names:
            await askers.start(name)
        for name in names:
            assert await askers.is_ready(name)
        for name in names:
            askers.go(name)
        while not all(task.done() for task in (*askers.ends.values(), *restarts)):
            await asyncio.gather(*askers.ends.values(), *restarts)
        assert [process.returncode for process in askers.processes.values()] == [0] * 10
    assert len(restarts) == 3
    assert len(wiki.arrivals) >= 30
    assert wiki.most_in_flight <= 3
    assert wiki.most_in_any(2.0) <= 10
