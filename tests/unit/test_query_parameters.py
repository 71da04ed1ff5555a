"""What a value of `query --param` is: a time, JSON or text."""

from datetime import UTC, datetime, timedelta, timezone

import click
import pytest

from graph_stores.model import Value
from orchestrator.cli.query import parse_parameter


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04Z", datetime(2026, 1, 2, 3, 4, tzinfo=UTC)),
        ("2026-01-02T03:04:05.25+02:00", datetime(2026, 1, 2, 3, 4, 5, 250_000, tzinfo=timezone(timedelta(hours=2)))),
        ('"2026-01-02T03:04:05Z"', "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05", "2026-01-02T03:04:05"),
        ("2026-01-02", "2026-01-02"),
        ("since 2026-01-02T03:04:05Z", "since 2026-01-02T03:04:05Z"),
        ('["2026-01-02T03:04:05Z"]', ["2026-01-02T03:04:05Z"]),
        ("2026", 2026),
        ("true", True),
        ("mill.md", "mill.md"),
    ],
)
def test_only_a_whole_time_with_its_zone_is_a_time(text: str, value: Value) -> None:
    assert parse_parameter(text) == value


def test_a_time_that_cannot_be_is_refused_and_how_to_write_it_as_text_is_told() -> None:
    with pytest.raises(click.BadParameter, match="2026-13-01T00:00:00Z is not a time") as refusal:
        parse_parameter("2026-13-01T00:00:00Z")
    assert """'"2026-13-01T00:00:00Z"'""" in refusal.value.message
