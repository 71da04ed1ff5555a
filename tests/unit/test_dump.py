"""Pages from dumps of every layout: what is found under a title, in which order, and which revision wins."""

import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_stores.errors import Misuse
from pipelines.wikipedia import dump_streams
from pipelines.wikipedia.dump import DumpPages, open_dumps
from pipelines.wikipedia.model import Absence, Absent, Page, Reading, Redirect
from tests.unit.dump_files import (
    DumpPage,
    article,
    header,
    numbered,
    write_bz2,
    write_cut,
    write_multistream,
    write_xml,
)

MULTISTREAM = "testwiki-20240501-pages-articles-multistream.xml.bz2"
INDEX = "testwiki-20240501-pages-articles-multistream-index.txt.bz2"


@asynccontextmanager
async def dumps(*patterns: Path | str, said: list[str] | None = None) -> AsyncIterator[DumpPages]:
    pages = await open_dumps([str(each) for each in patterns], say=(said if said is not None else []).append)
    try:
        yield pages
    finally:
        await pages.close()


def write_as(layout: str, folder: Path, pages: Sequence[DumpPage]) -> str:
    """Write the pages and give the pattern of what was written."""
    match layout:
        case "xml":
            write_xml(folder / "wiki.xml", pages)
        case "bz2" | "blocks":
            write_bz2(folder / "wiki.xml.bz2", pages)
        case "cut":
            write_cut(folder / "wiki.xml.bz2", pages, every=700)
        case "multistream":
            write_multistream(folder / MULTISTREAM, pages, per_stream=3, index=folder / INDEX)
        case "multistream without index":
            write_multistream(folder / MULTISTREAM, pages, per_stream=3, index=None)
        case "parts":
            for number, some in enumerate((pages[::2], pages[1::2]), 1):
                write_multistream(
                    folder / f"w-multistream{number}.xml-p{number}p9.bz2",
                    some,
                    per_stream=2,
                    index=folder / f"w-multistream-index{number}.txt-p{number}p9.bz2",
                )
    return str(folder / "*.bz2") if layout != "xml" else str(folder / "wiki.xml")


PLACES = {"xml": "plain", "blocks": "blocks"}
LAYOUTS = ["xml", "bz2", "blocks", "cut", "multistream", "multistream without index", "parts"]


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name: str = request.param
    if name == "blocks":
        monkeypatch.setattr("pipelines.wikipedia.dump_pass.LONGEST_STREAM", 100)
    return name


EVERY_KIND = [
    article(1, "Jazz", "'''Jazz''' is [[music]] & <b>more</b>.\n[[Category:Music]]"),
    DumpPage(title="Jass", text="#REDIRECT [[jazz#Origin]]", page_id=2, revision_id=1002, redirect="Jazz"),
    DumpPage(title="Yazz", text="#Redirect: [[Jass]]", page_id=3, revision_id=1003),
    DumpPage(title="Round", text="#REDIRECT [[Trip]]", page_id=4, revision_id=1004, redirect="Trip"),
    DumpPage(title="Trip", text="#REDIRECT [[Round]]", page_id=5, revision_id=1005, redirect="Round"),
    DumpPage(title="Marked", text="An article after all.", page_id=6, revision_id=1006, redirect="Jazz"),
    DumpPage(title="Gone", text=None, page_id=7, revision_id=1007),
    DumpPage(title="Data", text="{}", page_id=8, revision_id=1008, model="json"),
    DumpPage(title="Talk:Jazz", text="I like it.", page_id=9, revision_id=1009, namespace=1),
    DumpPage(title="Category:Music", text="[[Category:Arts]]", page_id=10, revision_id=1010, namespace=14),
    DumpPage(title="To talk", text="#REDIRECT [[Talk:Jazz]]", page_id=11, revision_id=1011, redirect="Talk:Jazz"),
    DumpPage(title="Nowhere", text="#REDIRECT [[Not written]]", page_id=12, revision_id=1012),
    article(13, 'Émile: a "life" & <b>death</b>'.replace("<b>", "(").replace("</b>", ")"), "Ünïcode 音楽."),
    DumpPage(title="Old", text="new", page_id=14, revision_id=1014, older=((900, "old"), (1013, "older"))),
    DumpPage(title="De: an album", text="It only looks like German.", page_id=15, revision_id=1015),
    article(16, "Blank", ""),
]


async def test_every_kind_of_page_is_found_as_what_it_is(tmp_path: Path, layout: str) -> None:
    async with dumps(write_as(layout, tmp_path, EVERY_KIND)) as pages:
        asked = ["jazz", "Jass", "Yazz", "Marked", "Gone", "Data", "Talk:Jazz", "To talk", "Nowhere", "Round", "Old"]
        reading = await pages.read([*asked, 'Émile:_a "life" & (death)', "De: an album", "fr:Jazz", "a[b", "Blank"])
    jazz = reading.found["Jazz"]
    assert isinstance(jazz, Page)
    # Which titles lead to a page is known where the pages were passed through, and not from Wikimedia's own index.
    assert list(jazz.redirects) == ([] if layout in ("multistream", "parts") else ["Jass"])
    assert replace(jazz, redirects=()) == Page(
        title="Jazz",
        page_id=1,
        revision_id=1001,
        timestamp=datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC),
        text="'''Jazz''' is [[music]] & <b>more</b>.\n[[Category:Music]]",
    )
    assert reading.titles["jazz"] == "Jazz"
    assert reading.found["Jass"] == Redirect(title="Jass", target="Jazz", fragment="Origin")
    assert reading.end_of("Yazz") == reading.found["Jazz"]
    ends = {title: reading.end_of(title) for title in reading.titles}
    absent = {title: end.absence for title, end in ends.items() if isinstance(end, Absent)}
    assert absent == {
        "Gone": Absence.MISSING,
        "Data": Absence.NO_ARTICLE,
        "Talk:Jazz": Absence.NO_ARTICLE,
        "To talk": Absence.NO_ARTICLE,
        "Nowhere": Absence.MISSING,
        "Round": Absence.LOOP,
        "fr:Jazz": Absence.ELSEWHERE,
        "a[b": Absence.INVALID,
    }
    texts = {title: end.text for title, end in ends.items() if isinstance(end, Page)}
    assert texts["Old"] == "new"
    assert texts["Marked"] == "An article after all."
    assert texts['Émile:_a "life" & (death)'] == "Ünïcode 音楽."
    assert texts["De: an album"] == "It only looks like German."
    assert texts["Blank"] == ""


async def test_looking_finds_the_same_without_texts(tmp_path: Path, layout: str) -> None:
    async with dumps(write_as(layout, tmp_path, EVERY_KIND)) as pages:
        titles = [page.title for page in EVERY_KIND]
        read, looked = await pages.read(titles), await pages.look(titles)
    assert looked.titles == read.titles and looked.found.keys() == read.found.keys()
    for title, found in looked.found.items():
        there = read.found[title]
        if isinstance(found, Page) and isinstance(there, Page):
            assert found.text is None and there.text is not None
            assert (found.page_id, found.revision_id) == (there.page_id, there.revision_id)
        else:
            assert found == there


async def test_all_titles_are_articles_and_redirects_in_the_order_of_the_dump(tmp_path: Path) -> None:
    pages = [*numbered(620), *EVERY_KIND[1:4], EVERY_KIND[8]]
    async with dumps(write_xml(tmp_path / "wiki.xml", pages)) as source:
        some = [list(titles) async for titles in source.all_titles()]
        again = [list(titles) async for titles in source.all_titles()]
    assert some == again
    assert [title for titles in some for title in titles] == [page.title for page in pages[:-1]]
    assert all(len(titles) <= 500 for titles in some)


async def test_reading_everything_in_order_decompresses_every_stream_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_multistream(tmp_path / MULTISTREAM, numbered(700), index=tmp_path / INDEX)
    async with dumps(tmp_path / MULTISTREAM) as source:
        begun: list[int] = []
        real = dump_streams.stream_chunks

        def counted(path, file, start=0, *, longest=None):
            begun.append(start)
            return real(path, file, start, longest=longest)

        monkeypatch.setattr("pipelines.wikipedia.dump_file.stream_chunks", counted)
        async for titles in source.all_titles():
            for at in range(0, len(titles), 50):
                await source.read(titles[at : at + 50])
    assert len(begun) == len(set(begun)) == 7


async def test_the_site_is_what_the_dump_says(tmp_path: Path) -> None:
    said = header(wiki=None, lang="de", version="0.3", base="http://de.wikipedia.org/wiki/Hauptseite")
    old = [
        DumpPage(title="Jazz", text="Musik", page_id=1, revision_id=5, namespace=None, model=None),
        DumpPage(title="Talk:Jazz", text="Rede", page_id=2, revision_id=6, namespace=None, model=None),
        DumpPage(title="Jatz", text="#WEITERLEITUNG [[Jazz]]", page_id=3, revision_id=7, namespace=None, model=None),
    ]
    async with dumps(write_xml(tmp_path / "alt.xml", old, said)) as pages:
        titles = [list(some) async for some in pages.all_titles()]
        reading = await pages.read(["Jatz"])
    assert (pages.site.wiki, pages.site.lang) == ("dewiki", "de")
    assert pages.site.article_url == "http://de.wikipedia.org/wiki/$1"
    assert pages.site.namespaces["category"] == 14 and pages.site.namespaces["image"] == 6
    assert titles == [["Jazz", "Jatz"]]
    assert isinstance(reading.end_of("Jatz"), Page)


async def test_a_dump_without_a_word_of_its_wiki_is_taken_to_be_of_the_others(tmp_path: Path) -> None:
    bare = b'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10">\n'
    write_xml(tmp_path / "a.xml", numbered(1), bare)
    write_xml(tmp_path / "b.xml", [article(7, "Other", "text")])
    async with dumps(tmp_path / "*.xml") as pages:
        assert pages.site.wiki == "testwiki"
    async with dumps(tmp_path / "a.xml") as pages:
        assert (pages.site.wiki, pages.site.lang) == ("enwiki", "en")


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("indexed", [True, False])
async def test_of_several_dumps_the_newest_revision_wins_in_any_order(
    tmp_path: Path, names: tuple[str, str], indexed: bool
) -> None:
    older = [article(1, "Jazz", "old", revision=9), article(2, "Swing", "newest", revision=50)]
    newer = [article(1, "Jazz", "new", revision=10), article(2, "Swing", "newer", revision=49)]
    paths = [tmp_path / f"{name}-multistream.xml.bz2" for name in names]
    for path, pages in zip(paths, (older, newer), strict=True):
        index = path.with_name(path.name.replace(".xml.bz2", "-index.txt"))
        write_multistream(path, pages, per_stream=1, index=index if indexed else None)
    async with dumps(*paths) as source:
        reading = await source.read(["Jazz", "Swing"])
        titles = [title async for some in source.all_titles() for title in some]
    assert {title: page.text for title, page in reading.found.items() if isinstance(page, Page)} == {
        "Jazz": "new",
        "Swing": "newest",
    }
    assert sorted(titles) == ["Jazz", "Swing"]


async def test_of_one_title_twice_in_a_dump_the_newest_revision_wins(tmp_path: Path) -> None:
    pages = [article(1, "Jazz", "new", revision=10), article(1, "Jazz", "old", revision=9)]
    async with dumps(write_xml(tmp_path / "wiki.xml", pages)) as source:
        reading = await source.read(["Jazz"])
        assert [list(some) async for some in source.all_titles()] == [["Jazz"]]
    end = reading.end_of("Jazz")
    assert isinstance(end, Page) and end.text == "new"


async def test_dumps_of_different_wikis_are_refused(tmp_path: Path) -> None:
    write_xml(tmp_path / "a.xml", numbered(1))
    write_xml(tmp_path / "b.xml", numbered(1), header(wiki="otherwiki"))
    with pytest.raises(Misuse, match=r"b\.xml is a dump of otherwiki, and .*a\.xml one of testwiki"):
        async with dumps(tmp_path / "*.xml"):
            pass


async def test_a_pattern_that_matches_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    for pattern in ("none-*.xml", "*.txt"):
        with pytest.raises(Misuse, match=r"no dump is at '.*\*"):
            async with dumps(tmp_path / pattern):
                pass


async def test_members_are_found_down_to_the_depth_by_the_newest_revisions(tmp_path: Path) -> None:
    def category(number: int, name: str, text: str) -> DumpPage:
        return DumpPage(title=f"Category:{name}", text=text, page_id=number, revision_id=number, namespace=14)

    first = [
        article(1, "Jazz", "[[category: music |key]] [[:Category:Not]] <!-- [[Category:Hidden]] -->", revision=1),
        article(2, "Swing", "[[Category:Jazz styles]]", revision=2),
        article(3, "Left", "[[Category:Music]]", revision=3),
        category(4, "Jazz styles", "[[Category:Music]]"),
        category(5, "Music", "[[Category:Small bands]]"),
        category(6, "Small bands", "[[Category:Jazz styles]]"),
        article(7, "Trio", "[[Category:Small_bands]]", revision=7),
    ]
    write_multistream(tmp_path / MULTISTREAM, first, per_stream=2, index=tmp_path / INDEX)
    write_xml(tmp_path / "newer.xml", [article(3, "Left", "No category any more.", revision=30)])
    said: list[str] = []
    async with dumps(tmp_path / MULTISTREAM, tmp_path / "newer.xml", said=said) as pages:
        assert await pages.members("Music", depth=0) == ["Jazz"]
        assert await pages.members("category:music", depth=1) == ["Jazz", "Swing"]
        assert await pages.members("Music", depth=9) == ["Jazz", "Swing", "Trio"]
        assert await pages.members("Hidden", depth=0) == []
        assert await pages.members("Not", depth=0) == []
    assert len(said) == 1 and "which category" in said[0]


async def test_near_titles_are_those_that_were_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [*numbered(300), article(1001, "Machine learning", "x"), article(1002, "Jazz", "x")]
    async with dumps(write_xml(tmp_path / "wiki.xml", pages)) as source:
        assert (await source.near("machine Lerning"))[0] == "Machine learning"
        assert await source.near("Jaz", limit=1) == ["Jazz"]
        assert await source.near("qqqqqqqq") == []
        # A large wiki is not compared as a whole.
        monkeypatch.setattr("pipelines.wikipedia.dump._ALL_COMPARED", 10)
        assert (await source.near("Machine Learnin"))[0] == "Machine learning"


async def test_progress_is_told_up_to_the_whole(tmp_path: Path) -> None:
    path = write_bz2(tmp_path / "wiki.xml.bz2", numbered(50))
    told: list[tuple[Path, float]] = []
    pages = await open_dumps([str(path)], say=print, progress=lambda where, share: told.append((where, share)))
    await pages.close()
    assert told[-1] == (path.resolve(), 1.0)
    assert [share for _, share in told] == sorted(share for _, share in told)


TITLES = st.sampled_from(["A", "B", "C", "D", "E:f", "G & h", "Ünï"])
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"), max_size=40),
    TITLES.map(lambda title: f"#REDIRECT [[{title}]]"),
    st.sampled_from(["<page>", "</page>", "&lt;/page&gt;", "]]>", "\n\n#redirect [[A]]"]),
)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(TITLES, TEXTS), max_size=14, unique_by=lambda pair: pair[0]))
async def test_any_pages_read_the_same_from_every_layout(written: list[tuple[str, str]]) -> None:
    pages = [article(number, title, text) for number, (title, text) in enumerate(written, 1)]
    asked = ["A", "B", "C", "D", "E:f", "G & h", "Ünï", "Missing"]
    readings = []
    for layout in LAYOUTS:
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            if layout == "blocks":
                patch.setattr("pipelines.wikipedia.dump_pass.LONGEST_STREAM", 100)
            async with dumps(write_as(layout, Path(folder), pages)) as source:
                assert {file.index.facts["layout"] for file in source._files} == {PLACES.get(layout, "streams")}
                readings.append(_without_redirects(await source.read(asked)))
                assert (await source.look(asked)).found.keys() == readings[-1].found.keys()
    assert all(reading == readings[0] for reading in readings)
    for title, text in written:
        found = readings[0].found[title]
        if not text.lower().lstrip().startswith("#redirect"):
            assert isinstance(found, Page) and found.text == text


def _without_redirects(reading: Reading) -> Reading:
    """Wikimedia's own index does not say which titles lead to a page."""
    found = {
        title: replace(each, redirects=()) if isinstance(each, Page) else each for title, each in reading.found.items()
    }
    return replace(reading, found=found)
