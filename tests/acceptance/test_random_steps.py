"""Two hundred random commands on one graph: edits, model changes, kills, migrations, repairs and copies.

After every step the graph opens and `verify` finds nothing; after the last one it equals a fresh build. A failure
prints the steps that led to it: GRAPHMILL_SOAK_SEED and GRAPHMILL_SOAK_STEPS repeat or shorten a series.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from tests.conformance import old_expansions
from tests.conformance.legacy_rules import OldNode, hashed
from tests.conformance.old_graphs import OldGraph
from tests.conformance.pictures import differences

from .conftest import Cli
from .corpus import write_corpus
from .embedding_server import EmbeddingServer
from .jobs import DEADLINE, Ended, Mill, PacedEmbedder, mill_of

STEPS = int(os.environ.get("GRAPHMILL_SOAK_STEPS", "200"))
SEED = int(os.environ.get("GRAPHMILL_SOAK_SEED", "7"))
KEPT = ("--embedding-model", "openai:small")
TEXT = "a mill grinds grain between two stones"


class Legacy:
    """A graph with dirty flags that is migrated in, checked and rolled back beside the files."""

    def __init__(self, mill: Mill) -> None:
        self.mill = mill
        self.is_migrated = False

    def migrate(self) -> None:
        self.run("migrate", "apply", *KEPT)
        self.run("migrate", "validate")
        self.is_migrated = True

    def rollback(self) -> None:
        self.run("migrate", "rollback")
        self.check_restored()
        self.is_migrated = False

    def verify(self, *options: str) -> None:
        assert self.run("verify", "--json", *options).json["problems"] == []

    def run(self, *arguments: str) -> Ended:
        return self.mill.start(*self.where(), *arguments).end(deadline=DEADLINE)

    def where(self) -> tuple[str, ...]:
        raise AssertionError

    def check_restored(self) -> None:
        raise AssertionError


class LegacyFile(Legacy):
    """An older expansion in a file of its own."""

    def __init__(self, mill: Mill) -> None:
        super().__init__(mill)
        self._engine = mill.url.partition(":")[0]
        self._file = mill.cli.folder / "legacy.graph"
        command = [sys.executable, old_expansions.__file__, self._engine, str(self._file), "DOUBLE[384]"]
        subprocess.run(command, check=True)
        self._before = self._file.read_bytes()

    def where(self) -> tuple[str, ...]:
        return ("--store", f"{self._engine}:{self._file}", "--project", "legacy")

    def check_restored(self) -> None:
        assert self._file.read_bytes() == self._before


class LegacyProject(Legacy):
    """Flagged nodes in a project of their own on the server."""

    def __init__(self, mill: Mill, server: Any) -> None:
        super().__init__(mill)
        self._graph = OldGraph(server=server, project=f"legacy-{uuid4().hex[:12]}")
        vector = {"embedding_content": [0.1, 0.2, 0.3], "embedding_content_hash": hashed(TEXT)}
        texts = [
            OldNode(
                labels=["Scope"],
                linked=True,
                properties={"uuid": f"{self._graph.project} {number}", "name": f"scope {number}", "content": TEXT}
                | ({"embeddingsDirty": True} if number % 3 == 0 else vector),
            )
            for number in range(30)
        ]
        self._graph.write(texts)
        self._before = self._graph.picture()

    def where(self) -> tuple[str, ...]:
        return ("--project", str(self._graph.project))

    def check_restored(self) -> None:
        assert self._graph.picture() == self._before

    def wipe(self) -> None:
        self._graph.wipe()


@dataclass(slots=True, kw_only=True)
class Soak:
    mill: Mill
    random: Random
    models: dict[str, tuple[str, ...]]
    legacy: Legacy
    model: str = "wordllama"
    copies: int = 0
    steps: list[str] = field(default_factory=list)

    def run(self, count: int) -> None:
        write_corpus(self.mill.root, pages=16, modules=8, seed=0)
        self._ingest()
        for number in range(count):
            step = self.random.choice(self._choices())
            self.steps.append(step.__name__.strip("_"))
            try:
                step()
                self._check()
            except (AssertionError, subprocess.TimeoutExpired):
                print("\n".join(f"{at}: {name}" for at, name in enumerate(self.steps)))
                raise
            print(f"step {number + 1}: {self.steps[-1]}", flush=True)
        if self.legacy.is_migrated:
            self.legacy.rollback()
        if self.model == "none":  # it leaves the vectors that there are alone, so a fresh build has fewer
            self.model = "short"
        self._ingest()

    def _choices(self) -> list[Callable[[], None]]:
        often = [self._edit, self._delete, self._move, self._change_model, self._kill, self._kill]
        return [*often, self._ingest, self._repair, self._copy, self._lose_source, self._migrate_or_roll_back]

    def _check(self) -> None:
        assert self._command("verify", "--json").json["problems"] == []
        self._command("status")

    def _command(self, *arguments: str, code: int | None = 0) -> Ended:
        return self.mill.start(*arguments).end(code, deadline=DEADLINE)

    def _arguments(self) -> tuple[str, ...]:
        return ("ingest", str(self.mill.root), *self.models[self.model])

    def _ingest(self) -> None:
        self._command(*self._arguments())

    def _edit(self) -> None:
        self._write_something()
        self._ingest()

    def _delete(self) -> None:
        for path in self.random.sample(self._files(), 2):
            path.unlink()
        self._write_something()
        self._ingest()

    def _move(self) -> None:
        path = self.random.choice(self._files())
        path.rename(path.with_name(f"moved_{len(self.steps)}{path.suffix}"))
        self._ingest()

    def _change_model(self) -> None:
        self.model = self.random.choice([name for name in self.models if name != self.model])
        self.steps[-1] += f" to {self.model}"
        self._ingest()

    def _kill(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            self._write_something()
            if self.random.random() < 0.3:
                self.model = self.random.choice(list(self.models))
                self.steps[-1] += f" with {self.model}"
            job = self.mill.start(*self._arguments())
            time.sleep(self.random.uniform(0.3, 4.0))
            job.kill()
            self._command("status")
        self._ingest()

    def _repair(self) -> None:
        self._command("verify", "--repair")
        self._command("worker", "--drain", *self.models[self.model])

    def _copy(self) -> None:
        """Work goes on in the copy, where the graph is a file."""
        self.copies += 1
        engine = self.mill.url.partition(":")[0] if self.mill.credentials is None else "kuzu"
        url = f"{engine}:{self.mill.cli.folder / f'copy-{self.copies}.graph'}"
        self._command("copy", self.mill.url, url)
        ledger = str(self.mill.cli.folder / f"ledger-{self.copies}")
        environment = {**self.mill.cli.environment, "GRAPHMILL_STORE": url, "GRAPHMILL_LEDGER": ledger}
        copied = replace(self.mill, url=url, cli=replace(self.mill.cli, environment=environment))
        assert copied.start("verify", "--json").end(deadline=DEADLINE).json["problems"] == []
        if self.mill.credentials is None:
            self.mill = copied

    def _lose_source(self) -> None:
        """A folder that is away, or empty like an unmounted disk, costs nothing."""
        root, away = self.mill.root, self.mill.root.with_name("away")
        root.rename(away)
        if self.random.random() < 0.5:
            root.mkdir()
        self._command(*self._arguments(), code=1)
        if root.exists():
            root.rmdir()
        away.rename(root)
        self._ingest()

    def _migrate_or_roll_back(self) -> None:
        if self.legacy.is_migrated:
            self.legacy.rollback()
            return
        self.legacy.migrate()
        self.legacy.verify()
        self.legacy.verify("--repair")

    def _write_something(self) -> None:
        for path in self.random.sample(self._files(), 2):
            if path.suffix == ".md":
                path.write_text(f"{path.read_text()}\n## Added {len(self.steps)}\n\nWords {self.random.random()}.\n")
        new = self.mill.root / "notes" / f"new_{self.random.randrange(10**6)}.md"
        new.write_text(f"# New {self.random.random()}\n\nText that was not there before: {self.random.random()}.\n")

    def _files(self) -> list[Path]:
        return sorted(path for path in self.mill.root.rglob("*") if path.is_file())


@pytest.fixture(params=["kuzu", "ladybug", "neo4j"])
def soak(request: pytest.FixtureRequest, cli: Cli, embedder: PacedEmbedder) -> Iterator[Soak]:
    server = request.getfixturevalue("neo4j_server") if request.param == "neo4j" else None
    with ExitStack() as stack:
        mill = stack.enter_context(mill_of(cli, embedder, server, engine=request.param))
        endpoints = {
            name: stack.enter_context(EmbeddingServer(dimension=length))
            for name, length in (("short", 8), ("long", 300))
        }
        models: dict[str, tuple[str, ...]] = {
            name: ("--embedder", f"openai:{name}", "--embedder-url", endpoint.url)
            for name, endpoint in endpoints.items()
        }
        models |= {name: ("--embedder", name) for name in ("wordllama", "none")}
        mill.start("init").end(deadline=DEADLINE)
        legacy: Legacy = LegacyProject(mill, server) if server else LegacyFile(mill)
        if isinstance(legacy, LegacyProject):
            stack.callback(legacy.wipe)
        yield Soak(mill=mill, random=Random(SEED), models=models, legacy=legacy)


@pytest.mark.soak
@pytest.mark.timeout(4 * 3600)
def test_random_steps_leave_the_graph_as_a_fresh_build_makes_it(soak: Soak) -> None:
    soak.run(STEPS)
    found = soak.mill.picture()
    if soak.mill.credentials:
        soak.mill.wipe()
    fresh = soak.mill.beside()
    shutil.rmtree(Path(fresh.cli.environment["GRAPHMILL_LEDGER"]), ignore_errors=True)
    fresh.start(*("ingest", str(fresh.root)), *soak.models[soak.model]).end(deadline=DEADLINE)
    assert differences(found, fresh.picture()) == []
