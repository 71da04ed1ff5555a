"""Does to a database what may crash the engine, in a process of its own.

`python -m graph_stores.kuzu.probe PARENT DEED ENGINE PATH …`, where PARENT is the process id of the one that starts it.

A crash here harms no other process: `recovery` sees it by the exit code, which is positive after an error. Not to be
imported: it runs as the main module.
"""

import ctypes
import importlib
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import cypher
from graph_stores.kuzu.rebuild import rebuild, scan
from graph_stores.kuzu.session import DIALECT, Session
from graph_stores.kuzu.traits import TRAITS

_SECONDS = 3600.0
_BUFFER_POOL = 1 << 30
_ERROR = 3
_LOOK = 0.05
_PR_SET_PDEATHSIG = 1
_held: list[Any] = []
"""Databases that are never closed: their end would checkpoint, as would the ordinary end of the process."""


def _opened(engine: str, path: Path) -> Session:
    traits = TRAITS[engine]
    module = importlib.import_module(traits.module)
    database = module.Database(str(path), auto_checkpoint=False, buffer_pool_size=_BUFFER_POOL, **traits.options)
    _held.append(database)
    session = Session(module.Connection(database), threads=os.cpu_count() or 1)
    session.set_timeout(_SECONDS)
    session.run(cypher.load(DIALECT, "tables"), keep=False)
    return session


def _die_with_parent(parent: int) -> None:
    """Or the file would stay locked for the next owner."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os._exit(_ERROR)

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent may have died while this process was starting: then the next owner may have the database by now.
    if os.getppid() != parent:
        os._exit(_ERROR)
    threading.Thread(target=watch, daemon=True).start()


def main(parent: str, deed: str, engine: str, path: str, *more: str) -> None:
    # At once: an ordinary end would checkpoint.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _die_with_parent(int(parent))
    session = _opened(engine, Path(path))
    if deed == "scan":
        scan(session)
    elif deed == "checkpoint":
        session.run(cypher.load(DIALECT, "checkpoint"), keep=False)
    elif deed == "rebuild":
        new = Path(more[0])
        rebuild(session, _opened(engine, new), new)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ImportError:  # no word of the engine on the files: the interpreter's own exit code says so
        raise
    except Exception as error:  # noqa: BLE001 an ordinary end would checkpoint
        print(str(error).strip().replace("\n", " "), file=sys.stderr, flush=True)
        os._exit(_ERROR)
    os._exit(0)
