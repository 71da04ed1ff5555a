"""The ledger: every state change of every node, in files that anybody can read.

Owns how changes are written, kept and read again. Refuses to know a store: it is told what was committed.
`docs/ledger.md` has the format.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.ledger.ledger import Ledger
    from orchestrator.ledger.place import folder_of
    from orchestrator.ledger.reading import Reading
    from orchestrator.ledger.record import Entry

__all__ = ["Entry", "Ledger", "Reading", "folder_of"]

_HOMES = {"Entry": "record", "Ledger": "ledger", "Reading": "reading", "folder_of": "place"}


def __getattr__(name: str) -> object:
    """Imported when asked for: most commands need no ledger, and none needs all of it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
