"""The index beside a dump: made once, whole or not at all, gone on with after a kill, shared by several processes."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pipelines.wikipedia import dump_index
from pipelines.wikipedia.dump import DumpPages, open_dumps
from pipelines.wikipedia.model import Page
from tests.unit.dump_files import article, numbered, write_bz2, write_multistream, write_xml

ROOT = Path(__file__).parents[2]

# Says how far it is, and waits for a word before it goes on.
BUILDS = """
import asyncio, sys
from pipelines.wikipedia import dump_index
from pipelines.wikipedia.dump import open_dumps

dump_index._COMMIT_AFTER = 10
marks = 0
mark = dump_index.IndexWriter.mark

def counted(writer, **facts):
    global marks
    mark(writer, **facts)
    marks += 1
    print("mark", facts.get("resume"), flush=True)
    if marks == int(sys.argv[2]):
        sys.stdin.readline()

dump_index.IndexWriter.mark = counted

async def main():
    pages = await open_dumps([sys.argv[1]], say=lambda line: print("said", line, flush=True))
    await pages.close()
    print("done", flush=True)

asyncio.run(main())
"""


def building(path: Path, pause_at: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(BUILDS), str(path), str(pause_at)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


async def texts(pages: DumpPages) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    async for titles in pages.all_titles():
        reading = await pages.read(titles)
        found |= {title: end.text for title in titles if isinstance(end := reading.end_of(title), Page)}
    return found


def index_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.graphmill-index")


def read_until(process: "subprocess.Popen[str]", beginning: str, times: int = 1) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    while len(lines) < times:
        line = process.stdout.readline()
        assert line, "it ended before"
        if line.startswith(beginning):
            lines.append(line.strip())
    return lines


async def opened(path: Path) -> tuple[dict[str, str | None], list[float], list[str]]:
    """Every text, and what was told while opening."""
    shares: list[float] = []
    said: list[str] = []
    source = await open_dumps([str(path)], say=said.append, progress=lambda _, share: shares.append(share))
    try:
        return await texts(source), shares, said
    finally:
        await source.close()


@pytest.mark.parametrize("kind", ["multistream", "xml", "bz2"])
async def test_a_killed_build_leaves_nothing_half_and_goes_on_where_it_was(tmp_path: Path, kind: str) -> None:
    pages = numbered(60, words=15_000 if kind == "xml" else 50)
    path = tmp_path / ("wiki.xml" if kind == "xml" else "wiki.xml.bz2")
    # A file of one stream has no place to go on from: it is killed when its index is whole but for the name.
    times = 1 if kind == "bz2" else 2
    match kind:
        case "multistream":
            write_multistream(path, pages, per_stream=5, index=None)
        case "xml":
            write_xml(path, pages)
        case "bz2":
            write_bz2(path, pages)
    with building(path, times) as killed:
        marks = read_until(killed, "mark", times)
        killed.send_signal(signal.SIGKILL)
    assert not index_of(path).exists()

    with building(path, -1) as resumed:
        out, _ = resumed.communicate()
    assert out.endswith("done\n")
    again = [line for line in out.splitlines() if line.startswith("mark")]
    # None of the places before the kill is passed again.
    assert kind == "bz2" or (len(again) > 1 and not set(marks) & set(again[:-1]))
    found, shares, _ = await opened(path)
    assert found == {page.title: page.text for page in pages}
    assert shares == []
    assert sorted(each.name for each in tmp_path.iterdir()) == [path.name, index_of(path).name]


async def test_of_two_processes_one_makes_the_index_and_the_other_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "wiki.xml.bz2"
    write_multistream(path, numbered(40), per_stream=5, index=None)
    with building(path, 1) as first:
        read_until(first, "mark")
        with building(path, 1) as second:
            [line] = read_until(second, "said")
            assert line.endswith("to make its index: waiting for it")
            first.communicate("go on\n")
            out, _ = second.communicate()
    assert out == "done\n"
    assert first.returncode == second.returncode == 0
    found, shares, _ = await opened(path)
    assert len(found) == 40 and shares == []


async def test_an_index_is_made_once_and_again_when_the_dump_changes(tmp_path: Path) -> None:
    path = write_xml(tmp_path / "wiki.xml", numbered(3))
    assert (await opened(path))[1][-1] == 1.0
    assert (await opened(path))[1] == []
    write_xml(path, [*numbered(3), article(9, "New", "new")])
    found, shares, _ = await opened(path)
    assert shares and found["New"] == "new"
    os.utime(path, ns=(1, 1))
    assert (await opened(path))[1]


@pytest.mark.parametrize("there", [b"", b"not a database, but long enough to be looked at" * 100])
async def test_what_is_no_index_is_replaced_by_one(tmp_path: Path, there: bytes) -> None:
    path = write_xml(tmp_path / "wiki.xml", numbered(3))
    index_of(path).write_bytes(there)
    Path(f"{index_of(path)}.building").write_bytes(there)
    assert len((await opened(path))[0]) == 3
    assert (await opened(path))[1] == []


async def test_where_nothing_can_be_written_beside_the_dump_the_index_is_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_xml(tmp_path / "wiki.xml", numbered(3))
    places = [Path("/dev/null/wiki.xml.graphmill-index"), tmp_path / "cache" / "dumps" / "wiki.xml.graphmill-index"]
    monkeypatch.setattr("pipelines.wikipedia.dump_file.index_paths", lambda dump, ending: places)
    assert (await opened(path))[1]
    assert (await opened(path))[1] == []
    assert places[1].is_file()
    monkeypatch.setattr("pipelines.wikipedia.dump_file.index_paths", lambda dump, ending: places[:1])
    with pytest.raises(dump_index.IndexUnwritable, match="neither beside the dump nor in"):
        await opened(path)


def test_the_cache_is_another_one_for_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    beside, cached = dump_index.index_paths(tmp_path / "a" / "wiki.xml", "graphmill-index")
    _, other = dump_index.index_paths(tmp_path / "b" / "wiki.xml", "graphmill-index")
    assert beside == (tmp_path / "a" / "wiki.xml.graphmill-index").resolve()
    assert cached.name == other.name and cached != other


async def test_an_opening_that_is_cancelled_stops_its_pass_and_can_be_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.wikipedia.dump_streams._CHUNK", 1000)
    path = write_xml(tmp_path / "wiki.xml", numbered(500))
    begun = asyncio.Event()
    opening = asyncio.ensure_future(open_dumps([str(path)], say=print, progress=lambda *_: begun.set()))
    await begun.wait()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert len((await opened(path))[0]) == 500
