"""The files around an embedded database: whatever takes its place, a kill leaves one of the two whole."""

from pathlib import Path

import pytest

from graph_stores.kuzu.guard import Guard


class _Killed(BaseException):
    pass


@pytest.mark.parametrize("moment", ["replacement there", "replacement in place", "log put back", "file put back"])
def test_a_kill_while_a_database_takes_the_place_of_another_loses_neither(tmp_path: Path, moment: str) -> None:
    def step(name: str) -> None:
        if name == moment:
            raise _Killed

    path, backup = tmp_path / "g.kuzu", tmp_path / "g.kuzu.before-migration"
    path.write_bytes(b"new")
    backup.mkdir()
    for name in ("g.kuzu", "g.kuzu.wal", "g.kuzu.wal.checkpoint"):
        (backup / name).write_bytes(b"old")
    with pytest.raises(_Killed):
        Guard(path, step).replace_by(backup)
    Guard(path, lambda _: None).recover()
    if backup.exists():
        Guard(path, lambda _: None).replace_by(backup)
    names = ("g.kuzu", "g.kuzu.wal", "g.kuzu.wal.checkpoint")
    assert [(tmp_path / name).read_bytes() for name in names] == [b"old"] * 3
