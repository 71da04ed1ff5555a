"""Tests for the test of `scripts/test`. Not collected by themselves: the name does not begin with test_."""


def test_that_passes() -> None:
    pass


def test_that_fails() -> None:
    assert "flour".startswith("grain")
