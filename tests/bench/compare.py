"""What a kill and an unchanged run cost, graphmill beside CocoIndex: `scripts/bench compare`.

Every tool runs as a command of its own over the same folder and asks the same endpoint for vectors, which counts the
texts that it answers. Statements are counted on the wire to Neo4j. CocoIndex is installed once into a virtual
environment in the user's cache folder; GRAPHMILL_BENCH_COCOINDEX names a Python that has it already.

Another size: `PYTHONPATH=scripts python -m tests.bench.compare PAGES`.
"""

import asyncio
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from aiohttp import web
from neo4j_server import Neo4jServer
from platformdirs import user_cache_path

from tests.acceptance.embedding_server import Scripted
from tests.acceptance.jobs import PacedEmbedder
from tests.bench.corpus import write_pages
from tests.bench.table import median

COCOINDEX = "cocoindex==1.0.26"
PAGES, SECTIONS = 3000, 4
DIMENSION = 256
WAIT = 0.25  # seconds for each answer of up to 64 texts, as a remote model takes
ROUNDS = 5
ROOT = Path(__file__).parents[2]


@dataclass(kw_only=True)
class CountingEmbedder(PacedEmbedder):
    """Takes its time, and knows which texts it has answered how often."""

    async def _answer(self, request: web.Request, texts: list[str], scripted: Scripted) -> web.StreamResponse:
        await asyncio.sleep(WAIT)
        return await super()._answer(request, texts, scripted)

    @property
    def answers(self) -> Counter[str]:
        return Counter(text for sent in self.sent if sent.answered for text in sent.texts)


class BoltCounter:
    """A wire to Neo4j in a thread of its own that counts the statements (RUN messages of Bolt) that pass."""

    _HELLO, _MANIFEST, _RUN = 20, bytes.fromhex("000001ff"), 0x10

    def __init__(self, port: int) -> None:
        self._port = port
        self.statements = 0
        self.uri = ""
        self._up = threading.Event()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="bolt-counter")
        self._thread.start()
        self._up.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._wire, "127.0.0.1", 0)
        self.uri = f"bolt://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._up.set()
        await self._end.wait()
        server.close()

    async def _wire(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            there_writer.write(await reader.readexactly(self._HELLO))
            agreed = await there_reader.readexactly(4)
            writer.write(agreed)
            answers = asyncio.create_task(_copy(there_reader, writer))
            if agreed == self._MANIFEST:  # the driver chooses a version, and no capabilities
                there_writer.write(await reader.readexactly(5))
            await self._count(reader, there_writer)
            await answers
        except (OSError, asyncio.IncompleteReadError):
            pass  # one side hung up, or was killed
        finally:
            writer.close()
            there_writer.close()

    async def _count(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begins = True
        while True:
            size = await reader.readexactly(2)
            chunk = await reader.readexactly(int.from_bytes(size))
            if begins and len(chunk) > 1 and chunk[1] == self._RUN:
                self.statements += 1
            begins = not chunk
            writer.write(size + chunk)
            await writer.drain()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """How to run it, in which environment; on Neo4j, the wire that its statements pass."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    wire: BoltCounter | None = None
    spent: list[tuple[float, float]] = field(default_factory=list)

    def start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            self.command, cwd=ROOT, env=os.environ | self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def run(self) -> None:
        before, began = _processor(), time.perf_counter()
        process = self.start()
        _, said = process.communicate()
        if process.returncode:
            raise SystemExit(f"{self.name} ended with {process.returncode}: {said.decode()}")
        self.spent.append((time.perf_counter() - began, _processor() - before))

    @property
    def statements(self) -> int:
        return self.wire.statements if self.wire else 0


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of one tool: texts embedded before the kill, texts embedded twice, and what the first unchanged run asked for."""

    before: int
    again: int
    unchanged_texts: int
    unchanged_statements: int


def kill_at_half(tool: Tool, embedder: CountingEmbedder, texts: int) -> tuple[int, int]:
    """Kill it when half of the texts are answered, run it to its end, and count the texts that were answered twice."""
    embedder.start_over()
    embedder.allow(texts // 2)
    process = tool.start()
    while not embedder.holding.wait(1):
        if process.poll() is not None:
            assert process.stderr
            raise SystemExit(f"{tool.name} ended before half: {process.stderr.read().decode()}")
    process.kill()
    process.communicate()
    before = embedder.answers.total()
    embedder.drop()
    embedder.allow(None)
    tool.run()
    tool.spent.clear()
    answers = embedder.answers
    if len(answers) != texts:
        raise SystemExit(f"{tool.name} embedded {len(answers):,} different texts of {texts:,}")
    return before, answers.total() - len(answers)


def measure(tools: Sequence[Tool], embedder: CountingEmbedder, texts: int) -> dict[str, Cost]:
    killed = {tool.name: kill_at_half(tool, embedder, texts) for tool in tools}
    for tool in tools:  # with warm caches
        tool.run()
        tool.spent.clear()
    costs = {}
    for number in range(ROUNDS):  # in turns, so that a noisy moment hits all of them
        for tool in tools:
            embedder.start_over()
            sent = tool.statements
            tool.run()
            if number == 0:
                before, again = killed[tool.name]
                costs[tool.name] = Cost(
                    before=before,
                    again=again,
                    unchanged_texts=embedder.answers.total(),
                    unchanged_statements=tool.statements - sent,
                )
    return costs


def show(tools: Sequence[Tool], costs: Mapping[str, Cost], texts: int) -> None:
    reference = tools[-1]
    clock, used = ({tool.name: median([each[i] for each in tool.spent]) for tool in tools} for i in (0, 1))
    print(f"\n### Compare: {texts:,} texts in {texts // SECTIONS:,} pages, load {os.getloadavg()[0]:.0f}\n")
    print("| What | " + " | ".join(tool.name for tool in tools) + " |\n|---|" + "---|" * len(tools))
    rows = {
        "texts embedded when it was killed": [f"{costs[tool.name].before:,}" for tool in tools],
        "of these, embedded again": [f"{costs[tool.name].again:,}" for tool in tools],
        "unchanged run: texts embedded": [f"{costs[tool.name].unchanged_texts:,}" for tool in tools],
        "unchanged run: statements": [
            f"{costs[tool.name].unchanged_statements:,}" if tool.wire else "–" for tool in tools
        ],
        f"unchanged run: time ({reference.name} = 1)": [_ratio(clock, tool, reference) for tool in tools],
        f"unchanged run: processor time ({reference.name} = 1)": [_ratio(used, tool, reference) for tool in tools],
    }
    for what, cells in rows.items():
        print(f"| {what} | " + " | ".join(cells) + " |")


def _ratio(spent: Mapping[str, float], tool: Tool, reference: Tool) -> str:
    return f"{spent[tool.name] / spent[reference.name]:.2f} ({spent[tool.name]:.2f} s)"


def cocoindex_python() -> str:
    if given := os.environ.get("GRAPHMILL_BENCH_COCOINDEX"):
        return given
    folder = user_cache_path("graphmill") / COCOINDEX.replace("==", "-")
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", COCOINDEX, "neo4j"], check=True)
        (folder / "complete").touch()
    return str(python)


@contextmanager
def tools_over(pages: Path, place: Path, endpoint: str, server: Neo4jServer) -> Iterator[list[Tool]]:
    def graphmill(name: str, store: str, wire: BoltCounter | None = None) -> Tool:
        own = place / name.replace(" ", "-")
        environment = {
            "GRAPHMILL_STORE": store,
            "GRAPHMILL_EMBEDDER": "openai:counted",
            "GRAPHMILL_EMBEDDER_URL": endpoint,
            "GRAPHMILL_LEDGER": str(own / "ledger"),
            "XDG_CACHE_HOME": str(own / "cache"),  # vectors are kept from one run to the next, and begin empty
            "NEO4J_PASSWORD": server.password,
        }
        command = [sys.executable, "-m", "orchestrator.cli", "ingest", str(pages)]
        return Tool(name=name, command=command, environment=environment, wire=wire)

    with ExitStack() as stack:
        wires = [stack.enter_context(BoltCounter(server.port)) for _ in range(2)]
        flow = {
            "FOLDER": str(pages),
            "STATE": str(place / "cocoindex"),
            "BOLT": wires[1].uri,
            "ENDPOINT": endpoint,
        }
        yield [
            graphmill("graphmill, Kuzu", f"kuzu:{place / 'graph.kuzu'}"),
            graphmill("graphmill, Neo4j", wires[0].uri, wires[0]),
            Tool(
                name=COCOINDEX.replace("==", " "),
                command=[cocoindex_python(), "-P", str(ROOT / "tests" / "bench" / "cocoindex_flow.py")],
                environment=flow,
                wire=wires[1],
            ),
        ]


def main(pages: int = PAGES) -> None:
    with tempfile.TemporaryDirectory() as folder, CountingEmbedder(dimension=DIMENSION) as embedder:
        place = Path(folder)
        write_pages(place / "pages", pages, sections=SECTIONS)
        server = Neo4jServer(place / "neo4j", auth=False)
        server.start()
        try:
            with tools_over(place / "pages", place, embedder.url, server) as tools:
                show(tools, measure(tools, embedder, pages * SECTIONS), pages * SECTIONS)
        finally:
            server.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
