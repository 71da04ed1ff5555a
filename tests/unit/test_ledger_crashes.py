"""Whatever call of the disk fails, and however: nothing acknowledged is lost, and nothing is there twice."""

import random
import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from orchestrator.ledger import compaction, locks, upkeep
from orchestrator.ledger.files import list_files
from orchestrator.ledger.ledger import Ledger
from orchestrator.ledger.record import Entry
from orchestrator.ledger.validation import validate

from .ledger_faults import BreakingDisk, How, Killed, Lives, Told

NODES = [f"node-{letter}" for letter in string.ascii_lowercase[:6]]
SMALL = 1500
MANY = 1_000_000


@pytest.fixture(autouse=True)
def small_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happens after megabytes happens after a few lines."""
    make_small(monkeypatch)


def make_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_FEW", 2)
    monkeypatch.setattr(upkeep, "_LEAST_TAIL", SMALL)
    monkeypatch.setattr(upkeep, "_LEAST_LEFT", SMALL)
    monkeypatch.setattr("orchestrator.ledger.ledger._BETWEEN_LOOKS", SMALL)
    monkeypatch.setattr("orchestrator.ledger.upkeep.KEPT", 3)


def opened(folder: Path, disk: BreakingDisk, writer: str = "w") -> Ledger:
    folder.mkdir(exist_ok=True)
    return Ledger(folder, writer=writer, disk=disk, segment_bytes=SMALL, background=False)


def snapshot(folder: Path, disk: BreakingDisk) -> None:
    with locks.upkeep(folder, wait=True):
        upkeep.sweep(folder, disk)
        upkeep.take_snapshot(folder, disk)


def append(ledger: Ledger, told: Told, lives: Lives, **how: object) -> None:
    """As a job does: what fails is tried again."""
    entries = lives.moves(told, NODES, **how)  # type: ignore[arg-type]
    told.begin(entries)
    for _ in range(2):
        try:
            ledger.append(entries)
            break
        except OSError:
            continue
    else:
        raise AssertionError("an error that happens once must not happen twice")
    told.acknowledge(entries)


def work(folder: Path, disk: BreakingDisk, told: Told, lives: Lives, *, keep: int) -> None:
    """A bit of everything that is ever done to a ledger."""
    ledger = opened(folder, disk)
    for number in range(5):
        append(ledger, told, lives, removed=NODES[:1] if number == 3 else ())
    ledger.close()
    second = opened(folder, disk, "second")
    append(second, told, lives)
    _quietly(lambda: compaction.compact(folder, keep=keep, disk=disk))
    told.compacted(keep)
    append(second, told, lives)
    _quietly(lambda: snapshot(folder, disk))
    append(second, told, lives)
    second.close()
    _quietly(lambda: compaction.compact(folder, keep=keep, disk=disk))
    told.compacted(keep)


def go_on(folder: Path, told: Told, lives: Lives, *, keep: int) -> None:
    """What the next process does."""
    ledger = opened(folder, BreakingDisk(), "next")
    append(ledger, told, lives)
    ledger.close()
    compaction.compact(folder, keep=keep, disk=BreakingDisk())
    told.compacted(keep)


def _quietly(step: object) -> None:
    try:
        step()  # type: ignore[operator]
    except OSError:
        return


def calls_of_all_work(folder: Path, keep: int) -> int:
    disk = BreakingDisk()
    work(folder, disk, Told(), Lives(), keep=keep)
    return disk.calls


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "keep"), [("before", 10), ("after", MANY), ("power", 10), ("power", MANY), ("error", 10)]
)
def test_whichever_call_fails_what_was_acknowledged_is_there_once(tmp_path: Path, how: How, keep: int) -> None:
    total = calls_of_all_work(tmp_path / "whole", keep)
    assert total > 50
    for number in range(1, total + 1):
        folder = tmp_path / f"at-{number}"
        told, lives = Told(), Lives()
        disk = BreakingDisk(number, how)
        try:
            work(folder, disk, told, lives, keep=keep)
        except Killed:
            # The history of a compaction that was under way may be gone or not.
            told.compacted(keep)
        told.check(folder)
        go_on(folder, told, lives, keep=keep)
        told.check(folder)
        assert {check: found.examples for check, found in validate(folder).problems.items() if check != "damage"} == {}


def test_nothing_of_all_that_work_stays_behind(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    work(folder, BreakingDisk(), Told(), Lives(), keep=10)
    listing = list_files(folder)
    assert (listing.leftovers, len(listing.compacted), len(listing.snapshots)) == ([], 1, 3)


class AnythingAtAnyTime(RuleBasedStateMachine):
    """Several writers, snapshots, compactions, damage to snapshots, and deaths in the middle of any of it."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        make_small(self.patch)
        self.told = Told()
        self.lives = Lives()
        self.writers: list[tuple[Ledger, BreakingDisk]] = []

    @initialize()
    def make_room(self) -> None:
        import tempfile

        self.room = tempfile.TemporaryDirectory()
        self.folder = Path(self.room.name) / "ledger"
        self.folder.mkdir()

    def teardown(self) -> None:
        self.patch.undo()
        for _, disk in self.writers:
            disk.kill()
        if hasattr(self, "room"):
            self.told.check(self.folder)
            self.room.cleanup()

    @rule()
    def another_writer(self) -> None:
        disk = BreakingDisk()
        self.writers.append((opened(self.folder, disk, f"writer {len(self.writers)}"), disk))

    @precondition(lambda self: self.writers)
    @rule(
        which=st.integers(0, 9),
        nodes=st.lists(st.sampled_from(NODES), min_size=1, max_size=8),
        removed=st.sets(st.sampled_from(NODES), max_size=1),
        tick=st.integers(0, 1),
        fails=st.integers(1, 12) | st.none(),
        how=st.sampled_from(["before", "after", "power", "error"]),
    )
    def append(self, which: int, nodes: list[str], removed: set[str], tick: int, fails: int | None, how: How) -> None:
        ledger, disk = self.writers[which % len(self.writers)]
        # Within one moment a node does not come back to where it was: nobody could tell what was first.
        entries = self.lives.moves(self.told, dict.fromkeys(nodes) if not tick else nodes, removed=removed, tick=tick)
        self.told.begin(entries)
        disk.at, disk.how = disk.calls + fails if fails else None, how
        try:
            self._append_until_done(ledger, entries)
        except Killed:
            self.writers.remove((ledger, disk))
            self.told.check(self.folder)
            return
        disk.at = None
        self.told.acknowledge(entries)

    def _append_until_done(self, ledger: Ledger, entries: list[Entry]) -> None:
        for _ in range(3):
            try:
                ledger.append(entries)
                return
            except OSError:
                continue

    @rule(fails=st.integers(1, 40) | st.none(), how=st.sampled_from(["before", "after", "power"]))
    def take_snapshot(self, fails: int | None, how: How) -> None:
        self._while_breaking(fails, how, lambda disk: snapshot(self.folder, disk))

    @rule(
        fails=st.integers(1, 60) | st.none(),
        how=st.sampled_from(["before", "after", "power"]),
        keep=st.sampled_from([0, 3, 10, MANY]),
    )
    def compact(self, fails: int | None, how: How, keep: int) -> None:
        self.told.compacted(keep)
        self._while_breaking(fails, how, lambda disk: compaction.compact(self.folder, keep=keep, disk=disk))

    def _while_breaking(self, fails: int | None, how: How, step: object) -> None:
        disk = BreakingDisk(fails, how)
        try:
            step(disk)  # type: ignore[operator]
        except Killed:
            self.told.check(self.folder)

    @rule(seed=st.integers(0, 1000))
    def break_a_snapshot(self, seed: int) -> None:
        if snapshots := list_files(self.folder).snapshots:
            path = random.Random(seed).choice(snapshots).path
            data = bytearray(path.read_bytes())
            if data:
                data[seed % len(data)] ^= 0x10
                path.write_bytes(bytes(data))

    @precondition(lambda self: self.writers)
    @rule(which=st.integers(0, 9))
    def end_a_writer(self, which: int) -> None:
        ledger, disk = self.writers.pop(which % len(self.writers))
        ledger.close()
        assert not disk.dead

    @rule()
    def look(self) -> None:
        self.told.check(self.folder)


AnythingAtAnyTime.TestCase.settings = settings(
    max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAnythingAtAnyTime = AnythingAtAnyTime.TestCase
