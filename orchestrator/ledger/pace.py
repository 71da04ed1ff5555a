"""How fast a job is, from what was written down lately."""

import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from orchestrator.ledger.files import File, list_files
from orchestrator.ledger.lines import Record, at_of, decode_record
from orchestrator.ledger.reading import opened, shortly_before
from orchestrator.ledger.record import time_of, time_text
from orchestrator.stages import works_on
from orchestrator.states import RECORDS, STAGES

_MICRO = 1_000_000
_AT_WORK = {stage.working.value: stage for stage in STAGES}
# More than this is not read for it: of a fast job the last few seconds tell as much as a minute.
_MOST_READ = 8 << 20
_SHRINKS_TO = 7
_SHORTEST_WINDOW = 20.0


def done_lately(folder: Path, *, window: float, now: float | None = None) -> dict[str, Counter[int]] | None:
    """How many nodes came through each stage in each second; None where the ledger has nothing of late."""
    now = time.time() if now is None else now
    recent = list(_recent(folder, now - window)) if folder.is_dir() else []
    if (size := sum(size for _, _, size in recent)) > _MOST_READ:
        window = max(_SHORTEST_WINDOW, window * _MOST_READ / size)
    begins = round((now - window) * _MICRO)
    since = time_text(begins).encode()
    done: dict[str, Counter[int]] = {}
    for file, changed, _ in recent:
        if changed < now - window:
            continue
        for line in opened(file, 0 if file.is_closed else shortly_before(file.path, begins)).lines():
            if at_of(line) < since:
                continue
            record = decode_record(line)
            for name in _done(record):
                done.setdefault(name, Counter())[time_of(record.at) // _MICRO] += 1
    return done or None


def _recent(folder: Path, since: float) -> Iterator[tuple[File, float, int]]:
    """The files that were written to since then, when that was, and how much text is in them."""
    for file in list_files(folder).segments:
        found = file.path.stat()
        if found.st_mtime >= since:
            yield file, found.st_mtime, found.st_size * (_SHRINKS_TO if file.is_closed else 1)


def _done(record: Record) -> list[str]:
    """The stages that the change was the end of."""
    if record.label in RECORDS or record.reconciled:
        return []
    return [
        stage.name
        for state, following in pairwise((record.before, *record.via, record.after))
        if (stage := _AT_WORK.get(state or "")) and stage.done == following and works_on(stage, record.label)
    ]
