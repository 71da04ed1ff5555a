"""Whether a ledger is as it must be: every record whole, every move legal, every node's moves a chain, and the
snapshots what the records say.

Holds a little for each node, and nothing for each record.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from orchestrator.ledger.content import Damage
from orchestrator.ledger.files import File, dropped_before
from orchestrator.ledger.holes import step_before
from orchestrator.ledger.lines import Record, decode_record, seq_of
from orchestrator.ledger.merged import Merged, doubles
from orchestrator.ledger.reading import Reading
from orchestrator.ledger.record import time_of
from orchestrator.ledger.snapshot import BrokenSnapshot, Snapshot
from orchestrator.states import BIRTH, MOVES, STEPS

EXAMPLES = 5
# Records of two writers about one node may come out of order by that much before it counts as a hole.
_OUT_OF_ORDER = 10_000_000
_BORN = {str(state) for state in BIRTH}
_WORDS = {str(state) for state in MOVES}


@dataclass(slots=True, kw_only=True)
class Problem:
    check: str
    about: str
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, example: str) -> None:
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(example)

    def document(self) -> dict[str, object]:
        return {"check": self.check, "about": self.about, "count": self.count, "examples": self.examples}


_ABOUT = {
    "damage": "places that are not as they were written",
    "order": "records that are missing, or there twice, within a writer's own count",
    "move": "moves that the table of states does not have",
    "chain": "nodes that left another state than the one they had come to",
    "snapshot": "nodes that the snapshot shows in another state than the records do",
}


@dataclass(slots=True, kw_only=True)
class Verdict:
    """`odd` counts what is no problem and yet worth telling."""

    records: int = 0
    nodes: int = 0
    problems: dict[str, Problem] = field(default_factory=dict)
    odd: Counter[str] = field(default_factory=Counter)

    def report(self, check: str, example: str) -> None:
        self.problems.setdefault(check, Problem(check=check, about=_ABOUT[check])).add(example)

    def document(self) -> dict[str, object]:
        return {
            "records": self.records,
            "nodes": self.nodes,
            "problems": [problem.document() for problem in self.problems.values()],
            "odd": dict(self.odd),
        }


def validate(folder: Path) -> Verdict:
    with Reading.open(folder) as reading:
        files = list(reading.listing.histories())
        verdict = Verdict()
        chains = _Chains(verdict, dropped_before(files))
        damage = [str(each) for each in (*reading.damage, *_walk(files, verdict, chains), *_broken(reading))]
        chains.finish()
        verdict.nodes = len(chains.states)
        # What stands behind the snapshot was met twice.
        for each in dict.fromkeys(damage):
            verdict.report("damage", each)
        _compare(reading, chains, verdict)
        if reading.unclean:
            verdict.odd["writers that did not end their segment"] += len(reading.unclean)
    return verdict


def _walk(files: Sequence[File], verdict: Verdict, chains: "_Chains") -> Sequence[Damage]:
    is_double = doubles(files)
    merged = Merged(files)
    counted: dict[str, int] = {}
    compacted = {file.series for file in files if file.header}
    for at, line, series in merged:
        verdict.records += 1
        if series not in compacted:
            _check_order(counted, series, seq_of(line), verdict)
        if is_double(line):
            verdict.odd["reconciled, and heard as well"] += 1
            continue
        record = decode_record(line)
        _check_move(record, verdict)
        chains.take(record, time_of(at.decode()))
    return merged.damage


def _check_order(counted: dict[str, int], series: str, seq: int, verdict: Verdict) -> None:
    last = counted.get(series)
    if last is not None and seq != last + 1:
        verdict.report("order", f"{series}: {seq:,} follows {last:,}")
    counted[series] = seq


def _check_move(record: Record, verdict: Verdict) -> None:
    if record.reconciled or record.imported:
        verdict.odd["reconciled" if record.reconciled else "imported"] += 1
        return
    if not _is_legal(record):
        way = " → ".join(str(state or "nothing") for state in (record.before, *record.via, record.after))
        verdict.report("move", f"{record.node} at {record.at}: {way}")


def _is_legal(record: Record) -> bool:
    way = (record.before, *record.via, record.after)
    steps = list(pairwise(way))
    if record.after is None:
        last, _ = steps.pop()
        if last is not None and last not in _WORDS:
            return False
    if record.before is None and steps:
        _, born = steps.pop(0)
        if born not in _BORN:
            return False
    return all(step in STEPS for step in steps)


class _Chains:
    """What each node has come to. A record that does not fit waits for the one that it follows from."""

    def __init__(self, verdict: Verdict, dropped_before: str) -> None:
        self.states: dict[str, tuple[str | None, str]] = {}
        self._dropped_before = dropped_before
        self._verdict = verdict
        self._waiting: dict[str, list[Record]] = {}
        gone = "older changes were dropped by a compaction" if dropped_before else "life began before it"
        self._unborn = f"nodes whose {gone}"
        self._firsts: dict[str, tuple[str, str]] = {}
        """Of nodes that are not known to be born: the state before their first record, and its time."""

    def take(self, record: Record, at: int) -> None:
        node = record.node
        known = self.states.get(node)
        if known is None:
            if record.before is not None and not record.reconciled:
                self._verdict.odd[self._unborn] += 1
                if record.at >= self._dropped_before:
                    self._firsts[node] = (record.before, record.at)
            self._move(record)
        elif record.before == known[0] or record.reconciled or record.imported:
            self._move(record)
            self._catch_up(node)
        elif self._is_before_the_first(record):
            self._take_as_first(record)
        elif known[1] < self._dropped_before:
            self._verdict.odd["changes that follow from one that was dropped by a compaction"] += 1
            self._move(record)
        elif step_before(record, known=known[0], since=known[1]):
            self._verdict.odd["changes that a killed process could not write down, known from the next one"] += 1
            self._move(record)
            self._catch_up(node)
        else:
            self._waiting.setdefault(node, []).append(record)
            if at - time_of(self._waiting[node][0].at) > _OUT_OF_ORDER:
                self._jump(node)

    def finish(self) -> None:
        for node in list(self._waiting):
            while node in self._waiting:
                self._jump(node)

    def _move(self, record: Record) -> None:
        self.states[record.node] = (record.after, record.at)

    def _is_before_the_first(self, record: Record) -> bool:
        """Whether the record of the node that was met first follows from this one: a process may hear of two of its
        commits in the other order."""
        first = self._firsts.get(record.node)
        return first is not None and record.after == first[0] and record.at <= first[1]

    def _take_as_first(self, record: Record) -> None:
        if record.before is not None:
            self._firsts[record.node] = (record.before, record.at)
            waiting = self._waiting.get(record.node, ())
            if earlier := next((each for each in waiting if self._is_before_the_first(each)), None):
                self._take_out(record.node, earlier)
                self._take_as_first(earlier)
            return
        del self._firsts[record.node]
        self._verdict.odd[self._unborn] -= 1
        self._verdict.odd += Counter()  # drops what has come to zero

    def _catch_up(self, node: str) -> None:
        while waiting := self._waiting.get(node):
            state = self.states[node][0]
            following = next((record for record in waiting if record.before == state), None)
            if following is None:
                return
            self._take_out(node, following)
            self._move(following)

    def _jump(self, node: str) -> None:
        """There is a hole: go on behind it."""
        record = min(self._waiting[node], key=lambda each: each.at)
        state, at = self.states[node]
        left, come_to = record.before or "nothing", state or "nothing"
        self._verdict.report("chain", f"{node} at {record.at}: from {left}, and it had come to {come_to}")
        self._take_out(node, record)
        if record.at >= at:
            self._move(record)
            self._catch_up(node)

    def _take_out(self, node: str, record: Record) -> None:
        self._waiting[node].remove(record)
        if not self._waiting[node]:
            del self._waiting[node]


def _broken(reading: Reading) -> Iterator[Damage]:
    """Of all snapshots that are kept, not only the one that is used."""
    for file in reading.listing.snapshots:
        try:
            Snapshot.read(file)
        except BrokenSnapshot as broken:
            yield broken.damage


def _compare(reading: Reading, chains: _Chains, verdict: Verdict) -> None:
    """The records were read after the snapshot: where they say something later, that is no contradiction."""
    left = chains.states
    for each in reading.latest(imported=True):
        state, at = left.pop(each.node, (None, ""))
        if state != each.state and at <= each.at:
            verdict.report("snapshot", f"{each.node}: {each.state}, and the records say {state or 'nothing'}")
    for node, (state, at) in left.items():
        if state is not None and at < reading.newest_text:
            verdict.report("snapshot", f"{node}: nothing, and the records say {state}")
