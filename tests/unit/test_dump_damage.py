"""Dumps and indexes that are not what they should be: detected, named with the place, and read as far as is right."""

import bz2
from pathlib import Path

import pytest

from graph_stores.errors import GraphmillError
from pipelines.wikipedia.dump import open_dumps
from pipelines.wikipedia.dump_errors import DumpDamaged, DumpTruncated, NotADump
from pipelines.wikipedia.model import Page
from tests.unit.dump_files import FOOTER, header, numbered, write_bz2, write_multistream, write_xml, xml

NAME = "testwiki-20240501-pages-articles-multistream.xml.bz2"
INDEX = "testwiki-20240501-pages-articles-multistream-index.txt.bz2"


async def opening(path: Path, said: list[str] | None = None) -> list[str]:
    """Every text, in the order of the dump."""
    pages = await open_dumps([str(path)], say=(said if said is not None else []).append)
    try:
        texts = []
        async for titles in pages.all_titles():
            reading = await pages.read(titles)
            for end in map(reading.end_of, titles):
                assert isinstance(end, Page) and end.text is not None
                texts.append(end.text)
        return texts
    finally:
        await pages.close()


@pytest.fixture(params=["streams", "blocks"])
def by_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param == "blocks":
        monkeypatch.setattr("pipelines.wikipedia.dump_pass.LONGEST_STREAM", 100)
    return bool(request.param == "blocks")


TEXTS = [page.text for page in numbered(40)]


@pytest.mark.parametrize("share", [0.3, 0.6, 0.99])
async def test_a_compressed_dump_that_ends_early_is_refused_and_named(
    tmp_path: Path, by_blocks: bool, share: float
) -> None:
    path = write_bz2(tmp_path / "wiki.xml.bz2", numbered(40))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(DumpTruncated, match=f"ends too early, at byte {int(len(whole) * share):,}") as it:
        await opening(path)
    assert "download it again" in it.value.hint
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("streams", [1, 2, 3])
async def test_a_dump_cut_between_two_streams_is_refused(tmp_path: Path, by_blocks: bool, streams: int) -> None:
    """A decoder that ends with the first stream sees just this."""
    offsets = write_multistream(tmp_path / NAME, numbered(40), per_stream=10, index=None)
    (tmp_path / NAME).write_bytes((tmp_path / NAME).read_bytes()[: offsets[streams]])
    with pytest.raises(DumpTruncated, match=f"at byte {offsets[streams]:,}: pages may follow"):
        await opening(tmp_path / NAME)


async def test_a_truncated_dump_is_found_in_spite_of_its_index(tmp_path: Path) -> None:
    offsets = write_multistream(tmp_path / NAME, numbered(40), per_stream=10, index=tmp_path / INDEX)
    whole = (tmp_path / NAME).read_bytes()
    for size in (offsets[3] + 20, offsets[2], offsets[1] + 20):
        (tmp_path / NAME).write_bytes(whole[:size])
        with pytest.raises(DumpTruncated, match=rf"{NAME} ends too early"):
            await opening(tmp_path / NAME)
    (tmp_path / NAME).write_bytes(whole[: -len(bz2.compress(FOOTER))])
    with pytest.raises(DumpTruncated, match="pages may follow"):
        await opening(tmp_path / NAME)


@pytest.mark.parametrize("where", ["in a page", "between pages"])
async def test_plain_xml_that_ends_early_is_refused(tmp_path: Path, where: str) -> None:
    data = xml(numbered(40))
    cut = data.index(b"Number 21") if where == "in a page" else data.index(b"</page>", data.index(b"Number 20")) + 8
    (tmp_path / "wiki.xml").write_bytes(data[:cut])
    expected = "'Article 21' has no end" if where == "in a page" else "no </mediawiki>"
    with pytest.raises(DumpTruncated, match=f"at byte {cut:,}: .*{expected}"):
        await opening(tmp_path / "wiki.xml")


@pytest.mark.parametrize("at", [0.2, 0.5, 0.8])
async def test_a_damaged_byte_is_noticed(tmp_path: Path, by_blocks: bool, at: float) -> None:
    path = write_bz2(tmp_path / "wiki.xml.bz2", numbered(40, words=200))
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(DumpDamaged, match=r"wiki\.xml\.bz2"):
        await opening(path)
    assert sorted(tmp_path.iterdir()) == [path]


async def test_a_damaged_stream_is_named_by_where_it_begins(tmp_path: Path) -> None:
    offsets = write_multistream(tmp_path / NAME, numbered(40), per_stream=10, index=None)
    data = bytearray((tmp_path / NAME).read_bytes())
    data[offsets[2] + 60] ^= 0x55
    (tmp_path / NAME).write_bytes(data)
    with pytest.raises(
        DumpDamaged, match=f"is damaged at byte {offsets[2]:,}: the compressed stream cannot be decoded"
    ):
        await opening(tmp_path / NAME)
    (tmp_path / NAME).write_bytes(bytes(data[: offsets[2]]) + b"no stream at all")
    with pytest.raises(DumpDamaged, match=f"at byte {offsets[2]:,}: no bzip2 stream begins there"):
        await opening(tmp_path / NAME)


async def test_damage_that_comes_after_the_index_was_made_is_noticed_when_it_is_read(tmp_path: Path) -> None:
    offsets = write_multistream(tmp_path / NAME, numbered(40), per_stream=10, index=tmp_path / INDEX)
    data = bytearray((tmp_path / NAME).read_bytes())
    data[offsets[1] + 60] ^= 0x55
    (tmp_path / NAME).write_bytes(data)
    with pytest.raises(DumpDamaged, match=f"is damaged at byte {offsets[1]:,}"):
        await opening(tmp_path / NAME)


async def test_a_page_that_is_not_xml_is_named(tmp_path: Path) -> None:
    data = xml(numbered(3)).replace(b"Number 2.", b"Number <2.")
    (tmp_path / "wiki.xml").write_bytes(data)
    at = data.index(b"<page>", data.index(b"</page>"))
    with pytest.raises(DumpDamaged, match=f"at byte {at:,}: the page 'Article 2' cannot be read"):
        await opening(tmp_path / "wiki.xml")


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("empty.xml", b"", "it is empty"),
        ("page.xml", b"<!DOCTYPE html><html><body>404</body></html>", "it begins with '<!DOCTYPE html>"),
        ("long.xml", b"<html>" + b"<p>no dump</p>" * 500_000 + b"</html>", "it begins with '<html>"),
        ("other.xml", b"<rss><page></page></rss>", "not XML"),
        ("text.xml.bz2", b"not compressed at all", "is not compressed with bzip2"),
        ("html.xml.bz2", bz2.compress(b"<html></html>"), "it begins with '<html>"),
    ],
)
async def test_what_is_not_a_dump_is_said_to_be_none(tmp_path: Path, name: str, data: bytes, what: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(NotADump, match=rf"{name} is not a dump of MediaWiki: .*{what}"):
        await opening(tmp_path / name)


async def test_a_dump_without_pages_is_a_dump(tmp_path: Path) -> None:
    assert await opening(write_xml(tmp_path / "wiki.xml", [])) == []
    assert await opening(write_bz2(tmp_path / "wiki.xml.bz2", [])) == []


async def test_a_missing_index_is_said_once_and_made(tmp_path: Path) -> None:
    write_multistream(tmp_path / NAME, numbered(40), per_stream=10, index=None)
    said: list[str] = []
    assert await opening(tmp_path / NAME, said) == TEXTS
    assert await opening(tmp_path / NAME, said) == TEXTS
    assert len(said) == 1 and said[0].startswith(f"{INDEX} is not beside")


def shifted(lines: list[bytes]) -> list[bytes]:
    return [b"%d:%s" % (int(line.split(b":", 1)[0]) + 7, line.split(b":", 1)[1]) for line in lines]


def first_twice(lines: list[bytes]) -> list[bytes]:
    """Pages of the third stream are said to be in the first."""
    first = lines[0].split(b":", 1)[0]
    return [*lines[:10], *(first + b":" + line.split(b":", 1)[1] for line in lines[10:20]), *lines[20:]]


def shorter(lines: list[bytes]) -> list[bytes]:
    return lines[:20]


def garbled(lines: list[bytes]) -> list[bytes]:
    return [*lines[:5], b"what is this\n", *lines[5:]]


def of_another(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b":Article ", b":Somebody ") for line in lines]


@pytest.mark.parametrize("wrong", [shifted, first_twice, shorter, garbled, of_another])
async def test_a_wrong_index_is_noticed_and_another_made(
    tmp_path: Path, wrong, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that an end too far away from the last stream is seen in a small file, too.
    monkeypatch.setattr("pipelines.wikipedia.dump_official._LONGEST_END", 200)
    write_multistream(tmp_path / NAME, numbered(40), per_stream=10, index=tmp_path / INDEX)
    lines = bz2.decompress((tmp_path / INDEX).read_bytes()).splitlines(keepends=True)
    (tmp_path / INDEX).write_bytes(bz2.compress(b"".join(wrong(lines))))
    said: list[str] = []
    texts = await opening(tmp_path / NAME, said)
    assert list(dict.fromkeys(texts)) == TEXTS
    assert len(said) == 1 and "reading the whole dump to make another" in said[0]
    # The one that was made is the one that is used from now on.
    assert await opening(tmp_path / NAME, said) == TEXTS
    assert len(said) == 1


async def test_an_index_that_ends_early_is_noticed(tmp_path: Path) -> None:
    write_multistream(tmp_path / NAME, numbered(40), per_stream=10, index=tmp_path / INDEX)
    (tmp_path / INDEX).write_bytes((tmp_path / INDEX).read_bytes()[:-10])
    said: list[str] = []
    assert await opening(tmp_path / NAME, said) == TEXTS
    assert len(said) == 1 and "cannot be read to its end" in said[0]


async def test_every_error_has_a_place_and_something_to_do(tmp_path: Path) -> None:
    (tmp_path / "wiki.xml").write_bytes(header() + numbered(1)[0].xml())
    with pytest.raises(GraphmillError) as it:
        await opening(tmp_path / "wiki.xml")
    assert it.value.code == "dump_truncated" and not it.value.transient and it.value.hint
