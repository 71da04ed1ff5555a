"""The records of many files in the order in which things happened, read as a stream.

Each writer's are in the order in which it heard of its commits; between writers the store's time decides. Writers that
worked one after another are opened one after another.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush, heapreplace
from itertools import groupby
from typing import NamedTuple

from orchestrator.ledger.content import Content, Damage, last_lines
from orchestrator.ledger.files import File
from orchestrator.ledger.lines import RECONCILED, Record, at_of, decode_record, end_of
from orchestrator.ledger.reading import opened


class Met(NamedTuple):
    at: bytes
    line: bytes
    series: str


class Merged:
    """`damage` and `unfinished` are complete when all has been read."""

    def __init__(self, files: Iterable[File]) -> None:
        self._series = [list(found) for _, found in groupby(sorted(files, key=_order), key=lambda file: file.series)]
        self._contents: list[Content] = []

    def __iter__(self) -> Iterator[Met]:
        self._contents.clear()
        firsts = [_first(files) for files in self._series]
        for files, first in zip(self._series, firsts, strict=True):
            if not first:  # nothing is left of it, which is damage that somebody has to hear of
                deque(self._lines(files), maxlen=0)
        waiting = sorted(((first, number) for number, first in enumerate(firsts) if first), reverse=True)
        going: list[tuple[bytes, int, bytes, Iterator[bytes]]] = []
        while going or waiting:
            while waiting and (not going or waiting[-1][0] <= going[0][0]):
                _, number = waiting.pop()
                lines = self._lines(self._series[number])
                for line in lines:
                    heappush(going, (at_of(line), number, line, lines))
                    break
            if not going:
                continue
            at, number, line, lines = going[0]
            yield Met(at, line, self._series[number][0].series)
            if following := next(lines, None):
                heapreplace(going, (at_of(following), number, following, lines))
            else:
                heappop(going)

    @property
    def damage(self) -> list[Damage]:
        return [damage for content in self._contents for damage in content.damage]

    @property
    def contents(self) -> Sequence[Content]:
        return self._contents

    def _lines(self, files: Sequence[File]) -> Iterator[bytes]:
        for file in files:
            content = opened(file)
            self._contents.append(content)
            yield from content.lines()


def met(files: Sequence[File], damage: list[Damage]) -> Iterator[Record]:
    """Every change once, in order: one that was found in the graph afterwards, and heard as well, is the one heard.

    What could not be read is in `damage` when all has been.
    """
    is_double = doubles(files)
    merged = Merged(files)
    for each in merged:
        if not is_double(each.line):
            yield decode_record(each.line)
    damage += merged.damage


def doubles(files: Sequence[File]) -> Callable[[bytes], bool]:
    """Tells of a line whether it is a reconciled record beside a real one."""
    found = {
        _key(decode_record(line))
        for file in files
        if _may_have_reconciled(file)
        for line in opened(file).lines()
        if RECONCILED in line
    }
    if not found:
        return lambda _: False
    times = {at.encode() for _, at, _ in found}
    heard = {
        _key(decode_record(line))
        for file in files
        for line in opened(file).lines()
        if at_of(line) in times and RECONCILED not in line
    }
    twice = found & heard
    return lambda line: bool(twice) and RECONCILED in line and _key(decode_record(line)) in twice


def _key(record: Record) -> tuple[str, str, str | None]:
    return record.node, record.at, record.after


def _may_have_reconciled(file: File) -> bool:
    ends = [end for line in last_lines(file.path) if (end := end_of(line))]
    return not ends or ends[-1].reconciled != 0


def _first(files: Sequence[File]) -> bytes:
    return next((at_of(line) for file in files for line in opened(file).lines()), b"")


def _order(file: File) -> tuple[str, int]:
    return file.series, file.number
