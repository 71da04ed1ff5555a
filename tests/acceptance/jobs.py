"""Jobs as processes that a test starts, holds up, kills and asks about, and the embedder that sets their pace."""

import asyncio
import json
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from aiohttp import web

from graph_stores import Credentials, open_store
from graph_stores.model import Value
from graph_stores.protocol import Store
from orchestrator.checks import problems
from orchestrator.ledger.place import folder_of
from orchestrator.ledger.reading import Reading
from orchestrator.ledger.reconciliation import differences as unwritten
from orchestrator.ledger.validation import validate
from orchestrator.progress import Standing, read_standing
from orchestrator.states import State
from tests.conformance.pictures import Picture, picture
from tests.conftest import Neo4jAccess

from .embedding_server import EmbeddingServer, Scripted

if TYPE_CHECKING:
    from .conftest import Cli

T = TypeVar("T")

# For whatever must come about; nothing is ever waited for this long unless it is broken.
DEADLINE = 600.0
_LOOK = 0.1
# What the job asks about the model itself, before it has any text.
PROBE = "how many numbers"
MODEL = "openai:paced"
BATCH, CALLS = 64, 2  # how many texts the job sends at once, and how often at the same time


def eventually(found: Callable[[], T], what: str, *, deadline: float = DEADLINE) -> T:
    """What is found, as soon as it is there."""
    end = time.monotonic() + deadline
    while not (answer := found()):
        assert time.monotonic() < end, f"{what}: not within {deadline:.0f} s"
        time.sleep(_LOOK)
    return answer


@dataclass(slots=True)
class Sent:
    """One request of a job."""

    texts: list[str]
    answered: bool = False


@dataclass(kw_only=True)
class PacedEmbedder(EmbeddingServer):
    """Answers for so many texts as it is let, and keeps every further request waiting.

    Texts in `free` are always answered; while it is `away` everything else is told to come back in a second.
    """

    allowed: int | None = None
    free: tuple[str, ...] = (PROBE,)
    away: bool = False
    sent: list[Sent] = field(default_factory=list)
    probed: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)
    holding: threading.Event = field(default_factory=threading.Event)
    replied: threading.Event = field(default_factory=threading.Event)
    _gate: asyncio.Future[bool] | None = None

    def allow(self, texts: int | None) -> None:
        """From now on answer for so many texts and no more; what waits for more stays. None lets everything pass."""
        self.allowed = texts
        for event in (self.probed, self.asked, self.holding, self.replied):
            event.clear()
        self._let_go(answered=True)

    def drop(self) -> None:
        """What is kept waiting belongs to a process that is dead: be done with it."""
        self._let_go(answered=False)

    def __exit__(self, *_: object) -> None:
        self.drop()
        super().__exit__()

    def is_free(self, texts: Iterable[str]) -> bool:
        return set(texts) <= set(self.free)

    def start_over(self) -> None:
        """As if nobody had ever asked."""
        self.forget()
        self.sent.clear()
        self.allow(None)

    @property
    def answered(self) -> set[str]:
        return {text for sent in self.sent if sent.answered for text in sent.texts}

    def embedded_again(self) -> list[str]:
        """Each text as often as it was sent without need."""
        counted = Counter(text for sent in self.sent for text in sent.texts)
        return list((counted - Counter(set(counted))).elements())

    def _let_go(self, *, answered: bool) -> None:
        assert self._loop
        self._loop.call_soon_threadsafe(self._open, answered)

    def _open(self, answered: bool) -> None:
        if gate := self._gate:
            self._gate = None
            gate.set_result(answered)

    async def _may_pass(self, texts: list[str]) -> bool:
        while self.allowed is not None and len(texts) > self.allowed:
            self._gate = self._gate or asyncio.get_running_loop().create_future()
            self.holding.set()
            if not await asyncio.shield(self._gate):
                return False
        if self.allowed is not None:
            self.allowed -= len(texts)
        return True

    async def _answer(self, request: web.Request, texts: list[str], scripted: Scripted) -> web.StreamResponse:
        if self.is_free(texts):
            self.probed.set()
            return await super()._answer(request, texts, scripted)
        sent = Sent(texts)
        self.sent.append(sent)
        self.asked.set()
        if not await self._may_pass(texts) or self.away:
            return web.Response(status=503, headers={"Retry-After": "1"}, body=b"away")
        answer = await super()._answer(request, texts, scripted)
        sent.answered = answer.status == 200
        self.replied.set()
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # Any: whatever the command printed
        return json.loads(self.out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A command in a process of its own. What it says goes to files, so that it never waits for the test."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    @property
    def said(self) -> str:
        return self.err.read_text(encoding="utf-8")

    def hears(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def until_it_says(self, words: str) -> None:
        eventually(lambda: words in self.said or self.process.poll() is not None, f"the words {words!r}")
        assert words in self.said, self.said

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def was_killed(self) -> bool:
        """It did not end by itself before."""
        return self.process.returncode == -signal.SIGKILL

    def end(self, code: int | None = 0, *, deadline: float = DEADLINE) -> Ended:
        """Wait until it ends by itself."""
        self.process.wait(deadline)
        ended = Ended(code=self.process.returncode, out=self.out.read_text(encoding="utf-8"), err=self.said)
        assert code is None or ended.code == code, ended
        assert "Traceback" not in ended.err, ended.err
        return ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Mill:
    """One project over one folder, on one engine; every process that it starts ends with the test."""

    cli: "Cli"
    embedder: PacedEmbedder
    root: Path
    url: str
    project: str
    credentials: Credentials | None = None
    started: list[Running] = field(default_factory=list)

    def ingest(self, *arguments: str) -> Running:
        return self.start("ingest", str(self.root), *arguments)

    def start(self, *arguments: str) -> Running:
        number = len(self.started)
        out, err = (self.cli.folder / f"{kind}-{number}.txt" for kind in ("out", "err"))
        with out.open("wb") as told, err.open("wb") as said:
            process = subprocess.Popen(
                self.cli.command(*arguments),
                cwd=self.cli.folder,
                env={**self.cli.environment},
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=said,
            )
        running = Running(process=process, out=out, err=err)
        self.started.append(running)
        return running

    def close(self) -> None:
        for running in self.started:
            running.kill()  # also what is stopped

    def beside(self) -> "Mill":
        """The same project and folder, with a graph and a memory of vectors that begin empty."""
        memory = self.cli.folder / "other-cache"
        ledger = self.cli.folder / "other-ledger"
        environment = {**self.cli.environment, "XDG_CACHE_HOME": str(memory), "GRAPHMILL_LEDGER": str(ledger)}
        url = self.url
        if self.credentials is None:
            url = environment["GRAPHMILL_STORE"] = f"{self.url}-beside"
        return replace(self, cli=replace(self.cli, environment=environment), url=url)

    def ask(self, query: str) -> list[list[Value]]:
        """The rows, from whoever owns the graph."""

        async def answer(store: Store) -> list[list[Value]]:
            table = await store.query(query, {"project": self.project} if "$project" in query else {})
            return [list(row) for row in table.rows]

        return self.with_store(answer)

    def standing(self) -> Standing:
        return self.with_store(read_standing)

    def waiting(self, *labels: str) -> int:
        """How many nodes of these labels nobody has in hand yet; at least one where there are none at all."""
        counted = self.standing().labels
        return sum(
            counted.get(label, {State.PENDING: 1}).get(state, 0)
            for label in labels
            for state in (State.PENDING, State.PARSED, State.LINKED)
        )

    def most_tries(self) -> int:
        """The most that any node has failed; one that succeeds has failed nothing."""
        [[tries]] = self.ask("MATCH (n) WHERE n.projectId = $project RETURN max(n._retryCount) AS tries")
        return int(tries or 0)

    def picture(self) -> Picture:
        return self.with_store(picture, share=False)

    def wrong(self) -> list[str]:
        """What is not as it must be, in the graph and in the ledger of every change that led to it."""

        async def look(store: Store) -> list[str]:
            with Reading.open(self.ledger) as reading:
                missing = await unwritten(store, reading)
            return [*map(str, await problems(store)), *map(str, missing)]

        # A line that a killed process was about to write may be torn: nobody was told that it is there.
        of_ledger = [str(each) for each in validate(self.ledger).problems.values() if each.check != "damage"]
        return [*self.with_store(look), *of_ledger]

    @property
    def ledger(self) -> Path:
        return folder_of(self.url, self.project, Path(self.cli.environment["GRAPHMILL_LEDGER"]))

    def wipe(self) -> None:
        self.change("MATCH (n) WHERE n.projectId = $project DETACH DELETE n")

    def change(self, query: str) -> None:
        """What no job does, while none runs."""

        async def work(store: Store) -> None:
            await store.query(query, {"project": self.project}, write=True)

        self.with_store(work, share=False)

    def with_store(self, work: Callable[[Store], Awaitable[T]], *, share: bool = True) -> T:
        async def run() -> T:
            store = await open_store(self.url, project=self.project, credentials=self.credentials, share=share)
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(run())


@contextmanager
def mill_of(
    cli: "Cli",
    embedder: PacedEmbedder,
    server: Neo4jAccess | None = None,
    *,
    keeps: bool = False,
    engine: str = "kuzu",
) -> Iterator[Mill]:
    """A mill without a graph yet, in the command line's folder; set up by the environment alone.

    What it put on a server goes with it, unless the server `keeps` it.
    """
    project = f"mill-{uuid4().hex[:12]}"
    url = server.uri if server else f"{engine}:{cli.folder / 'graph.kuzu'}"
    environment = {
        **cli.environment,
        "GRAPHMILL_STORE": url,
        "GRAPHMILL_PROJECT": project,
        "GRAPHMILL_EMBEDDER": MODEL,
        "GRAPHMILL_EMBEDDER_URL": embedder.url,
        "GRAPHMILL_WORKERS": "1",
        "GRAPHMILL_LEDGER": str(cli.folder / "ledger"),
        "XDG_CACHE_HOME": str(cli.folder / "cache"),
    }
    credentials = Credentials(user=server.user, password=server.password) if server else None
    if server:
        environment |= {"NEO4J_USERNAME": server.user, "NEO4J_PASSWORD": server.password}
    mill = Mill(
        cli=replace(cli, environment=environment),
        embedder=embedder,
        root=cli.folder / "corpus",
        url=url,
        project=project,
        credentials=credentials,
    )
    mill.root.mkdir()
    try:
        yield mill
    finally:
        mill.close()
        if server and not keeps:
            mill.wipe()
