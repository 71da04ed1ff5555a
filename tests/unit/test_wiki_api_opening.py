"""Opening a wiki: who asks it is said, what it is is understood, and what is no wiki is refused with a clear line."""

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graph_stores.errors import Misuse
from pipelines.wikipedia.answers import site_of
from pipelines.wikipedia.api import api_url_of, open_api
from pipelines.wikipedia.asking import WikiRefused, is_wikimedia
from pipelines.wikipedia.local_api import LocalWiki
from pipelines.wikipedia.model import ContactMissing, WikiUnavailable
from pipelines.wikipedia.politeness import Limits
from tests.unit.scripted_wiki import Fault, ScriptedWiki, WantedTime, busy, scripted


@pytest.fixture
async def script(tmp_path: Path) -> AsyncIterator[ScriptedWiki]:
    async with scripted(LocalWiki({"Mill": "A mill grinds."}, name="millwiki", lang="de"), tmp_path) as script:
        yield script


async def opened(url: str, tmp_path: Path, contact: str | None = None) -> None:
    pages = await open_api(url, contact=contact, say=print, cache=tmp_path)
    await pages.close()


async def test_the_wiki_says_what_it_is(script: ScriptedWiki) -> None:
    async with script.pages() as pages:
        site = pages.site
    assert (site.wiki, site.lang, site.first_letter) == ("millwiki", "de", True)
    assert site.article_url == script.url.replace("/w/api.php", "/wiki/$1")
    assert site.namespaces["user talk"] == 3 and "" not in site.namespaces
    assert site.interwiki == {"de", "fr", "wikt"}
    assert site.redirect_words == ("#redirect",)


def test_siteinfo_of_another_language_gives_its_own_words() -> None:
    site = site_of(
        {
            "query": {
                "general": {"lang": "de", "case": "case-sensitive", "server": "//de.example.org", "articlepath": "/$1"},
                "namespaces": {
                    "0": {"id": 0, "case": "case-sensitive", "name": ""},
                    "14": {"id": 14, "name": "Kategorie", "canonical": "Category"},
                    "4": {"id": 4, "name": "Mühlen_Wiki", "canonical": "Project"},
                },
                "namespacealiases": [{"id": 4, "alias": "MW"}],
                "interwikimap": [{"prefix": "FR"}],
                "magicwords": [{"name": "redirect", "aliases": ["#WEITERLEITUNG", "#REDIRECT"]}, {"name": "toc"}],
            }
        },
        "https://de.example.org/w/api.php",
    )
    assert site.wiki == "de.example.org/w"
    assert site.article_url == "https://de.example.org/$1"
    assert not site.first_letter
    assert site.namespaces == {"kategorie": 14, "category": 14, "mühlen wiki": 4, "project": 4, "mw": 4}
    assert site.interwiki == {"fr"}
    assert site.redirect_words == ("#weiterleitung", "#redirect")


async def test_the_wiki_hears_who_asks(script: ScriptedWiki) -> None:
    async with script.pages(contact="miller@example.org") as pages:
        await pages.read(["Mill"])
    assert len(set(script.agents)) == 1
    assert script.agents[0].startswith("graphmill/")
    assert script.agents[0].endswith(" (miller@example.org)")


@pytest.mark.parametrize(
    "host", ["en.wikipedia.org", "WWW.WIKIDATA.ORG", "wikidata.org.", "commons.wikimedia.org", "de.m.wiktionary.org"]
)
async def test_wikimedia_is_not_asked_by_nobody(host: str, tmp_path: Path) -> None:
    with pytest.raises(ContactMissing, match="Wikimedia") as raised:
        await opened(f"https://{host}/w/api.php", tmp_path)
    assert "--contact" in raised.value.hint and "graphmill.toml" in raised.value.hint


@pytest.mark.parametrize("host", ["wikipedia.org.example.net", "notwikipedia.org", "127.0.0.1", "wiki.example.org"])
def test_other_wikis_need_no_contact(host: str) -> None:
    assert not is_wikimedia(host)


@pytest.mark.parametrize("contact", ["me", "", "me@home", "a@b.c\r\nX: y", "a b@c.d", "https://", "ü@b.de", "(a@b.c)"])
async def test_a_contact_that_reaches_nobody_is_refused(contact: str, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="neither an e-mail address"):
        await opened("http://127.0.0.1:1/w/api.php", tmp_path, contact=contact)


@pytest.mark.parametrize(
    "url",
    ["en.wikipedia.org", "ftp://a/api.php", "http:///api.php", "http://a:x/api.php", "http://a/api.php?action=query"],
)
async def test_what_is_no_address_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(WikiRefused, match="is not the address") as raised:
        await opened(url, tmp_path)
    assert "api.php" in raised.value.hint


async def test_an_address_with_a_password_is_refused_without_repeating_it(tmp_path: Path) -> None:
    with pytest.raises(WikiRefused) as raised:
        await opened("http://me:secret@127.0.0.1/api.php", tmp_path)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(body=b"<!DOCTYPE html><title>Welcome</title>"),
        Fault(body=b"[1, 2]"),
        Fault(body=b"{}"),
        Fault(body=b'{"query":{"general":{}}}'),
        Fault(status=404),
        Fault(status=403),
    ],
)
async def test_what_is_no_wiki_is_refused_at_once(script: ScriptedWiki, fault: Fault) -> None:
    script.faults.append(fault)
    with pytest.raises(WikiRefused, match=r"127\.0\.0\.1"):
        async with script.pages():
            pass
    assert script.wiki.requests == 1 and not script.time.naps


async def test_a_wiki_that_is_busy_when_it_is_opened_is_waited_for(script: ScriptedWiki) -> None:
    script.faults.extend([busy("5"), busy("5")])
    async with script.pages() as pages:
        assert pages.site.wiki == "millwiki"
    assert sum(script.time.naps) == pytest.approx(10.0)


async def test_where_nobody_listens_the_wiki_is_unavailable(tmp_path: Path) -> None:
    time = WantedTime()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/w/api.php"
        with pytest.raises(WikiUnavailable, match="cannot be reached"):
            await open_api(url, contact=None, say=print, cache=tmp_path, clock=time.clock, nap=time.nap)


async def test_an_address_that_has_moved_is_followed(script: ScriptedWiki) -> None:
    elsewhere = script.url.replace("127.0.0.1", "localhost")
    script.faults.append(Fault(status=301, headers={"Location": f"{elsewhere}?action=query&meta=siteinfo"}))
    async with script.pages() as pages:
        await pages.read(["Mill"])
        assert pages.site.article_url.startswith("http://localhost:")
        assert len(script.asked) == 1


async def test_an_address_that_has_moved_to_wikimedia_needs_a_contact(script: ScriptedWiki) -> None:
    script.faults.append(Fault(status=302, headers={"Location": "https://en.wikipedia.org/w/api.php"}))
    with pytest.raises(ContactMissing):
        async with script.pages():
            pass


async def test_addresses_that_lead_in_circles_are_refused(script: ScriptedWiki) -> None:
    script.faults.extend([Fault(status=302, headers={"Location": script.url})] * 10)
    with pytest.raises(WikiRefused, match="from one address to the next"):
        async with script.pages():
            pass


async def test_only_a_loopback_wiki_is_spared_maxlag_and_limits(script: ScriptedWiki, tmp_path: Path) -> None:
    async with script.pages() as pages:
        await pages.read(["Mill"])
        assert "maxlag" not in script.asked[0]
        assert script.asked[0]["formatversion"] == "2"
    assert not (tmp_path / "wikis").exists()
    async with script.pages(limits=Limits(per_minute=100)):
        pass
    [folder] = (tmp_path / "wikis").iterdir()
    assert folder.name.startswith("127.0.0.1_")


async def test_the_configured_rate_is_kept_over_http(script: ScriptedWiki) -> None:
    limits = Limits(per_minute=4)
    async with script.pages(limits=limits) as pages:
        started = script.time.now
        for _ in range(8):
            await pages.read(["Mill"])
    assert script.time.now - started == pytest.approx(120.0, abs=1.0)


def test_the_wikipedia_of_a_language_has_an_address() -> None:
    assert api_url_of("de") == "https://de.wikipedia.org/w/api.php"
    assert api_url_of("zh-yue") == "https://zh-yue.wikipedia.org/w/api.php"
    for lang in ("", "de.evil.org/", "ü", "a b"):
        with pytest.raises(Misuse):
            api_url_of(lang)
