"""A person's own Cypher on an embedded engine, and the questions that graphmill itself asks.

Reads run in the engine's read-only transactions. These refuse to change the graph, but not to change settings of the
running database or to write files, so statements that are not queries are refused before.
"""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches

from graph_stores.errors import GraphmillError, QueryFailed, WriteRefused
from graph_stores.kuzu.columns import restored
from graph_stores.kuzu.engine import Engine
from graph_stores.kuzu.errors import translate, translate_query
from graph_stores.kuzu.parameters import bindable
from graph_stores.kuzu.session import Rows, Session
from graph_stores.model import Table, Value
from graph_stores.questions import Question

_LEADING = re.compile(r"(?:\s+|//[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_QUERY = re.compile(r"(MATCH|OPTIONAL|UNWIND|WITH|RETURN|LOAD\s+FROM|EXPLAIN|PROFILE|CALL\s+\w+\s*\()", re.IGNORECASE)
_EXPLAINED = re.compile(r"(?:EXPLAIN|PROFILE)\b", re.IGNORECASE)
_PARAMETER = re.compile(r"\$(\w+)")
_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_UNKNOWN_TABLE = re.compile(r"Table (\w+) does not exist")
# What may share a transaction; everything else checkpoints, writes past the log, or is accepted outside of one only.
_TRANSACTIONAL = re.compile(r"(MATCH|OPTIONAL|UNWIND|WITH|RETURN|MERGE|LOAD\s+FROM|CREATE\s*\()", re.IGNORECASE)
_OURS = re.compile(r"(BEGIN|COMMIT|ROLLBACK)\b", re.IGNORECASE)
_SETS = re.compile(r"\bSET\b", re.IGNORECASE)


class Queries:
    def __init__(self, engine: Engine, *, largest: int | None = None) -> None:
        self._engine = engine
        self._largest = largest

    def read(
        self, text: str, parameters: Mapping[str, Value], timeout: float, started: Callable[[Session], None]
    ) -> Table:
        """`started` gets the session that runs the query, through which it can be interrupted."""
        _refuse_missing_parameters(text, parameters)
        if not _body(text):
            raise QueryFailed("the query is empty", hint="write a statement, for example MATCH (n) RETURN count(*)")
        try:
            if not _is_query(text):
                self._engine.prepare(text, bindable(parameters))
                raise WriteRefused(
                    "only queries can be run read-only, this is another kind of statement",
                    hint="start with MATCH, UNWIND, WITH, RETURN or CALL; add --write to let it change the graph",
                )
            rows = self._engine.read(
                text, bindable(parameters), timeout=timeout, started=started, largest=self._largest
            )
            return _table(rows)
        except RuntimeError as error:
            raise self._explained(error, timeout) from error

    def answer(self, asked: Question) -> Table:
        try:
            return _table(self._engine.answer(self._engine.tables.naming(asked.text), bindable(asked.parameters)))
        except RuntimeError as error:
            raise translate(error, f"the question {asked.name} failed") from error

    def write(self, text: str, parameters: Mapping[str, Value], timeout: float) -> Table:
        _refuse_missing_parameters(text, parameters)
        if _OURS.match(_statement(text)):
            raise QueryFailed("transactions are graphmill's own", hint="leave it out: every statement is one")
        try:
            if not _TRANSACTIONAL.match(_statement(text)):
                return _table(self._engine.run_guarded(text, bindable(parameters), timeout=timeout))
            with self._engine.transaction("the query failed") as session:
                session.set_timeout(timeout)
                rows = session.run(text, bindable(parameters), keep=False)
            if _SETS.search(text):
                self._engine.lists.note_unknown()
            return _table(rows)
        except GraphmillError as error:
            cause = error.__cause__
            raise self._explained(cause, timeout) if isinstance(cause, RuntimeError) else error from cause
        finally:
            self._engine.restore_settings()
            self._engine.read_tables()

    def _explained(self, error: RuntimeError, timeout: float) -> GraphmillError:
        translated = translate_query(error, timeout)
        if unknown := _UNKNOWN_TABLE.search(str(error)):
            tables = [*self._engine.tables.nodes, *self._engine.tables.edges]
            near = get_close_matches(unknown.group(1), tables, n=1)
            translated.hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(tables))}"
        return translated


def _refuse_missing_parameters(text: str, parameters: Mapping[str, Value]) -> None:
    """The engine takes a parameter that was not given for null."""
    used = _PARAMETER.findall(_QUOTED.sub("", text))
    if missing := next((name for name in used if name not in parameters), None):
        raise QueryFailed(f"the query uses ${missing}, which was not given", hint=f"add --param {missing}=VALUE")


def _body(text: str) -> str:
    leading = _LEADING.match(text)
    return text[leading.end() :] if leading else text


def _statement(text: str) -> str:
    """The text from its first word on, without comments and EXPLAIN or PROFILE before it."""
    body = _body(text)
    while explained := _EXPLAINED.match(body):
        body = _body(body[explained.end() :])
    return body


def _is_query(text: str) -> bool:
    return _QUERY.match(_statement(text)) is not None


def _table(rows: Rows) -> Table:
    return Table(columns=rows.columns, rows=[[restored(value) for value in row] for row in rows])
