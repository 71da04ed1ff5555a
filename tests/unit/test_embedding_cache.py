"""The file of vectors: remembers across openings and processes, stays within its size, and never stops a job."""

import asyncio
import logging
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from graph_stores.model import VectorSpace
from pipelines.embedding import VectorCache, text_hash
from pipelines.embedding.vectors import row, to_bytes

ROOT = Path(__file__).parents[2]
SPACE = VectorSpace(provider="wordllama", model="model", dimension=4)
LARGE = VectorSpace(provider="wordllama", model="model", dimension=1024)


@asynccontextmanager
async def opened(path: Path, **options: Any) -> AsyncIterator[VectorCache]:
    cache = await VectorCache.open(path, **options)
    try:
        yield cache
    finally:
        await cache.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "vectors.sqlite3"


def numbers(first: float, space: VectorSpace = SPACE) -> bytes:
    return to_bytes(row([first] * space.dimension))


ONE, TWO = text_hash("one"), text_hash("two")


async def test_what_was_put_is_there_after_opening_anew(path: Path) -> None:
    async with opened(path) as cache:
        assert await cache.get_many(SPACE, [ONE]) == {}
        await cache.put_many(SPACE, {ONE: numbers(1.0)})
    async with opened(path) as cache:
        assert await cache.get_many(SPACE, [ONE, TWO]) == {ONE: numbers(1.0)}


async def test_spaces_are_kept_apart(path: Path) -> None:
    others = [
        VectorSpace(provider="openai", model="model", dimension=4),
        VectorSpace(provider="wordllama", model="another", dimension=4),
        VectorSpace(provider="wordllama", model="model", dimension=5),
    ]
    async with opened(path) as cache:
        await cache.put_many(SPACE, {ONE: numbers(1.0)})
        assert [await cache.get_many(other, [ONE]) for other in others] == [{}, {}, {}]


async def test_a_vector_of_another_length_is_not_known(path: Path) -> None:
    async with opened(path) as cache:
        await cache.put_many(SPACE, {ONE: numbers(1.0)[:-1]})
        assert await cache.get_many(SPACE, [ONE]) == {}
        await cache.put_many(SPACE, {ONE: numbers(2.0)})
        assert await cache.get_many(SPACE, [ONE]) == {ONE: numbers(2.0)}


async def test_two_handles_see_what_the_other_puts(path: Path) -> None:
    async with opened(path) as first, opened(path) as second:
        await first.put_many(SPACE, {ONE: numbers(1.0)})
        await second.put_many(SPACE, {TWO: numbers(2.0), ONE: numbers(1.0)})
        assert await first.get_many(SPACE, [ONE, TWO]) == {ONE: numbers(1.0), TWO: numbers(2.0)}


WRITER = """
import asyncio, pathlib, sys
from graph_stores.model import VectorSpace
from pipelines.embedding import VectorCache, text_hash
async def main():
    cache = await VectorCache.open(pathlib.Path(sys.argv[1]))
    space = VectorSpace(provider="wordllama", model="model", dimension=4)
    for batch in range(20):
        await cache.put_many(space, {text_hash(f"{sys.argv[2]} {batch} {n}"): b"\\0\\0\\0\\1" * 4 for n in range(20)})
    await cache.close()
asyncio.run(main())
"""


async def test_several_processes_write_at_the_same_time(path: Path) -> None:
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(path), name, cwd=ROOT, stderr=asyncio.subprocess.PIPE
        )
        for name in "abc"
    ]
    told = [(await writer.communicate())[1] for writer in writers]
    assert told == [b"", b"", b""]
    wanted = [text_hash(f"{name} {batch} {n}") for name in "abc" for batch in range(20) for n in range(20)]
    async with opened(path) as cache:
        assert len(await cache.get_many(SPACE, wanted)) == 1200


async def test_what_was_not_used_the_longest_goes_first(path: Path) -> None:
    async with opened(path) as cache:
        await cache.put_many(LARGE, {ONE: numbers(1.0, LARGE), TWO: numbers(2.0, LARGE)})
    largest = 128 * 1024
    async with opened(path, largest=largest) as cache:
        assert await cache.get_many(LARGE, [ONE])  # and so TWO is the older of the two
        for number in range(60):
            await cache.put_many(LARGE, {text_hash(str(number)): numbers(1.0, LARGE)})
    async with opened(path, largest=largest) as cache:
        assert await cache.get_many(LARGE, [TWO]) == {}
    assert path.stat().st_size <= largest + 64 * 1024


async def test_a_used_vector_outlives_unused_ones(path: Path) -> None:
    async with opened(path) as cache:
        await cache.put_many(LARGE, {text_hash(str(number)): numbers(1.0, LARGE) for number in range(100)})
        await cache.put_many(LARGE, {ONE: numbers(1.0, LARGE)})
        await cache.put_many(LARGE, {text_hash(str(number)): numbers(1.0, LARGE) for number in range(100, 200)})
    async with opened(path) as cache:
        assert await cache.get_many(LARGE, [ONE])
    async with opened(path, largest=256 * 1024) as cache:
        left = await cache.get_many(LARGE, [text_hash(str(number)) for number in range(200)])
        assert len(left) < 60
        assert await cache.get_many(LARGE, [ONE])


def scribble_over_the_beginning(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"this is not a database " * 10)


def scribble_over_the_pages(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))


def make_it_short(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(5000)


async def fill(path: Path) -> None:
    async with opened(path) as cache:
        await cache.put_many(SPACE, {text_hash(str(number)): numbers(1.0) for number in range(2000)})


@pytest.mark.parametrize("damage", [scribble_over_the_beginning, scribble_over_the_pages, make_it_short])
async def test_a_damaged_file_is_set_aside_and_begun_anew(
    path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    await fill(path)
    damage(path)
    async with opened(path) as cache:
        for number in range(2000):
            await cache.get_many(SPACE, [text_hash(str(number))])
        await cache.put_many(SPACE, {ONE: numbers(1.0)})
        await cache.put_many(SPACE, {TWO: numbers(1.0)})
        assert await cache.get_many(SPACE, [ONE, TWO])
    assert path.with_name(path.name + ".damaged").exists()
    assert "set aside" in caplog.text
    async with opened(path) as cache:
        assert await cache.get_many(SPACE, [TWO]) == {TWO: numbers(1.0)}


async def test_a_file_that_is_damaged_while_it_is_used_is_replaced(path: Path) -> None:
    await fill(path)
    async with opened(path) as cache:
        scribble_over_the_pages(path)
        for number in range(2000):
            await cache.get_many(SPACE, [text_hash(str(number))])
        await cache.put_many(SPACE, {ONE: numbers(1.0)})
        assert await cache.get_many(SPACE, [ONE]) == {ONE: numbers(1.0)}


async def test_what_another_process_began_anew_is_not_set_aside(path: Path) -> None:
    await fill(path)
    async with opened(path) as slow:
        scribble_over_the_pages(path)
        async with opened(path) as quick:
            await quick.get_many(SPACE, [text_hash(str(number)) for number in range(2000)])
            await quick.put_many(SPACE, {ONE: numbers(1.0)})
        await slow.get_many(SPACE, [text_hash(str(number)) for number in range(2000)])
        await slow.put_many(SPACE, {TWO: numbers(2.0)})
    async with opened(path) as cache:
        assert await cache.get_many(SPACE, [ONE, TWO]) == {ONE: numbers(1.0), TWO: numbers(2.0)}


async def works_without(path: Path) -> None:
    async with opened(path) as cache:
        await cache.put_many(SPACE, {ONE: numbers(1.0)})
        assert await cache.get_many(SPACE, [ONE]) == {}


async def test_a_place_that_cannot_be_written_is_done_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    await works_without(tmp_path / "file" / "vectors.sqlite3")
    await works_without(tmp_path)
    assert caplog.text.count("going on without the cache") == 2


async def test_a_newer_format_is_left_alone(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 9")
    before = path.read_bytes()
    await works_without(path)
    assert path.read_bytes() == before
    assert "format 9 is newer" in caplog.text


async def test_a_file_that_another_holds_is_done_without_for_once(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.embedding.cache._PATIENCE", 0.0)
    caplog.set_level(logging.WARNING)
    await fill(path)
    async with opened(path) as cache:
        await cache.get_many(SPACE, [ONE])  # so that it knows the space
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await cache.put_many(SPACE, {ONE: numbers(1.0)})
            assert await cache.get_many(SPACE, [text_hash("5")]) == {text_hash("5"): numbers(1.0)}
            other.execute("ROLLBACK")
        assert "was not used" in caplog.text
        await cache.put_many(SPACE, {TWO: numbers(2.0)})
        assert await cache.get_many(SPACE, [ONE, TWO]) == {TWO: numbers(2.0)}


async def test_concurrent_calls_are_answered_one_after_the_other(path: Path) -> None:
    async with opened(path) as cache:
        hashes = [text_hash(str(number)) for number in range(50)]
        await asyncio.gather(*(cache.put_many(SPACE, {each: numbers(1.0)}) for each in hashes))
        assert len(await cache.get_many(SPACE, hashes)) == 50
