"""DuckDB behind one class: every statement of the package passes through here."""

from __future__ import annotations

import contextlib
import functools
import logging
import random
import secrets
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import duckdb
from sqlglot import exp

from ppdm_sql.engine import statements
from ppdm_sql.engine.faults import explained, is_interrupt, redacted
from ppdm_sql.engine.names import (
    Table,
    as_typed,
    free_name,
    match,
    quoted,
    spellings,
    table_name,
    tables_read,
)
from ppdm_sql.engine.signals import held_back, on_commit
from ppdm_sql.engine.space import SpillFolder
from ppdm_sql.engine.statements import Statement
from ppdm_sql.engine.types import fetchable
from ppdm_sql.errors import Conflict, EngineError, OpenResult, PpdmError, PpdmWarning, UnknownTable, unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rows = list[tuple[Any, ...]]
Fetched = TypeVar("Fetched")
Arguments = ParamSpec("Arguments")
logger = logging.getLogger("ppdm_sql")
sql_logger = logging.getLogger("ppdm_sql.sql")

MOST_TRIES, SECONDS_TO_NEXT_TRY = 5, 0.2

_TABLES_AND_VIEWS = """
SELECT table_name, schema_name, database_name,
    NOT contains(upper(sql), 'GENERATED ALWAYS')
    AND database_name IN (SELECT d.database_name FROM duckdb_databases() AS d WHERE d.type = 'duckdb')
FROM duckdb_tables() WHERE NOT internal
UNION ALL
SELECT view_name, schema_name, database_name, FALSE FROM duckdb_views() WHERE NOT internal"""

_locks: weakref.WeakKeyDictionary[duckdb.DuckDBPyConnection, threading.RLock] = weakref.WeakKeyDictionary()
_locks_lock = threading.Lock()
_SEEN = (
    "A result on this connection is not read to its end, so this ran on a connection beside it, which sees "
    "neither temporary tables nor what an open transaction has changed."
)
_ORDINARY = {
    "integer_division": False,
    "default_order": "ASCENDING",
    "default_null_order": "NULLS_LAST",
    "default_collation": "",
    "preserve_insertion_order": True,
}
"""Settings that change what a statement means, with the values under which ours are written."""


class Column(NamedTuple):
    """A column as the catalogue knows it: its name and the text of its type."""

    name: str
    type: str


class ReadSource(NamedTuple):
    """A table, file or frame: where it stands, how it is read again, and what the user should know."""

    table: Table
    how: Mapping[str, Any] = MappingProxyType({})
    notices: Sequence[str] = ()


@dataclass(frozen=True)
class Publishing:
    """How releases are published until it is said otherwise.

    Args:
        record: What the catalogue keeps of each, beside what its run says.
        replaces: The release whose place is taken, in the same transaction.
        whole: Whether Ctrl-C ends a run with nothing, not with the state reached.
    """

    record: Mapping[str, object] = field(default_factory=dict)
    replaces: str | None = None
    whole: bool = False


class Engine:
    """Runs statements on one connection, names them in logs and errors, keeps working tables apart.

    Threads may share it: statements, and what is done inside :meth:`workspace`, :meth:`transaction` and
    :meth:`alone`, follow one another. A connection that it owns is closed with it, a spill folder removed.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        *,
        spill: SpillFolder | None = None,
        owned: bool = False,
    ) -> None:
        self.connection = connection
        self.tracer: Callable[[Statement], None] | None = None  # told of each statement of a step
        self.dry = False  # whether what is for good is shown alone
        self.committed = False  # whether the last transaction was
        self.given: dict[str, ReadSource] = {}  # what is read now, by the names that the user has for it
        self.publishing = Publishing()
        self.place: tuple[str, str] | None = None  # the database and schema that were last seen as current
        self.spark: Any = None  # the place where tables live that are not in DuckDB
        self.sources: dict[Table, Any] = {}  # of tables that live elsewhere, by their stand-ins
        self._spill = spill
        self._owned = owned
        self._run = secrets.token_hex(4)
        self._numbers = count()
        self._working: list[tuple[str, Table]] = []
        self._sizes: dict[Table, int] = {}
        self._overlays: dict[str, str] = {}  # the SELECT of each temporary view
        self._depth = self._settling = 0
        self._inside = False
        self._switch = threading.Lock()
        self._lock = _lock_of(connection)
        self._in_snapshot = self._writes_in_snapshot = False

    # -- running ------------------------------------------------------------------------------

    def query(self, sql: str, params: Mapping[str, object] | None = None, *, step: str) -> Rows:
        """Run a statement and fetch all its rows; callers ask for aggregates only.

        The engine's own words, which may quote cells, are in no error's message.
        """
        return self._fetched(sql, params, step, duckdb.DuckDBPyConnection.fetchall)

    def number(self, sql: str, params: Mapping[str, object] | None = None, *, step: str) -> int:
        ((number,),) = self.query(sql, params, step=step)
        return int(number)

    def look_up(self, sql: str, params: Mapping[str, object] | None = None, *, step: str) -> Rows:
        """Run what is not a step, as a look at the catalogue or a note for later runs; untraced, even dry."""
        with self.untraced():
            return self.query(sql, params, step=step)

    @contextlib.contextmanager
    def untraced(self) -> Iterator[None]:
        tracer, self.tracer = self.tracer, None
        try:
            yield
        finally:
            self.tracer = tracer

    def arrays(
        self, sql: str, params: Mapping[str, object] | None = None, *, step: str
    ) -> dict[str, NDArray[Any]]:
        """Run a statement and fetch its columns as numpy arrays (counts and codes, never cells)."""
        return self._fetched(sql, params, step, duckdb.DuckDBPyConnection.fetchnumpy)

    def materialize(
        self,
        step: str,
        select: exp.Expression | str,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
    ) -> Table:
        """Write the rows of a SELECT into a temporary working table of this run and give its name.

        A name that is wished for gets underscores behind it where the user has such a table.
        """
        table = self._new("TABLE", step, name)
        text = statements.render(select)
        between = "\n" if "\n" in text else " "
        create = Statement(f"CREATE TEMP TABLE {table} AS{between}{text}", file=statements.file_of(text))
        self._sizes[table] = statements.row_count(create, self.query(create, params, step=step))
        return table

    def size(self, table: Table) -> int:
        """Give how many rows a working table was made with, which its making told."""
        return self._sizes[table]

    def overlay(self, select: exp.Expression | str) -> Table:
        """Make a temporary view of a SELECT, to be read in the place of a table during this run."""
        view, text = self._new("VIEW", "view"), statements.render(select)
        self._overlays[view.name] = text
        self.query(f"CREATE TEMP VIEW {view} AS {text}", step="overlay")
        return view

    def enumerate_values(self, values: exp.Expression | str) -> Table:
        """Make a temporary ENUM type of the non-NULL values that a one-column SELECT gives, in order.

        A table that uses the type keeps the values but not the name, and outlives the type.
        """
        name = self._new("TYPE", "type")
        text = statements.render(values)
        self.query(f"CREATE TEMP TYPE {name} AS ENUM ({text})", step="enumerate")
        return name

    def _new(self, kind: str, what: str, name: str | None = None) -> Table:
        """Name a working table, view or type, and remember to drop it."""
        made = Table(f"ppdm_{self._run}_{next(self._numbers)}_{what}")
        if name is not None:
            taken = [*self.tables(), *(read.table for read in self.given.values())]
            made = Table(free_name(name, [table.name for table in taken]), "main", "temp", stable=True)
        self._working.append((kind, made))
        return made

    def discard(self, table: Table) -> None:
        self.query(f"DROP TABLE IF EXISTS {table}", step="discard")

    def write(self, sql: str, params: Mapping[str, object] | None = None, *, step: str) -> None:
        """Run a statement that changes the database for good; only shown when the engine runs dry."""
        (self._trace if self.dry else self.query)(sql, params, step=step)

    def _trace(self, sql: str, params: Mapping[str, object] | None, step: str) -> None:
        if self.tracer is not None:
            text = statements.filled(sql, params or {})
            self.tracer(Statement(text, step=step, file=statements.file_of(sql)))

    def _fetched(
        self,
        sql: str,
        params: Mapping[str, object] | None,
        step: str,
        fetch: Callable[[duckdb.DuckDBPyConnection], Fetched],
    ) -> Fetched:
        """Run and fetch: results are streamed, so a statement can fail at either."""
        with self._lock:
            self._trace(sql, params, step)
            logged = logger.isEnabledFor(logging.DEBUG)
            if logged:
                sql_logger.debug("%s: %s", step, redacted(sql))
            started = time.perf_counter()
            try:
                done = self.connection.execute(sql, params or None)
                if columns := fetchable((name, kind) for name, kind, *_ in done.description or ()):
                    again = f"SELECT {columns} FROM ({sql.rstrip('; ')})"  # noqa: S608, names are quoted
                    done = self.connection.execute(again, params or None)
                result = fetch(done)
            except (duckdb.Error, RuntimeError) as cause:
                if is_interrupt(cause):
                    raise KeyboardInterrupt from None
                if isinstance(cause, duckdb.Error):
                    raise self._explained(sql, step, cause) from None
                raise
        if logged:
            seconds = time.perf_counter() - started
            logger.debug("%s: %d rows, %.4f s", step, statements.row_count(sql, result), seconds)
        return result

    def relation(self, sql: str) -> duckdb.DuckDBPyRelation:
        """Give a query as a relation, which is run when it is read."""
        with self._lock:
            try:
                return self.connection.sql(sql)
            except duckdb.Error as cause:
                raise self._explained(sql, "relation", cause) from None

    def _explained(self, sql: str, step: str, cause: duckdb.Error) -> PpdmError:
        """Put into words what the engine refuses, with the names of what it was to read."""

        def read() -> list[str]:
            return [as_typed(table, self.place) for table in tables_read(sql, self._overlays)]

        return explained(step, cause, inside=self._inside, read=read)

    def interrupt(self) -> None:
        """Stop the statement that another thread runs here, unless it commits or tidies up."""
        with self._switch:
            if not self._settling:
                with contextlib.suppress(duckdb.ConnectionException):  # it was closed at this moment
                    self.connection.interrupt()

    def alone(self, work: Callable[[], Fetched]) -> Fetched:
        """Do work during which no other thread uses the connection; again where another one interferes.

        It writes in one transaction, if at all, so that it can be done again.
        """
        return self.unblocked(lambda: self._repeated(work))

    def _repeated(self, work: Callable[[], Fetched]) -> Fetched:
        for left in reversed(range(MOST_TRIES)):
            self.committed = False
            try:
                return work()
            except Conflict:
                if not left or self._inside:
                    raise
                logger.info("another connection changed the same; trying again")
            except KeyboardInterrupt:
                if not self.committed:
                    raise
                raise KeyboardInterrupt("Ctrl-C came after the commit; what was asked is done.") from None
            time.sleep(SECONDS_TO_NEXT_TRY * random.random())
        raise AssertionError

    def unblocked(self, work: Callable[[], Fetched]) -> Fetched:
        """Do work while no other thread uses the connection; beside it where a result on it is still read.

        It runs a statement before it does anything that cannot be done again.
        """
        with self._lock:
            try:
                return work()
            except OpenResult:
                if self._depth or self._inside:
                    raise
            with self._beside():
                return work()

    @contextlib.contextmanager
    def _beside(self) -> Iterator[None]:
        """Use a connection of its own inside, in the place where the owner's was last seen."""
        warnings.warn(_SEEN, PpdmWarning, stacklevel=2)
        owners, self.connection = self.connection, self.connection.cursor()
        try:
            if self.place is not None:
                self.connection.execute(f"USE {'.'.join(map(quoted, self.place))}").fetchall()
            yield
        finally:
            self.connection.close()
            self.connection = owners

    def refuses(self, sql: str, beginning: str) -> bool:
        """Tell whether the engine refuses a statement with words that begin so.

        It is asked on another connection, since a refusal would end a transaction that is open on this one.
        """
        other = self.connection.cursor()
        try:
            other.execute(sql)
        except duckdb.Error as cause:
            return str(cause).startswith(beginning)
        finally:
            other.close()
        return False

    # -- scopes -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def workspace(self) -> Iterator[None]:
        """Drop every working table and type made inside, on success and on error.

        Inside, the settings on which statements rely have their ordinary values, whatever the owner of the
        connection chose.
        """
        with self._lock:
            first = len(self._working)
            chosen = {} if self._depth else self._settle()
            self._depth += 1
            try:
                yield
            finally:
                with self._undisturbed():
                    self._depth -= 1
                    self._tidy(first, chosen)

    def _tidy(self, first: int, chosen: Mapping[str, object]) -> None:
        """Give settings back what was chosen, and drop working tables, views and types from a number on."""
        for name, value in chosen.items():
            self._try(_setting(name, value))
        for made in reversed(self._working[first:]):
            kind, table = made
            self._sizes.pop(table, None)
            self.sources.pop(table, None)
            self._overlays.pop(table.name, None)
            if self._try(f"DROP {kind} IF EXISTS {table}"):
                self._working.remove(made)

    def _try(self, sql: str) -> bool:
        """Run a statement that may fail, twice where a late interrupt hits the first; tell whether it ran."""
        for _ in range(2):
            try:
                self.connection.execute(sql)
            except (duckdb.Error, RuntimeError) as error:
                if is_interrupt(error):
                    continue
                return False
            return True
        return False

    @contextlib.contextmanager
    def publishes(self, **how: Any) -> Iterator[None]:
        """Let releases be published so inside; see :class:`Publishing`."""
        before = self.publishing
        self.publishing = replace(before, **how)
        try:
            yield
        finally:
            self.publishing = before

    @contextlib.contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Let neither a signal nor :meth:`interrupt` stop what is done inside."""
        with self._switch:
            self._settling += 1
        try:
            with held_back():
                yield
        finally:
            with self._switch:
                self._settling -= 1

    def _settle(self) -> dict[str, object]:
        """Set what differs from the ordinary values, and give what was chosen instead."""
        settings = ", ".join(f"current_setting('{name}')" for name in _ORDINARY)
        (values,) = self.look_up(f"SELECT {settings}", step="settings")
        found = dict(zip(_ORDINARY, values, strict=True))
        chosen = {name: value for name, value in found.items() if value != _ORDINARY[name]}
        for name in chosen:
            self.query(_setting(name, _ORDINARY[name]), step="settings")
        return chosen

    def require_autocommit(self) -> None:
        """Refuse to write while the owner of the connection has a transaction open."""
        with self._lock:
            first, second = (self.look_up("SELECT txid_current()", step="transaction") for _ in range(2))
        if first == second:
            raise EngineError(
                "A transaction is open on this connection, and what it holds could be lost.",
                "Commit or roll back the transaction first.",
            )

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read every table inside as it stood at the first look, whatever other connections write.

        A transaction inside becomes part of this one, and working tables are kept when it ends.
        """
        with self._lock:
            try:
                with self._committed_as_one(self.look_up, "snapshot", real=True):
                    self._in_snapshot, self._writes_in_snapshot = True, False
                    yield
            finally:
                self._in_snapshot = False

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is written inside, or nothing of it; within a snapshot, when that ends.

        Ctrl-C during the commit is heard after it.
        """
        if not self._in_snapshot:
            with self._lock, self._committed_as_one(self.write, "begin", real=not self.dry):
                yield
            return
        self._writes_in_snapshot = True
        if self.dry:  # what is shown reads like what is run
            self.write("BEGIN TRANSACTION", step="begin")
        yield
        if self.dry:
            self.write("COMMIT", step="commit")

    @contextlib.contextmanager
    def _committed_as_one(self, run: Callable[..., object], begins: str, *, real: bool) -> Iterator[None]:
        run("BEGIN TRANSACTION", step=begins)
        self._inside, done = True, False
        try:
            yield
            with self._undisturbed():
                run("COMMIT", step="commit")
                done = True
                if self._writes_in_snapshot or not self._in_snapshot:
                    self.committed = not self.dry
                    if self.committed and (told := on_commit.get()) is not None:
                        told()
        except BaseException:
            if real and not done:
                with self._undisturbed():
                    self._try("ROLLBACK")
            raise
        finally:
            self._inside = False

    def close(self) -> None:
        """Close the connection if this engine opened it, and remove its spill folder."""
        if self._owned:
            self.connection.close()
        if self._spill is not None:
            self._spill.close()

    # -- the catalogue ------------------------------------------------------------------------

    def current(self) -> tuple[str, str]:
        """Give the current database and schema, in which releases are published."""
        ((catalog, schema),) = self.look_up("SELECT current_catalog(), current_schema()", step="current")
        self.place = catalog, schema
        return catalog, schema

    def tables(self) -> list[Table]:
        """List every table and view, temporary ones included, working tables of this run left out."""
        own = {made.name for _, made in self._working}
        found = self.look_up(_TABLES_AND_VIEWS, step="tables")
        return [table for row in found if (table := Table(*row)).name not in own]

    def has_pending(self) -> bool:
        """Tell whether a killed run may have left something outside of the database."""
        return ("pending",) in self.look_up(statements.text("release/catalogue"), step="catalogue")

    def find(self, name: str) -> Table:
        """Find a table or view: by its name as it stands, else as a qualified, quoted SQL name."""
        name = table_name(name)
        if name in self.given:
            return self.given[name].table
        current = self.current()
        existing = self.tables()
        for wanted in spellings(name):
            if found := match(wanted, existing, current):
                return found
        names = [as_typed(table, current) for table in existing if table.schema != "ppdm"]
        none = "The database has no tables."
        raise unknown(UnknownTable, "There is no table or view", name, names, here="Tables here", none=none)

    def columns(self, table: Table) -> list[Column]:
        """Give the columns of a table that :meth:`find` returned, in their order."""
        return [Column(*row[:2]) for row in self.look_up(f"DESCRIBE {table}", step="columns")]


def _lock_of(connection: duckdb.DuckDBPyConnection) -> threading.RLock:
    with _locks_lock:
        return _locks.setdefault(connection, threading.RLock())


def alone(method: Callable[Arguments, Fetched]) -> Callable[Arguments, Fetched]:
    """Make a method of what has an ``engine`` use its connection :meth:`Engine.alone`."""

    @functools.wraps(method)
    def wrapper(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Fetched:
        owner: Any = args[0]
        engine: Engine = owner.engine
        return engine.alone(lambda: method(*args, **kwargs))

    return wrapper


def _setting(name: str, value: object) -> str:
    literal = statements.render(statements.literal(value))  # type: ignore[arg-type]
    return f"SET {name} = {literal}"
