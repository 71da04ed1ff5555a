"""What an embedded database holds that graphmill did not make, or has migrated: which of its tables are of an
expansion, which have marks, which are somebody's own; and what stands in the way. Reads only."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from graph_stores.legacy import MigrationRefused, TableGraph
from graph_stores.model import VectorSpace
from orchestrator.migration.making import Between, TableWishes, is_expansion
from orchestrator.migration.mapped import MappedTables
from orchestrator.migration.rebuild import KNOWN, OWN_EDGES
from orchestrator.migration.report import Found, Shape, Verdict
from orchestrator.migration.survey import Models, own_labels, vectors_told
from orchestrator.states import RECORDS

TEXTS = ("Section", "Chunk")
# The engines' own exchange of columns loses values of these.
_TOO_ODD = ("UNION(", "INTERVAL", "INT128")
# By these the pages of a migration call things themselves.
_OF_PAGES = ("_place", "_from", "_to")
_OF_GRAPHMILL = RECORDS.union(("Wiki", "GraphmillMeta"))


class OldTables:
    def __init__(self, graph: TableGraph, wishes: TableWishes) -> None:
        self._graph = graph
        self._wishes = wishes

    @property
    def record(self) -> dict[str, Any]:
        if not self._graph.is_graphmill:
            return {}
        rows = self._graph.rows("record_read", {})
        return dict(json.loads(rows[0][0])) if rows else {}

    @property
    def backup(self) -> str | None:
        return str(self._graph.backup) if self._graph.backup.exists() else None

    @property
    def is_expansion(self) -> bool:
        return is_expansion(self._graph)

    def mapped(self) -> MappedTables:
        """The tables with marks. Beside an expansion only a mapping makes them so: they may be anything."""
        space = self.expansion_space() if self.is_expansion else None
        model = self._wishes.model
        return MappedTables.of(
            self._graph,
            self._wishes.mapping,
            but=self._not_mapped(),
            project=self._wishes.project,
            given=model,
            configured=None,
            dimension=space.dimension if space else None,
        )

    def _not_mapped(self) -> Sequence[str]:
        if not self.is_expansion:
            return ()
        return KNOWN if self._wishes.mapping else list(self._graph.tables.nodes)

    def carried(self, mapped: MappedTables) -> list[str]:
        """Tables that go over as they are."""
        own = (*mapped.labels, *(KNOWN if self.is_expansion else ()))
        return sorted(label for label in self._graph.tables.nodes if label not in own)

    def edges(self, *, pieces: bool) -> list[Between]:
        """Relationships that go over as they are, by type and the labels at their ends."""
        own = {(kind, pair) for kind, pair in OWN_EDGES.items() if kind != "HAS_CHUNK" or not pieces}
        return [
            (kind, pair)
            for kind, pairs in sorted(self._graph.tables.pairs.items())
            for pair in sorted(pairs)
            if not self.is_expansion or (kind, pair) not in own
        ]

    def detect(self) -> Found:
        counts = {label: self._graph.places(label)[1] for label in self._graph.tables.nodes if label != "GraphmillMeta"}
        mapped = self.mapped()
        verdict = self._verdict(counts, mapped)
        shapes = [
            Shape(
                generation=self._generation(label, verdict, mapped),
                label=label,
                count=count,
                examples=self._examples(label),
            )
            for label, count in sorted(counts.items())
            if count
        ]
        left = {label: counts[label] for label in self.carried(mapped)} if verdict is Verdict.LEGACY else {}
        return Found(
            store=self._graph.url,
            verdict=verdict,
            shapes=shapes,
            advice=self._advice(verdict, counts, left),
            vectors=vectors_told(self.models(mapped)) if verdict is Verdict.LEGACY else (),
            left=left,
        )

    def _generation(self, label: str, verdict: Verdict, mapped: MappedTables) -> str:
        if verdict is not Verdict.LEGACY:
            return "unknown" if verdict is Verdict.FOREIGN else verdict.value
        if label in mapped.labels:
            return "mapped" if self._wishes.mapping else "marked"
        return "expansion" if self.is_expansion and label in KNOWN else "unknown"

    def _verdict(self, counts: Mapping[str, int], mapped: MappedTables) -> Verdict:
        if self.record and not self.record.get("finalized"):
            return Verdict.MIGRATED
        if self._graph.is_graphmill:
            return Verdict.GRAPHMILL
        if self.is_expansion or mapped.labels:
            return Verdict.LEGACY
        return Verdict.FOREIGN if any(counts.values()) else Verdict.EMPTY

    def _advice(self, verdict: Verdict, counts: Mapping[str, int], left: Mapping[str, int]) -> str:
        match verdict:
            case Verdict.LEGACY:
                if self._odd():
                    return f"migrate plan will refuse it: {self._odd()}"
                others = f"; {', '.join(left)} will go over as they are, without a state" if left else ""
                return f"see what would become of it with migrate plan{others}"
            case Verdict.MIGRATED:
                return "it is migrated: check it with migrate validate; then migrate finalize, or migrate rollback"
            case Verdict.FOREIGN:
                seen = "; ".join(
                    f"{label} ({', '.join(list(self._graph.tables.nodes[label])[:8])})" for label in sorted(counts)
                )
                return (
                    f"no table is one that graphmill knows; it found {seen}. If some column says how far a node is, "
                    "name it in a file for migrate plan --mapping FILE.toml"
                )
        return "there is nothing to migrate: " + (
            "the graph is empty" if verdict is Verdict.EMPTY else _whose(self.record)
        )

    def _odd(self) -> str:
        found = []
        if self._graph.odd:
            found.append(f"names with other characters than letters, digits and _: {', '.join(self._graph.odd)}")
        if columns := self._too_odd():
            found.append(f"columns of types or names that cannot be carried over: {', '.join(columns)}")
        if tables := self._like_ours():
            found.append(f"tables that are called like graphmill's own: {', '.join(tables)}")
        return "; ".join(found)

    def _too_odd(self) -> list[str]:
        tables = {**self._graph.tables.nodes, **self._graph.tables.edges}
        return [
            f"{table}.{name} ({kind})"
            for table, columns in sorted(tables.items())
            for name, kind in columns.items()
            if any(odd in kind for odd in _TOO_ODD) or name in _OF_PAGES
        ]

    def _like_ours(self) -> list[str]:
        """Tables that would come into graphmill's own without being what those are."""
        mapped = self.mapped().labels
        known = KNOWN if self.is_expansion else ()
        return [
            label
            for label in sorted(self._graph.tables.nodes)
            if label in _OF_GRAPHMILL or (label in own_labels() and label not in (*mapped, *known))
        ]

    def _examples(self, label: str) -> list[str]:
        key = self._graph.keys.get(label) or next(iter(self._graph.tables.nodes[label]))
        rows = self._graph.rows("node_page", {"first": 0, "last": 3}, [key], label=label)
        return [str(row[1]) for row in rows]

    def models(self, mapped: MappedTables) -> Models:
        """Which models the rows name for their vectors."""
        found = mapped.models()
        for label in TEXTS if self.is_expansion else ():
            if self.dimension(label):
                found += mapped.models_of(label, ["embedding"])
        return found

    def dimension(self, label: str = "Section") -> int | None:
        kind = self._graph.tables.nodes.get(label, {}).get("embedding", "")
        number = kind.rpartition("[")[2].removesuffix("]")
        return int(number) if kind.startswith(("DOUBLE[", "FLOAT[")) and number.isdigit() else None

    def expansion_space(self) -> VectorSpace | None:
        """What the vectors are kept as; None where nobody knows what made them, or their length is another."""
        model, dimension = self._wishes.model, self.dimension() or self.dimension("Chunk")
        if model is None or dimension is None or (model.dimension and model.dimension != dimension):
            return None
        return VectorSpace(provider=model.provider, model=model.model, dimension=dimension)

    def space(self, mapped: MappedTables) -> VectorSpace | None:
        own = self.expansion_space() if self.is_expansion else None
        return own or (mapped.basis.space if mapped.labels else None)

    def refuse_others(self) -> None:
        if self._graph.is_graphmill:
            raise MigrationRefused(_whose(self.record), hint="there is nothing to migrate")
        if self._odd():
            raise MigrationRefused(f"the graph has {self._odd()}", hint="change that first; nothing was changed")
        mapped = self.mapped()
        if self._wishes.mapping or mapped.labels:
            mapped.check()
        if not self.is_expansion and not mapped.labels:
            raise MigrationRefused(
                "nothing in this graph is known",
                hint=self._advice(Verdict.FOREIGN, dict.fromkeys(self._graph.tables.nodes, 0), {}),
            )


def when(record: Mapping[str, Any]) -> str | None:
    """When it was finalized, as far as that was noted."""
    finalized = record.get("finalized")
    return finalized if isinstance(finalized, str) else "some time ago" if finalized else None


def finalized_at(record: Mapping[str, Any]) -> str:
    known = when(record)
    return "" if known is None else f" ({known})"


def _whose(record: Mapping[str, Any]) -> str:
    made = f", made by a migration that was finalized{finalized_at(record)}" if when(record) else ""
    return f"this is graphmill's own graph{made}"
