"""The version of an embedded database's schema, and bringing it up to date."""

from dataclasses import replace

import cypher
from graph_stores.errors import NotAStore, SchemaNewer
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.session import DIALECT
from graph_stores.protocol import SchemaStatus


class Schema:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def status(self) -> SchemaStatus:
        migrations = cypher.migrations(DIALECT)
        newest = migrations[-1].number
        tables = self._engine.tables
        there = {*tables.nodes, *tables.edges}
        if "GraphmillMeta" not in there:
            return SchemaStatus(found=None, newest=newest)
        rows = self._engine.answer(cypher.load(DIALECT, "schema_version"), {})
        found = int(rows[0][0]) if rows else None
        expected = [name for each in migrations if found and each.number <= found for name in each.creates]
        return SchemaStatus(found=found, newest=newest, missing=[name for name in expected if name not in there])

    def migrate(self) -> SchemaStatus:
        """Each file in a transaction with the version it leads to; a backup first where there is something to lose."""
        before = self.status()
        if before.found is not None and before.found > before.newest:
            raise SchemaNewer(
                f"the graph has schema version {before.found}, this graphmill knows up to {before.newest}",
                hint="upgrade graphmill: pip install --upgrade graphmill",
            )
        if before.found == before.newest and not before.missing:
            return before
        self._refuse_tables_of_others()
        backup = self._backup(before.found) if before.found is not None and before.found < before.newest else None
        for migration in cypher.migrations(DIALECT):
            lacks = migration.alters.union(migration.creates).intersection(before.missing)
            if before.found is None or migration.number > before.found or lacks:
                self._apply(migration, version=max(migration.number, before.found or 0))
        self._engine.read_tables()
        return replace(self.status(), backup=backup)

    def _refuse_tables_of_others(self) -> None:
        """One by the name of ours and without our key would be taken for ours ever after, and could not be migrated."""
        ours = {name for each in cypher.migrations(DIALECT) for name in each.creates}
        for label, columns in self._engine.tables.nodes.items():
            if label in ours and not label.startswith("Graphmill") and "uuid" not in columns:
                raise NotAStore(
                    f"{self._engine.path} has a table {label} that graphmill did not make",
                    hint="see what can become of it with: graphmill migrate detect; nothing was changed",
                )

    def _apply(self, migration: cypher.Migration, version: int) -> None:
        # The first file makes the node that counts commits, so it cannot be counted itself.
        with self._engine.transaction(f"migration {migration.number} failed", counted=migration.number > 1) as session:
            for statement in migration.statements:
                session.run(statement, keep=False)
            session.run(cypher.load(DIALECT, "set_schema_version"), {"number": version})

    def _backup(self, version: int) -> str:
        self._engine.checkpoint(wait=True)
        return str(self._engine.guard.backup(f"before-schema-{version + 1}"))
