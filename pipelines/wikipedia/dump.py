"""Pages from dumps: one or several files of one wiki, read as one.

Of several files with the same title the one with the newest revision counts, whatever order they are given in. All
reading is done by one thread, which decompresses and parses; what it needs from the files is in `dump_file`.
"""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from glob import glob
from itertools import chain, pairwise
from pathlib import Path
from threading import Event
from typing import TypeVar

from graph_stores.errors import Misuse
from pipelines.wikipedia.dump_errors import IndexWrong, unreadable
from pipelines.wikipedia.dump_file import DumpFile
from pipelines.wikipedia.dump_index import DumpIndex, Row
from pipelines.wikipedia.dump_page import Entry, Kind, entry_of, shown
from pipelines.wikipedia.dump_pass import CATEGORY_PREFIX, Watch
from pipelines.wikipedia.dump_site import site_of
from pipelines.wikipedia.model import (
    ARTICLES,
    CATEGORIES,
    Absence,
    Absent,
    Found,
    Page,
    Reading,
    Redirect,
    Site,
    Span,
)
from pipelines.wikipedia.titles import describe_invalid, normalise

_AT_ONCE = 500
_OF_A_SPAN = 20_000
_ALL_COMPARED = 20_000
"""In a dump with fewer pages every title is compared to find near ones; in a larger one, those that begin alike."""
_NEIGHBOURS = 300
_NEAR = 0.6
_INDEX = re.compile(r"-index\d*\.txt")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is under a title, and its text where that had to be read."""

    entry: Entry
    text: str | None


class DumpMissing(Misuse):
    """There is no such file here; another machine may have it."""


async def open_dumps(
    patterns: Sequence[str],
    *,
    say: Callable[[str], None],
    progress: Callable[[Path, float], None] | None = None,
) -> "DumpPages":
    """Open files by their paths or by patterns; where one has no index yet it is made now, which may take long."""
    return await DumpPages.open(find_dumps(patterns), say=say, progress=progress or (lambda path, share: None))


def find_dumps(patterns: Iterable[str]) -> list[Path]:
    """In the order of their names, each once."""
    found: set[Path] = set()
    for pattern in patterns:
        # A Path takes no pattern that begins at the root.
        names = [pattern] if Path(pattern).is_file() else glob(pattern)  # noqa: PTH207
        matching = [name for name in names if Path(name).is_file()]
        dumps = [Path(name) for name in matching if _is_dump(Path(name).name)]
        if not dumps:
            raise DumpMissing(
                f"no dump is at {pattern!r}" + (f": {matching[0]!r} is not named .xml or .bz2" if matching else ""),
                hint="give the path of a pages-articles file (.xml, .xml.bz2), or a pattern in quotes",
            )
        found.update(path.resolve() for path in dumps)
    if not found:
        raise Misuse("no dump was given", hint="name at least one file with --dump")
    return sorted(found)


def _is_dump(name: str) -> bool:
    return name.endswith((".xml", ".bz2")) and not _INDEX.search(name)


class DumpPages:
    """Pages of `model.py` over dumps. Made by `open_dumps`."""

    site: Site

    def __init__(self, *, say: Callable[[str], None], progress: Callable[[Path, float], None]) -> None:
        self._say = say
        self._progress = progress
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="dump")
        self._files: list[DumpFile] = []
        self._closed = False

    @classmethod
    async def open(
        cls, paths: Sequence[Path], *, say: Callable[[str], None], progress: Callable[[Path, float], None]
    ) -> "DumpPages":
        opened = cls(say=say, progress=progress)
        try:
            for path in paths:
                await opened._run(partial(opened._open_file, path))
            opened.site = site_of([(file.path, file.info) for file in opened._files])
        except BaseException:
            await opened.close()
            raise
        return opened

    async def read(self, titles: Sequence[str]) -> Reading:
        return await self._run(lambda watch: self._reading(titles, watch, with_texts=True))

    async def look(self, titles: Sequence[str]) -> Reading:
        return await self._run(lambda watch: self._reading(titles, watch, with_texts=False))

    async def near(self, title: str, *, limit: int = 3) -> list[str]:
        return await self._run(lambda watch: self._near(title, limit))

    async def members(self, category: str, *, depth: int) -> list[str]:
        return await self._run(lambda watch: self._members(category, depth, watch))

    async def all_titles(self) -> AsyncIterator[Sequence[str]]:
        """In the order of their places, so that reading them in it decompresses everything once."""
        for file in self._files:
            async for _, titles in self.titles_in(Span(name=file.path.name), after=0):
                yield titles

    async def spans(self) -> list[Span]:
        return [span for file in self._files for span in await self._run(partial(self._spans_of, file))]

    async def titles_in(self, span: Span, *, after: int) -> AsyncIterator[tuple[int, Sequence[str]]]:
        file = next((each for each in self._files if each.path.name == span.name), None)
        if file is None:
            raise Misuse(f"no dump is called {span.name}", hint="expand from the dump again")
        index, until = file.index, span.until
        while True:
            if index is not file.index:
                # It proved wrong on the way, and its places with it. What comes twice is in the dump once.
                index, after, until = file.index, 0, None
            last, titles = await self._run(partial(self._some_titles, file, after))
            if last is None or (until is not None and after >= until):
                break
            after = last
            if titles:
                yield last, titles

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._run(self._close_files)
            self._executor.shutdown()

    async def _run(self, work: Callable[[Watch], T]) -> T:
        loop = asyncio.get_running_loop()
        watch = Watch(
            stop=Event(),
            say=lambda line: _soon(loop, self._say, line),
            progress=lambda path, share: _soon(loop, self._progress, path, share),
        )
        try:
            return await loop.run_in_executor(self._executor, work, watch)
        except asyncio.CancelledError:
            watch.stop.set()
            raise
        except (OSError, sqlite3.OperationalError) as error:  # its disk is gone
            raise unreadable(self._files[0].path if self._files else Path(), error) from error

    def _open_file(self, path: Path, watch: Watch) -> None:
        # Kept by the thread that opens it: one that nobody waits for any more is still closed.
        self._files.append(DumpFile(path, watch))

    def _close_files(self, watch: Watch) -> None:
        for file in self._files:
            file.close()

    def _spans_of(self, file: DumpFile, watch: Watch) -> list[Span]:
        last = max((row.id for row in file.index.ends()), default=0)
        bounds = [*range(0, max(last, 1), _OF_A_SPAN), None]
        return [Span(name=file.path.name, after=after or 0, until=until) for after, until in pairwise(bounds)]

    def _some_titles(self, file: DumpFile, after: int, watch: Watch) -> tuple[int | None, list[str]]:
        rows = file.index.following(after, _AT_ONCE)
        return (rows[-1].id, self._own(file, rows)) if rows else (None, [])

    def _reading(self, titles: Sequence[str], watch: Watch, *, with_texts: bool) -> Reading:
        asked: dict[str, str] = {}
        found: dict[str, Found] = {}
        for title in titles:
            asked[title] = self._accept(title, found)
        waiting = {title for title in asked.values() if title not in found}
        while waiting:
            known = self._known(sorted(waiting), watch, with_texts=with_texts)
            for title in waiting:
                found[title] = known[title].entry.found(known[title].text) if title in known else _missing(title)
            waiting = set()
            for title in [each.target for each in found.values() if isinstance(each, Redirect)]:
                if title in found:
                    continue
                accepted = self._accept(title, found)
                if accepted in found:
                    found[title] = found[accepted]
                else:
                    waiting.add(title)
        return Reading(titles=asked, found=self._with_redirects(found, watch) if with_texts else found)

    def _with_redirects(self, found: Mapping[str, Found], watch: Watch) -> dict[str, Found]:
        """Each page with the titles that lead straight to it; of one that several files have, the newest counts."""
        pages = [title for title, each in found.items() if isinstance(each, Page)]
        leading = {title for file in self._files for title, _ in file.index.leading_to(pages)}
        known = self._known(sorted(leading), watch, with_texts=False) if leading else {}
        redirects: dict[str, list[str]] = {}
        for title in sorted(known):
            entry = known[title].entry
            if entry.kind is Kind.REDIRECT and entry.target is not None:
                redirects.setdefault(entry.target, []).append(title)
        return {
            title: replace(each, redirects=redirects.get(title, ())) if isinstance(each, Page) else each
            for title, each in found.items()
        }

    def _accept(self, written: str, found: dict[str, Found]) -> str:
        """The title as the wiki writes it; where no article can be under it, that is found already."""
        title = normalise(written, self.site)
        if title is None:
            found[written] = Absent(title=written, absence=Absence.INVALID, reason=describe_invalid(written))
            return written
        if title.namespace == ARTICLES and title.interwiki is None:
            return title.title
        name = shown(title, self.site)
        for each in (name, written.replace("_", " ")):
            # An article may begin like a prefix: the dump knows better than a list of the usual ones.
            if title.interwiki is not None and any(file.index.find([each]) for file in self._files):
                return each
        absence = Absence.NO_ARTICLE if title.interwiki is None else Absence.ELSEWHERE
        reason = (
            "it is in another namespace" if title.interwiki is None else f"{title.interwiki}: leads to another wiki"
        )
        found[name] = Absent(title=name, absence=absence, reason=reason)
        return name

    def _known(self, titles: Sequence[str], watch: Watch, *, with_texts: bool) -> dict[str, _Known]:
        while True:
            try:
                return self._newest(titles, with_texts=with_texts)
            except _Wrong as wrong:
                wrong.file.replace_index(watch, wrong.reason)

    def _newest(self, titles: Sequence[str], *, with_texts: bool) -> dict[str, _Known]:
        known: dict[str, _Known] = {}
        to_read: dict[str, tuple[DumpFile, Row]] = {}
        for file in self._files:
            rows = file.index.find(titles)
            told = {title: _Known(entry=row.entry, text=None) for title, row in rows.items() if row.entry is not None}
            # Of the others only the page itself says how new it is.
            unknown = [row for title, row in rows.items() if title not in told]
            for title, each in chain(told.items(), _read(file, unknown, with_texts=with_texts)):
                if title not in known or each.entry.is_newer(known[title].entry):
                    known[title] = each
                    to_read.pop(title, None)
                    if title in told and each.entry.kind is Kind.ARTICLE:
                        to_read[title] = file, rows[title]
        if with_texts:
            for file in self._files:
                known |= dict(_read(file, [row for of, row in to_read.values() if of is file], with_texts=True))
        return known

    def _own(self, file: DumpFile, rows: Sequence[Row]) -> list[str]:
        """Titles that are read from this file, since no other has them newer."""
        kept = {row.title: row for row in rows if row.entry is None or row.entry.kind in {Kind.ARTICLE, Kind.REDIRECT}}
        before = True
        for other in self._files:
            if other is file:
                before = False
                continue
            for title, row in other.index.find(list(kept)).items():
                if _is_newer(row, kept[title], before):
                    del kept[title]
        return list(kept)

    def _near(self, title: str, limit: int) -> list[str]:
        read = normalise(title, self.site)
        written = read.title if read else title
        candidates: dict[str, str] = {}
        for file in self._files:
            for each in _candidates(file.index, written):
                candidates.setdefault(each, each.casefold())
        alike = get_close_matches(written.casefold(), sorted(set(candidates.values())), n=limit, cutoff=_NEAR)
        by_key: dict[str, list[str]] = {}
        for each, key in candidates.items():
            by_key.setdefault(key, []).append(each)
        return [each for key in alike for each in sorted(by_key[key]) if each != written][:limit]

    def _members(self, category: str, depth: int, watch: Watch) -> list[str]:
        name = normalise(category, self.site)
        if name is None or name.namespace != CATEGORIES:
            name = normalise(CATEGORY_PREFIX + category, self.site)
        if name is None:
            return []
        if not all(file.has_categories for file in self._files):
            watch.say("reading the whole dump once to see which pages are in which category")
        indexes = [file.categories(watch) for file in self._files]
        articles: set[str] = set()
        seen, level = {name.title}, [name.title]
        for _ in range(depth + 1):
            members = {title for each in level for title in _newest_members(indexes, each)}
            articles |= {title for title in members if not title.startswith(CATEGORY_PREFIX)}
            below = {title.removeprefix(CATEGORY_PREFIX) for title in members if title.startswith(CATEGORY_PREFIX)}
            level = sorted(below - seen)
            seen |= below
        return sorted(articles)


def _soon(loop: asyncio.AbstractEventLoop, tell: Callable[..., None], *said: object) -> None:
    # A loop that was closed has nobody left to tell.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(tell, *said)


class _Wrong(Exception):
    def __init__(self, file: DumpFile, reason: IndexWrong) -> None:
        super().__init__(str(reason))
        self.file = file
        self.reason = reason


def _read(file: DumpFile, rows: Sequence[Row], *, with_texts: bool) -> Iterator[tuple[str, _Known]]:
    try:
        for row, record in file.records(rows):
            entry = entry_of(record, file.site)
            if entry is not None:
                yield row.title, _Known(entry=entry, text=record.text if with_texts else None)
    except IndexWrong as error:
        raise _Wrong(file, error) from error


def _is_newer(row: Row, than: Row, stands_before: bool) -> bool:
    if row.entry is None or than.entry is None:
        return stands_before
    return row.entry.is_newer(than.entry) or (stands_before and not than.entry.is_newer(row.entry))


def _missing(title: str) -> Absent:
    return Absent(title=title, absence=Absence.MISSING, reason="there is no page by this title in the dump")


def _candidates(index: DumpIndex, written: str) -> list[str]:
    if not index.has_more_than(_ALL_COMPARED):
        return index.every_title()
    spellings = {written, written[:1] + written[1:].lower(), written.title()}
    beginnings = {each[:length] for each in spellings for length in {len(each), 12, 8, 6, 4, 3, 2}}
    return [title for each in sorted(beginnings) if each for title in index.titles_around(each, _NEIGHBOURS)]


def _newest_members(indexes: Sequence[DumpIndex], category: str) -> Iterator[str]:
    """What is in the category by its newest revision: an older one may have been."""
    for place, index in enumerate(indexes):
        rows = {row.title: row for row in index.members(category)}
        for other_place, other in enumerate(indexes):
            if other is not index:
                for title, row in other.find(list(rows)).items():
                    if _is_newer(row, rows[title], other_place < place):
                        del rows[title]
        yield from (row.title for row in rows.values() if row.entry is None or row.entry.kind is Kind.ARTICLE)
