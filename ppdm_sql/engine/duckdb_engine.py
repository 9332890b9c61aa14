"""DuckDB behind one class: every statement of the package passes through here."""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import duckdb
from sqlglot import exp

from ppdm_sql.engine import statements
from ppdm_sql.engine.names import Table, parse_table, table_name
from ppdm_sql.engine.spill import SpillFolder
from ppdm_sql.errors import EngineError, InvalidOption, UnknownTable, choices

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rows = list[tuple[Any, ...]]
Fetched = TypeVar("Fetched")
logger = logging.getLogger("ppdm_sql")
sql_logger = logging.getLogger("ppdm_sql.sql")

_TABLES = "SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE NOT internal"
_VIEWS = "SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal"


ORDINARY = {
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


class Engine:
    """Runs statements on one connection, names them in logs and errors, keeps working tables apart.

    Args:
        connection: An open DuckDB connection. One run uses one connection.
        spill: A private folder to remove at :meth:`close`, where the engine opened the file itself.
        owned: Whether :meth:`close` closes the connection.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        *,
        spill: SpillFolder | None = None,
        owned: bool = False,
    ) -> None:
        self.connection = connection
        self.tracer: Callable[[str], None] | None = None
        self.dry = False
        self._spill = spill
        self._owned = owned
        self._run = secrets.token_hex(4)
        self._working: list[str] = []
        self._types: list[str] = []
        self._depth = 0

    # -- running ------------------------------------------------------------------------------

    def query(self, sql: str, params: Mapping[str, object] | None = None, *, step: str) -> Rows:
        """Run a statement and fetch all its rows; callers ask for aggregates only.

        Args:
            sql: The statement, bound.
            params: Values for ``$name`` placeholders.
            step: What the statement does, for logs and errors.

        Raises:
            EngineError: The engine refused; its own text, which may quote cells, is not in the message.
        """
        return self._run_statement(sql, params, step)

    def look_up(self, sql: str, params: Mapping[str, object] | None = None, *, step: str) -> Rows:
        """Ask what the catalogue or the connection knows; the tracer is not told."""
        tracer, self.tracer = self.tracer, None
        try:
            return self.query(sql, params, step=step)
        finally:
            self.tracer = tracer

    def arrays(
        self, sql: str, params: Mapping[str, object] | None = None, *, step: str
    ) -> dict[str, NDArray[Any]]:
        """Run a statement and fetch its columns as numpy arrays (counts and codes, never cells)."""
        return self._fetched(sql, params, step, duckdb.DuckDBPyConnection.fetchnumpy)

    def materialize(
        self, step: str, select: exp.Expression | str, params: Mapping[str, object] | None = None
    ) -> Table:
        """Write the rows of a SELECT into a temporary working table of this run and give its name."""
        self._working.append(f"ppdm_{self._run}_{len(self._working)}_{step}")
        table = Table(self._working[-1])
        text = select if isinstance(select, str) else statements.render(select)
        self._run_statement(f"CREATE TEMP TABLE {table} AS {text}", params, step)
        return table

    def enumerate_values(self, values: exp.Expression | str) -> Table:
        """Make a temporary ENUM type of the non-NULL values that a one-column SELECT gives, in order.

        A table that uses the type keeps the values but not the name, and outlives the type.
        """
        self._types.append(f"ppdm_{self._run}_type_{len(self._types)}")
        name = Table(self._types[-1])
        text = values if isinstance(values, str) else statements.render(values)
        self._run_statement(f"CREATE TEMP TYPE {name} AS ENUM ({text})", None, "enumerate")
        return name

    def discard(self, table: Table) -> None:
        """Drop a working table that later steps do not need."""
        self._run_statement(f"DROP TABLE IF EXISTS {table}", None, "discard")

    def write(self, sql: str, params: Mapping[str, object] | None = None, *, step: str) -> None:
        """Run a statement that changes the database for good; only shown when the engine runs dry."""
        if not self.dry:
            self._run_statement(sql, params, step)
        elif self.tracer is not None:
            self.tracer(statements.filled(sql, params or {}))

    def _run_statement(self, sql: str, params: Mapping[str, object] | None, step: str) -> Rows:
        return self._fetched(sql, params, step, duckdb.DuckDBPyConnection.fetchall)

    def _fetched(
        self,
        sql: str,
        params: Mapping[str, object] | None,
        step: str,
        fetch: Callable[[duckdb.DuckDBPyConnection], Fetched],
    ) -> Fetched:
        """Run and fetch: results are streamed, so a statement can fail at either."""
        if self.tracer is not None:
            self.tracer(statements.filled(sql, params or {}))
        started = time.perf_counter()
        try:
            done = self.connection.execute(sql, params) if params else self.connection.execute(sql)
            result = fetch(done)
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as cause:
            raise _wrapped(step, cause) from None
        except RuntimeError as cause:
            raise (KeyboardInterrupt if "interrupt" in str(cause).lower() else cause) from None
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("%s: %.1f ms", step, 1000 * (time.perf_counter() - started))
            sql_logger.debug("%s", step)
        return result

    # -- scopes -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def workspace(self) -> Iterator[None]:
        """Drop every working table and type made inside, on success and on error.

        Inside, the settings on which statements rely have their ordinary values, whatever the owner of the
        connection chose.
        """
        first, first_type = len(self._working), len(self._types)
        chosen = {} if self._depth else self._settle()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            for name, value in chosen.items():
                self._set(name, value)
            drops = [f"DROP TABLE IF EXISTS {Table(name)}" for name in self._working[first:]]
            drops += [f"DROP TYPE IF EXISTS {Table(name)}" for name in self._types[first_type:]]
            for drop in drops:
                with contextlib.suppress(duckdb.Error):
                    self.connection.execute(drop)

    def _settle(self) -> dict[str, object]:
        """Set what differs from the ordinary values, and give what was chosen instead."""
        settings = ", ".join(f"current_setting('{name}')" for name in ORDINARY)
        (values,) = self.look_up(f"SELECT {settings}", step="settings")
        found = dict(zip(ORDINARY, values, strict=True))
        chosen = {name: value for name, value in found.items() if value != ORDINARY[name]}
        for name in chosen:
            self._set(name, ORDINARY[name])
        return chosen

    def _set(self, name: str, value: object) -> None:
        literal = statements.render(statements.literal(value))  # type: ignore[arg-type]
        self.connection.execute(f"SET {name} = {literal}")

    def require_autocommit(self) -> None:
        """Refuse to write while the owner of the connection has a transaction open.

        Raises:
            EngineError: One is open; what it holds would be lost if a statement of ours failed.
        """
        first, second = (self.look_up("SELECT txid_current()", step="transaction") for _ in range(2))
        if first == second:
            raise EngineError(
                "A transaction is open on this connection, and what it holds could be lost.",
                "Commit or roll back the transaction first.",
            )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is written inside, or nothing of it."""
        self.write("BEGIN TRANSACTION", step="begin")
        try:
            yield
            self.write("COMMIT", step="commit")
        except BaseException:
            if not self.dry:
                with contextlib.suppress(duckdb.Error):
                    self.connection.execute("ROLLBACK")
            raise

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
        return catalog, schema

    def tables(self) -> list[Table]:
        """List every table and view, temporary ones included, working tables of this run left out."""
        return self._existing(_TABLES) + self._existing(_VIEWS)

    def _existing(self, query: str) -> list[Table]:
        found = [Table(name, schema, catalog) for catalog, schema, name in self.look_up(query, step="tables")]
        return [table for table in found if table.name not in self._working]

    def find(self, name: str) -> Table:
        """Find a table or view: by its name as it stands, else as a qualified, quoted SQL name.

        Raises:
            UnknownTable: There is none; the message lists those that exist, nearest first.
            InvalidOption: What is given is no name.
        """
        name = table_name(name)
        current, spellings = self.current(), _spellings(name)
        existing: list[Table] = []
        for query in (_TABLES, _VIEWS):
            existing += self._existing(query)
            for wanted in spellings:
                if found := _match(wanted, existing, current):
                    return found
        names = [table.name for table in existing if table.schema != "ppdm"]
        known = f"Tables here: {choices(name, names)}." if names else "The database has no tables."
        raise UnknownTable(f"There is no table or view {name!r}.", known)

    def columns(self, table: Table) -> list[Column]:
        """Give the columns of a table that :meth:`find` returned, in their order."""
        return [Column(*row[:2]) for row in self.look_up(f"DESCRIBE {table}", step="columns")]


def type_title(type_text: str) -> str:
    """Name a type in a message; the text of an ENUM type lists values, so it is left out.

    Example:
        >>> type_title("DECIMAL(8,2)"), type_title("ENUM('ill', 'well')")
        ('DECIMAL(8,2)', 'ENUM')
    """
    return "ENUM" if "ENUM(" in type_text else type_text


def _spellings(name: str) -> list[Table]:
    """Read a name as it stands, and as a qualified SQL name where it is one."""
    try:
        return [Table(name), parse_table(name)]
    except InvalidOption:
        return [Table(name)]


def _match(wanted: Table, tables: list[Table], current: tuple[str, str]) -> Table | None:
    """Pick the table that a possibly unqualified name means; temporary tables come first."""
    catalog, schema = current
    if wanted.catalog is not None:
        places = [(wanted.catalog, wanted.schema)]
    elif wanted.schema is not None:
        places = [(catalog, wanted.schema), (wanted.schema, "main")]
    else:
        places = [("temp", "main"), (catalog, schema), (catalog, "main")]
    for place in places:
        for same in (_exactly, _casefolded):
            for table in tables:
                if same(table, place, wanted.name):
                    return table
    return None


def _exactly(table: Table, place: tuple[str | None, str | None], name: str) -> bool:
    return (table.catalog, table.schema, table.name) == (*place, name)


def _casefolded(table: Table, place: tuple[str | None, str | None], name: str) -> bool:
    parts = (table.catalog, table.schema, table.name), (*place, name)
    return [str(p).lower() for p in parts[0]] == [str(p).lower() for p in parts[1]]


def _wrapped(step: str, cause: duckdb.Error) -> EngineError:
    if isinstance(cause, duckdb.OutOfMemoryException):
        return EngineError(
            f"The step {step!r} ran out of memory.", "Give more with --memory-limit, or fewer --threads."
        )
    error = EngineError(
        f"The engine refused the step {step!r} ({type(cause).__name__}).",
        "Run again with --debug to see the engine's own words.",
    )
    error.engine_text = str(cause)
    return error
