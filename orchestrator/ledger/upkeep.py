"""What is done to a ledger beside appending: closed segments are compressed, snapshots taken, leftovers swept away.

Done by one process at a time, whichever comes to it; each step may be the last one that it does.
"""

import time
from collections.abc import Iterable
from pathlib import Path

from orchestrator.ledger import locks
from orchestrator.ledger.content import BLOCK, Closed, first_line, last_lines
from orchestrator.ledger.disk import DISK, Disk
from orchestrator.ledger.files import TEMPORARY, File, Listing, list_files
from orchestrator.ledger.lines import End, header_of, line_of
from orchestrator.ledger.reading import Reading, Unclean, is_ended
from orchestrator.ledger.record import time_text
from orchestrator.ledger.snapshot import KEPT, size_of, write_snapshot

_DAY = 86_400 * 1_000_000
# A snapshot costs a line for each node and each change since the last: it is due when the changes are as many.
_LEAST_TAIL = 8 << 20
# More than that is not held in memory, however many nodes there are.
_MOST_TAIL = 128 << 20
# At the end of a job the next one is thought of, which has to read what is left.
_LEAST_LEFT = 8 << 20
_SHRINKS_TO = 7


def keep_up(folder: Path, *, disk: Disk = DISK, at_the_end: bool = False) -> bool:
    """Whatever is due; False if somebody else is at it."""
    with locks.upkeep(folder) as ours:
        if ours:
            sweep(folder, disk)
            compress(folder, disk)
            if is_due(list_files(folder), at_the_end=at_the_end):
                take_snapshot(folder, disk)
            sweep(folder, disk)
    return ours


def take_snapshot(folder: Path, disk: Disk = DISK) -> int:
    """Under the lock: where every node stands now; returns how many there are."""
    with Reading.open(folder) as reading:
        newest = reading.newest
        # What was removed is remembered for as long as a change from before may still be on its way.
        forget_before = time_text(newest - _DAY) if newest else ""
        return write_snapshot(
            disk,
            folder,
            reading.listing.next_snapshot(),
            reading.lines(forget_before=forget_before),
            covers=reading.covered,
            newest=reading.newest_text,
            now=time.time_ns() // 1000,
        )


def is_due(listing: Listing, *, at_the_end: bool) -> bool:
    """Whether opening has become long, for the number of nodes that there are."""
    newest = listing.snapshots[0] if listing.snapshots else None
    covers = header.covers if newest and (header := header_of(first_line(newest.path))) else {}
    size = size_of(newest) if newest else 0
    left = sum(_left(file, *covers.get(file.stem, (0, False))) for file in listing.segments)
    if at_the_end:
        return left >= max(_LEAST_LEFT, min(size // 4, _MOST_TAIL))
    return left >= min(max(_LEAST_TAIL, size), _MOST_TAIL)


def compress(folder: Path, disk: Disk = DISK) -> None:
    """Under the lock: every segment that was ended."""
    for file in list_files(folder).segments:
        if not file.is_closed and is_ended(file):
            _compress(file, disk)


def sweep(folder: Path, disk: Disk = DISK) -> None:
    """Under the lock: what others have replaced, and snapshots beyond those that are kept; unless somebody reads."""
    listing = list_files(folder)
    going = [*listing.leftovers, *(file.path for file in listing.snapshots[KEPT:])]
    if not going:
        return
    # What replaces them must not be forgotten by the disk after they are.
    disk.sync_folder(folder)
    with locks.removing(folder) as nobody_reads:
        if not nobody_reads:
            going = [path for path in going if path.name.endswith(TEMPORARY)]
        for path in going:
            disk.unlink(path)


def end_lost(folder: Path, lost: Iterable[Unclean], disk: Disk = DISK) -> None:
    """Say that nothing comes any more behind segments whose writers are gone; what they left out is known elsewhere."""
    with locks.upkeep(folder) as ours:
        if not ours:
            return  # by the next one who finds them: a job does not wait for a compaction
        files = {file.name: file for file in list_files(folder).segments}
        for each in lost:
            if (file := files.get(each.file)) and not is_ended(file):
                _end_lost(file, disk)


def _end_lost(file: File, disk: Disk) -> None:
    *_, unfinished = last_lines(file.path)
    mark = line_of(End("lost"))
    out = disk.reopen(file.path)
    try:
        disk.write_all(out, b"\n" + mark if unfinished else mark)
        disk.sync(out)
    finally:
        disk.close(out)


def _left(file: File, covered: int, ended: bool) -> int:
    if ended:
        return 0
    size = file.path.stat().st_size
    return max(0, (size * _SHRINKS_TO if file.is_closed else size) - covered)


def _compress(file: File, disk: Disk) -> None:
    closed = file.path.with_name(f"{file.path.name}.gz")
    beside = closed.with_name(f"{closed.name}{TEMPORARY}")
    out = Closed(disk, beside)
    try:
        with file.path.open("rb") as text:
            while lines := text.readlines(BLOCK):
                out.add(b"".join(lines))
        out.finish()
    finally:
        disk.close(out.file)
    disk.rename(beside, closed)
    disk.sync_folder(file.path.parent)
