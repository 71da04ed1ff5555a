"""How fast a job is, from what was written down lately."""

import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

from orchestrator.ledger.files import list_files
from orchestrator.ledger.lines import Record, at_of, decode_record
from orchestrator.ledger.reading import opened
from orchestrator.ledger.record import time_of, time_text
from orchestrator.stages import SOURCES, TEXTS
from orchestrator.states import AT_REST, EMBED, LINK, PARSE, RECORDS

_MICRO = 1_000_000
_WORKED_ON = {PARSE: SOURCES, LINK: SOURCES, EMBED: TEXTS}
_AT_WORK = {stage.working.value: stage for stage in _WORKED_ON}
# What was done in less than this is too little to tell a rate from.
_SHORTEST = 1.0


def rates(folder: Path, *, window: float, now: float | None = None) -> dict[str, float] | None:
    """Nodes a second through each stage, and to rest; None where there is no ledger, or nothing in it of late.

    Over the time in which there was work: a job that began ten seconds ago is not six times as slow.
    """
    now = time.time() if now is None else now
    since = time_text(round((now - window) * _MICRO)).encode()
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    recent = [file for file in list_files(folder).segments if file.path.exists()] if folder.is_dir() else []
    for file in recent:
        if file.path.stat().st_mtime < now - window:
            continue
        for line in opened(file).lines():
            if at_of(line) < since:
                continue
            record = decode_record(line)
            for name in _done(record):
                counts[name] += 1
                first[name] = min(first.get(name, record.at), record.at)
    if not counts:
        return None
    return {name: count / max(_SHORTEST, now - time_of(first[name]) / _MICRO) for name, count in counts.items()}


def _done(record: Record) -> list[str]:
    """The stages that the change was the end of, and whether it was the end of all."""
    if record.label in RECORDS or record.reconciled:
        return []
    done = [
        stage.name
        for state, following in pairwise((record.before, *record.via, record.after))
        if (stage := _AT_WORK.get(state or "")) and stage.done == following and record.label in _WORKED_ON[stage]
    ]
    return [*done, "rest"] if record.after in AT_REST else done
