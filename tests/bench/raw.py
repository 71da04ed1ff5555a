"""The best raw way to put the same rows into an engine: what an ingestion is compared with."""

import importlib
import importlib.util
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import cypher
from graph_stores.model import ExportedEdge, ExportedNode
from graph_stores.protocol import Store

_BATCH = 5000


async def exported(store: Store) -> tuple[list[ExportedNode], list[ExportedEdge]]:
    return [node async for node in store.export_nodes()], [edge async for edge in store.export_edges()]


def copy_into_kuzu(nodes: Sequence[ExportedNode], edges: Sequence[ExportedEdge]) -> None:
    """Tables of Arrow, one COPY for each label and each pair of labels, and a checkpoint."""
    kuzu = importlib.import_module("kuzu")
    arrow = importlib.import_module("pyarrow")
    assert importlib.util is not None  # the engine uses it without importing it
    with tempfile.TemporaryDirectory() as folder:
        database = kuzu.Database(str(Path(folder) / "raw"), buffer_pool_size=1 << 30)
        connection = kuzu.Connection(database)
        for statement in _schema(nodes):
            connection.execute(statement)
        for label, rows in _by_label(nodes).items():
            names = list(rows[0])
            names = [name for name in names if any(row[name] is not None for row in rows)]
            table = arrow.table({name: [_plain(row[name]) for row in rows] for name in names})
            columns = ", ".join(f"`{name}`" for name in names)
            connection.execute(f"COPY {label}({columns}) FROM $rows", {"rows": table})
        for (kind, source, target), pairs in _by_ends(edges).items():
            names = sorted({name for _, _, properties in pairs for name in properties})
            columns = "".join(f", `{name}` INT64" for name in names)
            rel = f"{kind}_{source}_{target}"
            connection.execute(f"CREATE REL TABLE {rel}(FROM {source} TO {target}{columns})")
            table = arrow.table(
                {
                    "from": [pair[0] for pair in pairs],
                    "to": [pair[1] for pair in pairs],
                    **{name: [pair[2].get(name) for pair in pairs] for name in names},
                }
            )
            connection.execute(f"COPY {rel} FROM $rows", {"rows": table})
        connection.execute("CHECKPOINT")
        connection.close()
        database.close()


async def unwind_into_neo4j(store: Store, nodes: Sequence[ExportedNode], edges: Sequence[ExportedEdge]) -> None:
    """The rows under labels of their own, each with a constraint on its key."""
    for label, rows in _by_label(nodes).items():
        await store.query(
            f"CREATE CONSTRAINT raw_{label.lower()} IF NOT EXISTS FOR (n:Raw{label}) REQUIRE n.uuid IS UNIQUE",
            {},
            write=True,
        )
        for start in range(0, len(rows), _BATCH):
            await store.query(
                f"UNWIND $rows AS row CREATE (n:Raw{label}) SET n = row",
                {"rows": rows[start : start + _BATCH]},
                write=True,
            )
    for (kind, source, target), pairs in _by_ends(edges).items():
        rows = [{"from": pair[0], "to": pair[1], "properties": dict(pair[2])} for pair in pairs]
        for start in range(0, len(rows), _BATCH):
            await store.query(
                f"UNWIND $rows AS row MATCH (a:Raw{source} {{uuid: row.from}}) MATCH (b:Raw{target} {{uuid: row.to}}) "
                f"CREATE (a)-[r:RAW_{kind}]->(b) SET r = row.properties",
                {"rows": rows[start : start + _BATCH]},
                write=True,
            )


async def remove_raw(store: Store) -> None:
    for label in ("File", "Directory", "MarkdownSection", "Scope", "TextSection", "Chunk"):
        await store.query(
            f"MATCH (n:Raw{label}) CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 5000 ROWS", {}, write=True
        )


def _plain(value: Any) -> Any:
    """The engine's times have no zone."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _schema(nodes: Sequence[ExportedNode]) -> list[str]:
    made = [statement for migration in cypher.migrations("kuzu") for statement in migration.statements]
    dimension = next((len(node.properties["embedding"]) for node in nodes if node.properties.get("embedding")), 0)
    tables = [each for each in made if each.startswith(("CREATE NODE TABLE", "ALTER TABLE"))]
    labels = {node.label for node in nodes if node.properties.get("embedding")}
    return [*tables, *(f"ALTER TABLE {label} ADD embedding FLOAT[{dimension}]" for label in sorted(labels))]


def _by_label(nodes: Sequence[ExportedNode]) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for node in nodes:
        rows[node.label].append(dict(node.properties))
    for label, some in rows.items():
        names = list(dict.fromkeys(name for row in some for name in row))
        rows[label] = [{name: row.get(name) for name in names} for row in some]
    return rows


def _by_ends(edges: Sequence[ExportedEdge]) -> dict[tuple[str, str, str], list[tuple[str, str, Any]]]:
    pairs: dict[tuple[str, str, str], list[tuple[str, str, Any]]] = defaultdict(list)
    for edge in edges:
        pairs[edge.type, edge.source.label, edge.target.label].append(
            (edge.source.uuid, edge.target.uuid, edge.properties)
        )
    return pairs
