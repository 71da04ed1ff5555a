"""`graphmill copy`: to another engine through the command line, every kind of refusal, signals, and kill -9."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from graph_stores import open_store
from graph_stores.model import ExportedNode
from graph_stores.protocol import Store
from tests.conformance.examples import Picture, picture
from tests.conformance.exports import SPACE, random_edges, random_nodes
from tests.conftest import Neo4jAccess

from .conftest import Cli, Outcome
from .jobs import DEADLINE, eventually

PROJECT = "default"
EXPORT = """
import asyncio, pickle, sys
from graph_stores import open_store
from tests.conformance.examples import picture
async def main():
    store = await open_store(sys.argv[1], project="default")
    pickle.dump(await picture(store), open(sys.argv[2], "wb"))
    await store.close()
asyncio.run(main())
"""

STUCK = """
import asyncio
from graph_stores.kuzu.store import EmbeddedStore
from orchestrator.copying import origin
async def never(self):
    await asyncio.Event().wait()
EmbeddedStore.close = never
origin._CLOSING = 0.1
origin.main()
"""


async def _grow(url: str, nodes: int) -> Picture:
    store = await open_store(url, project=PROJECT, create=True)
    await store.migrate()
    await store.use_vector_space(SPACE)
    random = Random(5)
    made = random_nodes(PROJECT, random, nodes)
    await store.restore([_short(node) for node in made], random_edges(made, random, nodes), new=True)
    before = await picture(store)
    await store.close()
    return before


def _short(node: ExportedNode) -> ExportedNode:
    """Most of a large graph is not made of the longest texts."""
    kept = {name: value for name, value in node.properties.items() if not isinstance(value, str) or len(value) < 1000}
    return ExportedNode(label=node.label, properties=kept)


def grown(cli: Cli, nodes: int = 5) -> Picture:
    return asyncio.run(_grow(f"kuzu:{cli.folder / 'graph.kuzu'}", nodes))


def picture_of(url: str) -> Picture:
    async def look() -> Picture:
        store: Store = await open_store(url, project=PROJECT)
        try:
            return await picture(store)
        finally:
            await store.close()

    return asyncio.run(look())


def done(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, outcome.err
    assert "Traceback" not in outcome.err
    return outcome


@pytest.mark.long
def test_a_graph_moves_to_the_successor_of_its_engine_and_back(cli: Cli) -> None:
    import pickle

    before = grown(cli)
    there = done(cli("copy", "kuzu:./graph.kuzu", "ladybug:./graph.lbug", "--json")).json
    assert set(there) == {
        "from", "to", "projectId", "nodes", "edges", "written", "returned", "left", "vectors", "seconds",
    }  # fmt: skip
    assert (there["nodes"]["File"]["count"], there["left"]) == (5, {})
    assert there["vectors"] == {"provider": SPACE.provider, "model": SPACE.model, "dimension": SPACE.dimension}
    cli.python(EXPORT, "ladybug:./graph.lbug", "picture")
    assert pickle.loads((cli.folder / "picture").read_bytes()) == before
    back = done(cli("copy", "ladybug:./graph.lbug", "kuzu:./back.kuzu"))
    assert back.out.startswith("50 nodes, 10 records of runs and ")  # as `status` counts them
    assert back.out.splitlines()[1:] == [
        "verified: counts and checksums of every label and relationship agree",
        "next: graphmill --store kuzu:./back.kuzu --project default status",
    ]
    assert picture_of(f"kuzu:{cli.folder / 'back.kuzu'}") == before


@pytest.mark.long
def test_what_cannot_be_copied_is_told_and_changes_nothing(filled: Cli) -> None:
    cli = filled
    cli.refused("copy", "kuzu:./graph.kuzu", "kuzu:graph.kuzu", code="same_graph", exit_code=2)
    cli.refused("copy", "kuzu:./nowhere", "kuzu:./b.kuzu", code="store_not_found")
    cli.refused("copy", "kuzzu:./nowhere", "kuzu:./b.kuzu", code="unknown_scheme", exit_code=2)
    told = cli.refused("copy", "--project", "nope", "kuzu:./graph.kuzu", "kuzu:./b.kuzu", code="nothing_to_copy")
    assert "there is no project nope in kuzu:./graph.kuzu; it has default (" in told.err
    cli.refused("copy", "ladybug:./graph.kuzu", "kuzu:./b.kuzu", code="not_a_store")
    assert [*cli.folder.glob("b.kuzu*")] == []
    done(cli("init", "--store", "kuzu:./other.kuzu"))
    cli.seed("kuzu:./other.kuzu")
    before = picture_of(f"kuzu:{cli.folder / 'other.kuzu'}")
    cli.refused("copy", "kuzu:./graph.kuzu", "kuzu:./other.kuzu", code="target_not_empty", exit_code=2)
    assert picture_of(f"kuzu:{cli.folder / 'other.kuzu'}") == before
    for text in ("CREATE NODE TABLE Tag(id INT64 PRIMARY KEY)", "UNWIND range(1, 1200) AS id CREATE (:Tag {id: id})"):
        done(cli("query", "--write", text))
    told = done(cli("copy", "kuzu:./graph.kuzu", "kuzu:./copy.kuzu"))
    assert (
        "not copied, nor their relationships, as they have no state in project default: Tag (1,200)"
        in told.out.splitlines()
    )
    assert "2 nodes had been in somebody's hands: in the copy they wait" in told.out
    assert json.loads(cli("status", "--store", "kuzu:./copy.kuzu", "--json").out)["in_flight"] == 0


@pytest.mark.long
def test_a_copy_onto_a_server_is_searched_there(cli: Cli, neo4j_server: Neo4jAccess) -> None:
    before = grown(cli)
    login = {"NEO4J_USERNAME": neo4j_server.user, "NEO4J_PASSWORD": neo4j_server.password}
    try:
        done(cli("copy", "kuzu:./graph.kuzu", neo4j_server.uri, env=login))
        done(cli("copy", neo4j_server.uri, "kuzu:./back.kuzu", env=login))
        assert picture_of(f"kuzu:{cli.folder / 'back.kuzu'}") == before
        indexes = cli("query", "--store", neo4j_server.uri, "SHOW VECTOR INDEXES YIELD name", "--json", env=login).json
        assert indexes
    finally:
        wipe = "MATCH (n) WHERE n.projectId = $project DETACH DELETE n"
        done(cli("query", "--store", neo4j_server.uri, "--write", wipe, env=login))


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*") if each.is_file())


def _left_open(graph: Path) -> list[str]:
    """What an owner that did not close the graph leaves beside it."""
    lock, socket = (graph.with_name(f"{graph.name}.{name}") for name in ("lock", "sock"))
    return [*([lock.read_text()] if lock.read_text() else []), *([socket.name] if socket.exists() else [])]


def _kills(cli: Cli, count: int) -> Iterator[float]:
    """Shares of what an undisturbed copy writes: at each of them one is killed."""
    for number in range(count):
        yield (number + 1) / (count + 1)


@pytest.mark.long
@pytest.mark.parametrize("kills", [4, pytest.param(60, marks=pytest.mark.soak)])
def test_kill_9_anywhere_and_the_same_command_goes_on_to_the_same_graph(cli: Cli, kills: int) -> None:
    before = grown(cli, nodes=500)
    undisturbed = done(cli("copy", "kuzu:./graph.kuzu", "kuzu:./whole.kuzu", "--json")).json
    whole, target = cli.folder / "whole.kuzu", cli.folder / "copy.kuzu"
    command = cli.command("copy", "kuzu:./graph.kuzu", "kuzu:./copy.kuzu", "--json")
    killed = 0
    for share in _kills(cli, kills):
        process = subprocess.Popen(
            command, cwd=cli.folder, env=cli.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wanted = share * whole.stat().st_size
        eventually(lambda: _size(target) >= wanted or process.poll() is not None, "the copy grows")  # noqa: B023
        process.kill()
        process.wait()
        killed += process.returncode == -signal.SIGKILL
    ended = done(cli("copy", "kuzu:./graph.kuzu", "kuzu:./copy.kuzu", "--json")).json
    # A copy that was begun several times ends as a smaller file than one that was not, so late kills may find it done.
    assert killed >= kills // 2
    assert (ended["nodes"], ended["edges"]) == (undisturbed["nodes"], undisturbed["edges"])
    assert picture_of(f"kuzu:{target}") == before


def test_a_copy_that_is_killed_closes_its_source(cli: Cli) -> None:
    grown(cli, nodes=500)
    source, target = cli.folder / "graph.kuzu", cli.folder / "copy.kuzu"
    process = cli.start("copy", "kuzu:./graph.kuzu", "kuzu:./copy.kuzu")
    eventually(lambda: target.exists() or process.poll() is not None, "the copy begins")
    process.kill()
    process.communicate(timeout=DEADLINE)
    eventually(lambda: not _left_open(source), "the process that reads the source closes it")


def test_a_reader_that_cannot_close_its_graph_ends_all_the_same(cli: Cli) -> None:
    grown(cli)
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK],
        cwd=cli.folder,
        env=cli.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    asked = {"url": "kuzu:./graph.kuzu", "project": PROJECT, "login": None, "again": False}
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.read(1), "it has opened the graph"
    process.communicate(timeout=DEADLINE)
    assert process.returncode == 1


@pytest.mark.long
def test_a_signal_ends_a_copy_well_and_the_same_command_goes_on(cli: Cli) -> None:
    before = grown(cli, nodes=200)
    process = cli.start("copy", "kuzu:./graph.kuzu", "kuzu:./copy.kuzu")
    eventually(lambda: (cli.folder / "copy.kuzu").exists() or process.poll() is not None, "the copy begins")
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=DEADLINE)
    assert (process.returncode, said.splitlines()[-1]) == (143, "stopped: the same command goes on from here")
    done(cli("copy", "kuzu:./graph.kuzu", "kuzu:./copy.kuzu"))
    assert picture_of(f"kuzu:{cli.folder / 'copy.kuzu'}") == before
