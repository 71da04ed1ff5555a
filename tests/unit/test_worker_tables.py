"""The workers as `status` shows them on a terminal: none, one, and more than anybody wants to read."""

from datetime import timedelta

import pytest

from orchestrator.cli.tables import print_standing
from orchestrator.progress import Pace, Standing
from orchestrator.stages import STAGES
from orchestrator.states import State
from orchestrator.workers import DISAPPEARED, AtWork, Known

# Of another machine, so that nothing is concluded from the processes of this one.
NAME = "mill:1:2:abc"


def worker(number: int, *, gone: bool = False, host: str = "mill", stages: tuple[str, ...] = STAGES) -> AtWork:
    known = Known(
        uuid=str(number),
        name=NAME,
        host=host,
        process=100 + number,
        version="1.2.3",
        stages=stages,
        state=State.SKIP if gone else State.PENDING,
        silent=timedelta(seconds=number),
        unchanged=timedelta(),
        reason=DISAPPEARED if gone else None,
    )
    return AtWork(known=known, holds=1000 * number)


def shown(capsys: pytest.CaptureFixture[str], *workers: AtWork, nodes: int = 1) -> list[list[str]]:
    """The lines from the heading on, as words."""
    counts = {"ready": nodes} if nodes else {}
    standing = Standing(
        store="kuzu:./x",
        project="p",
        states=counts,
        labels={"File": counts} if nodes else {},
        errors=[],
        in_flight=0,
        stuck=0,
        stages={"parse": Pace(remaining=0, rate=0.0)},
        workers=workers,
    )
    print_standing(standing, "graphmill")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    heading = [place for place, words in enumerate(lines) if words[:1] == ["workers"]]
    return lines[heading[0] :] if heading else []


def test_where_nobody_works_nothing_is_said_of_workers(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys) == []


@pytest.mark.parametrize("nodes", [0, 1])
def test_one_is_shown_with_what_it_does_and_holds(capsys: pytest.CaptureFixture[str], nodes: int) -> None:
    heading, _, row = shown(capsys, worker(2), nodes=nodes)
    assert heading == ["workers", "process", "version", "stages", "holds", "heard", "of"]
    assert row == ["mill", "102", "1.2.3", "all", "2,000", "2", "s", "ago"]


def test_those_that_disappeared_come_last_and_stages_are_named_where_they_are_not_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gone, at_work = worker(1, gone=True), worker(2, stages=("parse", "embed"), host="a\x1b[31mb")
    _, _, first, second = shown(capsys, gone, at_work)
    assert first[:5] == ["a\\u001b[31mb", "102", "1.2.3", "parse,", "embed"]
    assert second[-4:] == ["1", "s", "ago,", "disappeared"]


def test_of_very_many_the_first_are_shown_and_the_others_counted(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, *rows, more = shown(capsys, *(worker(number) for number in range(1, 26)))
    assert (len(rows), more[:3]) == (20, ["and", "5", "more:"])
