"""One connection to an embedded engine, which refuses everything after its first error.

What comes after an error inside a transaction would silently be committed by itself, and what comes after a refused
BEGIN crashes the process.
"""

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from graph_stores.errors import PermanentStoreError, QueryFailed
from graph_stores.model import Value

DIALECT = "kuzu"
_PORTION = 1000


class Rows(list[Sequence[Value]]):
    """The rows of an answer, with the names of their columns."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> None:
        super().__init__(rows)
        self.columns = columns


class Session:
    """A connection and its prepared statements. After any error it is closed and refuses everything."""

    def __init__(self, connection: Any, *, threads: int) -> None:
        self._connection = connection
        self.use_threads(threads)
        self._prepared: dict[tuple[str, ...], Any] = {}
        self._ending = threading.Lock()
        self.broken = False
        self.statements = 0

    def run(
        self,
        text: str,
        parameters: Mapping[str, Value] | None = None,
        *,
        keep: bool = True,
        until: float | None = None,
        largest: int | None = None,
    ) -> Rows:
        """`until` is the monotonic time at which even fetching the rows must end, `largest` how much of it is kept."""
        if self.broken:
            raise PermanentStoreError("a statement of this transaction failed, the rest of it is refused")
        self.statements += 1
        try:
            statement = self._prepared.get(_key(text, parameters or {})) or self._prepare(text, parameters or {}, keep)
            return _rows(self._connection.execute(statement, dict(parameters or {})), until, largest)
        except Exception:
            self.broken = True
            raise

    def answer(self, text: str, parameters: Mapping[str, Value]) -> Any:
        """The answer as the engine gives it, for those who take it in columns."""
        try:
            return self._connection.execute(self._prepare(text, parameters, keep=False), dict(parameters))
        except Exception:
            self.broken = True
            raise

    def run_unprepared(self, text: str) -> Rows:
        """For procedures that the engine turns into several statements of its own."""
        try:
            answer = self._connection.execute(text)
            return _rows(answer[-1] if isinstance(answer, list) else answer)
        except Exception:
            self.broken = True
            raise

    def roll_back(self, text: str) -> None:
        """End the transaction. An error inside it has ended it already, unless only the answer was lost."""
        with contextlib.suppress(RuntimeError):
            self._connection.execute(text).close()
        if self.broken:
            self.close()

    def interrupt(self) -> None:
        """Stop what runs, from another thread."""
        with self._ending:
            if not self.broken:
                self._connection.interrupt()

    def use_threads(self, count: int) -> None:
        """How many of the engine's threads may work on one statement."""
        self._connection.set_max_threads_for_exec(count)

    def set_timeout(self, seconds: float) -> None:
        self._connection.set_query_timeout(max(1, int(seconds * 1000)))

    def close(self) -> None:
        with self._ending:
            self.broken = True
            self._prepared.clear()
            self._connection.close()

    def prepare(self, text: str, parameters: Mapping[str, Value]) -> None:
        self._prepare(text, parameters, keep=False)

    def _prepare(self, text: str, parameters: Mapping[str, Value], keep: bool) -> Any:
        # Preparing first also refuses several statements in one text, which would slip out of a transaction.
        statement = self._connection._prepare(text, dict(parameters))  # noqa: SLF001 its public twin warns of its end
        if not statement.is_success():
            raise RuntimeError(statement.get_error_message())
        if keep and not _holds_object(parameters):
            self._prepared[_key(text, parameters)] = statement
        return statement


def _holds_object(parameters: Mapping[str, Value]) -> bool:
    """A table bound as a parameter is part of the plan, so such a statement cannot be used again."""
    return any(type(value).__module__.startswith("pyarrow") for value in parameters.values())


def _key(text: str, parameters: Mapping[str, Value]) -> tuple[str, ...]:
    """A statement is prepared for the types of its parameters, null being one."""
    return (text, *(_type(parameters[name]) for name in sorted(parameters)))


def _type(value: Value) -> str:
    name = type(value).__name__
    return f"{name} of {_type(value[0]) if value else 'nothing'}" if name == "list" else name


def _rows(result: Any, until: float | None = None, largest: int | None = None) -> Rows:
    """In portions, so that a large answer lets other threads run, and can be stopped."""
    try:
        rows: list[Sequence[Value]] = []
        size = 0
        while portion := _portion(result):
            rows += portion
            if largest is not None and (size := size + _size(portion)) > largest:
                raise QueryFailed(
                    f"the answer is larger than {largest >> 20} MB, and a job is running that needs its memory",
                    hint="add a LIMIT, or ask when the job has ended",
                )
            if until is not None and time.monotonic() > until:
                raise RuntimeError("Interrupted.")
        return Rows(result.get_column_names(), rows)
    finally:
        result.close()


def _portion(result: Any) -> list[Sequence[Value]]:
    """Without the engine's own loop, which makes four calls in Python for each row."""
    fetched = result._query_result  # noqa: SLF001 there is no other way to it
    portion: list[Sequence[Value]] = []
    while len(portion) < _PORTION and fetched.hasNext():
        portion.append(fetched.getNext())
    return portion


def _size(value: Value) -> int:
    """About how much memory a value takes."""
    if isinstance(value, str | bytes):
        return 50 + len(value)
    if isinstance(value, list):
        return 50 + sum(map(_size, value))
    if isinstance(value, dict):
        return 50 + sum(map(_size, value)) + sum(map(_size, value.values()))
    return 50
