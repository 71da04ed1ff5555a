"""Pages over HTTP from the local wiki: every title is accounted for, once, and a page is whole or not there."""

import gzip
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from graph_stores.errors import Misuse
from pipelines.wikipedia.api import ApiPages, CategoryMissing, EndlessAnswer, PageTooLarge
from pipelines.wikipedia.local_api import LocalWiki
from pipelines.wikipedia.model import Absence, Absent, Page, Reading, Redirect, WikiUnavailable
from tests.unit.scripted_wiki import Fault, ScriptedWiki, error, scripted

MILLS = {
    "Mill": "A mill grinds. [[Category:Machines]] [[Category:Tracking]]",
    "Millstone": "A stone. [[category: machines | sorted ]]",
    "Corn mill": "#REDIRECT [[mill]]",
    "Grist mill": "#redirect: [[Corn_mill#Use]]",
    "Egg": "#REDIRECT [[Hen]]",
    "Hen": "#REDIRECT [[Egg]]",
    "Ouroboros": "#REDIRECT [[Ouroboros]]",
    "Lost": "#REDIRECT [[Nowhere]]",
    "Abroad": "#REDIRECT [[fr:Moulin]]",
    "Sorted": "#REDIRECT [[:Category:Machines]]",
    "Talk:Mill": "Is it?",
    "Project:M": "#REDIRECT [[Mill]]",
    "Category:Machines": "[[Category:Things]]",
    "Category:Things": "[[Category:Machines]]",
    "Category:Tracking": "__HIDDENCAT__",
}


@pytest.fixture
async def script(tmp_path: Path) -> AsyncIterator[ScriptedWiki]:
    async with scripted(LocalWiki(MILLS), tmp_path) as script:
        yield script


@pytest.fixture
async def pages(script: ScriptedWiki) -> AsyncIterator[ApiPages]:
    async with script.pages() as pages:
        yield pages


def end(reading: Reading, title: str) -> Page | Absent:
    found = reading.end_of(title)
    assert found is not None
    return found


async def test_a_page_comes_with_its_text_revision_and_categories(pages: ApiPages, script: ScriptedWiki) -> None:
    written = script.wiki.page("Mill")
    assert written is not None
    assert (await pages.read(["Mill"])).found["Mill"] == Page(
        title="Mill",
        page_id=written.page_id,
        revision_id=written.revision_id,
        timestamp=datetime(2024, 1, 1, 0, 1, tzinfo=UTC),
        text=MILLS["Mill"],
        categories=["Machines"],
        redirects=["Corn mill"],
    )


async def test_looking_costs_no_text(pages: ApiPages, script: ScriptedWiki) -> None:
    read = (await pages.read(["Mill"])).found["Mill"]
    script.wiki.texts.clear()
    looked = (await pages.look(["Mill", "Grist mill"])).found["Mill"]
    assert isinstance(looked, Page) and isinstance(read, Page)
    assert looked.text is None and looked.categories is None
    assert (looked.page_id, looked.revision_id, looked.timestamp) == (read.page_id, read.revision_id, read.timestamp)
    assert not script.wiki.texts


async def test_spellings_of_one_title_are_one_page(pages: ApiPages, script: ScriptedWiki) -> None:
    spellings = ["mill", " Mill_", "Mill#Use", ":Mill", "Mill"]
    reading = await pages.read(spellings)
    assert {reading.titles[spelling] for spelling in spellings} == {"Mill"}
    assert list(reading.found) == ["Mill"]
    assert script.wiki.texts == {"Mill": 1}


async def test_redirects_are_kept_hop_by_hop_to_the_page_at_their_end(pages: ApiPages) -> None:
    for reading in (await pages.read(["grist mill", "Mill"]), await pages.look(["grist mill", "Mill"])):
        assert reading.titles["grist mill"] == "Grist mill"
        assert reading.found["Grist mill"] == Redirect(title="Grist mill", target="Corn mill", fragment="Use")
        assert reading.found["Corn mill"] == Redirect(title="Corn mill", target="Mill")
        assert end(reading, "grist mill") is reading.found["Mill"]
        assert sum(isinstance(one, Page) for one in reading.found.values()) == 1


@pytest.mark.parametrize(
    ("title", "absence"),
    [
        ("Nothing", Absence.MISSING),
        ("Lost", Absence.MISSING),
        ("Mill[1]", Absence.INVALID),
        ("Mill|stone", Absence.INVALID),
        ("", Absence.INVALID),
        (" _ ", Absence.INVALID),
        ("bell\x07", Absence.INVALID),
        ("half \ud83d", Absence.INVALID),
        ("%4Dill", Absence.INVALID),
        ("fr:Moulin", Absence.ELSEWHERE),
        ("FR: moulin", Absence.ELSEWHERE),
        ("Abroad", Absence.ELSEWHERE),
        ("Talk:Mill", Absence.NO_ARTICLE),
        ("Talk:Nothing", Absence.NO_ARTICLE),
        ("Special:Search", Absence.NO_ARTICLE),
        ("Sorted", Absence.NO_ARTICLE),
        ("Project:M", Absence.NO_ARTICLE),
        ("Egg", Absence.LOOP),
        ("Ouroboros", Absence.LOOP),
    ],
)
async def test_every_title_that_leads_to_no_article_says_why(pages: ApiPages, title: str, absence: Absence) -> None:
    for reading in (await pages.read([title, "Mill"]), await pages.look([title, "Mill"])):
        found = end(reading, title)
        assert isinstance(found, Absent)
        assert found.absence == absence
        assert found.reason
        assert isinstance(end(reading, "Mill"), Page)


async def test_titles_go_fifty_to_a_request(pages: ApiPages, script: ScriptedWiki) -> None:
    titles = [f"Page {number}" for number in range(120)]
    for title in titles:
        script.wiki.write(title, f"Text of {title}.")
    reading = await pages.read(titles)
    assert script.wiki.requests == 3
    assert [len(asked["titles"].split("|")) for asked in script.asked] == [50, 50, 20]
    assert all(isinstance(found := reading.found[title], Page) and found.text for title in titles)
    assert set(script.wiki.texts.values()) == {1}


async def test_nothing_is_asked_where_nothing_is_wanted(pages: ApiPages, script: ScriptedWiki) -> None:
    assert (await pages.read([])).found == {}
    assert script.wiki.requests == 0


async def test_long_titles_are_posted(pages: ApiPages, script: ScriptedWiki) -> None:
    titles = [f"{'水車' * 30}{number}" for number in range(50)]
    script.wiki.write(titles[7], "A waterwheel.")
    reading = await pages.read(titles)
    assert script.methods == ["POST"]
    found = end(reading, titles[7])
    assert isinstance(found, Page) and found.text == "A waterwheel."


async def test_texts_in_several_parts_are_put_together(pages: ApiPages, script: ScriptedWiki) -> None:
    script.wiki.answer_bytes = 100
    titles = [f"Page {number}" for number in range(9)]
    for title in titles:
        script.wiki.write(title, title * 10 + "".join(f"[[Category:{title} {each}]]" for each in range(3)))
    reading = await pages.read(titles)
    assert script.wiki.continued >= 8
    for title in titles:
        found = reading.found[title]
        assert isinstance(found, Page) and found.text is not None
        assert found.text.startswith(title * 10)
        assert found.categories == [f"{title} {each}" for each in range(3)]
    assert set(script.wiki.texts.values()) == {1}


async def test_more_categories_than_fit_into_one_part_are_all_there(pages: ApiPages, script: ScriptedWiki) -> None:
    names = [f"Kind {number:03}" for number in range(700)]
    script.wiki.write("Kinds", "".join(f"[[Category:{name}]]" for name in names))
    script.wiki.write("Mill", "".join(f"[[Category:{name}]]" for name in names))
    reading = await pages.read(["Kinds", "Mill"])
    for title in ("Kinds", "Mill"):
        found = reading.found[title]
        assert isinstance(found, Page) and found.categories is not None
        assert list(found.categories) == names


async def test_an_answer_that_goes_on_in_circles_is_noticed(pages: ApiPages, script: ScriptedWiki) -> None:
    again = Fault(body=b'{"continue":{"rvcontinue":"1|1","continue":"||"},"query":{"pages":[]}}')
    script.faults.extend([again] * 5)
    with pytest.raises(EndlessAnswer, match="rvcontinue"):
        await pages.read(["Mill"])
    assert len(script.asked) == 2


async def test_an_answer_that_never_ends_is_given_up(pages: ApiPages, script: ScriptedWiki) -> None:
    for number in range(600):
        script.faults.append(Fault(body=b'{"continue":{"rvcontinue":"%d","continue":"||"}}' % number))
    with pytest.raises(EndlessAnswer):
        await pages.read(["Mill"])


async def test_a_part_without_the_rest_is_no_answer(pages: ApiPages, script: ScriptedWiki) -> None:
    script.faults.append(Fault(body=b'{"query":{"pages":[{"pageid":1,"ns":0,"title":"Mill"}]}}'))
    with pytest.raises(WikiUnavailable, match="part of an answer"):
        await pages.read(["Mill"])


@pytest.mark.parametrize("fault", [error("toobig"), error("toomanyvalues"), Fault(status=413), Fault(status=414)])
async def test_what_is_too_much_at_once_is_asked_for_in_halves(
    pages: ApiPages, script: ScriptedWiki, fault: Fault
) -> None:
    script.faults.append(fault)
    reading = await pages.read(["Mill", "Millstone", "Nothing"])
    assert [asked["titles"] for asked in script.asked] == ["Mill|Millstone|Nothing", "Mill", "Millstone|Nothing"]
    assert all(isinstance(end(reading, title), Page) for title in ("Mill", "Millstone"))


async def test_one_title_that_is_too_much_is_refused(pages: ApiPages, script: ScriptedWiki) -> None:
    script.faults.append(error("toobig"))
    with pytest.raises(PageTooLarge, match="Mill") as refusal:
        await pages.read(["Mill"])
    assert not isinstance(refusal.value, Misuse), "the others are still to be read"


async def test_a_redirect_that_the_wiki_has_not_followed_is_followed(pages: ApiPages, script: ScriptedWiki) -> None:
    info = b'{"pageid":3,"ns":0,"title":"Corn mill","redirect":true,"revisions":[{"revid":3,'
    text = b'"timestamp":"2024-01-01T00:03:00Z","slots":{"main":{"content":"#REDIRECT [[mill]]"}}}'
    page = Fault(body=b'{"batchcomplete":true,"query":{"pages":[' + info + text + b"]}]}}")
    script.faults.append(page)
    reading = await pages.read(["Corn mill"])
    assert reading.found["Corn mill"] == Redirect(title="Corn mill", target="Mill")
    assert end(reading, "Corn mill") is reading.found["Mill"]

    bare = info + b'"timestamp":"2024-01-01T00:03:00Z"}]}'
    script.faults.extend([Fault(body=b'{"batchcomplete":true,"query":{"pages":[' + bare + b"]}}"), page])
    reading = await pages.look(["Corn mill"])
    assert reading.found["Corn mill"] == Redirect(title="Corn mill", target="Mill")
    found = end(reading, "Corn mill")
    assert isinstance(found, Page) and found.text is None


async def test_a_chain_that_is_too_long_ends(pages: ApiPages, script: ScriptedWiki) -> None:
    for number in range(12):
        script.faults.append(
            Fault(
                body=b'{"batchcomplete":true,"query":{"redirects":[{"from":"Hop %d","to":"Hop %d"}]}}'
                % (number, number + 1)
            )
        )
    found = end(await pages.read(["Hop 0"]), "Hop 0")
    assert isinstance(found, Absent) and found.absence == Absence.LOOP
    assert len(script.asked) == 10


@pytest.mark.parametrize(
    ("revision", "reason"),
    [
        (b'"texthidden":true', "hidden"),
        (b'"slots":{"main":{"texthidden":true}}', "hidden"),
        (b'"slots":{"main":{"contentmodel":"json","content":"{}"}}', "json"),
        (b'"slots":{"main":{"contentmodel":"wikitext","missing":true}}', "text"),
        (b'"slots":{}', "text"),
    ],
)
async def test_a_page_whose_text_cannot_be_read_says_why(
    pages: ApiPages, script: ScriptedWiki, revision: bytes, reason: str
) -> None:
    page = b'{"pageid":1,"ns":0,"title":"Mill","revisions":[{"revid":1,"timestamp":"2024-01-01T00:00:00Z",%s}]}'
    script.faults.append(Fault(body=b'{"batchcomplete":true,"query":{"pages":[%s]}}' % (page % revision)))
    found = end(await pages.read(["Mill"]), "Mill")
    assert isinstance(found, Absent)
    assert found.absence == Absence.NO_ARTICLE
    assert reason in found.reason


async def test_a_title_of_which_the_wiki_says_nothing_is_accounted_for(pages: ApiPages, script: ScriptedWiki) -> None:
    script.faults.append(Fault(body=b'{"batchcomplete":true}'))
    found = end(await pages.read(["Mill"]), "Mill")
    assert isinstance(found, Absent) and found.absence == Absence.INVALID


async def test_a_page_that_was_edited_or_deleted_is_seen_so(pages: ApiPages, script: ScriptedWiki) -> None:
    before = (await pages.look(["Mill"])).found["Mill"]
    script.wiki.write("Mill", "Changed.")
    after = (await pages.look(["Mill"])).found["Mill"]
    assert isinstance(before, Page) and isinstance(after, Page)
    assert after.page_id == before.page_id and after.revision_id > before.revision_id
    script.wiki.delete("Mill")
    assert isinstance((await pages.look(["Mill"])).found["Mill"], Absent)


async def test_near_titles_are_those_that_look_alike(pages: ApiPages) -> None:
    assert (await pages.near("Millston"))[0] == "Millstone"
    assert (await pages.near("mlil", limit=1)) == []
    assert (await pages.near("Millsonte", limit=1)) == ["Millstone"]
    assert await pages.near("|") == []


async def test_near_titles_need_no_full_text_search(pages: ApiPages, script: ScriptedWiki) -> None:
    script.faults.extend([None, error("search-text-disabled")])
    assert "Millstone" in await pages.near("Millston")


async def test_the_members_of_a_category_are_found_below_it_and_around_its_loops(pages: ApiPages) -> None:
    assert await pages.members("Machines", depth=0) == ["Mill", "Millstone"]
    assert await pages.members("category:Things", depth=0) == []
    assert await pages.members("Things", depth=1) == ["Mill", "Millstone"]
    assert await pages.members("things", depth=9) == ["Mill", "Millstone"]


async def test_a_category_may_have_many_members(pages: ApiPages, script: ScriptedWiki) -> None:
    for number in range(1_100):
        script.wiki.write(f"Part {number:04}", "[[Category:Parts]]")
    assert await pages.members("Parts", depth=0) == [f"Part {number:04}" for number in range(1_100)]


@pytest.mark.parametrize("category", ["Nothing", "", "Category:", "Bad[name", "a|b"])
async def test_a_category_that_does_not_exist_is_an_error(pages: ApiPages, category: str) -> None:
    with pytest.raises(CategoryMissing, match="no category"):
        await pages.members(category, depth=2)


async def test_all_titles_come_in_order_and_only_of_articles(pages: ApiPages, script: ScriptedWiki) -> None:
    for number in range(1_200):
        script.wiki.write(f"Page {number:04}", "Text.")
    batches = [list(titles) async for titles in pages.all_titles()]
    titles = [title for batch in batches for title in batch]
    assert len(batches) == 3
    assert titles == sorted(titles)
    assert len(titles) == len(set(titles)) == 1_200 + 10
    assert "Corn mill" in titles and "Talk:Mill" not in titles


async def test_a_wiki_can_be_loaded_from_a_dump(tmp_path: Path) -> None:
    dump = tmp_path / "small.xml"
    dump.write_text(
        """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="de"><siteinfo>
        <dbname>millwiki</dbname>
        <namespaces><namespace key="0"/><namespace key="14">Kategorie</namespace></namespaces></siteinfo>
        <page><title>Mühle</title><ns>0</ns><id>7</id>
        <revision><id>9</id><timestamp>2024-02-02T00:00:00Z</timestamp><text>Neu. [[Kategorie:Bau]]</text></revision>
        <revision><id>8</id><timestamp>2024-01-01T00:00:00Z</timestamp><text>Alt.</text></revision></page>
        <page><title>Wassermühle</title><ns>0</ns><id>8</id>
        <revision><id>10</id><timestamp>2024-02-02T00:00:00Z</timestamp><text>#REDIRECT [[Mühle]]</text></revision>
        </page></mediawiki>""",
        encoding="utf-8",
    )
    async with scripted(LocalWiki.from_dump(dump), tmp_path) as script, script.pages() as pages:
        assert (pages.site.wiki, pages.site.lang) == ("millwiki", "de")
        assert pages.site.namespaces["kategorie"] == pages.site.namespaces["category"] == 14
        found = end(await pages.read(["wassermühle"]), "wassermühle")
        assert isinstance(found, Page)
        assert (found.page_id, found.revision_id, found.text) == (7, 9, "Neu. [[Kategorie:Bau]]")
        assert found.categories == ["Bau"]
        assert await pages.members("Bau", depth=0) == ["Mühle"]


async def test_a_compressed_answer_is_read(pages: ApiPages, script: ScriptedWiki) -> None:
    body = gzip.compress(b'{"batchcomplete":true,"query":{"pages":[{"ns":0,"title":"Mill","missing":true}]}}')
    script.faults.append(Fault(body=body, headers={"Content-Encoding": "gzip"}))
    found = end(await pages.read(["Mill"]), "Mill")
    assert isinstance(found, Absent) and found.absence == Absence.MISSING
