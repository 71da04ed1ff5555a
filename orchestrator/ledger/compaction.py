"""Compaction: less history, and the same ledger.

What is older than wanted goes, but for the latest record of every node: with all snapshots broken the files alone
still tell where each stands. One rename makes the new file count instead of those that it names; what is killed before
it has done nothing, and what is killed after it leaves files that nobody reads.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from orchestrator.ledger import locks
from orchestrator.ledger.content import Closed, Damage, first_line, last_lines
from orchestrator.ledger.disk import DISK, Disk
from orchestrator.ledger.files import TEMPORARY, File, Listing, compacted_name, is_import, list_files, stem_of
from orchestrator.ledger.latest import decode_latest
from orchestrator.ledger.lines import FORMAT, RECONCILED, End, Header, at_of, end_of, header_of, line_of
from orchestrator.ledger.merged import Merged
from orchestrator.ledger.reading import opened
from orchestrator.ledger.record import time_of, time_text
from orchestrator.ledger.snapshot import BrokenSnapshot, Snapshot
from orchestrator.ledger.upkeep import compress, sweep, take_snapshot

if TYPE_CHECKING:
    from numpy import uint64
    from numpy.typing import NDArray

_DAY = 86_400 * 1_000_000
_BATCH = 8192
_FEW = 16
_MOST_BUCKETS = 1 << 16
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What came of it; files with `damage` were left as they are."""

    files: int
    kept: int
    dropped: int
    before: int
    damage: tuple[Damage, ...] = ()

    def document(self) -> dict[str, object]:
        return {
            "files": self.files,
            "kept": self.kept,
            "dropped": self.dropped,
            "before": time_text(self.before) if self.before else None,
            "damage": [each.document() for each in self.damage],
        }


class _Fate(msgspec.Struct, gc=False):
    node: str
    at: str
    after: str | None = msgspec.field(default=None, name="to")


_decode_fate = msgspec.json.Decoder(_Fate).decode


def compact(folder: Path, *, before: int | None = None, keep: int | None = None, disk: Disk = DISK) -> Compacted:
    """Drop what happened before a time, or all but so many of the latest changes. Appending goes on meanwhile."""
    with locks.upkeep(folder, wait=True):
        sweep(folder, disk)
        compress(folder, disk)
        snapshot, taken = _covered_twice(folder, disk)
        listing = list_files(folder)
        cutoff = before if before is not None else _cutoff(listing, keep or 0)
        done = _rewrite(folder, listing, taken, snapshot, cutoff, disk)
        if done.files:
            take_snapshot(folder, disk)
        sweep(folder, disk)
        damage = _damage_of(file for file in listing.histories() if file.is_closed and file not in taken)
    return replace(done, damage=(*done.damage, *damage))


def _covered_twice(folder: Path, disk: Disk) -> tuple[Snapshot | None, list[File]]:
    """The newest snapshot, and the ended files that the one before it covers as well."""
    for is_last in (False, False, True):
        listing = list_files(folder)
        ended = [file for file in listing.histories() if file.is_closed]
        good = list(islice(_good(listing), 2))
        taken = [file for file in ended if len(good) == 2 and all(each.has_whole(file) for each in good)]
        if len(taken) == len(ended) or is_last:
            break
        take_snapshot(folder, disk)
    return (good[0] if good else None), taken


def _good(listing: Listing) -> Iterator[Snapshot]:
    for file in listing.snapshots:
        try:
            snapshot = Snapshot.read(file)
        except BrokenSnapshot:
            continue
        if snapshot.is_of(listing):
            yield snapshot


def _rewrite(
    folder: Path, listing: Listing, taken: Sequence[File], snapshot: Snapshot | None, cutoff: int, disk: Disk
) -> Compacted:
    if not taken or snapshot is None:
        return Compacted(files=0, kept=0, dropped=0, before=cutoff)
    name = compacted_name(listing.next_compacted(), uuid4().hex[:8])
    beside = folder / f"{name}{TEMPORARY}"
    merged = Merged(taken)
    others = [file for file in listing.segments if file not in taken]
    choice = _Choice(snapshot, cutoff=time_text(cutoff), removed_since=_oldest(others))
    header = Header(
        FORMAT,
        "compacted",
        stem_of(name),
        began=time_text(time.time_ns() // 1000),
        replaces=[file.stem for file in taken],
        # What replaced these goes itself: without it they would count again.
        hides=[stem_of(path.name) for path in listing.leftovers if path.suffix != TEMPORARY],
        imports=sorted(set(_imports(taken))),
        dropped_before=max([time_text(cutoff), *(file.header.dropped_before for file in taken if file.header)]),
    )
    out = Closed(disk, beside)
    try:
        out.add(line_of(header))
        out.end_member()
        for line in choice.of(each.line for each in merged):
            out.add(line + b"\n")
        out.end_member()
        dropped = choice.dropped + sum(map(_dropped_before, taken))
        out.add(line_of(End("compacted", records=choice.kept, reconciled=choice.reconciled, dropped=dropped)))
        out.finish()
    finally:
        disk.close(out.file)
    if merged.damage:
        return _without_damaged(folder, listing, taken, snapshot, cutoff, disk, merged.damage)
    if not choice.dropped and len(taken) < _FEW:
        return Compacted(files=0, kept=choice.kept, dropped=0, before=cutoff)
    disk.rename(beside, folder / name)
    disk.sync_folder(folder)
    return Compacted(files=len(taken), kept=choice.kept, dropped=choice.dropped, before=cutoff)


def _without_damaged(
    folder: Path,
    listing: Listing,
    taken: Sequence[File],
    snapshot: Snapshot,
    cutoff: int,
    disk: Disk,
    damage: Sequence[Damage],
) -> Compacted:
    """A file that is not as it was written stays for somebody to look at."""
    sweep(folder, disk)
    bad = {each.file for each in damage}
    done = _rewrite(folder, listing, [file for file in taken if file.name not in bad], snapshot, cutoff, disk)
    return replace(done, damage=(*done.damage, *damage))


def _damage_of(files: Iterable[File]) -> Iterator[Damage]:
    """Why a closed file is not covered by snapshots: its end cannot be read."""
    for file in files:
        content = opened(file)
        for _ in content.lines():
            pass
        yield from content.damage


class _Choice:
    """Which records stay. Holds eight bytes for each node, and nothing for each record."""

    def __init__(self, snapshot: Snapshot, *, cutoff: str, removed_since: str) -> None:
        self.kept = 0
        self.dropped = 0
        self.reconciled = 0
        self._cutoff = cutoff.encode()
        self._removed_since = removed_since
        self._latest = _fingerprints(snapshot)

    def of(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        stream = iter(lines)
        while batch := list(islice(stream, _BATCH)):
            staying = self._staying(batch)
            self.kept += len(staying)
            self.dropped += len(batch) - len(staying)
            self.reconciled += sum(RECONCILED in line for line in staying)
            yield from staying

    def _staying(self, batch: Sequence[bytes]) -> list[bytes]:
        import numpy

        old = [place for place, line in enumerate(batch) if at_of(line) < self._cutoff]
        fates = [_decode_fate(batch[place]) for place in old]
        prints = numpy.fromiter((_fingerprint(fate.node, fate.at, fate.after) for fate in fates), "u8", len(fates))
        places = numpy.searchsorted(self._latest, prints)
        found = self._latest.take(places, mode="clip") == prints if len(self._latest) else places < 0
        going = {
            place
            for place, fate, is_latest in zip(old, fates, found, strict=True)
            if not is_latest and (fate.after is not None or fate.at < self._removed_since)
        }
        return [line for place, line in enumerate(batch) if place not in going]


def _fingerprints(snapshot: Snapshot) -> "NDArray[uint64]":
    import numpy

    latest = map(decode_latest, snapshot.lines())
    prints = (_fingerprint(each.node, each.at, each.state) for each in latest)
    found = numpy.fromiter(prints, "u8", snapshot.end.records)
    found.sort()
    return found


def _fingerprint(node: str, at: str, state: str | None) -> int:
    """Two that are the same by chance keep a record too many."""
    return hash((node, at, state)) & _MASK


def _oldest(others: Sequence[File]) -> str:
    """From when on removals stay: files that are not compacted may still tell of the node's life before."""
    began = [header.began for file in others if (header := header_of(first_line(file.path)))]
    return time_text(time_of(min(began)) - _DAY) if began else time_text(time.time_ns() // 1000)


def _cutoff(listing: Listing, keep: int) -> int:
    """A time after which there are at least so many changes, and hardly more; found with bounded memory."""
    width = 1
    buckets: Counter[int] = Counter()
    for file in listing.histories():
        for line in opened(file).lines():
            buckets[time_of(at_of(line).decode()) // width] += 1
            if len(buckets) > _MOST_BUCKETS:
                width *= 2
                buckets = _halved(buckets)
    left = keep
    for bucket in sorted(buckets, reverse=True):
        if left <= 0:
            return (bucket + 1) * width
        left -= buckets[bucket]
    return 0


def _halved(buckets: Counter[int]) -> Counter[int]:
    halved: Counter[int] = Counter()
    for bucket, count in buckets.items():
        halved[bucket // 2] += count
    return halved


def _imports(taken: Iterable[File]) -> Iterator[str]:
    for file in taken:
        yield from file.header.imports if file.header else ()
        if is_import(file.stem):
            yield file.stem


def _dropped_before(file: File) -> int:
    ends = [end for line in last_lines(file.path) if (end := end_of(line))]
    return ends[-1].dropped if ends else 0
