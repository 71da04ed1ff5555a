"""Random steps on an embedded graph with vectors.

`python -m tests.conformance.model_changes ENGINE PATH SEED FIRST DIE`

What each step does follows from the seed alone, so the graph after any number of steps is known without an engine.
The process does the steps from FIRST on, prints the number of each, and kills itself at the DIE-th moment of its guard.
"""

import asyncio
import os
import signal
import sys
from dataclasses import dataclass, field
from itertools import count
from random import Random

from graph_stores import kuzu
from graph_stores.kuzu.store import EmbeddedStore
from graph_stores.model import Batch, Edge, Ref, Select, Update, Vector, VectorSpace
from orchestrator.moves import new_node
from orchestrator.states import State

DIMENSIONS = (1, 8, 8, 256, 300)
_KINDS = ("add", "add", "vectors", "vectors", "model", "model", "edit", "delete", "checkpoint")


@dataclass(slots=True, kw_only=True)
class Step:
    """What changes; `space` is what the vectors are of from then on."""

    added: list[str] = field(default_factory=list)
    contents: dict[str, str] = field(default_factory=dict)
    vectors: dict[str, list[float] | None] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    space: VectorSpace | None = None
    checkpoint: bool = False

    async def do(self, store: EmbeddedStore, number: int) -> None:
        if self.checkpoint:
            await store._write(lambda: store._engine.checkpoint(wait=True))
        elif self.space:
            await store.use_vector_space(self.space)
        else:
            await store.commit(self._batch(number))

    def _batch(self, number: int) -> Batch:
        file = Ref(label="File", uuid=f"file {number}")
        nodes = [
            new_node(label=TEXT, uuid=uuid, name=uuid, properties={"content": self.contents[uuid]}, state=State.PARSED)
            for uuid in self.added
        ]
        return Batch(
            nodes=[*nodes, *([new_node(label=file.label, uuid=file.uuid, name="f")] if nodes else [])],
            edges=[Edge(type="HAS_SECTION", source=file, target=each.ref, properties={"index": 0}) for each in nodes],
            updates=[
                Update(node=Ref(label=TEXT, uuid=uuid), properties={"content": content})
                for uuid, content in self.contents.items()
                if uuid not in self.added
            ],
            vectors=[Vector(node=Ref(label=TEXT, uuid=uuid), values=values) for uuid, values in self.vectors.items()],
            deletions=[Ref(label=TEXT, uuid=uuid) for uuid in self.deleted],
        )


@dataclass(slots=True, kw_only=True)
class Model:
    """The graph as it must be: each text with its vector, and the space that the vectors are of."""

    contents: dict[str, str] = field(default_factory=dict)
    vectors: dict[str, list[float]] = field(default_factory=dict)
    space: VectorSpace | None = None

    @classmethod
    def after(cls, seed: int, steps: int) -> "Model":
        model = cls()
        for number in range(steps):
            model.apply(model.next_step(seed, number))
        return model

    def next_step(self, seed: int, number: int) -> Step:
        random = Random(seed * 1_000_000 + number)
        kind = random.choice(_KINDS)
        chosen = random.sample(sorted(self.contents), min(len(self.contents), random.randint(1, 30)))
        if kind == "model":
            dimension = random.choice(DIMENSIONS)
            return Step(space=VectorSpace(provider="test", model=random.choice("ab"), dimension=dimension))
        if kind == "vectors" and self.space and chosen:
            return Step(vectors={uuid: self._vector(random) if random.random() < 0.8 else None for uuid in chosen})
        if kind == "edit" and chosen:
            return Step(contents={uuid: "edited " * random.randint(0, 300) for uuid in chosen})
        if kind == "delete" and chosen:
            return Step(deleted=chosen[:5])
        if kind == "checkpoint":
            return Step(checkpoint=True)
        added = [f"{number}-{each}" for each in range(random.randint(1, 40))]
        vectors: dict[str, list[float] | None] = {uuid: self._vector(random) for uuid in added} if self.space else {}
        return Step(added=added, contents={uuid: "text " * random.randint(1, 500) for uuid in added}, vectors=vectors)

    def _vector(self, random: Random) -> list[float]:
        assert self.space
        # Such fractions single precision holds exactly.
        return [random.randint(1, 64) / 64 for _ in range(self.space.dimension)]

    def apply(self, step: Step) -> None:
        if step.space and step.space != self.space:
            self.space, self.vectors = step.space, {}
        self.contents |= step.contents
        for uuid, values in step.vectors.items():
            self.vectors.pop(uuid, None)
            if values:
                self.vectors[uuid] = values
        for uuid in step.deleted:
            del self.contents[uuid]
            self.vectors.pop(uuid, None)


TEXT = "MarkdownSection"


async def read_model(store: EmbeddedStore) -> Model:
    """The graph as it is."""
    rows = (await store.query(f"MATCH (n:{TEXT}) RETURN n.uuid, n.content, n.embedding", {})).rows
    return Model(
        contents={uuid: content for uuid, content, _ in rows},
        vectors={uuid: list(values) for uuid, _, values in rows if values is not None},
        space=await store.vector_space(),
    )


async def main(engine: str, path: str, seed: int, first: int, die: int) -> None:
    moments = count(1)

    def step(_: str) -> None:
        if next(moments) == die:
            os.kill(os.getpid(), signal.SIGKILL)

    store = await kuzu.open(f"{engine}:{path}", project="p", create=True, log_limit=1 << 16, step=step)
    await store.migrate()
    await store.nodes(Select(limit=1))
    model = Model.after(seed, first)
    for number in count(first):
        each = model.next_step(seed, number)
        await each.do(store, number)
        model.apply(each)
        print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])))
