"""Vectors in an embedded database: a column of fixed length, searched by comparing with every vector.

Kuzu has a vector index, but a column that was ever under one cannot be written again: SET is refused, also after the
index was dropped, and once the database was opened anew it crashes the process (docs/engines.md).
"""

import json
from collections.abc import Callable, Sequence

import cypher
from graph_stores.errors import InvalidVector, Misuse
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.errors import translate
from graph_stores.kuzu.session import DIALECT, Session
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
        if self._run("reshaped", {}):
            self._end_reshaping()
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
        spaces = self._spaces()
        labels = self._engine.tables.vector_labels
        if spaces.get(self._project) == space and all(
            self._engine.tables.dimension(label) == space.dimension for label in labels
        ):
            return
        for project, other in spaces.items():
            if project != self._project and other.dimension != space.dimension:
                raise Misuse(
                    f"project {project} keeps vectors of {other.dimension} numbers here, these have {space.dimension}",
                    hint="an embedded graph holds vectors of one length: give this project a file of its own",
                )
        reshaped = any(self._engine.tables.dimension(label) not in (None, space.dimension) for label in labels)
        with self._engine.transaction("the vector space could not be set") as session:
            session.run(cypher.load(DIALECT, "set_reshaped"), {"number": int(reshaped)})
            for label in labels:
                self._make_room(session, label, space.dimension)
            text = json.dumps({"provider": space.provider, "model": space.model})
            key = f"vectors:{self._project}"
            session.run(
                cypher.load(DIALECT, "set_vector_space"), {"key": key, "dimension": space.dimension, "text": text}
            )
        self._engine.read_tables()
        self._known = space
        if reshaped:
            self._end_reshaping()

    def _end_reshaping(self) -> None:
        """With rows written between a dropped column and the next checkpoint, that checkpoint crashes the process."""
        self._engine.checkpoint(wait=True)
        with self._engine.transaction("the vector space could not be set") as session:
            session.run(cypher.load(DIALECT, "set_reshaped"), {"number": 0})

    def search(self, vector: Sequence[float], limit: int, labels: Sequence[str], lookup: Lookup) -> list[Hit]:
        space = self.space()
        if space is None:
            return []
        check_vector(vector, space.dimension)
        scored = [
            (score, label, uuid)
            for label in labels or self._engine.tables.vector_labels
            if self._engine.tables.node(label) and self._engine.tables.dimension(label)
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

    def _make_room(self, session: Session, label: str, dimension: int) -> None:
        if self._engine.tables.dimension(label) == dimension:
            session.run(cypher.render(DIALECT, "clear_vectors", label=label), {"project": self._project})
            return
        session.run(cypher.render(DIALECT, "drop_vectors", label=label), keep=False)
        session.run(cypher.render(DIALECT, "add_vectors", label=label, dimension=str(dimension)), keep=False)

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
