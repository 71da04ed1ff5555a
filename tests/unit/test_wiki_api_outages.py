"""A wiki that is busy or broken is left alone as long as it asks, and nothing it says meanwhile is taken for pages."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from pipelines.wikipedia.asking import Patience, WikiRefused
from pipelines.wikipedia.local_api import LocalWiki
from pipelines.wikipedia.model import Page, WikiUnavailable
from pipelines.wikipedia.politeness import LONGEST_PAUSE, Limits
from tests.unit.scripted_wiki import Fault, ScriptedWiki, busy, error, scripted

NO_LIMIT = Limits(per_minute=1_000, in_flight=3)


@pytest.fixture
async def script(tmp_path: Path) -> AsyncIterator[ScriptedWiki]:
    async with scripted(LocalWiki({"Mill": "A mill grinds."}), tmp_path) as script:
        yield script


@pytest.mark.parametrize(
    "fault",
    [
        busy(status=429),
        busy(status=500),
        busy(status=502),
        busy(status=503),
        busy(status=504),
        error("maxlag"),
        error("ratelimited"),
        error("readonly"),
        error("internal_api_error_DBQueryError"),
        Fault(body=b"<!DOCTYPE html><title>Maintenance</title>"),
        Fault(body=b'{"batchcomplete":true,"query":{"pages":[{"pageid":1,"ns":0,"ti'),
        Fault(body=b""),
        Fault(body=b"\x1f\x8b\x08not gzip", headers={"Content-Encoding": "gzip"}),
        Fault(cut=True),
        Fault(reset=True),
    ],
)
async def test_what_is_no_answer_is_asked_again(script: ScriptedWiki, fault: Fault) -> None:
    async with script.pages() as pages:
        # On a connection that was open before, the first one may be retried by the HTTP client itself.
        script.faults.extend([fault, fault])
        found = (await pages.read(["Mill"])).found["Mill"]
    assert isinstance(found, Page) and found.text == "A mill grinds."
    assert script.wiki.texts == {"Mill": 1}
    assert script.time.naps
    assert 4.0 <= script.time.naps[0] <= 12.0


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("2.5", 2.5), ("0", 0.0)])
@pytest.mark.parametrize("status", [200, 429, 503])
async def test_the_wiki_is_left_alone_as_long_as_it_asks(
    script: ScriptedWiki, status: int, header: str, seconds: float
) -> None:
    async with script.pages() as pages:
        script.faults.append(error("maxlag", Retry_After=header) if status == 200 else busy(header, status))
        await pages.read(["Mill"])
    assert sum(script.time.naps) == pytest.approx(seconds)


async def test_a_date_to_wait_for_is_understood(script: ScriptedWiki) -> None:
    async with script.pages() as pages:
        script.faults.append(busy(format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)))
        await pages.read(["Mill"])
    assert 5.0 < sum(script.time.naps) <= 40.0


@pytest.mark.parametrize("header", ["soon", "nan", ""])
async def test_a_time_to_wait_that_makes_no_sense_counts_as_none(script: ScriptedWiki, header: str) -> None:
    async with script.pages() as pages:
        script.faults.append(busy(header))
        await pages.read(["Mill"])
    assert 4.0 <= sum(script.time.naps) <= 6.0


async def test_pauses_double_until_patience_ends_and_the_caller_hears_how_long_to_wait(script: ScriptedWiki) -> None:
    async with script.pages() as pages:
        script.faults.extend([busy()] * 10)
        with pytest.raises(WikiUnavailable, match="503") as raised:
            await pages.read(["Mill"])
        assert len(script.asked) == 4
        assert len(script.time.naps) == 3
        assert script.time.naps[1] > script.time.naps[0]
        assert raised.value.retry_after is not None
        assert 30.0 <= raised.value.retry_after <= 50.0
        assert raised.value.transient
        script.faults.clear()
        await pages.read(["Mill"])
        assert sum(script.time.naps) <= 100.0


async def test_a_huge_pause_is_told_to_the_caller_and_capped(script: ScriptedWiki) -> None:
    async with script.pages() as pages:
        script.faults.append(busy("999999999"))
        with pytest.raises(WikiUnavailable) as raised:
            await pages.read(["Mill"])
        assert raised.value.retry_after == LONGEST_PAUSE
        with pytest.raises(WikiUnavailable, match="left alone"):
            await pages.read(["Mill"])
        assert len(script.asked) == 1
        script.time.now += LONGEST_PAUSE
        await pages.read(["Mill"])
    assert not script.time.naps


async def test_a_wiki_that_says_wait_for_nothing_is_not_asked_without_end(script: ScriptedWiki) -> None:
    async with script.pages() as pages:
        script.faults.extend([busy("0")] * 20)
        with pytest.raises(WikiUnavailable):
            await pages.read(["Mill"])
        assert len(script.asked) < 8


async def test_an_outage_is_told_once_and_its_end_once(script: ScriptedWiki) -> None:
    async with script.pages() as pages:
        script.faults.extend([busy("10"), busy("10"), busy("10")])
        await pages.read(["Mill"])
        assert len(script.said) == 2
        assert "503" in script.said[0] and "waiting 10 s" in script.said[0]
        assert script.said[1] == "127.0.0.1 answers again"
        script.faults.append(busy("1"))
        await pages.read(["Mill"])
        assert len(script.said) == 2


async def test_another_process_waits_too_where_the_host_is_counted(script: ScriptedWiki) -> None:
    async with script.pages(limits=NO_LIMIT) as one, script.pages(limits=NO_LIMIT) as other:
        script.faults.append(busy("100"))
        with pytest.raises(WikiUnavailable):
            await one.read(["Mill"])
        with pytest.raises(WikiUnavailable, match="left alone") as raised:
            await other.read(["Mill"])
        assert raised.value.retry_after == pytest.approx(100.0)
        assert len(script.asked) == 1
        script.time.now += 70
        await other.read(["Mill"])
        assert sum(script.time.naps) >= 29.0


async def test_a_wiki_that_is_silent_is_asked_again(script: ScriptedWiki) -> None:
    async with script.pages(patience=Patience(answer=1.0, seconds=1e6, first_pause=0.1)) as pages:
        script.faults.append(Fault(silent=True))
        assert isinstance((await pages.read(["Mill"])).found["Mill"], Page)
    assert script.time.naps


async def test_when_one_of_many_requests_fails_none_is_left_behind(script: ScriptedWiki) -> None:
    async with script.pages() as pages:
        script.faults.append(error("permissiondenied"))
        with pytest.raises(WikiRefused, match="permissiondenied"):
            await pages.read([f"Page {number}" for number in range(300)])
        assert not [task for task in asyncio.all_tasks() if "_whole" in repr(task)]
        assert isinstance((await pages.read(["Mill"])).found["Mill"], Page)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
async def test_a_refusal_is_final(script: ScriptedWiki, status: int) -> None:
    async with script.pages() as pages:
        script.faults.append(Fault(status=status, body=b"<p>Go away."))
        with pytest.raises(WikiRefused, match=f"{status}.*Go away"):
            await pages.read(["Mill"])
    assert not script.time.naps
