"""A package that comes as an extra and is not installed: one line that says so, and the command that installs it."""

import sys
from pathlib import Path

import pytest

from graph_stores import open_store
from graph_stores.errors import NotAStore


async def test_an_engine_that_is_not_installed_is_told_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ladybug", None)
    with pytest.raises(NotAStore, match="the ladybug engine is not installed") as failure:
        await open_store(f"ladybug:{tmp_path / 'graph.lbug'}", project="default", create=True)
    assert failure.value.hint.startswith("pip install 'graphmill[ladybug]'")
    assert "uv tool install 'graphmill[ladybug]'" in failure.value.hint
