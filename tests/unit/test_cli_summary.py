"""What is said at the end of a job, and the line that is shown on the way."""

import asyncio
import time
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli import live
from orchestrator.cli.init import _sentence
from orchestrator.cli.live import Bars, Gauge, Lines
from orchestrator.cli.summary import document, sentences
from orchestrator.cli.verify import agreeing
from orchestrator.files.ingestion import told_changes
from orchestrator.files.scan import Changes
from orchestrator.job import Job, Report
from orchestrator.progress import Pace, Standing
from orchestrator.tally import Tally
from orchestrator.workers import AtWork, Known
from pipelines.files.walk import Excluded, LeftOut


def standing(states: dict[str, int], **stages: Pace) -> Standing:
    return Standing(
        store="kuzu:x",
        project="p",
        states=states,
        labels={"File": states},
        errors=[],
        in_flight=0,
        stuck=0,
        stages={name: stages.get(name, Pace(remaining=0, rate=0.0)) for name in ("parse", "link", "embed")},
    )


def report(states: dict[str, int], *, stopped: bool = False, left_out: tuple[LeftOut, ...] = ()) -> Report:
    tally = Tally(read=1200, parsed=3, embedded=40, deleted=1)
    return Report(tally=tally, seconds=75.0, standing=standing(states), stopped=stopped, left_out=left_out)


def told(
    states: dict[str, int], *, until_stopped: bool = False, stopped: bool = False, tally: Tally | None = None
) -> list[str]:
    ended = report(states, stopped=stopped)
    ended = replace(ended, tally=tally or ended.tally)
    return sentences(ended, {}, {}, "graphmill", until_stopped=until_stopped)


@pytest.mark.parametrize(
    ("tally", "expected"),
    [
        (Tally(), "nothing done"),
        (Tally(read=7, parsed=7, embedded=21), "7 files read; 21 texts embedded"),
        (Tally(read=1, parsed=1, embedded=1), "1 file read; 1 text embedded"),
        (Tally(read=40, parsed=31), "40 files read, 31 parsed"),
        (Tally(read=2948, unchanged=2948), "2,948 files checked, all unchanged"),
        (Tally(read=1, unchanged=1), "1 file checked, unchanged"),
        (
            Tally(read=2948, unchanged=2945, parsed=3, embedded=12, deleted=2),
            "2,948 files checked: 3 new or changed, 2,945 unchanged, 2 deleted; 12 texts embedded",
        ),
        (
            Tally(read=361, unchanged=345, parsed=105),
            "361 files checked: 16 new or changed, 105 parsed (89 left from before), 345 unchanged",
        ),
        (Tally(read=9, unchanged=9, parsed=1), "9 files checked: 1 parsed (1 left from before), 9 unchanged"),
        (Tally(read=9, unchanged=5, parsed=3), "9 files checked: 4 new or changed, 3 parsed, 5 unchanged"),
        (Tally(parsed=4, embedded=9), "4 files parsed; 9 texts embedded"),
        (Tally(embedded=9), "9 texts embedded"),
    ],
)
def test_what_was_done_is_told_and_what_was_not_is_left_out(tally: Tally, expected: str) -> None:
    assert told({}, tally=tally) == [f"{expected} in 1 min"]


@pytest.mark.parametrize(
    ("tally", "expected"),
    [
        (Tally(read=12, parsed=12, embedded=47), "12 articles read; 47 texts embedded"),
        (Tally(read=67, parsed=57, unchanged=12), "67 titles looked up, 57 articles parsed, 12 unchanged"),
        (Tally(unchanged=79), "79 articles checked, all unchanged"),
    ],
)
def test_of_a_wiki_articles_are_told(tally: Tally, expected: str) -> None:
    of_wiki = replace(standing({}), labels={"Article": {}})
    found = sentences(replace(report({}), tally=tally, standing=of_wiki), {}, {}, "graphmill", until_stopped=False)
    assert found == [f"{expected} in 1 min"]


Readings = st.lists(st.tuples(*[st.integers(0, 1000)] * 3, st.booleans()), max_size=50)


@given(Readings)
def test_a_bar_never_goes_back(readings: list[tuple[int, int, int, bool]]) -> None:
    gauge, before = Gauge(), (0, 0, 0.0)
    for done, remaining, ahead, is_reading in readings:
        gauge.read(done, Pace(remaining=remaining, rate=1.0, ahead=ahead), is_reading=is_reading)
        now = (gauge.done, gauge.total, gauge.share or 0.0)
        assert all(a <= b for a, b in zip(before, now, strict=True))
        assert gauge.done <= gauge.total and now[2] <= 1.0
        before = now


def test_a_bar_is_not_full_before_the_whole_is_known_nor_when_more_is_to_come() -> None:
    gauge = Gauge()
    gauge.read(0, Pace(remaining=0, rate=0.0), is_reading=False)
    assert gauge.share is None, "nothing was begun yet"
    gauge.read(5, Pace(remaining=0, rate=1.0), is_reading=True)
    assert gauge.share is None
    gauge.read(5, Pace(remaining=0, rate=1.0, ahead=15), is_reading=False)
    assert (gauge.done, gauge.total) == (5, 20), "bar and figures have one total"
    assert gauge.share == 0.25
    gauge.read(20, Pace(remaining=0, rate=1.0), is_reading=False)
    assert gauge.share == 1.0


def test_a_bar_is_full_once_everything_is_at_rest_and_goes_on_with_what_is_new() -> None:
    def shown(gauge: Gauge) -> tuple[int, int, float | None]:
        return gauge.done, gauge.total, gauge.share

    gauge = Gauge()
    gauge.read(0, Pace(remaining=3, rate=0.0), is_reading=False)
    gauge.rest(0)
    assert shown(gauge) == (0, 0, 1.0), "the files that were to be parsed are gone"
    gauge.read(700, Pace(remaining=338, rate=1.0), is_reading=False)
    gauge.rest(700)
    assert shown(gauge) == (700, 700, 1.0)
    gauge.read(700, Pace(remaining=100, rate=1.0), is_reading=False)
    assert shown(gauge) == (700, 800, 0.875)


def test_the_bars_of_a_watch_are_full_while_nothing_is_left_to_do() -> None:
    bars = Bars()
    try:
        for states, left in (({}, 0), ({"linked": 338}, 338), ({"ready": 900}, 0)):
            bars.show(Tally(read=214, embedded=700), standing(states, embed=Pace(remaining=left, rate=0.0)))
        told = {task.description: (task.percentage, task.fields["told"]) for task in bars._bars.tasks}
    finally:
        bars.close()
    full = 100.0
    assert told == {
        "read": (full, "214"),
        "parse": (full, "0 of 0"),
        "link": (full, "0 of 0"),
        "embed": (full, "700 of 700"),
    }


def test_the_end_says_what_to_do_next() -> None:
    assert told({"ready": 1})[1:] == ['1 node ready; next: graphmill search "…"']
    assert told({"ready": 7, "error": 2})[1:] == [
        "2 nodes in error; see: graphmill errors",
        '7 nodes ready; next: graphmill search "…"',
    ]
    assert told({"ready": 1, "linked": 1200}, stopped=True)[1:] == [
        "stopped with 1,200 nodes left: the same command goes on from here"
    ]
    assert told({"ready": 1}, stopped=True)[1:] == ["stopped: the same command goes on from here"]
    assert told({"linked": 2}, stopped=True, until_stopped=True)[1:] == [
        "2 nodes not yet at rest; see: graphmill status"
    ]


def test_what_is_left_to_others_is_said_to_be() -> None:
    known = Known(
        uuid="u",
        name="another:1:2:abc",
        host="another",
        process=1,
        version="1",
        stages=(),
        state="pending",
        silent=timedelta(),
        unchanged=timedelta(),
        reason=None,
    )
    left = replace(standing({"linked": 2}), workers=[AtWork(known=known, holds=2)])
    lines = sentences(replace(report({}), standing=left), {}, {}, "graphmill", until_stopped=False)
    assert lines[1:] == ["2 nodes not yet at rest, left to others at work; see: graphmill status"]


def test_what_was_left_out_is_grouped_by_reason_the_most_frequent_first() -> None:
    left_out = [LeftOut(path=f"{place}", reason=f"reason {place % 7}") for place in range(9)]
    lines = sentences(report({}, left_out=tuple(left_out)), {"binary": 1}, {}, "graphmill", until_stopped=False)
    assert lines[1:] == [
        "9 files left out (all of them: --json):",
        "  2  reason 0",
        "  2  reason 1",
        "  1  reason 2",
        "  1  reason 3",
        "  1  reason 4",
        "  2  for other reasons",
        "1 file without text (see: graphmill query --name skipped):",
        "  1  binary",
    ]


def test_the_document_has_the_keys_of_status_and_what_the_job_did() -> None:
    found = document(report({"ready": 2}, stopped=True, left_out=(LeftOut(path="a", reason="b"),)))
    assert (found["states"], found["read"], found["deleted"], found["seconds"]) == ({"ready": 2}, 1200, 1, 75.0)
    assert (found["stopped"], found["left_out"]) == (True, [{"path": "a", "reason": "b"}])


def test_a_line_is_not_repeated_while_nothing_changes(capsys: pytest.CaptureFixture[str]) -> None:
    lines, tally = Lines(), Tally(read=5, parsed=2)
    halfway = standing({"pending": 3}, parse=Pace(remaining=3, rate=0.5), embed=Pace(remaining=4, rate=2.0))
    for _ in range(2):
        lines.show(tally, halfway)
    lines.say("a file\x1b[2J is gone")
    assert capsys.readouterr().err.splitlines() == [
        "read 5 · parsed 2, 3 to go, 30 nodes/min, about 6 s · embedded 0, 4 to go, 2.0 nodes/s, about 2 s",
        "a file\\u001b[2J is gone",
    ]


async def test_what_is_done_while_the_graph_is_asked_is_not_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is shown although the graph, which took its time, is not asked again so soon."""
    job = Job.__new__(Job)
    job.tally = Tally(parsed=10)
    shown: list[tuple[int, int]] = []
    asked: list[float] = []

    class Watched(Lines):
        every = 0.01

        def show(self, tally: Tally, standing: Standing) -> None:
            shown.append((tally.parsed, standing.stages["parse"].remaining))

    async def slow(*_: object, **__: object) -> Standing:
        asked.append(time.monotonic())
        found = standing({}, parse=Pace(remaining=90, rate=1.0))
        job.tally.parsed = 30
        await asyncio.sleep(0.1)
        return found

    monkeypatch.setattr(live, "read_standing", slow)
    async with live.following(Watched(), job, None):  # type: ignore[arg-type]
        while len(shown) < 2:
            await asyncio.sleep(0.01)
        job.tally.parsed = 40
        while shown[-1][0] < 40:
            await asyncio.sleep(0.01)
    assert (shown[0], shown[-1], len(asked)) == ((30, 70), (40, 60), 1)


def test_what_the_default_excludes_left_out_is_one_line_that_says_how_to_see_it() -> None:
    excluded = [Excluded(path="node_modules", reason="dependencies (node_modules)", folder=True, by_default=True)]
    excluded += [Excluded(path=f"{number}.env", reason="secret (*.env)", by_default=True) for number in range(2)]
    done = replace(report({}), excluded=excluded)
    assert document(done)["default_excludes"] == {"files": 2, "folders": 1}
    (line,) = [
        line
        for line in sentences(done, {}, {}, "graphmill", until_stopped=False, dry_run="graphmill ingest . --dry-run")
        if "by default" in line
    ]
    assert line == (
        "2 files and 1 folder left out by default: secret (*.env), dependencies (node_modules); "
        "all of it: graphmill ingest . --dry-run"
    )


def test_what_was_read_is_called_by_its_kind_also_where_nothing_is_left_of_it() -> None:
    tally, nothing = Tally(read=6, unchanged=6), replace(standing({}), labels={})
    ended = replace(report({}), tally=tally, standing=nothing, kinds=frozenset({"files"}))
    assert sentences(ended, {}, {}, "graphmill", until_stopped=True) == ["6 files checked, all unchanged in 1 min"]


def test_what_a_watch_saw_is_told_by_name() -> None:
    found = Changes(changed=["b.md", "a.md", "n1.md"], new=[f"n{number}.md" for number in range(5)], gone=["old.md"])
    assert told_changes("notes", found) == (
        "changed: notes/a.md, notes/b.md; new: notes/n0.md, notes/n1.md, notes/n2.md and 2 more; gone: notes/old.md"
    )
    assert told_changes("notes", Changes()) == ""
    assert told_changes("notes", Changes(gone=[f"{number:04}" for number in range(1203)])) == (
        "gone: notes/0000, notes/0001, notes/0002 and 1,200 more"
    )


def test_the_next_command_is_one_that_works() -> None:
    ended, wanted = report({"ready": 2}), 'search "…" --embedder-url http://127.0.0.1:1/v1'
    lines = sentences(ended, {}, {}, "graphmill", until_stopped=False, next_command=wanted)
    assert lines[-1] == f"2 nodes ready; next: graphmill {wanted}"


@pytest.mark.parametrize(
    ("count", "about", "told"),
    [
        (1, "are roots of which most files are gone, or all", "is a root of which most files are gone, or all"),
        (2, "are roots of which most files are gone, or all", "are roots of which most files are gone, or all"),
        (1, "have a lease although nobody works on them", "has a lease although nobody works on them"),
        (1, "are ready without a vector", "is ready without a vector"),
    ],
)
def test_one_problem_is_told_of_one(count: int, about: str, told: str) -> None:
    assert agreeing(count, about) == told


def test_a_recovery_is_told_as_one() -> None:
    done = {"store": "kuzu:g", "schema": 7, "did": "nothing", "backup": None, "repaired": [], "schema_before": 7}
    recovered = _sentence({**done, "before_recovery": "g.before-recovery", "lost_commits": 1})
    assert recovered == (
        "recovered kuzu:g without the last commit, which could not be read\nthe files as they were: g.before-recovery"
    )
    assert _sentence({**done, "before_recovery": None, "lost_commits": 0}).endswith("nothing to do")
