"""What can go wrong, each as a type that says whether trying again can help.

Every message gives the value, what was expected and, as the hint, what to do next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from graph_stores.model import Fence, Transition


class GraphmillError(Exception):
    """The root of every error that graphmill raises on purpose."""

    code: ClassVar[str] = "failed"
    transient: ClassVar[bool] = False
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Misuse(GraphmillError):
    """The request itself is wrong: nothing was tried."""

    code = "misuse"
    exit_code = 2


class TransientStoreError(GraphmillError):
    """The engine could not do it now; the same call may succeed later."""

    code = "store_transient"
    transient = True


class StoreUnavailable(TransientStoreError):
    code = "store_unavailable"


class DeadlineExceeded(TransientStoreError):
    code = "deadline_exceeded"


class StoreOwned(TransientStoreError):
    """Another process, or another handle in this one, owns the embedded database."""

    code = "store_owned"


class HoldLost(TransientStoreError):
    """Nothing of the batch was written, because the hold that it rests on is not under its token any more."""

    code = "hold_lost"


def hold_lost(fence: "Fence") -> HoldLost:
    return HoldLost(
        f"the hold {fence.name!r} is no longer under the token of this commit",
        hint="take the hold again, and read again what the work rests on",
    )


class PermanentStoreError(GraphmillError):
    """The same call will fail again."""

    code = "store_permanent"


class WrongAddress(PermanentStoreError):
    """No server can be reached in this way, now or later: to wait does not help."""

    code = "store_unavailable"


class StoreFull(PermanentStoreError):
    code = "store_full"


class StoreClosed(PermanentStoreError):
    """The handle was closed, or is used in a process that did not open it."""

    code = "store_closed"


class UnknownScheme(Misuse):
    code = "unknown_scheme"


class InvalidIdentifier(Misuse):
    """A label, property or relationship name that must not reach a query."""

    code = "invalid_identifier"


class UnknownLabel(Misuse):
    """A label, property or relationship that the schema does not have."""

    code = "unknown_label"


class StoreNotFound(PermanentStoreError):
    code = "store_not_found"


class NotAStore(PermanentStoreError):
    """What is at the path is not a database of this engine."""

    code = "not_a_store"


class StoreDamaged(PermanentStoreError):
    code = "store_damaged"


class ReadOnlyPlace(PermanentStoreError):
    code = "read_only_place"


class AuthenticationFailed(PermanentStoreError):
    code = "authentication_failed"


class UnknownDatabase(PermanentStoreError):
    code = "unknown_database"


class SchemaMissing(PermanentStoreError):
    code = "schema_missing"


class MigrationUnfinished(PermanentStoreError):
    """The schema is not whole because a migration of an older graph was begun and not finished."""

    code = "migration_unfinished"


class SchemaOlder(PermanentStoreError):
    code = "schema_older"


class SchemaNewer(PermanentStoreError):
    code = "schema_newer"


class SchemaDamaged(PermanentStoreError):
    """A constraint or index that correctness rests on is missing or not online."""

    code = "schema_damaged"


class QueryFailed(PermanentStoreError):
    """The engine did not accept a person's query."""

    code = "query_failed"


class WriteRefused(PermanentStoreError):
    code = "write_refused"


class QueryTimeout(PermanentStoreError):
    code = "query_timeout"


class InvalidVector(PermanentStoreError):
    """A vector of the wrong length, or with a value that is not a finite number."""

    code = "invalid_vector"


class MissingNode(PermanentStoreError):
    """An edge or a vector names a node that is not in the graph."""

    code = "missing_node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A node that was not as a transition expected it; found is None when it is not in the graph at all."""

    label: str
    uuid: str
    expected: str
    found: str | None
    lease_lost: bool

    def __str__(self) -> str:
        if self.lease_lost:
            return f"{self.label} {self.uuid} is {self.found or 'gone'} and its lease is no longer held by this worker"
        return f"{self.label} {self.uuid} was expected to be {self.expected} and is {self.found or 'gone'}"


def conflict_with(transition: "Transition", found: tuple[str, str | None] | None) -> Conflict:
    """What stands in the way of a transition, from the state and lease token that were found, if any were."""
    state, token = found or (None, None)
    return Conflict(
        label=transition.node.label,
        uuid=transition.node.uuid,
        expected=transition.expected,
        found=state,
        lease_lost=transition.token is not None and token != transition.token,
    )


class TransitionConflict(GraphmillError):
    """Nothing of the batch was written, because these nodes had moved on."""

    code = "transition_conflict"

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        more = f" (and {len(conflicts) - 1} more)" if len(conflicts) > 1 else ""
        super().__init__(f"{conflicts[0]}{more}", hint="read the node again before moving it")
        self.conflicts = tuple(conflicts)


class LeaseLost(TransitionConflict):
    """The lease ran out and somebody else may hold the node; the work must be thrown away."""

    code = "lease_lost"


def conflict_error(conflicts: Sequence[Conflict]) -> TransitionConflict:
    """LeaseLost where any of them is a lost lease, so that a worker can tell."""
    lost = any(conflict.lease_lost for conflict in conflicts)
    return LeaseLost(conflicts) if lost else TransitionConflict(conflicts)


def install_command(extra: str) -> str:
    """How a package that comes as an extra is installed, in an environment or as a tool."""
    return f"pip install 'graphmill[{extra}]' (installed with uv: uv tool install 'graphmill[{extra}]')"
