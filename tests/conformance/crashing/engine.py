"""The real engine, except that it kills its process where a fault is scripted.

`kuzu.py` and `ladybug.py` beside this file stand for the engines when this folder comes first on PYTHONPATH. The fault
is in the data, as a real one is, so every process that comes upon it dies: a log that holds the word DEADLY.
FAULT=checkpoint: CHECKPOINT dies. FAULT=checkpointed: CHECKPOINT leaves a file that cannot be opened. FAULT=log: such a
log cannot be read. FAULT=interrupt: Ctrl-C is pressed when a child process has opened the database.
"""

import importlib
import os
import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
DEADLY = "deadly" * 20
_POISON = b"poisoned" * 512


def load(name: str) -> ModuleType:
    """The real module instead of the one that asks for it."""
    places, sys.path = sys.path, [place for place in sys.path if Path(place or ".").resolve() != HERE]
    del sys.modules[name]
    try:
        real = importlib.import_module(name)
    finally:
        sys.path = places
    _script(real)
    return real


def _script(real: ModuleType) -> None:
    fault, databases = os.environ.get("FAULT"), {}
    open_database, connect = real.Database.__init__, real.Connection.__init__
    execute, prepare = real.Connection.execute, real.Connection._prepare
    texts: dict[int, str] = {}

    def opened(self: Any, path: str, *more: Any, **options: Any) -> None:
        if (fault == "log" and _is_deadly(path)) or (Path(path).exists() and Path(path).read_bytes().endswith(_POISON)):
            _die()
        open_database(self, path, *more, **options)
        databases[id(self)] = path
        if fault == "interrupt" and "graph_stores.kuzu.probe" in sys.orig_argv:
            os.killpg(os.getpgid(os.getppid()), signal.SIGINT)

    def connected(self: Any, database: Any, *more: Any, **options: Any) -> None:
        connect(self, database, *more, **options)
        self.path_of_test = databases[id(database)]

    def prepared(self: Any, text: str, *more: Any) -> Any:
        statement = prepare(self, text, *more)
        texts[id(statement)] = text
        return statement

    def executed(self: Any, statement: Any, *more: Any) -> Any:
        text = statement if isinstance(statement, str) else texts.get(id(statement), "")
        deadly = text.strip() == "CHECKPOINT" and _is_deadly(self.path_of_test)
        if deadly and fault == "checkpoint":
            _die()
        answer = execute(self, statement, *more)
        if deadly and fault == "checkpointed":
            with Path(self.path_of_test).open("ab") as file:
                file.write(_POISON)
        return answer

    real.Database.__init__ = opened
    real.Connection.__init__ = connected
    real.Connection.execute = executed
    real.Connection._prepare = prepared


def _is_deadly(path: str) -> bool:
    log = Path(f"{path}.wal")
    return log.exists() and DEADLY.encode() in log.read_bytes()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)
