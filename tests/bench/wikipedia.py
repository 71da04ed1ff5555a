"""Expansion of a wiki against the raw work: `python -m tests.bench.wikipedia [ARTICLES [MORE_ARTICLES]]`.

The wiki is the demo's, many times over. With a folder of dumps in GRAPHMILL_BENCH_DUMPS, all articles of these as well.
Each job is the command itself in a process of its own; start-up is aside, the seconds are those that it reports.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

from pipelines.wikipedia.local_wiki import LocalWiki
from pipelines.wikipedia.model import ARTICLES, TITLES_AT_ONCE, Site
from tests.bench.mills import FIRST, demo, write_dump
from tests.bench.table import Row, show
from tests.bench.wiki_server import Server, serving

SIZES = (500, 8500)
WORKERS = 2
KILLS = 10
PER_MINUTE = 3000
MEGABYTES = 600
_LOOK = 0.05
_TEXTS_AT_ONCE = 20
_FROM_FIRST = (FIRST, "--depth", "1000")

Texts = Sequence[tuple[str, str]]
"""Titles with their texts."""
Parse = Callable[[Texts], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    articles: int
    titles: int
    seconds: float
    megabytes: float

    @property
    def pace(self) -> str:
        return f"{self.articles:,} articles, {self.articles / self.seconds * 60:,.0f} a minute"


class Expanding:
    """`graphmill expand` as a process, and the most that it and its own processes had resident at once."""

    def __init__(self, place: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "orchestrator.cli", "--json", "--store", f"kuzu:{place / 'graph.kuzu'}"]
        options = ["--embedder", "wordllama", "--workers", str(WORKERS), "--max-articles", "1000000"]
        self.process = subprocess.Popen(
            [*command, "expand", *arguments, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._most = 0.0
        self._watching = threading.Thread(target=self._watch)
        self._watching.start()

    def report(self) -> Ran:
        said, _ = self.process.communicate()
        self._watching.join()
        if self.process.returncode:
            raise SystemExit(f"expand ended with {self.process.returncode}")
        report = json.loads(said)
        labels = report["labels"]["Article"]
        return Ran(
            articles=labels["ready"], titles=sum(labels.values()), seconds=report["seconds"], megabytes=self._most
        )

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()
        self._watching.join()

    def _watch(self) -> None:
        try:
            own = psutil.Process(self.process.pid)
            while self.process.poll() is None:
                self._most = max(self._most, sum(map(_resident, (own, *own.children(recursive=True)))) / 1e6)
                time.sleep(_LOOK)
        except psutil.NoSuchProcess:
            return


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def expand(*arguments: str) -> Ran:
    with tempfile.TemporaryDirectory() as place:
        return Expanding(Path(place), *arguments).report()


def parse_alone(texts: Texts) -> None:
    import mwparserfromhell

    for _, text in texts:
        mwparserfromhell.parse(text)


@cache
def _site() -> Site:
    return demo().site


def parse_as_we_do(texts: Texts) -> None:
    from pipelines.wikipedia.wikitext import parse

    site = _site()
    for title, text in texts:
        parse(text, title=title, site=site)


def parsing(dumps: Sequence[Path], parse: Parse) -> float:
    """How long two processes take that do nothing but parse the texts of all articles."""
    texts = list(_texts(dumps).items())
    parts = [texts[start : start + _TEXTS_AT_ONCE] for start in range(0, len(texts), _TEXTS_AT_ONCE)]
    with ProcessPoolExecutor(WORKERS) as processes:
        list(processes.map(parse, parts[:WORKERS]))
        began = time.perf_counter()
        list(processes.map(parse, parts))
        return time.perf_counter() - began


def _texts(dumps: Sequence[Path]) -> dict[str, str]:
    """Of every article by title; where several files have one, that of the last."""
    texts: dict[str, str] = {}
    for dump in dumps:
        wiki = LocalWiki.from_dump(dump)
        for title in wiki.titles(ARTICLES):
            if (page := wiki.page(title)) is not None and page.redirect is None:
                texts[title] = page.text
    return texts


def measure_dump(dumps: Sequence[Path], *seeds: str) -> tuple[Ran, list[Row]]:
    ran = expand(*seeds, *(f"--dump={dump}" for dump in dumps))
    what = f"from a dump: {ran.pace}"
    wanted = ran.articles / PER_MINUTE * 60
    alone, as_we_do = (parsing(dumps, parse) for parse in (parse_alone, parse_as_we_do))
    return ran, [
        _row(what, ran.seconds, wanted, f"{PER_MINUTE:,} a minute", 1),
        _row("the same", ran.seconds, alone, "mwparserfromhell alone, two processes", 1 / 0.6),
        _row("the same", ran.seconds, as_we_do, "our own parsing alone, two processes", 1 / 0.6),
    ]


def measure_api(dump: Path, from_dump: Ran) -> list[Row]:
    with serving(dump) as server:
        ran = expand(*_FROM_FIRST, "--api-url", server.url)
        requests = server.asked().requests
    fewest = ran.titles / TITLES_AT_ONCE
    return [
        _row(f"from a local API: {ran.pace}", ran.seconds, from_dump.seconds, "from the dump", 1 / 0.8),
        _row(f"requests for {ran.titles:,} titles", requests, fewest, "50 titles in each", 1, unit="requests"),
    ]


def measure_kills(dump: Path, titles: int) -> Row:
    with tempfile.TemporaryDirectory() as place, serving(dump) as server:
        for number in range(1, KILLS + 1):
            expanding = Expanding(Path(place), *_FROM_FIRST, "--api-url", server.url)
            _wait_for(server, expanding, pages=titles * number // (KILLS + 1))
            expanding.kill()
        Expanding(Path(place), *_FROM_FIRST, "--api-url", server.url).report()
        again = server.asked().again / TITLES_AT_ONCE
    what = f"killed {KILLS} times: texts read again, in batches of {TITLES_AT_ONCE}"
    return _row(what, again, KILLS * WORKERS, "one for each worker and time", 1, unit="batches")


def _wait_for(server: Server, expanding: Expanding, *, pages: int) -> None:
    while server.asked().pages < pages and expanding.process.poll() is None:
        time.sleep(_LOOK)


def _row(what: str, ours: float, reference: float, name: str, reach: float, *, unit: str = "s") -> Row:
    return Row(what=what, ours=ours, reference=reference, reference_name=name, reach=round(reach, 2), unit=unit)


def _memory(ran: Ran, reference: float, name: str, reach: float) -> Row:
    return _row(f"memory, {ran.articles:,} articles", ran.megabytes, reference, name, reach, unit="MB")


def measure_mills(place: Path, few: int, many: int) -> list[Row]:
    small, large = place / "small.xml.bz2", place / "large.xml.bz2"
    write_dump(small, few)
    write_dump(large, many)
    less, _ = measure_dump([small], *_FROM_FIRST)
    more, rows = measure_dump([large], *_FROM_FIRST)
    return [
        *rows,
        *measure_api(large, more),
        _memory(less, MEGABYTES, "what is wanted", 1),
        _memory(more, MEGABYTES, "what is wanted", 1),
        _memory(more, less.megabytes, f"{less.articles:,} articles", 1.1),
        measure_kills(large, more.titles),
    ]


def main(few: int, many: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        show("Wikipedia: the demo's wiki, many times over", measure_mills(Path(place), few, many))
    if folder := os.environ.get("GRAPHMILL_BENCH_DUMPS"):
        ran, rows = measure_dump(sorted(Path(folder).glob("*.xml*.bz2")), "--all")
        show("Wikipedia: real articles", [*rows, _memory(ran, MEGABYTES, "what is wanted", 1)])


if __name__ == "__main__":
    main(*(int(given) for given in (*sys.argv[1:], *map(str, SIZES[len(sys.argv) - 1 :]))))
