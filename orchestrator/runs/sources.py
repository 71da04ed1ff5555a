"""Sources that disappear: what stops a run before it deletes what the source may still have.

A missing or emptied source fails its run. It deletes nothing and costs no node a try.
"""

import shlex
from collections.abc import Sequence

from graph_stores.errors import GraphmillError

# A run needs permission to delete more than this many items of a source, if they are also more than a third of it.
_FEW = 10
_SHARE = 3
_LISTED = 3
ALLOW = "--allow-deletes"
# The option of a run that records the permission, so that any worker on any machine can act on it.
ALLOWED = "allow_deletes"


class SourceLost(GraphmillError):
    """The source cannot be read as a whole. The run fails, and nothing is wrong with its nodes."""

    code = "source_lost"


class MassDeletion(SourceLost):
    """The run would delete most of what the graph has of a source. `command` is what the user gives to allow it, and
    `instead` what to do to keep it.
    """

    code = "too_many_deletes"

    def __init__(
        self, message: str, *, command: Sequence[str], instead: str = "bring them back and run it again"
    ) -> None:
        self.command = (*command, ALLOW)
        self.instead = instead
        super().__init__(message, hint=f"to delete them from the graph: {shlex.join(('graphmill', *self.command))}")


def is_mass_deletion(gone: int, known: int) -> bool:
    """Whether deleting `gone` of the `known` items of a source needs permission."""
    return gone > _FEW and gone * _SHARE > known


def listed(names: Sequence[str]) -> str:
    """The first of them, and how many there are beside."""
    shown = ", ".join(names[:_LISTED])
    return f"{shown} and {len(names) - _LISTED:,} more" if len(names) > _LISTED else shown
