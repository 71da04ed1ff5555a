"""What interrupts a job half way: a person, a supervisor, an embedder that is away. The same command then goes on."""

import asyncio
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from orchestrator.cli.process import VARIABLE
from orchestrator.cli.running import STOPPING
from tests.conformance.neo4j_proxy import Proxy, proxy_to
from tests.conformance.pictures import differences

from .corpus import write_corpus
from .jobs import BATCH, CALLS, DEADLINE, Mill, Running, eventually

SOME = 40


@pytest.fixture
def half_way(mill: Mill) -> Running:
    """An ingest that has embedded some of its texts and waits for the others."""
    write_corpus(mill.root, pages=20, modules=20)
    mill.embedder.allow(SOME)
    job = mill.ingest()
    assert mill.embedder.holding.wait(DEADLINE)
    return job


def test_ctrl_c_finishes_what_is_in_flight_and_nothing_is_done_again(mill: Mill, half_way: Running) -> None:
    half_way.hears(signal.SIGINT)
    half_way.until_it_says(STOPPING)
    mill.embedder.allow(None)
    ended = half_way.end(130)
    assert ended.out.startswith("40 files read")
    standing = mill.standing()
    assert (standing.in_flight, standing.stuck, standing.in_error) == (0, 0, 0)
    again = mill.ingest("--json").end().json
    assert again["states"] == {"ready": again["total"]}
    assert mill.embedder.embedded_again() == []


@pytest.fixture
def hasty(mill: Mill) -> Mill:
    """Its jobs wait ten seconds for what is in flight when they are stopped, and ten more for the rest."""
    return replace(mill, cli=replace(mill.cli, environment={**mill.cli.environment, VARIABLE: "20"}))


@pytest.mark.long
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_a_stop_gives_back_what_an_endpoint_that_hangs_keeps_waiting(
    hasty: Mill, number: signal.Signals, code: int
) -> None:
    mill = hasty
    write_corpus(mill.root, pages=20, modules=20)
    mill.embedder.allow(SOME)
    half_way = mill.ingest()
    assert mill.embedder.holding.wait(DEADLINE)
    half_way.hears(number)
    ended = half_way.end(code)
    assert STOPPING in ended.err
    standing = mill.standing()
    assert (standing.in_flight, standing.stuck, standing.in_error) == (0, 0, 0)
    assert standing.remaining > 0
    assert f"stopped with {standing.remaining} nodes left: the same command goes on from here" in ended.out
    assert mill.most_tries() == 0
    mill.embedder.drop()
    mill.embedder.allow(None)
    mill.ingest().end()
    assert len(mill.embedder.embedded_again()) <= CALLS * BATCH
    beside = mill.beside()
    beside.ingest().end()
    assert differences(mill.picture(), beside.picture()) == []


def test_a_job_waits_for_an_embedder_that_is_away_and_blames_no_text(mill: Mill, half_way: Running) -> None:
    embedder = mill.embedder
    embedder.away = True
    embedder.allow(None)
    half_way.until_it_says("the embedder does not answer")
    assert mill.most_tries() == 0
    embedder.away = False
    half_way.end()
    assert mill.most_tries() == 0
    standing = mill.standing()
    assert (standing.in_error, standing.remaining) == (0, 0)


@dataclass(slots=True, kw_only=True)
class Line:
    """A wire to the server that is cut for a while: who calls then is hung up on, and counted."""

    proxy: Proxy
    is_cut: bool = False
    refused: int = 0
    port: int = 0

    def cut(self) -> None:
        self.is_cut = True
        for wire in self.proxy.wires:
            wire.cancel()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            self.refused += 1
            writer.close()
        else:
            await self.proxy.serve(reader, writer)


@pytest.fixture
async def line(shared_mill: Mill) -> AsyncIterator[Line]:
    async with proxy_to(shared_mill.url) as proxy:
        line = Line(proxy=proxy)
        server = await asyncio.start_server(line.answer, "127.0.0.1", 0)
        line.port = server.sockets[0].getsockname()[1]
        try:
            yield line
        finally:
            server.close()
            line.cut()
            await server.wait_closed()


async def test_a_job_goes_on_by_itself_when_the_server_can_be_reached_again(shared_mill: Mill, line: Line) -> None:
    mill, embedder = shared_mill, shared_mill.embedder
    write_corpus(mill.root, pages=4, modules=2)
    embedder.allow(0)
    job = mill.start("ingest", str(mill.root), "--json", "--store", f"bolt://127.0.0.1:{line.port}")
    assert await asyncio.to_thread(embedder.holding.wait, DEADLINE)
    line.cut()
    embedder.allow(None)
    await asyncio.to_thread(eventually, lambda: line.refused > 5, "the job calls again and again")
    line.is_cut = False
    ended = (await asyncio.to_thread(job.end)).json
    assert ended["states"] == {"ready": ended["total"]}
    assert ended["embedded"] == sum(ended["labels"][label]["ready"] for label in ("MarkdownSection", "Scope"))
    assert await asyncio.to_thread(mill.most_tries) == 0
