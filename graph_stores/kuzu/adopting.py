"""Labels, properties and relationships that a migration brought: what an embedded graph has of them, and making room.

Every table that is made for a label has graphmill's own columns too, so that its nodes can be worked on.
"""

import re
from collections.abc import Mapping

import cypher
from graph_stores.errors import GraphmillError, PermanentStoreError
from graph_stores.kuzu.columns import Tables
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.session import DIALECT
from graph_stores.model import Brought, Value

_VECTOR = "embedding"
_META = "GraphmillMeta"
_LENGTH = re.compile(r"\[\d+\]")
_PLAIN = {
    **dict.fromkeys(("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "SERIAL"), "INT64"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "DOUBLE"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_MS", "TIMESTAMP_SEC"), "TIMESTAMP"),
    **{kind: kind for kind in ("STRING", "BOOL", "DATE")},
}


class CannotAdopt(PermanentStoreError):
    code = "cannot_adopt"


def brought(engine: Engine, project: str) -> Brought:
    tables = engine.tables
    found = _Found(engine, project)
    nodes = {label: found.of_nodes(label) for label in tables.labels if engine.holds_any(label)}
    there = frozenset(nodes)
    edges = {
        (kind, *ends): found.of_edges(kind, *ends)
        for kind, pairs in tables.pairs.items()
        for ends in pairs
        if there.issuperset(ends)
    }
    return Brought(
        labels=[label for label in tables.adopted if label in nodes],
        nodes=nodes,
        edges=edges,
        untyped=found.untyped,
        lost=found.lost,
        left=found.left_behind(),
    )


class _Found:
    def __init__(self, engine: Engine, project: str) -> None:
        self._engine = engine
        self._project = project
        self.untyped: list[str] = []
        self.lost: list[str] = []

    def of_nodes(self, label: str) -> dict[str, str]:
        types: dict[str, str] = {}
        for name, kind in self._engine.tables.nodes[label].items():
            if name == _VECTOR:
                continue
            if plain := _plain(kind):
                types[name] = plain
            elif self._count("brought_used", label=label, column=name):
                self.lost.append(f"{label}.{name} is of the type {kind}")
        return types

    def of_edges(self, kind: str, source: str, target: str) -> dict[str, str]:
        types: dict[str, str] = {}
        ends = {"type": kind, "source": source, "target": target}
        for name, type_ in self._engine.tables.edges[kind].items():
            if plain := _plain(type_):
                types[name] = plain
            elif self._count("brought_used_on_edges", column=name, **ends):
                self.lost.append(f"{kind}.{name} is of the type {type_}")
        if kind not in _own_names() and self._count("brought_twice", **ends):
            self.lost.append(f"{kind} goes more than once from one {source} to the same {target}")
        return types

    def left_behind(self) -> dict[str, int]:
        counts = {label: self._left(label) for label in sorted(self._engine.tables.nodes) if label != _META}
        return {label: count for label, count in counts.items() if count}

    def _left(self, label: str) -> int:
        tables = self._engine.tables
        if tables.nodes[label].get("projectId") != "STRING":
            return self._ask(cypher.render(DIALECT, "count_rows", label=label), {})
        asked = {"project": self._project, "hasStates": label in tables.labels}
        return self._ask(cypher.render(DIALECT, "left_behind", label=label), asked)

    def _count(self, question: str, **names: str) -> int:
        return self._ask(cypher.render(DIALECT, question, **names), {"project": self._project})

    def _ask(self, text: str, parameters: Mapping[str, Value]) -> int:
        rows = self._engine.answer(text, parameters)
        return int(rows[0][0]) if rows else 0


def adopt(engine: Engine, wanted: Brought) -> None:
    tables = engine.tables
    _check(tables, wanted)
    statements = [*_tables_for(tables, wanted), *_edges_for(tables, wanted)]
    noted = [{"key": f"label:{label}", "text": label} for label in wanted.labels]
    if not statements and set(wanted.labels) <= set(tables.adopted):
        return
    with engine.transaction("the tables of a migrated graph could not be made") as session:
        for text in statements:
            session.run(text, keep=False)
        for each in noted:
            session.run(cypher.load(DIALECT, "migration/label_write"), each)
    engine.read_tables()
    engine.checkpoint(wait=True)


def _tables_for(tables: Tables, wanted: Brought) -> list[str]:
    own = {**tables.nodes["Chunk"], "_chunks": "INT64"}
    made = []
    for label, columns in wanted.nodes.items():
        there = tables.nodes.get(label)
        if there is None:
            made.append(cypher.add_table(label, "uuid", own["uuid"]))
            made += [cypher.add_column(label, *each) for each in own.items() if each[0] != "uuid"]
        known = own if there is None else there
        made += [cypher.add_column(label, *each) for each in columns.items() if each[0] not in known]
    return made


def _edges_for(tables: Tables, wanted: Brought) -> list[str]:
    made: list[str] = []
    pairs = {kind: set(there) for kind, there in tables.pairs.items()}
    columns = {kind: set(there) for kind, there in tables.edges.items()}
    pieces: Mapping[tuple[str, str, str], Mapping[str, str]] = {
        ("HAS_CHUNK", label, "Chunk"): {} for label in wanted.labels
    }
    for (kind, source, target), types in {**pieces, **wanted.edges}.items():
        form = "add_pair" if kind in pairs else "add_relationship"
        if (source, target) not in pairs.setdefault(kind, set()):
            made.append(cypher.render(DIALECT, f"migration/{form}", type=kind, source=source, target=target))
            pairs[kind].add((source, target))
        for name, type_ in types.items():
            if name not in columns.setdefault(kind, set()):
                made.append(cypher.add_column(kind, name, type_))
                columns[kind].add(name)
    return made


def _check(tables: Tables, wanted: Brought) -> None:
    """Before anything is made: one column has one type, and the engine does not tell large letters from small ones."""
    own = {**tables.nodes["Chunk"], "_chunks": "INT64"}
    for label, columns in wanted.nodes.items():
        _check_columns(label, tables.nodes.get(label, own), columns)
    for (kind, *_), columns in wanted.edges.items():
        _check_columns(kind, tables.edges.get(kind, {}), columns)


def _check_columns(table: str, there: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    known = {name.lower(): (name, kind) for name, kind in there.items()}
    for name, kind in wanted.items():
        other, other_kind = known.setdefault(name.lower(), (name, kind))
        if other != name:
            raise _refused(f"{table} has the properties {name} and {other}, which this engine takes for one")
        if kind != (_plain(other_kind) or other_kind):
            raise _refused(f"{table}.{name} is of the type {kind}, and here of the type {other_kind}")


def _refused(message: str) -> GraphmillError:
    return CannotAdopt(message, hint="rename the property in the graph that it comes from")


def _plain(kind: str) -> str | None:
    """The type of the same values that every engine has."""
    lists = kind.endswith("]")
    plain = _PLAIN.get(_LENGTH.sub("", kind).removesuffix("[]"))
    return plain and (f"{plain}[]" if lists else plain)


def _own_names() -> frozenset[str]:
    return frozenset(name for each in cypher.migrations(DIALECT) for name in each.creates)
