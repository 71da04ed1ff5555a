"""Ten invoices as a tool of somebody's own left them, and the mapping file that brings them into graphmill.

Seven have a vector, two have none, and one is in error. `python invoices.py kuzu PATH` writes them with the plain
engine, in a process of its own.
"""

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_stores import Credentials, open_store
from graph_stores.protocol import Store
from orchestrator import config
from orchestrator.migration.verbs import Migration, Order, opened
from tests.acceptance.embedding_server import DIMENSION, vector_of

MODEL = "openai:fake"
MAPPING = """
labels = ["Invoice"]
id = "number"
name = "title"
text = "memo"
vector = "vec"
state = "status"

[words]
done = "ready"
broken = "error"
"""
READY = range(7)
BROKEN = 7
WAITING = (8, 9)


def memo(number: int) -> str:
    return f"the memo of invoice number {number}"


def rows() -> list[dict[str, Any]]:
    return [
        {
            "number": f"inv-{number}",
            "title": f"Invoice {number}",
            "memo": memo(number),
            "status": "broken" if number == BROKEN else "done",
            "amount": 10.5 * number,
            "lines": number,
            "paid": number % 2 == 0,
            "tags": ["a", f"t{number}"],
            **({"vec": vector_of(memo(number))} if number in READY else {}),
        }
        for number in range(10)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoices:
    """The old graph, and after `apply` the same graph as graphmill knows it."""

    url: str
    project: str
    folder: Path
    credentials: Credentials | None = None

    def write(self) -> None:
        if self.credentials is None:
            engine, _, path = self.url.partition(":")
            subprocess.run([sys.executable, __file__, engine, path], check=True, capture_output=True)
            return
        # A server is shared with other tests, so a number says whose invoice it is.
        self.run(
            "CREATE (c:Customer {id: 'c1', name: 'ACME'}) WITH c UNWIND $rows AS row CREATE (n:Invoice)-[:BILLED]->(c) "
            "SET n = row, n.projectId = $project, n.number = $project + row.number",
            rows=rows(),
        )
        self.run(
            "MATCH (a:Invoice {number: $project + 'inv-0'}), (b:Invoice {number: $project + 'inv-1'}) "
            "CREATE (a)-[:FOLLOWS {days: 3}]->(b)"
        )

    def run(self, text: str, **parameters: Any) -> None:
        import neo4j

        assert self.credentials
        auth = (self.credentials.user, self.credentials.password)
        with neo4j.GraphDatabase.driver(self.url, auth=auth, notifications_min_severity="OFF") as driver:
            driver.execute_query(text, {"project": self.project, **parameters})

    def uuid(self, number: int) -> str:
        return f"{self.project if self.credentials else ''}inv-{number}"

    @asynccontextmanager
    async def migration(self, *, model: str | None = MODEL, mapping: str = MAPPING) -> AsyncIterator[Migration]:
        path = self.folder / "mapping.toml"
        path.write_text(mapping)
        flags = {"store": self.url, "project": self.project}
        settings = config.load(flags, file=None, environment={}, directory=self.folder)
        order = Order(settings=settings, credentials=self.credentials, mapping=path, embedding_model=model)
        async with opened(order) as migration:
            yield migration

    async def apply(self, **options: Any) -> None:
        self.write()
        async with self.migration(**options) as migration:
            await migration.apply()
            assert (await migration.validate()).problems == []

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        store = await open_store(self.url, project=self.project, credentials=self.credentials)
        try:
            yield store
        finally:
            await store.close()


def _write(execute: Any) -> None:  # Any: the engine has no types
    execute(
        "CREATE NODE TABLE Invoice(number STRING PRIMARY KEY, title STRING, memo STRING, "
        f"vec DOUBLE[{DIMENSION}], status STRING, amount DOUBLE, lines INT32, paid BOOL, tags STRING[])"
    )
    execute("CREATE NODE TABLE Customer(id STRING PRIMARY KEY, name STRING)")
    execute("CREATE REL TABLE BILLED(FROM Invoice TO Customer)")
    execute("CREATE REL TABLE FOLLOWS(FROM Invoice TO Invoice, days INT64)")
    execute("CREATE (:Customer {id: 'c1', name: 'ACME'})")
    for row in rows():
        execute(f"CREATE (:Invoice {{{', '.join(f'{name}: ${name}' for name in row)}}})", row)
    execute("MATCH (a:Invoice), (b:Customer) CREATE (a)-[:BILLED]->(b)")
    execute("MATCH (a:Invoice {number: 'inv-0'}), (b:Invoice {number: 'inv-1'}) CREATE (a)-[:FOLLOWS {days: 3}]->(b)")


if __name__ == "__main__":
    module = importlib.import_module(sys.argv[1])
    _write(module.Connection(module.Database(sys.argv[2])).execute)
