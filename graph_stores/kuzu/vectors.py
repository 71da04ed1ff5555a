"""Vectors in an embedded database: a list of any length on each text, searched by comparing with every vector.

A vector column is never dropped or altered: with rows added since, the next checkpoint crashes Kuzu, and again at every
later start. A list holds the vectors of any model, so another model only changes values. A graph of an earlier
graphmill has a column of fixed length; it stays until another length is needed, and is then rebuilt in a new file.

Kuzu has a vector index, but a column that was ever under one cannot be written again: SET is refused, also after the
index was dropped, and once the database was opened anew it crashes the process (docs/engines.md).
"""

import json
from collections.abc import Callable, Sequence

import cypher
from graph_stores.errors import InvalidVector
from graph_stores.kuzu.columns import VECTOR_LIST
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.errors import translate
from graph_stores.kuzu.session import DIALECT
from graph_stores.model import Hit, NodeRow, Value, Vector, VectorSpace
from graph_stores.values import check_vector

Lookup = Callable[[str, Sequence[str]], list[NodeRow]]


class Vectors:
    def __init__(self, engine: Engine, project: str) -> None:
        self._engine = engine
        self._project = project
        self._known: VectorSpace | None = None

    def recall(self) -> None:
        """Know the project's space, so that a vector can be refused before it reaches the engine."""
        if "GraphmillMeta" not in self._engine.tables.nodes:
            self._known = None
            return
        self._known = self.space()

    def space(self) -> VectorSpace | None:
        return self._spaces().get(self._project)

    def check(self, vectors: Sequence[Vector]) -> None:
        for vector in vectors:
            if vector.values is None:
                self._engine.tables.node(vector.node.label)
                continue
            if self._known is None:
                raise InvalidVector(
                    f"project {self._project} has no vector space", hint="declare the vector space first"
                )
            self._engine.tables.node(vector.node.label, ["embedding"])
            check_vector(vector.values, self._known.dimension)

    def use(self, space: VectorSpace) -> None:
        """The project's vectors are of this space from now on; those of its former space are removed."""
        labels = self._engine.tables.vector_labels
        fits = self._engine.tables.vector_kinds <= {VECTOR_LIST, f"FLOAT[{space.dimension}]"}
        lacking = [label for label in labels if "embedding" not in self._engine.tables.nodes[label]]
        if self.space() == space and fits and not lacking:
            return
        if not fits or len(self._engine.tables.vector_kinds) > 1:
            self._engine.rebuild()
        # One type for all labels, or a query over several of them would fail.
        kind = next(iter(self._engine.tables.vector_kinds), VECTOR_LIST)
        with self._engine.transaction("the vector space could not be set") as session:
            for label in lacking:
                session.run(cypher.add_column(label, "embedding", kind), keep=False)
            cleared = [
                uuid
                for label in labels
                for (uuid,) in session.run(
                    cypher.render(DIALECT, "clear_vectors", label=label), {"project": self._project}
                )
            ]
            text = json.dumps({"provider": space.provider, "model": space.model})
            key = f"vectors:{self._project}"
            session.run(
                cypher.load(DIALECT, "set_vector_space"), {"key": key, "dimension": space.dimension, "text": text}
            )
        self._engine.lists.note(changed=cleared)
        if lacking:
            self._engine.read_tables()
        self._known = space

    def search(self, vector: Sequence[float], limit: int, labels: Sequence[str], lookup: Lookup) -> list[Hit]:
        space = self.space()
        if space is None:
            return []
        check_vector(vector, space.dimension)
        scored = [
            (score, label, uuid)
            for label in labels or self._engine.tables.vector_labels
            if "embedding" in self._engine.tables.node(label)
            for uuid, score in self._nearest(label, list(map(float, vector)), limit)
        ]
        best = sorted(scored, key=lambda each: (-each[0], each[2]))[:limit]
        rows = {
            row.uuid: row
            for label in {label for _, label, _ in best}
            for row in lookup(label, [uuid for _, other, uuid in best if other == label])
        }
        return [Hit(node=rows[uuid], score=score) for score, _, uuid in best if uuid in rows]

    def _nearest(self, label: str, vector: list[float], limit: int) -> list[tuple[str, float]]:
        rows = self._run(
            "search_exact",
            {"vector": vector, "limit": limit, "project": self._project},
            label=label,
            dimension=str(len(vector)),
        )
        return [(row[0], row[1]) for row in rows]

    def _spaces(self) -> dict[str, VectorSpace]:
        rows = self._run("vector_spaces", {})
        return {
            key.removeprefix("vectors:"): VectorSpace(dimension=int(number), **json.loads(text))
            for key, number, text in rows
        }

    def _run(self, name: str, parameters: dict[str, Value], **identifiers: str) -> Sequence[Sequence[Value]]:
        try:
            return self._engine.answer(cypher.render(DIALECT, name, **identifiers), parameters)
        except RuntimeError as error:
            raise translate(error, f"the query {name} failed") from error
