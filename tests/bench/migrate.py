"""`scripts/bench migrate`: moving a graph with flags, and rebuilding an expansion, against setting one property in the
best raw form of the engine, by the clock and in processor time. `python -m tests.bench.migrate kuzu|neo4j [NODES]`."""

import asyncio
import os
import resource
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.bench.table import Row, show

_NODES = 1_000_000
_REACH = 3.0
_SECTIONS = 9
_WRITTEN = (
    "projectId = 'bench', _state = 'linked', _depth = 0, _retryCount = 0, _detectedAt = datetime(), "
    "_stateChangedAt = datetime(), _migratedBy = '9-structure', _migratedAdded = ['embedding']"
)


def main(engine: str, nodes: int) -> None:
    rows = asyncio.run(_marked(nodes)) if engine == "neo4j" else _tables(nodes)
    show(f"Migrate, {engine}, {nodes:,} nodes", rows)
    if engine == "neo4j":
        print(f"\npeak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


async def _marked(nodes: int) -> list[Row]:
    from neo4j import GraphDatabase

    sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
    from neo4j_server import Neo4jServer

    from graph_stores import Credentials
    from graph_stores.legacy import open_legacy
    from orchestrator.migration.marked import MarkedMigration, Wishes
    from orchestrator.migration.survey import Model, Scope

    with tempfile.TemporaryDirectory() as folder:
        server = Neo4jServer(Path(folder))
        server.start()
        try:
            with (
                GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver,
                driver.session() as session,
            ):
                session.run(
                    "UNWIND range(1, $nodes) AS i CALL (i) { CREATE (:Scope {uuid: toString(i), name: 'scope ' + i, "
                    "content: 'the text of a scope ' + i, embeddingsDirty: i % 3 = 0, "
                    "embedding_provider: 'openai', embedding_model: 'small'}) } IN TRANSACTIONS OF 10000 ROWS",
                    nodes=nodes,
                ).consume()
                raw = min(_by_hand(session, "raw = 'ready'", rows, server.pid) for rows in (1_000, 10_000))
                alike = _by_hand(session, _WRITTEN, 1_000, server.pid)
            graph = await open_legacy(
                server.uri, project="bench", credentials=Credentials(user=server.user, password=server.password)
            )
            wishes = Wishes(
                scope=Scope(project=None, home="bench"), given=Model(provider="openai", model="small", assumed=True)
            )
            migration = MarkedMigration(graph, wishes)
            began, busy = time.perf_counter(), _busy(server.pid)
            outcome = await migration.apply()
            ours = time.perf_counter() - began, _busy(server.pid) - busy
            assert outcome.total == nodes, outcome.total
            await graph.close()
        finally:
            server.stop()
    one, all_of_them = "CALL { SET one property } IN TRANSACTIONS", "the same with all that apply sets"
    return [
        _row(f"apply{what}", ours[place], reference[place], name)
        for name, reference in ((one, raw), (all_of_them, alike))
        for place, what in enumerate(("", ", processor time of the server"))
    ]


def _by_hand(session: Any, properties: str, rows: int, pid: int | None) -> tuple[float, float]:  # Any: of the driver
    """What it takes to set them on every node, by the clock and of the server; afterwards they are gone again."""
    written = [f"n.{each}" for each in properties.split(", ")]
    batches = f"IN TRANSACTIONS OF {rows} ROWS"
    began, busy = time.perf_counter(), _busy(pid)
    session.run(f"MATCH (n) CALL (n) {{ SET {', '.join(written)} }} {batches}").consume()
    took = time.perf_counter() - began, _busy(pid) - busy
    gone = ", ".join(each.split(" = ")[0] for each in written)
    session.run(f"MATCH (n) CALL (n) {{ REMOVE {gone} }} {batches}").consume()
    return took


def _busy(pid: int | None) -> float:
    """Processor seconds of a process so far; on a busy machine they say more than the clock."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _tables(nodes: int) -> list[Row]:
    import importlib.util  # noqa: F401 the engine uses it without importing it

    import kuzu

    articles = nodes // (_SECTIONS + 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "old.kuzu"
        database = kuzu.Database(str(path))
        connection = kuzu.Connection(database)
        _fill(connection, articles)
        began, spent = time.perf_counter(), time.process_time()
        for label in ("Article", "Section"):
            connection.execute(f"ALTER TABLE {label} ADD raw STRING")
            connection.execute(f"MATCH (n:{label}) SET n.raw = 'ready'")
        connection.execute("CHECKPOINT")
        raw, raw_spent = time.perf_counter() - began, time.process_time() - spent
        for label in ("Article", "Section"):
            connection.execute(f"ALTER TABLE {label} DROP raw")
        began, spent = time.perf_counter(), time.process_time()
        _copied(connection, database, Path(folder) / "copy.kuzu")
        again, again_spent = time.perf_counter() - began, time.process_time() - spent
        connection.close()
        database.close()
        # A process of its own: what filling the graph has taken is not counted.
        with get_context("spawn").Pool(1) as pool:
            ours, ours_spent, memory = pool.apply(_apply, (path, nodes))
    print(f"peak memory of apply: {memory / 1024:,.0f} MB")
    return [
        _row("apply", ours, raw, "ALTER TABLE and SET"),
        _row("apply, processor time", ours_spent, raw_spent, "ALTER TABLE and SET"),
        _row("apply", ours, again, "the same rows read and copied, raw"),
        _row("apply, processor time", ours_spent, again_spent, "the same rows read and copied, raw"),
    ]


def _copied(connection: Any, database: Any, path: Path) -> None:  # Any: the engine has no types
    """The least that a new graph takes: every row read as it is, and copied into a table like its own."""
    other = type(connection)(type(database)(str(path)))
    _make_tables(other)
    for label in ("Article", "Section"):
        rows = connection.execute(f"MATCH (n:{label}) RETURN n.*").get_as_arrow(20_000)
        other.execute(f"COPY {label} FROM $rows", {"rows": rows})
    rows = connection.execute(
        "MATCH (a:Article)-[h:HAS_SECTION]->(s:Section) RETURN a.title, s.section_id, h.section_index"
    ).get_as_arrow(20_000)
    other.execute("COPY HAS_SECTION FROM $rows", {"rows": rows})
    other.execute("CHECKPOINT")
    other.close()


def _apply(path: Path, nodes: int) -> tuple[float, float, int]:
    """Seconds by the clock and of the processor, and the most memory that the process had."""
    began = time.process_time()
    seconds = asyncio.run(_rebuilt(path, nodes))
    return seconds, time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _make_tables(connection: Any) -> None:  # Any: the engine has no types
    connection.execute(
        "CREATE NODE TABLE Article(title STRING PRIMARY KEY, expansion_state STRING, expansion_depth INT32)"
    )
    connection.execute(
        "CREATE NODE TABLE Section(section_id STRING PRIMARY KEY, title STRING, content STRING, "
        "embedding FLOAT[32], level INT32)"
    )
    connection.execute("CREATE REL TABLE HAS_SECTION(FROM Article TO Section, section_index INT32)")
    connection.execute("CREATE REL TABLE LINKS_TO(FROM Article TO Article, link_type STRING)")


def _fill(connection: Any, articles: int) -> None:  # Any: the engine has no types
    import pyarrow

    _make_tables(connection)
    for first in range(0, articles, 10_000):
        titles = [f"Article {number}" for number in range(first, min(first + 10_000, articles))]
        keys = [(title, place) for title in titles for place in range(_SECTIONS)]
        tables = {
            "Article": {
                "title": titles,
                "expansion_state": ["processed"] * len(titles),
                "expansion_depth": pyarrow.array([1] * len(titles), pyarrow.int32()),
            },
            "Section": {
                "section_id": [f"{title}#{place}" for title, place in keys],
                "title": [f"part {place}" for _, place in keys],
                "content": [f"what is said of {title}" for title, _ in keys],
                "embedding": pyarrow.array([[0.5] * 32] * len(keys), pyarrow.list_(pyarrow.float32(), 32)),
                "level": pyarrow.array([2] * len(keys), pyarrow.int32()),
            },
            "HAS_SECTION": {
                "from": [title for title, _ in keys],
                "to": [f"{title}#{place}" for title, place in keys],
                "section_index": pyarrow.array([place for _, place in keys], pyarrow.int32()),
            },
        }
        for name, columns in tables.items():
            connection.execute(f"COPY {name} FROM $rows", {"rows": pyarrow.table(columns)})


async def _rebuilt(path: Path, nodes: int) -> float:
    from graph_stores.legacy import open_legacy
    from orchestrator.migration.making import TableWishes
    from orchestrator.migration.survey import Model
    from orchestrator.migration.tables import TableMigration
    from orchestrator.migration.wiki import WikiChoice

    graph = await open_legacy(f"kuzu:{path}", project="bench")
    wishes = TableWishes(project="bench", model=Model(provider="openai", model="small"), wiki=WikiChoice(lang="en"))
    began = time.perf_counter()
    outcome = await TableMigration(graph, wishes, lambda done, of: None).apply()
    seconds = time.perf_counter() - began
    assert outcome.total == nodes, outcome.total
    await graph.close()
    return seconds


def _row(what: str, ours: float, raw: float, name: str) -> Row:
    return Row(what=what, ours=ours, reference=raw, reference_name=name, reach=_REACH)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else _NODES)
