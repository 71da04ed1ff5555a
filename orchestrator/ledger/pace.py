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
from orchestrator.progress import SHORTEST
from orchestrator.stages import works_on
from orchestrator.states import AT_REST, RECORDS, STAGES

_MICRO = 1_000_000
_AT_WORK = {stage.working.value: stage for stage in STAGES}
# More than this is not read for it: of a fast job the last few seconds tell as much as a minute.
_MOST_READ = 16 << 20
_SHRINKS_TO = 7
_SHORTEST_WINDOW = 5.0


def rates(folder: Path, *, window: float, now: float | None = None) -> dict[str, float] | None:
    """Nodes a second through each stage, and to rest; None where there is no ledger, or nothing in it of late.

    Over the time in which there was work: a job that began ten seconds ago is not six times as slow.
    """
    now = time.time() if now is None else now
    recent = list(_recent(folder, now - window)) if folder.is_dir() else []
    if (size := sum(size for _, _, size in recent)) > _MOST_READ:
        window = max(_SHORTEST_WINDOW, window * _MOST_READ / size)
    begins = round((now - window) * _MICRO)
    since = time_text(begins).encode()
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for file, changed, _ in recent:
        if changed < now - window:
            continue
        for line in opened(file, 0 if file.is_closed else shortly_before(file.path, begins)).lines():
            if at_of(line) < since:
                continue
            record = decode_record(line)
            for name in _done(record):
                counts[name] += 1
                first[name] = min(first.get(name, record.at), record.at)
    if not counts:
        return None
    return {name: count / max(SHORTEST, now - time_of(first[name]) / _MICRO) for name, count in counts.items()}


def _recent(folder: Path, since: float) -> Iterator[tuple[File, float, int]]:
    """The files that were written to since then, when that was, and how much text is in them."""
    for file in list_files(folder).segments:
        found = file.path.stat()
        if found.st_mtime >= since:
            yield file, found.st_mtime, found.st_size * (_SHRINKS_TO if file.is_closed else 1)


def _done(record: Record) -> list[str]:
    """The stages that the change was the end of, and whether it was the end of all."""
    if record.label in RECORDS or record.reconciled:
        return []
    done = [
        stage.name
        for state, following in pairwise((record.before, *record.via, record.after))
        if (stage := _AT_WORK.get(state or "")) and stage.done == following and works_on(stage, record.label)
    ]
    return [*done, "rest"] if record.after in AT_REST else done
