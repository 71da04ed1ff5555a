"""The stores against the best raw form on the same engine: `python -m tests.bench.stores kuzu|ladybug|neo4j`."""

import asyncio
import importlib
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from graph_stores import Credentials, kuzu, open_store
from graph_stores.model import Ref
from graph_stores.protocol import Store
from orchestrator import states
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.moves import new_node, transition
from orchestrator.states import State
from tests.bench.table import Row, median, show, timed

INSERTED = 100_000
WORKED = 10_000
BATCH = 1_000
SIZES = (10_000, 1_000_000)
ROUNDS = 3


def rows(count: int, prefix: str) -> list[dict[str, Any]]:
    now = datetime.now(UTC).replace(tzinfo=None)
    return [
        {
            "uuid": f"{prefix}-{index:032d}",
            "projectId": "raw",
            "name": f"name {index}",
            "_state": "pending",
            "_stateChangedAt": now,
            "_depth": 0,
            "_detectedAt": now,
            "_retryCount": 0,
            "path": f"some/folder/{index}.md",
        }
        for index in range(count)
    ]


async def insert(store: Store, count: int, prefix: str, batch: int) -> None:
    lifecycle = Lifecycle(store=store)
    for start in range(0, count, batch):
        await lifecycle.upsert(
            [
                new_node(
                    label="File",
                    uuid=f"{prefix}-{index:032d}",
                    name=f"name {index}",
                    properties={"path": f"some/folder/{index}.md"},
                )
                for index in range(start, min(start + batch, count))
            ]
        )


async def claim_and_complete(store: Store) -> None:
    lifecycle = Lifecycle(store=store)
    for _ in range(WORKED // BATCH):
        held = await lifecycle.claim(states.PARSE, labels=["File"], limit=BATCH, owner="bench", seconds=600)
        assert len(held) == BATCH
        await lifecycle.complete([Result(node=node) for node in held])


# What a claim and a completion write, as the simplest statements that write the same.
# A worker needs the node that it claims, so that statement returns it.
CLAIM = (
    "n._state = $state, n._stateChangedAt = $now, n._leaseOwner = 'bench', n._leaseToken = 'token', "
    "n._leaseUntil = $now RETURN {all}"
)
DONE = (
    "n._state = $state, n._stateChangedAt = $now, n._parsedAt = $now, n._leaseOwner = NULL, n._leaseToken = NULL, "
    "n._leaseUntil = NULL, n._notBefore = NULL"
)


class RawEmbedded:
    """The engine by itself, with checkpoints as our store has them: none inside what is measured."""

    def __init__(self, engine: str, path: Path) -> None:
        self._module = importlib.import_module(engine)
        self._database = self._module.Database(str(path), auto_checkpoint=False)
        self._connection = self._module.Connection(self._database)
        self.run("CALL force_checkpoint_on_close=false")

    def run(self, text: str, parameters: dict[str, Any] | None = None) -> None:
        answer = self._connection.execute(text, parameters or {})
        if not isinstance(answer, list):
            answer.get_all()
            answer.close()

    def copy(self, data: list[dict[str, Any]]) -> None:
        import pyarrow

        table = pyarrow.Table.from_pylist(data)
        self.run(f"COPY File({', '.join(table.column_names)}) FROM $data", {"data": table})

    def set_each(self, uuids: list[str], text: str, state: str) -> None:
        statement = self._connection._prepare(
            f"MATCH (n:File) WHERE n.uuid = $uuid SET {text}", {"uuid": "", "state": "", "now": _naive_now()}
        )
        self.run("BEGIN TRANSACTION")
        for uuid in uuids:
            self._connection.execute(statement, {"uuid": uuid, "state": state, "now": _naive_now()}).close()
        self.run("COMMIT")

    def set_all(self, uuids: list[str], text: str, state: str) -> None:
        self.run(
            f"UNWIND $uuids AS uuid MATCH (n:File) WHERE n.uuid = uuid SET {text}",
            {"uuids": uuids, "state": state, "now": _naive_now()},
        )

    def close(self) -> None:
        self._connection.close()
        self._database.close()


def _naive_now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def best_form(raw: RawEmbedded, uuids: list[str]) -> Callable[[list[str], str, str], None]:
    """The quicker of the raw forms by key at this size of graph."""
    forms = (raw.set_each, raw.set_all)
    spent = []
    for form in forms:
        start = time.perf_counter()
        form(uuids, CLAIM.format(all="n.*"), "parsing")
        spent.append(time.perf_counter() - start)
    return forms[spent.index(min(spent))]


async def open_embedded(engine: str, path: Path) -> Store:
    store = await kuzu.open(f"{engine}:{path}", project="bench", create=True)
    await store.migrate()
    return store


async def embedded_insert(engine: str, folder: Path) -> Row:
    ours, reference = [], []
    for number in range(ROUNDS):
        store = await open_embedded(engine, folder / f"insert-{number}")
        ours.append(await timed(insert(store, INSERTED, "ours", 10_000)))
        await store.close()
        raw = RawEmbedded(engine, folder / f"insert-{number}")
        data = rows(INSERTED, "raw")
        start = time.perf_counter()
        raw.copy(data)
        reference.append(time.perf_counter() - start)
        raw.close()
    return Row(
        what=f"insert {INSERTED:,} pending nodes",
        ours=median(ours),
        reference=median(reference),
        reference_name="raw COPY",
        reach=3.0,
    )


async def to_and_fro(store: Store, uuids: list[str], expected: State, to: State) -> None:
    moves = [transition(Ref(label="File", uuid=uuid), expected=expected, to=to) for uuid in uuids]
    await Lifecycle(store=store).transition(moves)


async def embedded_work(engine: str, folder: Path, size: int) -> list[Row]:
    path = folder / f"work-{size}"
    store = await open_embedded(engine, path)
    await insert(store, size, "node", 50_000)
    # Closing checkpoints, as the raw database is.
    await store.close()
    store = await open_embedded(engine, path)
    # The first claim reads what waits; a job pays that once.
    warm = await Lifecycle(store=store).claim(states.PARSE, labels=["File"], limit=1, owner="bench", seconds=600)
    await Lifecycle(store=store).release(warm)
    ours = await timed(claim_and_complete(store))
    parsed = await store.query(f"MATCH (n:File) WHERE n._state = 'parsed' RETURN n.uuid LIMIT {BATCH}", {})
    moved = [row[0] for row in parsed.rows]
    moves = [
        (State.PARSED, State.PENDING),
        (State.PENDING, State.SKIP),
        (State.SKIP, State.LINKED),
        (State.LINKED, State.SKIP),
        (State.SKIP, State.PENDING),
    ]
    move = median([await timed(to_and_fro(store, moved, *step)) for step in moves])
    await store.close()
    raw = RawEmbedded(engine, path)
    uuids = [f"node-{index:032d}" for index in range(size)][-WORKED:]
    form = best_form(raw, uuids[:BATCH])
    start = time.perf_counter()
    for first in range(0, WORKED, BATCH):
        form(uuids[first : first + BATCH], CLAIM.format(all="n.*"), "parsing")
        form(uuids[first : first + BATCH], DONE, "parsed")
    reference = time.perf_counter() - start
    rounds = []
    for number in range(len(moves)):
        start = time.perf_counter()
        form(moved, "n._state = $state, n._stateChangedAt = $now", f"state {number}")
        rounds.append(time.perf_counter() - start)
    move_reference = median(rounds)
    raw.close()
    return [
        Row(
            what=f"claim and complete {WORKED:,} of {size:,} nodes, {BATCH:,} at a time",
            ours=ours,
            reference=reference,
            reference_name=f"raw {form.__name__} by key",
            reach=1.3,
        ),
        Row(
            what=f"transitions of {BATCH:,} of {size:,} nodes",
            ours=move,
            reference=move_reference,
            reference_name=f"raw {form.__name__} of two properties",
            reach=1.5,
        ),
    ]


MEMORY = """
import asyncio, psutil, sys
from pathlib import Path
from tests.bench.stores import open_embedded, insert
from orchestrator.lifecycle import Lifecycle, transition
from orchestrator.states import State
from graph_stores.model import Ref
async def main():
    store = await open_embedded(sys.argv[1], Path(sys.argv[2]))
    await insert(store, 10_000, "node", 10_000)
    lifecycle, place = Lifecycle(store=store), [State.PENDING, State.SKIP]
    for count in range(1, 101):
        for first in range(0, 1_000, 250):
            numbers = [(index + count * 1_000) % 10_000 for index in range(first, first + 250)]
            refs = [Ref(label="File", uuid=f"node-{number:032d}") for number in numbers]
            there, then = place if ((count - 1) // 10) % 2 == 0 else reversed(place)
            await lifecycle.transition([transition(ref, expected=there, to=then) for ref in refs])
        if count in (10, 100):
            print(psutil.Process().memory_info().rss)
    await store.close()
asyncio.run(main())
"""


def embedded_memory(engine: str, folder: Path) -> Row:
    run = subprocess.run(
        [sys.executable, "-c", MEMORY, engine, str(folder / "memory")], check=True, capture_output=True, text=True
    )
    after_few, after_many = (int(line) / 2**20 for line in run.stdout.split())
    return Row(
        what="memory after 100,000 transitions, 250 at a time",
        ours=after_many,
        reference=after_few,
        reference_name="after 10,000",
        reach=1.5,
        unit="MB",
    )


async def embedded(engine: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = [await embedded_insert(engine, folder)]
        for size in SIZES:
            table += await embedded_work(engine, folder, size)
        table.append(embedded_memory(engine, folder))
    show(f"Stores: {engine}", table)


async def neo4j() -> None:
    """On a private server, against statements through the same driver."""
    from neo4j import AsyncGraphDatabase

    sys.path.insert(0, "scripts")
    from neo4j_server import Neo4jServer

    with tempfile.TemporaryDirectory() as name:
        server = Neo4jServer(Path(name))
        server.start()
        try:
            credentials = Credentials(user=server.user, password=server.password)
            store = await open_store(server.uri, project="bench", credentials=credentials, create=True, deadline=600)
            await store.migrate()
            driver = AsyncGraphDatabase.driver(server.uri, auth=(server.user, server.password))
            table = [await neo4j_insert(store, driver)]
            for size in SIZES:
                table += await neo4j_work(store, driver, size)
            await driver.close()
            await store.close()
        finally:
            server.stop()
    show("Stores: neo4j", table)


async def neo4j_insert(store: Store, driver: Any) -> Row:
    ours, reference = [], []
    for number in range(ROUNDS + 1):
        # The driver is slow with times, and the best raw form lets the server fill them in.
        timed_by_server = ("_stateChangedAt", "_detectedAt")
        data = [
            {name: value for name, value in row.items() if name not in timed_by_server}
            for row in rows(INSERTED, f"raw-{number}")
        ]

        async def raw(data: list[dict[str, Any]]) -> None:
            for first in range(0, INSERTED, 5_000):
                await driver.execute_query(
                    "UNWIND $rows AS row CREATE (n:File) "
                    "SET n = row, n._stateChangedAt = datetime.realtime(), n._detectedAt = datetime.realtime()",
                    rows=data[first : first + 5_000],
                )

        reference.append(await timed(raw(data)))
        ours.append(await timed(insert(store, INSERTED, f"ours-{number}", 5_000)))
    # The first round warms the server up.
    return Row(
        what=f"insert {INSERTED:,} pending nodes",
        ours=median(ours[1:]),
        reference=median(reference[1:]),
        reference_name="raw UNWIND CREATE, 5,000 at a time",
        reach=1.5,
    )


async def neo4j_work(store: Store, driver: Any, size: int) -> list[Row]:
    await _clear(driver)
    await insert(store, size, "node", 5_000)
    ours = await timed(claim_and_complete(store))
    uuids = [f"node-{index:032d}" for index in range(size)][-WORKED:]

    async def set_all(keys: list[str], text: str, state: str) -> None:
        await driver.execute_query(
            f"UNWIND $uuids AS uuid MATCH (n:File {{uuid: uuid}}) SET {text}",
            uuids=keys,
            state=state,
            now=datetime.now(UTC),
        )

    start = time.perf_counter()
    for first in range(0, WORKED, BATCH):
        await set_all(uuids[first : first + BATCH], CLAIM.format(all="n"), "parsing")
        await set_all(uuids[first : first + BATCH], DONE, "parsed")
    reference = time.perf_counter() - start
    move = await timed(to_and_fro(store, uuids[:BATCH], State.PARSED, State.PENDING))
    move_reference = await timed(
        set_all(uuids[BATCH : 2 * BATCH], "n._state = $state, n._stateChangedAt = $now", "pending")
    )
    return [
        Row(
            what=f"claim and complete {WORKED:,} of {size:,} nodes, {BATCH:,} at a time",
            ours=ours,
            reference=reference,
            reference_name="raw UNWIND by key",
            reach=1.3,
        ),
        Row(
            what=f"transitions of {BATCH:,} of {size:,} nodes",
            ours=move,
            reference=move_reference,
            reference_name="raw UNWIND of two properties",
            reach=1.5,
        ),
    ]


async def _clear(driver: Any) -> None:
    async with driver.session() as session:
        await (
            await session.run("MATCH (n:File) CALL { WITH n DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS")
        ).consume()


if __name__ == "__main__":
    asyncio.run(neo4j() if sys.argv[1] == "neo4j" else embedded(sys.argv[1]))
