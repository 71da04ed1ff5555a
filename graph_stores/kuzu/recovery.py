"""Makes a database usable after its owner died, without risk to this process: a child process tries first.

A child also tries first where the files were changed since they were closed, by whatever did that.

Three things can be wrong. The log may be torn by a kill inside a commit: it is cut back to the last commit that was
acknowledged. A checkpoint may crash the engine every time: the graph is rebuilt in a new file. The engine may crash
when it opens or reads the files as they are: then commits would be lost, so only a person may order it (`cut_back`).
"""

import fcntl
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from graph_stores.errors import (
    NotAStore,
    PermanentStoreError,
    StoreDamaged,
    StoreFull,
    StoreOwned,
    TransientStoreError,
    install_command,
)
from graph_stores.kuzu.errors import translate_open
from graph_stores.kuzu.guard import Guard
from graph_stores.kuzu.traits import TRAITS

log = logging.getLogger("graphmill.store")

_BACKUP = "before-recovery"
_SECONDS = 3600.0
_LONGEST_FAREWELL, _FAREWELL_LOOK = 60.0, 0.02
_NOT_LOADED = 1
_ENDED_BY_OTHERS = (-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    code: int
    error: str

    @property
    def crashed(self) -> bool:
        return self.code < 0

    @property
    def done(self) -> bool:
        return self.code == 0


def attempt(deed: str, engine: str, *paths: Path) -> Outcome:
    """Open, scan, checkpoint or rebuild a database in a child process."""
    probe = [sys.executable, "-P", "-m", "graph_stores.kuzu.probe", str(os.getpid())]
    command = [*probe, deed, engine, *map(str, paths)]
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        check=False,
        process_group=0,  # Ctrl-C would end it in the middle, and its end would checkpoint without a guard
    )
    lines = ended.stderr.strip().splitlines()
    return Outcome(code=ended.returncode, error=lines[-1] if lines else "")


def make_usable(engine: str, path: Path, guard: Guard, *, deaths: int = 0, first: bool = False) -> None:
    """Bring the files into a state that the engine can open, and checkpoint if it died in a checkpoint.

    `deaths` says how many owners in a row ended without closing the database; zero if this process owns it all along.
    `first` says that this process has not opened it before, so that others may have changed the files.
    """
    if deaths:
        _wait_for_child_of_dead_owner(path)
    put_back = guard.recover()
    if lost := guard.lost_commits():
        log.warning("the log of %s is cut off: its last %d commits are lost", path, lost)
        guard.forget_lost()
    end = guard.torn_end()
    if not path.exists():
        return
    strange_log = first and not deaths and not guard.is_log_as_closed()
    tries = bool(deaths) or strange_log or (first and not guard.is_file_as_closed())
    if end is None and not tries:
        return
    # After one death only opening is tried: it is cheap. After more of them, something that was opened was deadly.
    deed = "scan" if deaths > 1 or strange_log else "open"
    outcome = None if lost else _judged(deed, engine, path)
    if end is not None and not (outcome and outcome.done):
        if not lost:
            log.warning("the end of the log of %s is torn; it is cut back to the last whole commit", path)
        guard.cut_log(end)
        outcome = _judged(deed, engine, path) if tries else None
    if outcome and outcome.crashed:
        when = "read" if deed == "scan" else "opened"
        raise _unusable(engine, path, f"crashes the {engine} engine when it is {when}")
    if put_back and deaths:
        _prove_checkpoint(engine, path, guard)


def _judged(deed: str, engine: str, path: Path) -> Outcome:
    """What the engine makes of the files; an error if it did not get to look at them, as that says nothing of them."""
    outcome = attempt(deed, engine, path)
    error = translate_open(RuntimeError(outcome.error), path, engine)
    if not outcome.done and not outcome.crashed and isinstance(error, StoreOwned | StoreFull):
        raise error
    if outcome.code == _NOT_LOADED:
        raise NotAStore(f"the {engine} engine cannot be loaded: {outcome.error}", hint=install_command(engine))
    if outcome.code in _ENDED_BY_OTHERS:
        raise TransientStoreError(f"the process that opens {path} was ended", hint="run the command again")
    return outcome


def _wait_for_child_of_dead_owner(path: Path) -> None:
    """A child process ends with its parent, but a moment later, and until then it holds the engine's lock."""
    until = time.monotonic() + _LONGEST_FAREWELL
    while path.exists() and time.monotonic() < until:
        # Closing the file gives up every lock of this process on it: it has none yet.
        with path.open("rb+") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                time.sleep(_FAREWELL_LOOK)
            else:
                return


def rebuild(engine: str, path: Path, guard: Guard) -> None:
    """Write every row into a new file, which takes the place of this one. The database must be closed."""
    guard.check_room(2.0, "rebuild the graph in a new file")
    new = guard.workspace() / path.name
    outcome = attempt("rebuild", engine, path, new)
    if outcome.done:
        outcome = attempt("scan", engine, new)
    if not outcome.done:
        shutil.rmtree(new.parent)
        raise PermanentStoreError(
            f"{path} cannot be rebuilt in a new file: {_reason(outcome)}",
            hint=f"bring the graph into another one: graphmill copy {engine}:{path} {engine}:NEW",
        )
    guard.replace_by(new.parent)


def cut_back(engine: str, path: Path, guard: Guard) -> tuple[int, Path | None]:
    """Go back to the last commit with which the engine can read and checkpoint the database.

    Returns how many commits are lost, and where the files are as they were. Nothing is lost, and nothing changed, if
    the files are usable as they are.
    """
    guard.recover(check=False)
    most, is_ours = guard.intact_end(), guard.is_log_ours()
    ends = sorted({0, most, *(end for end in guard.noted_ends() if end <= most)})
    if is_ours and _is_usable(engine, path, guard, most):
        shutil.rmtree(guard.workspace())
        return 0, None
    good, bad = -1, len(ends) - is_ours
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if _is_usable(engine, path, guard, ends[middle]) else (good, middle)
    if good < 0:
        raise StoreDamaged(
            f"{path} cannot be read even without its log", hint=f"restore {path.name} and its .wal file from a backup"
        )
    lost = sum(end > ends[good] for end in guard.noted_ends())
    backup = guard.backup(_BACKUP)
    _is_usable(engine, path, guard, ends[good])
    guard.replace_by(guard.workspace(empty=False))
    return lost, backup


def _prove_checkpoint(engine: str, path: Path, guard: Guard) -> None:
    """Try the checkpoint that the last owner died in on a copy; rebuild the graph if it crashes again.

    Where a log may hold changes that a checkpoint would damage (`list_changes`), it is never checkpointed: the engine
    rebuilds the graph instead when it is time.
    """
    if TRAITS[engine].checkpoint_mixes_lists:
        log.warning("the owner of %s died in a checkpoint; it was undone, and no commit is lost", path)
        return
    try:
        copy = guard.copy_to_workspace() / path.name
    except StoreFull as error:  # then no checkpoint can be made either
        log.warning("%s was put back as it was before a checkpoint that did not end; %s", path, error)
        return
    outcome = attempt("checkpoint", engine, copy)
    if outcome.done:
        outcome = attempt("open", engine, copy)
    if outcome.done:
        guard.replace_by(copy.parent)
        log.warning("the owner of %s died in a checkpoint; it was repeated, and no commit is lost", path)
    elif not outcome.crashed:
        shutil.rmtree(copy.parent)
        log.warning("the owner of %s died in a checkpoint; it was undone, and no commit is lost", path)
    else:
        try:
            rebuild(engine, path, guard)
        except PermanentStoreError as error:
            what = f"crashes the {engine} engine in every checkpoint; {error.message}"
            raise _unusable(engine, path, what) from error
        log.warning("a checkpoint of %s crashed the engine; rebuilt in a new file, and no commit is lost", path)


def _is_usable(engine: str, path: Path, guard: Guard, end: int) -> bool:
    """Whether the engine can read it, and checkpoint it, with so much of the log; leaves the copy in the workspace."""
    copy = guard.copy_to_workspace(end) / path.name
    if not TRAITS[engine].checkpoint_mixes_lists and not attempt("checkpoint", engine, copy).done:
        return False
    return attempt("scan", engine, copy).done


def _reason(outcome: Outcome) -> str:
    return "that crashes the engine, too" if outcome.crashed else outcome.error


def _unusable(engine: str, path: Path, what: str) -> StoreDamaged:
    return StoreDamaged(
        f"{path} {what}",
        hint=f"go back to its last usable commit, with a backup: graphmill --store {engine}:{path} init --recover",
    )
