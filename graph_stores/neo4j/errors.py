"""Turns every error of the driver and of the server into one of graphmill's, by the tables below.

What is in no table is transient: trying again is capped by its caller, giving up on a node is for good.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from socket import EAI_NONAME, gaierror
from types import MappingProxyType

from neo4j import exceptions as driver

from graph_stores.errors import (
    AuthenticationFailed,
    DeadlineExceeded,
    GraphmillError,
    Misuse,
    NotAStore,
    PermanentStoreError,
    QueryFailed,
    QueryTimeout,
    ReadOnlyPlace,
    StoreClosed,
    StoreFull,
    StoreUnavailable,
    TransientStoreError,
    UnknownDatabase,
    WriteRefused,
)

# By the server's code or its beginning; the longest that fits decides.
CODES: Mapping[str, type[GraphmillError]] = MappingProxyType(
    {
        "Neo.ClientError.": PermanentStoreError,
        "Neo.ClientError.Cluster.NotALeader": TransientStoreError,
        "Neo.ClientError.Database.DatabaseNotFound": UnknownDatabase,
        "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase": ReadOnlyPlace,
        "Neo.ClientError.General.TransactionOutOfMemoryError": PermanentStoreError,
        "Neo.ClientError.Procedure.": QueryFailed,
        "Neo.ClientError.Schema.": PermanentStoreError,
        "Neo.ClientError.Security.": AuthenticationFailed,
        "Neo.ClientError.Security.AuthorizationExpired": TransientStoreError,
        "Neo.ClientError.Security.Forbidden": PermanentStoreError,
        "Neo.ClientError.Statement.": QueryFailed,
        "Neo.ClientError.Statement.AccessMode": WriteRefused,
        "Neo.ClientError.Transaction.LockClientStopped": DeadlineExceeded,
        "Neo.ClientError.Transaction.Terminated": TransientStoreError,
        "Neo.ClientError.Transaction.TransactionTerminated": TransientStoreError,
        "Neo.ClientError.Transaction.TransactionTimedOut": DeadlineExceeded,
        "Neo.DatabaseError.": TransientStoreError,
        "Neo.DatabaseError.Schema.": PermanentStoreError,
        "Neo.TransientError.": TransientStoreError,
        # The one transaction was too large, so the same one is again; the pool of all of them empties by itself.
        "Neo.TransientError.General.TransactionOutOfMemoryError": PermanentStoreError,
        "Neo.TransientError.Database.DatabaseUnavailable": StoreUnavailable,
        "Neo.TransientError.Transaction.LockClientStopped": DeadlineExceeded,
    }
)

# The first kind that fits decides.
KINDS: tuple[tuple[type[Exception], type[GraphmillError]], ...] = (
    (driver.IncompleteCommit, TransientStoreError),
    (driver.ServiceUnavailable, StoreUnavailable),
    (driver.SessionExpired, StoreUnavailable),
    (driver.ConnectionPoolError, TransientStoreError),
    (driver.UnsupportedServerProduct, NotAStore),
    (driver.ConfigurationError, Misuse),
    (driver.BrokenRecordError, PermanentStoreError),
    (driver.DriverError, TransientStoreError),
    (OSError, StoreUnavailable),
)

_UNENCRYPTED = "Failed to establish encrypted connection"
_ERRNO = re.compile(r"\[Errno (-?\d+)\] ([^()]*)")
FULL = "No space left on device"

HINTS: Mapping[type[GraphmillError], str] = MappingProxyType(
    {
        AuthenticationFailed: "set NEO4J_PASSWORD, and NEO4J_USERNAME if the user is another",
        ReadOnlyPlace: "name the writable server, or use neo4j:// so that the driver finds it",
        StoreFull: "make room on the server's disk; nothing of this was written",
        StoreUnavailable: "is the address right, is the server running, and does it speak TLS if the URL has +s?",
        WriteRefused: "add --write to let it change the graph",
    }
)
_SMALLER = "write smaller batches, or raise dbms.memory.transaction.total.max on the server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Who asks where, for messages."""

    url: str
    user: str | None
    database: str | None


def translate(error: Exception, place: Place, *, asked: bool = False) -> GraphmillError:
    """The one place where a foreign error becomes ours; `asked` where the query is a person's own."""
    kind = classify(error)
    if asked and kind is DeadlineExceeded:
        kind = QueryTimeout
    elif asked and kind is PermanentStoreError:
        kind = QueryFailed
    elif not asked and kind is QueryFailed:
        kind = PermanentStoreError
    hint = _SMALLER if "Memory" in _code(error) else HINTS.get(kind, "")
    return kind(_message(error, kind, place), hint=hint)


def overdue(seconds: float, place: Place, *, asked: bool = False) -> GraphmillError:
    """For a call that this side stopped waiting for."""
    if asked:
        return QueryTimeout(
            f"the query ran longer than {seconds:g} seconds and was stopped", hint="give it more time with --timeout"
        )
    return DeadlineExceeded(
        f"{place.url} did not answer within {seconds:g} s",
        hint="whether it was written is not known: read again before you repeat it",
    )


def closed(place: Place) -> GraphmillError:
    return StoreClosed(f"the store {place.url} is closed", hint="open it again")


def classify(error: Exception) -> type[GraphmillError]:
    if FULL.lower() in str(error).lower():
        return StoreFull
    if code := _code(error):
        fitting = [known for known in CODES if code.startswith(known)]
        return CODES[max(fitting, key=len)] if fitting else TransientStoreError
    return next((ours for theirs, ours in KINDS if isinstance(error, theirs)), TransientStoreError)


def is_for_good(error: BaseException | None) -> bool:
    """Whether a server that could not be reached never can: its name is unknown, or it does not speak TLS."""
    match error:
        case gaierror():
            return error.errno == EAI_NONAME
        case driver.DriverError():
            return _UNENCRYPTED in str(error) or is_for_good(error.__cause__)
        case ExceptionGroup():
            return any(map(is_for_good, error.exceptions))
    return False


def _reason(error: BaseException) -> str:
    """Why a server could not be reached, without what the driver tells of its own parts."""
    if isinstance(error.__cause__, ExceptionGroup):
        return _reason(error.__cause__.exceptions[0])
    if _UNENCRYPTED in str(error):
        return "it does not take an encrypted connection"
    if found := _ERRNO.search(str(error)):
        return os.strerror(int(found[1])) if int(found[1]) > 0 else found[2]
    return " ".join(str(error).split()) or type(error).__name__


def _code(error: Exception) -> str:
    return error.code or "" if isinstance(error, driver.Neo4jError) else ""


def _message(error: Exception, kind: type[GraphmillError], place: Place) -> str:
    said = (error.message if isinstance(error, driver.Neo4jError) else str(error)) or type(error).__name__
    if kind is AuthenticationFailed and place.user is None:
        return f"{place.url} asks for a user and a password, and none were given: {said}"
    if kind is AuthenticationFailed:
        return f"{place.url} did not accept the user {place.user!r}: {said}"
    if kind is UnknownDatabase:
        return f"{place.url} has no database {place.database!r}"
    if kind is StoreUnavailable:
        return f"cannot reach {place.url}: {_reason(error)}"
    return said
