"""What the Neo4j adapter makes of URLs, values and errors, without a server."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from neo4j import exceptions as driver
from neo4j.time import Date, DateTime, Duration

from graph_stores.errors import (
    AuthenticationFailed,
    DeadlineExceeded,
    GraphmillError,
    InvalidVector,
    Misuse,
    NotAStore,
    PermanentStoreError,
    QueryFailed,
    QueryTimeout,
    ReadOnlyPlace,
    StoreFull,
    StoreUnavailable,
    TransientStoreError,
    UnknownDatabase,
    WriteRefused,
)
from graph_stores.model import Batch, Node, Ref, Unlink
from graph_stores.neo4j.address import Address
from graph_stores.neo4j.errors import CODES, KINDS, Place, translate
from graph_stores.neo4j.plan import plan
from graph_stores.neo4j.values import plain, sendable, sendable_key, sendable_vector

PLACE = Place(url="neo4j://host/db", user="ada", database="db")
SECRET = "s3cret/with@signs#and:colons"

# A code that the server sends under each row of the table, and what it means when graphmill's own statement got it.
BY_CODE: dict[str, tuple[str, type[GraphmillError]]] = {
    "Neo.ClientError.": ("Neo.ClientError.Request.Invalid", PermanentStoreError),
    "Neo.ClientError.Cluster.NotALeader": ("Neo.ClientError.Cluster.NotALeader", TransientStoreError),
    "Neo.ClientError.Database.DatabaseNotFound": ("Neo.ClientError.Database.DatabaseNotFound", UnknownDatabase),
    "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase": (
        "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase",
        ReadOnlyPlace,
    ),
    "Neo.ClientError.General.TransactionOutOfMemoryError": (
        "Neo.ClientError.General.TransactionOutOfMemoryError",
        PermanentStoreError,
    ),
    "Neo.ClientError.Procedure.": ("Neo.ClientError.Procedure.ProcedureNotFound", PermanentStoreError),
    "Neo.ClientError.Schema.": ("Neo.ClientError.Schema.ConstraintValidationFailed", PermanentStoreError),
    "Neo.ClientError.Security.": ("Neo.ClientError.Security.Unauthorized", AuthenticationFailed),
    "Neo.ClientError.Security.AuthorizationExpired": (
        "Neo.ClientError.Security.AuthorizationExpired",
        TransientStoreError,
    ),
    "Neo.ClientError.Security.Forbidden": ("Neo.ClientError.Security.Forbidden", PermanentStoreError),
    "Neo.ClientError.Statement.": ("Neo.ClientError.Statement.SyntaxError", PermanentStoreError),
    "Neo.ClientError.Statement.AccessMode": ("Neo.ClientError.Statement.AccessMode", WriteRefused),
    "Neo.ClientError.Transaction.LockClientStopped": (
        "Neo.ClientError.Transaction.LockClientStopped",
        DeadlineExceeded,
    ),
    "Neo.ClientError.Transaction.Terminated": ("Neo.ClientError.Transaction.Terminated", TransientStoreError),
    "Neo.ClientError.Transaction.TransactionTerminated": (
        "Neo.ClientError.Transaction.TransactionTerminated",
        TransientStoreError,
    ),
    "Neo.ClientError.Transaction.TransactionTimedOut": (
        "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
        DeadlineExceeded,
    ),
    "Neo.DatabaseError.": ("Neo.DatabaseError.General.UnknownError", TransientStoreError),
    "Neo.DatabaseError.Schema.": ("Neo.DatabaseError.Schema.IndexDropFailed", PermanentStoreError),
    "Neo.TransientError.": ("Neo.TransientError.Transaction.DeadlockDetected", TransientStoreError),
    "Neo.TransientError.Database.DatabaseUnavailable": (
        "Neo.TransientError.Database.DatabaseUnavailable",
        StoreUnavailable,
    ),
    "Neo.TransientError.General.TransactionOutOfMemoryError": (
        "Neo.TransientError.General.TransactionOutOfMemoryError",
        PermanentStoreError,
    ),
    "Neo.TransientError.Transaction.LockClientStopped": (
        "Neo.TransientError.Transaction.LockClientStopped",
        DeadlineExceeded,
    ),
}
BY_KIND: dict[type[Exception], tuple[Exception, type[GraphmillError]]] = {
    driver.IncompleteCommit: (driver.IncompleteCommit("lost"), TransientStoreError),
    driver.ServiceUnavailable: (driver.RoutingServiceUnavailable("no route"), StoreUnavailable),
    driver.SessionExpired: (driver.SessionExpired("expired"), StoreUnavailable),
    driver.ConnectionPoolError: (driver.ConnectionAcquisitionTimeoutError("busy"), TransientStoreError),
    driver.UnsupportedServerProduct: (driver.UnsupportedServerProduct("other"), NotAStore),
    driver.ConfigurationError: (driver.CertificateConfigurationError("no such file"), Misuse),
    driver.BrokenRecordError: (driver.BrokenRecordError("date"), PermanentStoreError),
    driver.DriverError: (driver.DriverError("something new"), TransientStoreError),
    OSError: (ConnectionResetError("reset by peer"), StoreUnavailable),
}


def server_error(code: str, message: str = "said the server") -> driver.Neo4jError:
    error = driver.Neo4jError._hydrate_neo4j(code=code, message=message)
    assert isinstance(error, driver.Neo4jError)
    return error


def test_every_row_of_the_tables_is_tried() -> None:
    assert set(BY_CODE) == set(CODES)
    assert list(BY_KIND) == [kind for kind, _ in KINDS]


@pytest.mark.parametrize(("code", "kind"), BY_CODE.values(), ids=BY_CODE)
def test_each_answer_of_the_server_becomes_one_error(code: str, kind: type[GraphmillError]) -> None:
    error = translate(server_error(code), PLACE)
    assert type(error) is kind
    assert error.message


@pytest.mark.parametrize(("error", "kind"), BY_KIND.values(), ids=[kind.__name__ for kind in BY_KIND])
def test_each_error_of_the_driver_becomes_one_of_ours(error: Exception, kind: type[GraphmillError]) -> None:
    assert type(translate(error, PLACE)) is kind


@pytest.mark.parametrize("error", [server_error("Neo.Unheard.Of.Code"), RuntimeError("what?")], ids=str)
def test_what_nobody_knows_is_worth_another_try(error: Exception) -> None:
    assert type(translate(error, PLACE)) is TransientStoreError


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("Neo.ClientError.Statement.SyntaxError", QueryFailed),
        ("Neo.ClientError.Procedure.ProcedureNotFound", QueryFailed),
        ("Neo.ClientError.Schema.ConstraintValidationFailed", QueryFailed),
        ("Neo.ClientError.Transaction.TransactionTimedOut", QueryTimeout),
        ("Neo.ClientError.Statement.AccessMode", WriteRefused),
        ("Neo.TransientError.Transaction.DeadlockDetected", TransientStoreError),
    ],
)
def test_a_persons_query_gets_errors_of_its_own(code: str, kind: type[GraphmillError]) -> None:
    assert type(translate(server_error(code), PLACE, asked=True)) is kind


def test_a_full_disk_is_told_whatever_its_code() -> None:
    error = translate(server_error("Neo.DatabaseError.Transaction.X", "IOException: No space left on device"), PLACE)
    assert type(error) is StoreFull


@pytest.mark.parametrize("code", ["TransactionOutOfMemoryError", "MemoryPoolOutOfMemoryError"])
def test_a_transaction_too_large_for_the_servers_memory_asks_for_smaller_ones(code: str) -> None:
    assert "smaller batches" in translate(server_error(f"Neo.TransientError.General.{code}"), PLACE).hint


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("neo4j://host", ("neo4j://host", None, None, "neo4j://host")),
        ("bolt+s://host:7688/", ("bolt+s://host:7688", None, None, "bolt+s://host:7688")),
        ("neo4j+ssc://ada@host/wiki", ("neo4j+ssc://host", "ada", "wiki", "neo4j+ssc://ada@host/wiki")),
        ("bolt://a%40b@[::1]:7687", ("bolt://[::1]:7687", "a@b", None, "bolt://a%40b@[::1]:7687")),
    ],
)
def test_a_url_names_a_server_and_perhaps_a_user_and_a_database(url: str, expected: tuple[str | None, ...]) -> None:
    address = Address.parse(url)
    assert (address.uri, address.user, address.database, address.shown) == expected


@pytest.mark.parametrize("url", [f"neo4j://ada:{SECRET}@host", "bolt://ada:@host", f"neo4j://:{SECRET}@host/db"])
def test_a_password_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(Misuse) as refusal:
        Address.parse(url)
    assert "NEO4J_PASSWORD" in refusal.value.hint
    assert "s3cret" not in f"{refusal.value!r} {refusal.value.hint}"


@pytest.mark.parametrize("url", ["neo4j://", "bolt://:7687", "neo4j://host:port", "neo4j://host/a/b", "bolt://h?x=1"])
def test_a_url_without_a_server_is_refused(url: str) -> None:
    with pytest.raises(Misuse, match="does not name a server"):
        Address.parse(url)


@pytest.mark.parametrize(
    "value", ["\ud800", 2**63, -(2**63) - 1, object(), b"bytes", datetime(2026, 1, 1), [datetime(2026, 1, 1)]]
)
def test_what_cannot_be_stored_is_refused_before_it_is_sent(value: Any) -> None:
    with pytest.raises(Misuse):
        sendable(value)


def test_values_are_sent_as_they_are_and_moments_in_utc() -> None:
    moment = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert sendable({"a": [1, 2.5, True, None, "é\x00`"], "b": (moment,)}) == {
        "a": [1, 2.5, True, None, "é\x00`"],
        "b": [datetime(2026, 1, 1, 10, tzinfo=UTC)],
    }


def test_a_key_that_no_index_holds_is_refused() -> None:
    assert sendable_key("k" * 2000)
    with pytest.raises(Misuse, match="2002 bytes"):
        sendable_key("é" * 1001)


@pytest.mark.parametrize("values", [[0.0, 0.0], [1e-30, 0.0], [1e30, 0.0], [1.0], [float("nan"), 1.0]], ids=str)
def test_a_vector_without_length_or_of_another_length_is_refused(values: list[float]) -> None:
    with pytest.raises(InvalidVector):
        sendable_vector(values, 2)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (DateTime(2026, 1, 2, 3, 4, 5, 678901234, UTC), datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)),
        (DateTime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05.000000000"),
        (Date(2026, 1, 2), date(2026, 1, 2)),
        (Duration(days=1, seconds=2), "P1DT2S"),
        ({"a": [Date(2026, 1, 2)]}, {"a": [date(2026, 1, 2)]}),
    ],
    ids=str,
)
def test_what_comes_back_is_plain(value: Any, expected: Any) -> None:
    assert plain(value) == expected


def test_a_plan_is_sorted_and_split_and_keeps_the_order_of_what_is_named_twice() -> None:
    nodes = [Node(label="File", uuid=f"{number:05}", name="n", state="pending") for number in range(7000, 0, -1)]
    twice = [Node(label="File", uuid="00001", name=name, state="pending") for name in ("first", "second")]
    deletions = [Ref(label="Scope", uuid="b"), Ref(label="File", uuid="z"), Ref(label="Scope", uuid="a")]
    unlinks = [Unlink(source=Ref(label="File", uuid=uuid), type="LINKS_TO") for uuid in ("y", "x")]
    steps = plan(Batch(nodes=[*nodes, *twice], deletions=deletions, unlinks=unlinks), 0).changes
    assert [(step.label, len(step.rows)) for step in steps] == [
        ("File", 1),
        ("Scope", 2),
        ("File", 2),
        ("File", 5000),
        ("File", 2002),
    ]
    assert (steps[1].rows, steps[2].rows) == (["a", "b"], ["x", "y"])
    rows = [row for step in steps[3:] for row in step.rows]
    assert [row["uuid"] for row in rows] == sorted(row["uuid"] for row in rows)
    assert [row["always"]["name"] for row in rows[:3]] == ["n", "first", "second"]
