"""One handle on an embedded engine: connections, transactions that cannot half-happen, checkpoints, reopening.

Closes the engine's traps: BEGIN never contends (one writer thread), a connection is thrown away after any error (what
comes after one would silently autocommit, or crash the process), a COMMIT whose outcome is unknown is looked up by its
number after reopening, settings that a query changed are set back, and a checkpoint never meets a reader.
"""

import ctypes
import importlib
import importlib.util
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cypher
from graph_stores.errors import GraphmillError, NotAStore, PermanentStoreError, StoreClosed, StoreFull, install_command
from graph_stores.kuzu import recovery
from graph_stores.kuzu.columns import Tables
from graph_stores.kuzu.errors import translate, translate_open
from graph_stores.kuzu.gate import ReadGate
from graph_stores.kuzu.guard import Guard
from graph_stores.kuzu.list_changes import ListChanges
from graph_stores.kuzu.session import DIALECT, Rows, Session
from graph_stores.kuzu.traits import TRAITS
from graph_stores.model import Value

log = logging.getLogger("graphmill.store")

Connect = Callable[[Any], Any]
"""Makes a connection from the engine's database object; tests put a faulty one around the real one."""


class Engine:
    """The one Database object of this process for a path. Writes come from one thread, reads from others."""

    def __init__(self, name: str, path: Path, guard: Guard, *, connect: Connect | None, deadline: float) -> None:
        self.traits = TRAITS[name]
        self.name = name
        self.path = path
        self.guard = guard
        self.deadline = deadline
        self._connect = connect
        self._database: Any = None
        self._writer: Session | None = None
        self._readers: dict[int, Session] = {}
        self._gate = ReadGate()
        self._number = 0
        self._reopens = False
        self._full: StoreFull | None = None
        self.was_opened = False
        self.lists = ListChanges(matter=self.traits.checkpoint_mixes_lists)
        self._row_counts: dict[str, int] = {}
        self.tables = Tables(nodes={}, edges={}, pairs={}, readable={})

    def open(self) -> None:
        try:
            module = importlib.import_module(self.traits.module)
        except ImportError as error:
            raise NotAStore(f"the {self.name} engine is not installed", hint=install_command(self.name)) from error
        try:
            self._database = module.Database(
                str(self.path),
                auto_checkpoint=False,
                buffer_pool_size=_BUFFER_POOL,
                max_num_threads=_THREADS + GUEST_QUERIES,
                **self.traits.options,
            )
            self._connect = self._connect or module.Connection
            self.read_tables()
            self._number = self._read_number()
            self._reopens = self.was_opened = True
        except GraphmillError:
            raise
        except Exception as error:
            raise translate_open(error, self.path, self.name) from error

    @property
    def is_open(self) -> bool:
        return self._database is not None

    @property
    def is_checkpointing(self) -> bool:
        """Whether the writer is busy with the file itself, which takes as long as the file is large."""
        return self._gate.is_closed

    def recover_and_open(self, *, deaths: int = 0) -> None:
        """Open what the last owner left, whatever became of it."""
        recovery.make_usable(self.name, self.path, self.guard, deaths=deaths, first=not self.was_opened)
        if self.guard.log_size() and not self.was_opened:
            self.lists.note_unknown()
        self.open()
        self.guard.forget_close()

    def rebuild(self) -> None:
        """Go on with a new file that holds every row; its vectors may have any length."""
        with self._gate.closed():
            self._rebuild()

    def _rebuild(self) -> None:
        self._close_database()
        try:
            recovery.rebuild(self.name, self.path, self.guard)
            self.lists.forget()
        finally:
            self.recover_and_open()

    def read_tables(self) -> None:
        """Learn what the database holds; needed after its schema was changed."""
        session = self._writing()
        self.tables = Tables.read(lambda text: session.run(text, keep=False))
        self._row_counts = {
            label: int(session.run(cypher.render(DIALECT, "count_rows", label=label), keep=False)[0][0])
            for label in self.tables.labels
        }

    def holds_any(self, label: str) -> bool:
        """Whether there may be nodes of the label."""
        return self._row_counts[label] > 0

    def count_rows(self, created: Mapping[str, int]) -> None:
        for label, count in created.items():
            self._row_counts[label] += count

    def prefers_keys(self, label: str, count: int, columns: int = 0) -> bool:
        """Whether so many statements by key are cheaper than one that reads the table for all of them."""
        by_key = self.traits.key_seconds + columns * self.traits.key_seconds_per_column
        by_row = self.traits.scan_seconds_per_row * (1 + columns * _COLUMN_TO_KEY)
        return count * by_key < self._row_counts[label] * by_row

    def close(self) -> None:
        self._reopens = False
        with self._gate.closed():
            self._close_database()

    @contextmanager
    def transaction(self, doing: str, *, counted: bool = True) -> Iterator[Session]:
        """All or nothing; any error inside rolls back. A commit of ours has a number, so that it can be looked up."""
        session = self._begin(doing)
        try:
            yield session
            if counted and not session.run(cypher.load(DIALECT, "number_commit"), {"number": self._number + 1}):
                raise PermanentStoreError(
                    "graphmill's own node GraphmillMeta is missing, or would be deleted",
                    hint="name the labels to delete; if it is gone already, run: graphmill init",
                )
        except GraphmillError:
            self._abandon(session)
            raise
        except Exception as error:
            self._abandon(session)
            raise translate(error, doing) from error
        except BaseException:
            self._abandon(session)
            raise
        self._commit(session, doing, counted)
        try:
            self.guard.after_commit()
        except OSError as error:
            # The commit stands; without its note the next start tries the whole log first.
            log.warning("could not note a commit of %s: %s", self.path, error)

    def read(
        self,
        text: str,
        parameters: Mapping[str, Value],
        *,
        timeout: float,
        started: Callable[[Session], None] | None = None,
        largest: int | None = None,
    ) -> Rows:
        """A person's read. One whose answer may not be larger than that is a guest's, and leaves the owner room."""
        until = time.monotonic() + timeout
        with self._read_only(timeout) as session, self._gate.giving_way(session.interrupt):
            if started:
                started(session)
            session.use_threads(_THREADS if largest is None else 1)
            return session.run(text, parameters, keep=False, until=until, largest=largest)

    def answer(self, text: str, *asked: Mapping[str, Value]) -> Rows:
        """A question of our own, once for each set of parameters; all the answers are of the same moment.

        Statements are kept: the engines bind them anew after a change of the schema, and they end with their database.
        """
        until = time.monotonic() + self.deadline
        if len(asked) == 1:
            return self._answer_alone(text, asked[0], until)
        with self._read_only(self.deadline) as session:
            rows = session.run(text, asked[0], until=until)
            for parameters in asked[1:]:
                rows += session.run(text, parameters, until=until)
            return rows

    def _answer_alone(self, text: str, parameters: Mapping[str, Value], until: float) -> Rows:
        """One statement of ours needs no transaction around it, which costs half as much again."""
        with self._gate.reading():
            session = self._reading()
            session.set_timeout(self.deadline)
            try:
                return session.run(text, parameters, until=until)
            finally:
                if session.broken:
                    session.close()

    def columns(self, text: str, parameters: Mapping[str, Value], *, rows: int) -> Any:
        """The answer to a question of ours as a table of columns, of about so many rows."""
        with self._gate.reading():
            session = self._reading()
            session.set_timeout(self.deadline)
            try:
                return session.answer(text, parameters).get_as_arrow(rows)
            finally:
                if session.broken:
                    session.close()

    @contextmanager
    def _read_only(self, timeout: float) -> Iterator[Session]:
        """On a thread of its own connection, in the engine's read-only mode."""
        with self._gate.reading():
            session = self._reading()
            session.set_timeout(timeout)
            session.run(cypher.load(DIALECT, "begin_read_only"))
            try:
                yield session
            finally:
                session.roll_back(cypher.load(DIALECT, "rollback"))

    def prepare(self, text: str, parameters: Mapping[str, Value]) -> None:
        """Have the engine look at a statement without running it."""
        with self._gate.reading():
            self._reading().prepare(text, parameters)

    def run_guarded(self, text: str, parameters: Mapping[str, Value], *, timeout: float) -> Rows:
        """A statement outside of a transaction; the checkpoint after it makes durable what is not in the log."""
        answers: list[Rows] = []

        def work(session: Session) -> None:
            session.set_timeout(timeout)
            answers.append(_alone(session, text, parameters))
            session.set_timeout(_LONG)
            session.run(cypher.load(DIALECT, "checkpoint"), keep=False)

        with self._gate.closed():
            if self.lists.in_file:
                self._rebuild()
            self._guarded(work, "the statement failed")
        return answers[0]

    def restore_settings(self) -> None:
        """A person's query may have changed settings of the whole database; ours are what the guard rests on."""
        self._drop_writer()
        self._writing()

    def checkpoint(self, *, wait: bool) -> bool:
        """Checkpoint under the guard unless somebody reads; with `wait`, when they are done."""
        with self._gate.closed(wait=wait) as alone:
            if alone and self.lists.in_file:
                self._rebuild()
            elif alone:
                text = cypher.load(DIALECT, "checkpoint")
                self._guarded(lambda session: session.run(text, keep=False), "the checkpoint failed")
            return alone

    def _guarded(self, work: Callable[[Session], object], doing: str) -> None:
        """Under the guard, and then with a new handle: where edges had been deleted, the next look at them after a
        checkpoint may crash the engine. Where it fails, the copy is put back."""
        session = self._writing()
        session.set_timeout(_LONG)
        try:
            self.guard.checkpoint(lambda: work(session), self._open_again)
            self.lists.forget()
        except Exception as error:
            if self.guard.holds_copy() or not isinstance(error, GraphmillError):
                self._reopen()
            if isinstance(error, GraphmillError):
                raise
            raise translate(error, doing) from error

    def _open_again(self) -> None:
        self._close_database()
        self.open()

    def _begin(self, doing: str) -> Session:
        try:
            self.guard.before_write()
        except OSError as error:
            raise translate(error, doing) from error
        session = self._writing()
        session.set_timeout(self.deadline)
        try:
            session.run(cypher.load(DIALECT, "begin"))
        except Exception as error:
            # After a refused BEGIN the next statement on the connection crashes the process, and after one whose
            # answer was lost nobody could write, so everything starts afresh.
            with self._gate.closed():
                self._reopen()
            raise translate(error, doing) from error
        session.statements = 0
        return session

    def _commit(self, session: Session, doing: str, counted: bool) -> None:
        try:
            session.run(cypher.load(DIALECT, "commit"))
        except Exception as error:
            # It may have happened: a failure after the log was written is durable all the same.
            if isinstance(full := translate(error, doing), StoreFull):
                self._give_up(full)
                raise full from error
            expected = self._number + 1
            log.warning("the answer to a commit was lost (%s); looking it up", error)
            with self._gate.closed():
                self._reopen()
            if not counted or self._number != expected:
                raise translate(error, doing) from error
            return
        if counted:
            self._number += 1

    def _give_up(self, full: StoreFull) -> None:
        """Leave the handle as it is. Closing it would write what is left in its buffers, and end the process if it
        cannot, so it is kept alive for good; the next process finds every acknowledged commit."""
        self._full = full
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._database))
        self._database = self._writer = None
        self._readers = {}
        self._reopens = False

    def _reopen(self) -> None:
        self._close_database()
        self.recover_and_open()

    def _close_database(self) -> None:
        self._drop_sessions()
        database, self._database = self._database, None
        if database is not None:
            database.close()

    def _abandon(self, session: Session) -> None:
        """Roll back, and throw the connection away where a statement failed on it."""
        session.roll_back(cypher.load(DIALECT, "rollback"))
        if session.statements and self.traits.rollback_blocks_rows:
            with self._gate.closed():
                self._reopen()
        elif session.broken:
            self._drop_writer()

    def _drop_sessions(self) -> None:
        """While nobody reads: connections and statements must not outlive their database."""
        self._drop_writer()
        readers, self._readers = self._readers, {}
        for session in readers.values():
            session.close()

    def _drop_writer(self) -> None:
        if self._writer:
            self._writer.close()
        self._writer = None

    def _writing(self) -> Session:
        if self._database is None and self._reopens:
            # An earlier attempt to open it again failed; there may be room, or a file descriptor, by now.
            self.recover_and_open()
        if self._writer is None or self._writer.broken:
            self._writer = self._session()
            for setting in ("no_automatic_checkpoint", "no_checkpoint_on_close"):
                self._writer.run(cypher.load(DIALECT, setting))
        return self._writer

    def _reading(self) -> Session:
        """This thread's own. Of a thread that is gone, the one that was given its number goes on with it."""
        thread = threading.get_ident()
        if thread not in self._readers or self._readers[thread].broken:
            self._readers[thread] = self._session()
        return self._readers[thread]

    def _session(self) -> Session:
        if self._full:  # every later call gives the reason, because any of them may be the one whose error is shown
            raise StoreFull(self._full.message, hint=self._full.hint)
        if self._database is None or self._connect is None:
            raise StoreClosed(f"{self.path} is closed", hint="open the store again")
        return Session(self._connect(self._database), threads=_THREADS)

    def _read_number(self) -> int:
        """The number of the last commit; zero in a database that has no schema of ours."""
        session = self._writing()
        if "GraphmillMeta" not in self.tables.nodes:
            return 0
        rows = session.run(cypher.load(DIALECT, "last_commit"), keep=False)
        return int(rows[0][0]) if rows else 0


_BUFFER_POOL = 1 << 31
_THREADS = os.cpu_count() or 1
GUEST_QUERIES = 2
"""As many queries of guests run at once, each on one thread more than the owner needs: two on its threads, and it could
not even commit before they end."""
# Reading another column of a row costs about an eighth of finding its key.
_COLUMN_TO_KEY = 0.125
_LONG = 3600.0


def _alone(session: Session, text: str, parameters: Mapping[str, Value]) -> Rows:
    return session.run(text, parameters, keep=False) if parameters else session.run_unprepared(text)
