"""The demo's show: commands are told, printed and run, one of them stopped half way on purpose.

Owns what is shown and in which order. The work is done by the commands that are printed, each a process of its own.
"""

import asyncio
import os
import shlex
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TextIO

import graph_stores
from cypher import catalogue
from graph_stores.errors import GraphmillError
from orchestrator.cli import stopping
from orchestrator.config import SETTINGS

_SEED = "Watermill"
_DEPTH = 4
_QUESTION = "which wheel works with little water falling from high up?"
# Of the requests for texts: the seed is in the first, its links are in the second, and in the third most of the wiki.
_HALF_WAY = 3
# Seconds that an answer takes; else all is read before a bar is drawn.
_LATENCY = 0.2


class DemoFailed(GraphmillError):
    """A command of the demo did not end as it should on any machine."""

    code = "demo_failed"


@dataclass(slots=True, kw_only=True)
class Show:
    """Says what comes, and runs commands before everybody's eyes."""

    folder: Path
    out: TextIO
    ended: list[Mapping[str, object]] = field(default_factory=list)

    def say(self, text: str) -> None:
        print(f"\n{text}", file=self.out, flush=True)

    async def run(self, *arguments: str, until: asyncio.Event | None = None) -> bool:
        """Run the command to its end, or until the event; returns whether it was stopped by it."""
        command = shlex.join(["graphmill", *arguments])
        self.say(f"$ {command}")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "orchestrator.cli", *arguments),
            cwd=self.folder,
            env=_environment(),
            stdin=DEVNULL,
            stdout=self.out,
        )
        try:
            stopped = until is not None and await _stopped(process, until)
            code = await process.wait()
        except BaseException:
            await _end(process)
            raise
        self.ended.append({"command": command, "exit_code": code})
        if code != (128 + signal.SIGINT if stopped else 0):
            raise DemoFailed(
                f"{command} ended with {code}", hint=f"what it said is above, its graph is in {self.folder}"
            )
        return stopped


def play(show: Show, *, wiki: str, docs: str, store: str) -> int:
    """The whole show; returns the exit code."""
    heard = stopping.Stopping(as_json=False, message="stopped")
    stopping.run(_play(show, heard, wiki=wiki, docs=docs, store=store), heard)
    return 0


async def _play(show: Show, heard: stopping.Stopping, *, wiki: str, docs: str, store: str) -> None:
    heard.ask = partial(stopping.cancel, asyncio.current_task())
    await _expand(show, show.folder / wiki)
    if (show.folder / docs).exists():
        show.say("A folder goes into the same graph: these are graphmill's own docs.")
        await show.run("ingest", docs)
    show.say("Every node says where it stands.")
    await show.run("status")
    show.say("It is an ordinary graph, so it can be asked anything in Cypher.")
    await show.run("query", _most_linked(store))
    show.say("Every section has a vector, so it can be asked in your own words.")
    await show.run("search", _QUESTION, "--limit", "2")


async def _expand(show: Show, dump: Path) -> None:
    from pipelines.wikipedia.local_api import LocalWiki, serve

    wiki = LocalWiki.from_dump(dump)
    reader = _Reader()
    show.say(f"A small wiki about mills is served on this machine. From {_SEED} all of it is a few links away.")
    async with serve(wiki, interfere=reader.heard) as url:
        command = ("expand", _SEED, "--depth", str(_DEPTH), "--api-url", url)
        if await show.run(*command, until=reader.half_way):
            show.say("That was the demo, which pressed Ctrl-C half way. The same command goes on from there.")
            await show.run(*command)


class _Reader:
    """Hears how far whoever reads the wiki has come, and makes every text take its time."""

    def __init__(self) -> None:
        self.half_way = asyncio.Event()
        self._requests = 0

    async def heard(self, _: object, asked: Mapping[str, str]) -> None:
        if "content" not in asked.get("rvprop", ""):
            return
        self._requests += 1
        if self._requests == _HALF_WAY:
            self.half_way.set()
        await asyncio.sleep(_LATENCY)


async def _stopped(process: Process, event: asyncio.Event) -> bool:
    """Wait for the end or for the event, which stops the process as Ctrl-C does."""
    ending, coming = asyncio.create_task(process.wait()), asyncio.create_task(event.wait())
    try:
        await asyncio.wait([ending, coming], return_when=asyncio.FIRST_COMPLETED)
    finally:
        ending.cancel()
        coming.cancel()
    if process.returncode is not None:
        return False
    process.send_signal(signal.SIGINT)
    return True


async def _end(process: Process) -> None:
    """It may have heard the same Ctrl-C; of two signals at once it takes note of one."""
    if process.returncode is None:
        process.terminate()
        await process.wait()


def _most_linked(store: str) -> str:
    return next(query.text for query in catalogue(graph_stores.dialect_of(store)) if query.name == "most-linked")


def _environment() -> dict[str, str]:
    """The environment without the settings of the user's own graphs.

    One process parses: for so little, starting a second one takes longer than it saves.
    """
    ours = {name for setting in SETTINGS for name in setting.environment.split()}
    return {name: value for name, value in os.environ.items() if name not in ours} | {"GRAPHMILL_WORKERS": "1"}
